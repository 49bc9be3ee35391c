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
use crate::jvm::{self, GlobalRef};
use crate::world::scheduling::is_asleep;
use crate::world::threads::os_thread::os_thread;
use crate::world::threads::record::Thread;
use crate::world::threads::{registry, running};
use crate::world::{cpu_clock, suspension};
use jvmti_sys::{
    JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER, JVMTI_THREAD_STATE_IN_NATIVE,
    JVMTI_THREAD_STATE_RUNNABLE, JVMTI_THREAD_STATE_SUSPENDED,
};
use std::sync::Arc;

/// A thread that has disabled collections.
#[derive(Clone)]
pub struct Disabler {
    pub os_thread: i32,
    /// Its calls of DisableGC without their EnableGC.
    pub calls: u32,
    /// The virtual thread that it runs: of a carrier JVMTI does not say where it is.
    pub runs: Option<Arc<GlobalRef>>,
}

impl Disabler {
    /// The current thread, before its first call.
    pub fn current() -> Self {
        let runs = running::known_current().filter(|thread| carries(thread)).and_then(|_| {
            let vm = jvm::get();
            let jni = vm.jni()?;
            jni.frame(1, |jni| GlobalRef::new(jni, vm.jvmti.current_thread().ok()?))
        });
        Self { os_thread: os_thread(), calls: 0, runs: runs.map(Arc::new) }
    }
}

impl PartialEq for Disabler {
    fn eq(&self, other: &Self) -> bool {
        (self.os_thread, self.calls) == (other.os_thread, other.calls)
    }
}

/// Whether the current thread runs a virtual one: to JVMTI it waits then.
fn carries(thread: &Thread) -> bool {
    let state = suspension::jvmti_state(thread);
    !thread.is_virtual() && state.is_some_and(|state| state & JVMTI_THREAD_STATE_RUNNABLE == 0)
}

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
    pub fn is_certain_of(&mut self, threads: &[Disabler]) -> bool {
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
pub fn is_blocked(threads: &[Disabler]) -> bool {
    let all = registry::all();
    let wants_to_collect = gc_probe::kept_out_by();
    threads.iter().all(|thread| match end_of_chain(&all, thread.os_thread) {
        End::Other { os_thread, .. } => {
            let runs = thread.runs.as_ref().filter(|_| os_thread == thread.os_thread);
            wants_to_collect == Some(os_thread)
                || is_inside(&all, os_thread, runs)
                    && (is_asleep(os_thread) || !gc_probe::is_sure_of_who())
                || cpu_clock::of(os_thread).is_none()
        }
        End::Me | End::BoundedWait => false,
    })
}

/// Whether the thread is inside the VM or computes in Java.
fn is_inside(all: &[Arc<Thread>], os_thread: i32, runs: Option<&Arc<GlobalRef>>) -> bool {
    const ELSEWHERE: i32 = JVMTI_THREAD_STATE_IN_NATIVE
        | JVMTI_THREAD_STATE_SUSPENDED
        | JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER;
    const MASK: i32 = JVMTI_THREAD_STATE_RUNNABLE | ELSEWHERE;
    let state = match runs {
        Some(object) => jvm::get().jvmti.thread_state(object.get()).ok(),
        None => find(all, os_thread).and_then(|thread| suspension::jvmti_state(thread)),
    };
    state.is_some_and(|state| state & MASK == JVMTI_THREAD_STATE_RUNNABLE)
}
