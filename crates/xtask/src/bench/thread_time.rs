//! How much processor time the threads of a process have used, by their names.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often a process is looked at. The system forgets a thread when it ends: its last moments, about this long, are
/// missed, and looking more often would take time from what is measured.
const PAUSE: Duration = Duration::from_millis(10);

/// Looks at a process until it has ended.
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

    /// The seconds of all threads whose names begin so, when the process has been waited for.
    pub fn end(self, prefix: &str) -> Result<f64, String> {
        let threads = self.0.join().map_err(|_| "looking at threads failed")?;
        let named = threads.values().filter(|(name, _)| name.starts_with(prefix));
        let nanos: Vec<u64> = named.map(|(_, nanos)| *nanos).collect();
        if nanos.is_empty() {
            return Err(format!("no thread's name begins with `{prefix}`"));
        }
        Ok(nanos.iter().sum::<u64>() as f64 / 1e9)
    }
}

/// Puts down name and nanoseconds of each thread; None if the process has ended.
fn look(process: u32, threads: &mut HashMap<String, (String, u64)>) -> Option<()> {
    for thread in fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten() {
        if let Some(used) = used(&thread.path()) {
            threads.insert(thread.file_name().to_string_lossy().into_owned(), used);
        }
    }
    Some(())
}

/// Of a thread that has not ended meanwhile.
fn used(thread: &Path) -> Option<(String, u64)> {
    let name = fs::read_to_string(thread.join("comm")).ok()?;
    let times = fs::read_to_string(thread.join("schedstat")).ok()?;
    Some((name, times.split(' ').next()?.parse().ok()?))
}
