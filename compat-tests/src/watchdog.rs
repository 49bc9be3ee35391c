//! Detects processes that make no progress.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use jvmpi_cpu_timeout::OwnTime;

/// The [`OwnTime`] without progress after which a process counts as hung. The longest step, rewriting all classes of a
/// large program with all events enabled, needs half of it.
const ENOUGH: Duration = Duration::from_secs(60);

/// Watches the progress counters of a process. The process writes them to a file of 64-bit numbers, and each has to
/// grow as long as the process lives.
#[derive(Debug)]
pub struct Watchdog {
    own_time: OwnTime,
    counters: PathBuf,
    last: Vec<u64>,
    /// For each counter, the time that the process had since the counter last changed.
    idle: Vec<Duration>,
}

impl Watchdog {
    /// Watches this process, which writes its counters to this file.
    #[must_use]
    pub fn new(process: u32, counters: PathBuf) -> Self {
        let own_time = OwnTime::new(vec![process]);
        Self { own_time, counters, last: Vec::new(), idle: vec![Duration::ZERO] }
    }

    /// Returns the CPU time that the process has used.
    #[must_use]
    pub fn used(&self) -> Duration {
        self.own_time.used()
    }

    /// Returns the current counters.
    #[must_use]
    pub fn counters(&self) -> &[u64] {
        &self.last
    }

    /// Reads the counters. Call it often.
    ///
    /// # Errors
    /// Fails if the process hangs, and names the counter.
    pub fn look(&mut self) -> Result<(), String> {
        let gained = self.own_time.gained();
        let counters = self.read();
        self.idle.resize(counters.len().max(1), Duration::ZERO);
        for (i, idle) in self.idle.iter_mut().enumerate() {
            // A counter that is still zero is unused, except for the first one.
            let unused = i > 0 && counters[i] == 0;
            if unused || counters.get(i) != self.last.get(i) {
                *idle = Duration::ZERO;
            } else {
                *idle += gained;
            }
        }
        self.last = counters;
        match self.idle.iter().position(|idle| *idle > ENOUGH) {
            Some(i) => Err(format!("hung: counter {i} of {:?} does not change", self.last)),
            None => Ok(()),
        }
    }

    fn read(&self) -> Vec<u64> {
        let bytes = fs::read(&self.counters).unwrap_or_default();
        let words = bytes.chunks_exact(8);
        words.map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes"))).collect()
    }
}
