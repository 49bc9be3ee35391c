//! Runnable threads of the process that get no processor. Blocked threads may only be waiting for them.

use super::cpu_clock;
use super::os_thread::{self, os_thread};
use super::scheduling::is_asleep;

/// The nanoseconds on a processor after which a thread has released its briefly held locks, such as the VM's.
/// It is about the scheduler's time slice.
pub const SLICE: i64 = 3_000_000;

/// The threads that were runnable at the first check and have not had a [`SLICE`] since; None before it.
pub struct Starving(Option<Vec<Waiting>>);

/// A runnable thread, with the CPU time at which it has had its [`SLICE`].
struct Waiting {
    os_thread: i32,
    until: i64,
}

impl Starving {
    pub const fn new() -> Self {
        Self(None)
    }

    /// Returns true if a thread that was runnable at the first of these calls has not had a processor since.
    /// It may own the lock for which the others wait.
    pub fn is_any(&mut self) -> bool {
        let starving = self.0.get_or_insert_with(|| {
            let me = os_thread();
            let wants = |os_thread: &i32| *os_thread != me && !is_asleep(*os_thread);
            let waiting =
                |os_thread| Some(Waiting { os_thread, until: cpu_clock::of(os_thread)? + SLICE });
            os_thread::all().filter(wants).filter_map(waiting).collect()
        });
        starving.retain(|Waiting { os_thread, until }| {
            cpu_clock::of(*os_thread).is_some_and(|cpu| cpu < *until) && !is_asleep(*os_thread)
        });
        !starving.is_empty()
    }
}
