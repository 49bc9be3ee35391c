//! Processes that use the CPU without end, four per CPU. They create the worst conditions for code that waits for
//! another thread: that thread may get only a small fraction of its usual CPU time.

use std::process::{self, Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

const TO_A_PROCESSOR: usize = 4;

/// A guard for the spinning processes, which run until the last guard is dropped or this process dies. Several guards
/// share the same processes.
#[derive(Clone, Debug)]
#[must_use]
pub struct Spinning {
    _processes: Arc<Processes>,
}

impl Spinning {
    /// Starts the processes, unless they are already running.
    pub fn start() -> Result<Self, String> {
        static SPINNING: Mutex<Weak<Processes>> = Mutex::new(Weak::new());
        let mut spinning = SPINNING.lock().unwrap_or_else(PoisonError::into_inner);
        let processes = match spinning.upgrade() {
            Some(processes) => processes,
            None => Arc::new(Processes::start()?),
        };
        *spinning = Arc::downgrade(&processes);
        Ok(Self { _processes: processes })
    }
}

#[derive(Debug)]
struct Processes(Vec<Child>);

impl Processes {
    fn start() -> Result<Self, String> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let mut processes = Self(Vec::new());
        for _ in 0..TO_A_PROCESSOR * processors {
            // In a shell `kill` is no program.
            let script = format!("while kill -0 {} 2>&-; do :; done", process::id());
            let child = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).spawn();
            processes.0.push(child.map_err(|e| format!("spinning processes: {e}"))?);
        }
        Ok(processes)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
