//! Measures the CPU time of the threads of a process, by thread name.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The polling interval. The kernel forgets a thread when it ends, so up to this much of its time is missed. More
/// frequent polling would take CPU time from the measured process.
const PAUSE: Duration = Duration::from_millis(10);

/// Polls a process until it has ended.
pub struct Watch(JoinHandle<HashMap<String, (String, u64)>>);

impl Watch {
    pub fn begin(process: u32) -> Self {
        Self(thread::spawn(move || {
            let mut threads = HashMap::new();
            while look(process, &mut threads).is_some() {
                thread::sleep(PAUSE);
            }
            threads
        }))
    }

    /// Returns the CPU time in seconds of all threads whose names begin with `prefix`. Call it after the process has
    /// ended.
    pub fn end(self, prefix: &str) -> Result<f64, String> {
        let threads = self.0.join().map_err(|_| "polling the threads failed")?;
        let named = threads.values().filter(|(name, _)| name.starts_with(prefix));
        let nanos: Vec<u64> = named.map(|(_, nanos)| *nanos).collect();
        if nanos.is_empty() {
            return Err(format!("no thread's name begins with `{prefix}`"));
        }
        Ok(nanos.iter().sum::<u64>() as f64 / 1e9)
    }
}

/// Records the name and the CPU time in nanoseconds of each thread. Returns `None` if the process has ended.
fn look(process: u32, threads: &mut HashMap<String, (String, u64)>) -> Option<()> {
    for thread in fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten() {
        if let Some(used) = used(&thread.path()) {
            threads.insert(thread.file_name().to_string_lossy().into_owned(), used);
        }
    }
    Some(())
}

/// Returns name and CPU time of a thread, unless it has ended.
fn used(thread: &Path) -> Option<(String, u64)> {
    let name = fs::read_to_string(thread.join("comm")).ok()?;
    let times = fs::read_to_string(thread.join("schedstat")).ok()?;
    Some((name, times.split(' ').next()?.parse().ok()?))
}
