//! Timeouts by CPU time: they do not advance while a process waits for a CPU, so a busy machine causes no false alarm.

use std::fs;
use std::time::{Duration, Instant};

/// The interval between two readings of `/proc`. A reading takes about a millisecond.
pub const LOOK: Duration = Duration::from_millis(100);
/// The most that one interval counts for. A longer interval means that the observer itself was stopped, and perhaps
/// the processes with it.
const LONGEST: Duration = Duration::from_secs(1);

/// The time that a group of processes and their descendants had available: their CPU time divided by the number of
/// threads that want to run, plus the elapsed time while no thread wants to run.
#[derive(Debug)]
pub struct OwnTime {
    processes: Vec<u32>,
    used: Duration,
    looked: Instant,
}

impl OwnTime {
    /// Starts measuring processes that work together, for example a command and the JVM that it talks to.
    #[must_use]
    pub fn new(processes: Vec<u32>) -> Self {
        let used = Seen::of(&processes).used;
        Self { processes, used, looked: Instant::now() }
    }

    /// Returns the CPU time that the processes have used.
    #[must_use]
    pub fn used(&self) -> Duration {
        self.used
    }

    /// Returns the time that the processes had since the last call. Call it often.
    pub fn gained(&mut self) -> Duration {
        let passed = self.looked.elapsed();
        if passed < LOOK {
            return Duration::ZERO;
        }
        self.looked += passed;
        let passed = passed.min(LONGEST);
        let Seen { used, wanting } = Seen::of(&self.processes);
        // A process that has ended no longer contributes the time that it used.
        let since = used.saturating_sub(self.used);
        self.used = used;
        if wanting == 0 { passed } else { passed.min(since / wanting) }
    }
}

/// A timeout measured in [`OwnTime`]; processes that exceed it count as hung.
#[derive(Debug)]
pub struct CpuTimeout {
    own_time: OwnTime,
    left: Duration,
}

impl CpuTimeout {
    /// Starts a timeout for processes that work together.
    #[must_use]
    pub fn new(patience: Duration, processes: Vec<u32>) -> Self {
        Self { own_time: OwnTime::new(processes), left: patience }
    }

    /// Returns the remaining time. Call it often.
    pub fn left(&mut self) -> Duration {
        self.left = self.left.saturating_sub(self.own_time.gained());
        self.left
    }
}

/// A reading of `/proc` for a group of processes.
#[derive(Debug, Default)]
struct Seen {
    /// The CPU time of all threads.
    used: Duration,
    /// The number of threads that run, or wait for a CPU or for a disk.
    wanting: u32,
}

impl Seen {
    fn of(processes: &[u32]) -> Self {
        let mut seen = Self::default();
        processes.iter().for_each(|process| seen.look_at(&process.to_string()));
        seen
    }

    fn look_at(&mut self, process: &str) {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        // The process name may contain anything, so fields are counted from its closing parenthesis: the state is
        // the first one, and the times are the twelfth and thirteenth, in hundredths of a second.
        let times = |stat: &str| {
            let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
            fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>()
        };
        self.used += Duration::from_millis(10 * times(&read(&format!("/proc/{process}/stat"))));
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return };
        for thread in
            threads.flatten().filter_map(|thread| thread.path().into_os_string().into_string().ok())
        {
            let stat = read(&format!("{thread}/stat"));
            if stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['R', 'D'])) {
                self.wanting += 1;
            }
            // Not every kernel has this file.
            read(&format!("{thread}/children"))
                .split_whitespace()
                .for_each(|child| self.look_at(child));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{self, Child, Command};
    use std::thread::{self, sleep};

    const TIME: Duration = Duration::from_secs(1);

    /// A shell that is killed when it is dropped.
    struct Shell(Child);

    impl Shell {
        fn new(script: &str) -> Self {
            Self(Command::new("sh").args(["-c", script]).spawn().unwrap())
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Returns the time that a shell running `script` gains within `TIME`.
    fn had(script: &str) -> Duration {
        let shell = Shell::new(script);
        let (mut own, began) = (OwnTime::new(vec![shell.0.id()]), Instant::now());
        let mut had = Duration::ZERO;
        while began.elapsed() < TIME {
            sleep(LOOK / 10);
            had += own.gained();
        }
        had
    }

    #[test]
    fn waiting_process_gains_all_time_and_computing_process_only_its_share() {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let spins = format!("while kill -0 {} 2>&-; do :; done", process::id());
        let _spinning: Vec<_> = (0..4 * processors).map(|_| Shell::new(&spins)).collect();
        let waits = had("exec sleep 10");
        assert!(waits > TIME / 2, "{waits:?}");
        // The child exits when its shell does.
        for script in ["while :; do :; done", "while kill -0 $$ 2>&-; do :; done & wait"] {
            let computes = had(script);
            assert!(computes < TIME / 2, "{script}: {computes:?}");
        }
    }
}
