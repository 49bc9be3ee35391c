//! The state of a thread in HotSpot's own structure of it, which is read without a call: JVMTI holds up virtual threads
//! that are mounted or unmounted while anybody asks it.

use super::{internals, vm_structs};
use crate::lock::Memo;
use std::sync::atomic::{AtomicI32, Ordering};

/// A `JavaThreadState`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadState(i32);

const IN_NATIVE: i32 = 4;
const IN_VM: i32 = 6;
const IN_JAVA: i32 = 8;
const BLOCKED: i32 = 10;

impl ThreadState {
    /// True if the thread executes Java code or code of the VM, or is about to. The odd numbers are changes from the state
    /// before.
    pub fn executes(self) -> bool {
        matches!(self.0 & !1, IN_VM | IN_JAVA)
    }

    /// True if the thread is blocked in the VM.
    pub fn is_blocked(self) -> bool {
        self.0 & !1 == BLOCKED
    }
}

/// The distance of the state from the beginning of the structure.
static OFFSET: Memo<Option<usize>> = Memo::new();

/// Looks for the state in the structure of the current thread, which executes native code. Called before any thread is
/// suspended.
///
/// # Safety
/// `thread` is the address of the current thread's structure.
pub unsafe fn locate(thread: usize) {
    let find = || {
        let offset = vm_structs::offset_of(c"JavaThread", c"_thread_state")?;
        // SAFETY: the VM says that the field is in the structure.
        (unsafe { read(thread, offset) } == IN_NATIVE).then_some(offset)
    };
    OFFSET.get_or_find(|| internals::THREAD_STATE.find(find));
}

/// The state of a thread; None if it is not known where it is.
///
/// # Safety
/// `thread` is the address of a thread's structure, which lives until this returns.
pub unsafe fn of(thread: usize) -> Option<ThreadState> {
    let offset = (*OFFSET.get()?)?;
    // SAFETY: as the caller promises.
    Some(ThreadState(unsafe { read(thread, offset) }))
}

/// # Safety
/// The structure at `thread` lives and has the state at this distance.
unsafe fn read(thread: usize, offset: usize) -> i32 {
    let state = std::ptr::with_exposed_provenance::<AtomicI32>(thread + offset);
    // SAFETY: as the caller promises; it is aligned, and changed by the thread itself.
    unsafe { (*state).load(Ordering::SeqCst) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_execute_are_told_from_others() {
        let executing = [5, 6, 7, 8, 9, 10, 11].map(|state| ThreadState(state).executes());
        assert_eq!(executing, [false, true, true, true, true, false, false]);
        assert!(ThreadState(BLOCKED).is_blocked() && !ThreadState(IN_NATIVE).is_blocked());
    }
}
