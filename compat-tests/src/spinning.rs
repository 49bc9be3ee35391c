//! Processes that use the CPU without end, four per CPU. They create the worst conditions for code that waits for
//! another thread: that thread may get only a small fraction of its usual CPU time.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};

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
    ///
    /// # Errors
    /// Fails if they cannot be started.
    pub fn start() -> Result<Self, String> {
        static SPINNING: Mutex<Weak<Processes>> = Mutex::new(Weak::new());
        let mut spinning = SPINNING.lock().unwrap_or_else(PoisonError::into_inner);
        let processes = match spinning.upgrade() {
            Some(processes) => processes,
            None => Arc::new(Processes::start().map_err(|e| format!("spinning processes: {e}"))?),
        };
        *spinning = Arc::downgrade(&processes);
        Ok(Self { _processes: processes })
    }
}

/// The processes and the thread that owns them. The kernel kills a process when the thread that started it ends.
#[derive(Debug)]
struct Processes {
    end: Option<Sender<()>>,
    owner: Option<JoinHandle<()>>,
}

impl Processes {
    fn start() -> io::Result<Self> {
        let (started, result) = mpsc::channel();
        let (end, until) = mpsc::channel();
        let owner = thread::Builder::new().name("spinning".to_owned()).spawn(move || {
            own(&started, &until);
        })?;
        let processes = Self { end: Some(end), owner: Some(owner) };
        result.recv().unwrap_or_else(|_| Err(io::Error::other("their thread ended")))?;
        Ok(processes)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(owner) = self.owner.take() {
            let _ = owner.join();
        }
    }
}

/// Starts the processes, reports success or failure, and kills them when `until` has no sender any more.
fn own(started: &Sender<io::Result<()>>, until: &Receiver<()>) {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let mut children = Vec::new();
    let mut result = Ok(());
    for _ in 0..TO_A_PROCESSOR * processors {
        match spin() {
            Ok(child) => children.push(child),
            Err(error) => result = Err(error),
        }
    }
    let _ = started.send(result);
    let _ = until.recv();
    for child in &mut children {
        let _ = child.kill();
    }
    for child in &mut children {
        let _ = child.wait();
    }
}

fn spin() -> io::Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
    // SAFETY: the closure runs in the child between fork and exec, where prctl may be called.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    command.spawn()
}
