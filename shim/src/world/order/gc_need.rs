//! Whether those who have disabled collections wait for one.
//!
//! Time does not tell, and neither does that they sleep: an agent may do what it likes while collections are
//! disabled. Three things together do. The VM wants to collect (`gc_probe`). The thread, or the one that it
//! waits for at a lock whose owner is known, is inside the VM, not in native code and in no wait of the
//! program's. And there it either sleeps whenever it is looked at, or it is the one that wants to collect. A
//! thread that has ended does not go on either.

use super::bounded_wait::{End, TURNS, end_of_chain, find};
use super::gc_probe;
use super::starving::Starving;
use crate::world::scheduling::is_asleep;
use crate::world::threads::record::Thread;
use crate::world::threads::registry;
use crate::world::{cpu_clock, suspension};
use jvmti_sys::{
    JVMTI_THREAD_STATE_ALIVE, JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER,
    JVMTI_THREAD_STATE_IN_NATIVE, JVMTI_THREAD_STATE_IN_OBJECT_WAIT, JVMTI_THREAD_STATE_PARKED,
    JVMTI_THREAD_STATE_SLEEPING, JVMTI_THREAD_STATE_SUSPENDED,
};
use std::sync::Arc;
use std::time::Duration;

/// What a number of looks have shown.
pub struct Need {
    /// How many looks in a row have found that they wait.
    turns: u32,
    starving: Starving,
}

impl Need {
    pub const fn new() -> Self {
        Self { turns: 0, starving: Starving::new() }
    }

    /// One more look at these threads. True if all of them have waited for a collection for so many looks that it
    /// is no passing matter, as it is where somebody who has a lock of the VM's has no processor.
    pub fn is_certain_of(&mut self, threads: &[i32]) -> bool {
        if !is_blocked(threads) || !gc_probe::is_kept_out() {
            *self = Self::new();
            return false;
        }
        self.turns += 1;
        self.turns >= TURNS && !self.starving.is_any()
    }
}

/// Whether all of these threads wait inside the VM, perhaps for a collection, or have ended. Waits for the VM if that has stopped
/// all threads.
pub fn is_blocked(threads: &[i32]) -> bool {
    let all = registry::all();
    let wants_to_collect = gc_probe::kept_out_by();
    threads.iter().all(|thread| match end_of_chain(&all, *thread) {
        End::Other { os_thread, .. } => {
            wants_to_collect == Some(os_thread)
                || sleeps_inside(&all, os_thread)
                || cpu_clock::of(os_thread).is_none()
        }
        End::Me | End::BoundedWait => false,
    })
}

fn sleeps_inside(all: &[Arc<Thread>], os_thread: i32) -> bool {
    /// A carrier whose virtual thread runs waits, to JVMTI, but in none of these ways.
    const ELSEWHERE: i32 = JVMTI_THREAD_STATE_IN_NATIVE
        | JVMTI_THREAD_STATE_IN_OBJECT_WAIT
        | JVMTI_THREAD_STATE_PARKED
        | JVMTI_THREAD_STATE_SLEEPING
        | JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER
        | JVMTI_THREAD_STATE_SUSPENDED;
    let state =
        find(all, os_thread).and_then(|thread| suspension::jvmti_state(thread, Duration::ZERO));
    let is_inside =
        |state| state & (JVMTI_THREAD_STATE_ALIVE | ELSEWHERE) == JVMTI_THREAD_STATE_ALIVE;
    state.is_some_and(is_inside) && (is_asleep(os_thread) || !gc_probe::is_sure_of_who())
}
