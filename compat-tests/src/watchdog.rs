//! Whether a process still gets on.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use own_time::OwnTime;

/// How much [`OwnTime`] without progress makes a hang. The longest that one step takes, rewriting all
/// classes of a large program with everything enabled, needs half of it.
const ENOUGH: Duration = Duration::from_secs(60);

/// Watches the counters that a process writes into a file of 64-bit numbers, each of which is to
/// grow as long as it lives.
#[derive(Debug)]
pub struct Watchdog {
    own_time: OwnTime,
    counters: PathBuf,
    last: Vec<u64>,
    /// For each counter the time that the process has had since it has grown.
    idle: Vec<Duration>,
}

impl Watchdog {
    /// Of this process, with its counters in this file.
    #[must_use]
    pub fn new(process: u32, counters: PathBuf) -> Self {
        let own_time = OwnTime::new(vec![process]);
        Self { own_time, counters, last: Vec::new(), idle: vec![Duration::ZERO] }
    }

    /// The processor time that the process has used.
    #[must_use]
    pub fn used(&self) -> Duration {
        self.own_time.used()
    }

    /// What the counters show.
    #[must_use]
    pub fn counters(&self) -> &[u64] {
        &self.last
    }

    /// To be called often.
    ///
    /// # Errors
    /// When it hangs: which counter says so.
    pub fn look(&mut self) -> Result<(), String> {
        let gained = self.own_time.gained();
        let counters = self.read();
        self.idle.resize(counters.len().max(1), Duration::ZERO);
        for (i, idle) in self.idle.iter_mut().enumerate() {
            // A counter that has never moved belongs to nobody, but the first is everybody's.
            let unused = i > 0 && counters[i] == 0;
            if unused || counters.get(i) != self.last.get(i) {
                *idle = Duration::ZERO;
            } else {
                *idle += gained;
            }
        }
        self.last = counters;
        match self.idle.iter().position(|idle| *idle > ENOUGH) {
            Some(i) => Err(format!("hung: counter {i} of {:?} stands still", self.last)),
            None => Ok(()),
        }
    }

    fn read(&self) -> Vec<u64> {
        let bytes = fs::read(&self.counters).unwrap_or_default();
        let words = bytes.chunks_exact(8);
        words.map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes"))).collect()
    }
}
