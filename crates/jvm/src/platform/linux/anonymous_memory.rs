//! Memory that is mapped without `malloc`, because other threads may be suspended while they hold its locks.

use std::ptr;

/// Maps zeroed memory for `count` values; None if there is none. A page is resident only after it was used.
pub fn map<T>(count: usize) -> Option<*mut T> {
    let size = count.checked_mul(size_of::<T>())?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping changes no other memory.
    let memory = unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) };
    (memory != libc::MAP_FAILED).then_some(memory.cast())
}

/// Unmaps what [`map`] has returned for this number of values.
///
/// # Safety
/// Nothing uses the memory any more.
pub unsafe fn unmap<T>(memory: *mut T, count: usize) {
    // SAFETY: as the caller promises; the mapping has this size.
    unsafe { libc::munmap(memory.cast(), count * size_of::<T>()) };
}

/// Returns the freed memory of `malloc` to the system. musl does so without being asked.
pub fn trim_heap() {
    // SAFETY: the function has no precondition.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
