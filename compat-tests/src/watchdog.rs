//! Whether a process still gets on. Time alone proves nothing: it may wait for a processor. What
//! counts is processor time that it has used, and time in which none of its threads wanted any.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How much of that without progress makes a hang. The longest that one step takes, rewriting all
/// classes of a large program with everything enabled, needs half of it.
const ENOUGH: Duration = Duration::from_secs(60);

/// Watches the counters that a process writes into a file of 64-bit numbers, each of which is to
/// grow as long as it lives.
#[derive(Debug)]
pub struct Watchdog {
    process: u32,
    counters: PathBuf,
    last: Vec<u64>,
    /// For each counter the time that it could have been used since it has grown.
    idle: Vec<Duration>,
    used: Duration,
    looked: Instant,
}

impl Watchdog {
    /// Of this process, with its counters in this file.
    #[must_use]
    pub fn new(process: u32, counters: PathBuf) -> Self {
        let used = used(process);
        let idle = vec![Duration::ZERO];
        Self { process, counters, last: Vec::new(), idle, used, looked: Instant::now() }
    }

    /// The processor time that the process has used.
    #[must_use]
    pub fn used(&self) -> Duration {
        self.used
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
        let wanted = wants_processor(self.process);
        let (used, now) = (used(self.process), Instant::now());
        let gained =
            if wanted { used.saturating_sub(self.used) } else { now.duration_since(self.looked) };
        (self.used, self.looked) = (used.max(self.used), now);

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

/// Processor time of all its threads together.
fn used(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name, which may contain anything, the state is the first field and these the
    // twelfth and thirteenth, in hundredths of a second.
    let fields: Vec<_> =
        stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').skip(11).take(2).collect();
    Duration::from_millis(
        fields.iter().filter_map(|field| field.parse::<u64>().ok()).sum::<u64>() * 10,
    )
}

/// Whether one of its threads runs, waits for a processor or for a disk.
fn wants_processor(process: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return false };
    threads.flatten().any(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['R', 'D']))
    })
}
