//! A thread's state in HotSpot's own structure, which can be read without a call. JVMTI would hold up virtual threads
//! that are being mounted or unmounted while it answers.

use super::{internals, vm_structs};
use crate::lock::Memo;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// A `JavaThreadState`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadState(i32);

const IN_NATIVE: i32 = 4;
const IN_VM: i32 = 6;
const IN_JAVA: i32 = 8;
const BLOCKED: i32 = 10;

impl ThreadState {
    /// Returns true if the thread executes Java code or code of the VM, or is about to. An odd number is the transition
    /// from the state before.
    pub fn executes(self) -> bool {
        matches!(self.0 & !1, IN_VM | IN_JAVA)
    }

    /// Returns true if the thread is on its way back from native code.
    pub fn leaves_native(self) -> bool {
        self.0 == IN_NATIVE + 1
    }

    /// Returns true if the thread is blocked in the VM.
    pub fn is_blocked(self) -> bool {
        self.0 & !1 == BLOCKED
    }
}

/// The offset of the state in the structure.
static OFFSET: Memo<Option<usize>> = Memo::new();

/// Finds the state in the structure of the current thread, which executes native code. Called before any thread is
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

/// Returns the state of a thread; None if its offset is not known.
///
/// # Safety
/// `thread` is the address of a thread's structure, which lives until this returns.
pub unsafe fn of(thread: usize) -> Option<ThreadState> {
    let offset = (*OFFSET.get()?)?;
    // SAFETY: as the caller promises.
    Some(ThreadState(unsafe { read(thread, offset) }))
}

/// Returns the kernel's ID of a thread; None if its place is not known.
///
/// # Safety
/// `thread` is the address of a thread's structure, which lives until this returns.
pub unsafe fn os_thread(thread: usize) -> Option<i32> {
    static OFFSETS: Memo<Option<[usize; 2]>> = Memo::new();
    let find = || {
        let of_thread = |name| vm_structs::offset_of(name, c"_osthread");
        let structure = of_thread(c"Thread").or_else(|| of_thread(c"JavaThread"))?;
        Some([structure, vm_structs::offset_of(c"OSThread", c"_thread_id")?])
    };
    let [structure, number] = (*OFFSETS.get_or_find(find))?;
    let structure = std::ptr::with_exposed_provenance::<AtomicUsize>(thread + structure);
    // SAFETY: as the caller promises; the VM says that the field is there.
    let structure = unsafe { (*structure).load(Ordering::SeqCst) };
    // SAFETY: as above; the structure lives as long as that of the thread.
    (structure != 0).then(|| unsafe { read(structure, number) })
}

/// Reads a field.
///
/// # Safety
/// The structure lives and has a field of this type at this offset.
unsafe fn read(structure: usize, offset: usize) -> i32 {
    let field = std::ptr::with_exposed_provenance::<AtomicI32>(structure + offset);
    // SAFETY: as the caller promises. The field is aligned, and the thread itself changes it.
    unsafe { (*field).load(Ordering::SeqCst) }
}
