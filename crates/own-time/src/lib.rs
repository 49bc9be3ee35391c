//! The time that a process has had for what it does. That on the clock proves nothing: it may wait for a processor.

use std::fs;
use std::time::{Duration, Instant};

/// How often a process is looked at: to read what the system says of its threads takes about a millisecond.
pub const LOOK: Duration = Duration::from_millis(100);
/// What counts at most of the time between two looks. If the second comes later, who looks may have been stopped, and
/// the processes with it.
const LONGEST: Duration = Duration::from_secs(1);

/// The time that these processes, and those that they have started, have had: processor time, divided among their
/// threads that want any, and all time in which none does.
#[derive(Debug)]
pub struct OwnTime {
    processes: Vec<u32>,
    used: Duration,
    looked: Instant,
}

impl OwnTime {
    /// Of processes that work together, as a command and the JVM that it talks to.
    #[must_use]
    pub fn new(processes: Vec<u32>) -> Self {
        let used = Seen::of(&processes).used;
        Self { processes, used, looked: Instant::now() }
    }

    /// The processor time that they have used.
    #[must_use]
    pub fn used(&self) -> Duration {
        self.used
    }

    /// How much it has become since the last time. To be called often.
    pub fn gained(&mut self) -> Duration {
        let passed = self.looked.elapsed();
        if passed < LOOK {
            return Duration::ZERO;
        }
        self.looked += passed;
        let passed = passed.min(LONGEST);
        let Seen { used, wanting } = Seen::of(&self.processes);
        // One that has ended takes what it has used with it.
        let since = used.saturating_sub(self.used);
        self.used = used;
        if wanting == 0 { passed } else { passed.min(since / wanting) }
    }
}

/// The [`OwnTime`] that processes have left before they count as hung.
#[derive(Debug)]
pub struct Patience {
    own_time: OwnTime,
    left: Duration,
}

impl Patience {
    /// So much, with processes that work together.
    #[must_use]
    pub fn new(patience: Duration, processes: Vec<u32>) -> Self {
        Self { own_time: OwnTime::new(processes), left: patience }
    }

    /// What is left of it. To be called often.
    pub fn left(&mut self) -> Duration {
        self.left = self.left.saturating_sub(self.own_time.gained());
        self.left
    }
}

/// What there is to see of processes.
#[derive(Debug, Default)]
struct Seen {
    /// The processor time of all threads together.
    used: Duration,
    /// The threads that run, or wait for a processor or for a disk.
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
        // Behind the name, which may contain anything, the state is the first field, and the times are the twelfth
        // and thirteenth, in hundredths of a second.
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
            // Not every kernel tells.
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

    /// What a shell that does this has had in that time.
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
    fn who_waits_has_all_the_time_and_who_computes_what_there_is() {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let spins = format!("while kill -0 {} 2>&-; do :; done", process::id());
        let _spinning: Vec<_> = (0..4 * processors).map(|_| Shell::new(&spins)).collect();
        let waits = had("exec sleep 10");
        assert!(waits > TIME / 2, "{waits:?}");
        // The child ends when its shell does.
        for script in ["while :; do :; done", "while kill -0 $$ 2>&-; do :; done & wait"] {
            let computes = had(script);
            assert!(computes < TIME / 2, "{script}: {computes:?}");
        }
    }
}
