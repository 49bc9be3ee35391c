//! Memory that is not from `malloc`, because other threads may be suspended while they hold its locks.

use std::ptr;
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};

pub fn map<T>(count: usize) -> Option<*mut T> {
    let size = count.checked_mul(size_of::<T>())?;
    // SAFETY: new memory changes no other memory.
    let memory =
        unsafe { VirtualAlloc(ptr::null(), size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) };
    (!memory.is_null()).then_some(memory.cast())
}

/// # Safety
/// Nothing uses the memory any more.
pub unsafe fn unmap<T>(memory: *mut T, _count: usize) {
    // SAFETY: as the caller promises; the memory is released as a whole.
    unsafe { VirtualFree(memory.cast(), 0, MEM_RELEASE) };
}

/// Does nothing: the heap of Windows returns freed memory without being asked.
pub fn trim_heap() {}
