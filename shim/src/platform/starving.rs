//! Threads of the process that want a processor and do not get one: what seems blocked may only wait for them.

use super::cpu_clock;
use super::os_thread::{self, os_thread};
use super::scheduling::is_asleep;

/// A thread that has had a processor for so many nanoseconds has released locks that are held for a
/// moment only, as the VM's are: it is about the scheduler's time slice.
pub const SLICE: i64 = 3_000_000;

/// The threads that wanted a processor at the first look and have not had their [`SLICE`] since; None before.
pub struct Starving(Option<Vec<Waiting>>);

/// A thread that wants a processor, with the CPU time at which it has had its [`SLICE`].
struct Waiting {
    os_thread: i32,
    until: i64,
}

impl Starving {
    pub const fn new() -> Self {
        Self(None)
    }

    /// Whether a thread of the process that wants a processor has not had one since the first of these
    /// calls: it may own the lock at which the others are blocked.
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
