//! Files of JDK Flight Recorder (JFR), which JVMs and other profilers write and many tools read.
//!
//! A file is a row of chunks. A chunk has a header and events. The event 0 is the metadata: the layouts of all types.
//! The event 1 has constants: the threads, stacks and classes that other events refer to by number.

mod layout;
mod read;
mod table;
mod write;

pub use read::read;
pub use write::{Jvm, write};

use crate::profile::model::WallState;

/// The beginning of a chunk.
const MAGIC: &[u8] = b"FLR\0";

/// The kind of the frames of native methods.
const NATIVE: &str = "Native";

/// Returns true if these are the first bytes of a file of JFR.
pub fn is_jfr(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The length of the header of a chunk.
const HEADER: usize = 68;

/// The names of states, in the order of [`WallState::ALL`]. A reader also finds longer ones, which end in `_TIMED`.
const STATES: [(&str, WallState); 6] = [
    ("STATE_RUNNABLE", WallState::Running),
    ("STATE_IN_NATIVE", WallState::Native),
    ("STATE_BLOCKED_ON_MONITOR_ENTER", WallState::Blocked),
    ("STATE_IN_OBJECT_WAIT", WallState::Waiting),
    ("STATE_PARKED", WallState::Parked),
    ("STATE_SLEEPING", WallState::Sleeping),
];

/// Returns true if a thread that parks on an object of this class waits for a lock. Others mostly wait for work.
fn is_lock(class: &str) -> bool {
    ["locks.ReentrantLock", "locks.ReentrantReadWriteLock", "locks.StampedLock", "Semaphore"]
        .iter()
        .any(|lock| {
            class.strip_prefix("java.util.concurrent.").is_some_and(|it| it.starts_with(lock))
        })
}
