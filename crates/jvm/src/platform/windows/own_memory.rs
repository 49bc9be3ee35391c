//! Reads memory of this process that may not be mapped. The system does the reading, and fails where nothing is mapped.

use std::ptr;
use windows_sys::Win32::System::Diagnostics::Debug::ReadProcessMemory;
use windows_sys::Win32::System::Threading::GetCurrentProcess;

pub fn read(address: usize, bytes: &mut [u8]) -> bool {
    let mut count = 0;
    let from = ptr::with_exposed_provenance(address);
    // SAFETY: the system writes to `bytes`, and fails if it cannot read the memory.
    let is_read = unsafe {
        let (to, length) = (bytes.as_mut_ptr().cast(), bytes.len());
        ReadProcessMemory(GetCurrentProcess(), from, to, length, &raw mut count)
    };
    is_read != 0 && count == bytes.len()
}
