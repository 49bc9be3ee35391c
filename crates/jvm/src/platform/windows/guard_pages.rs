//! Pages whose access is restricted, and a handler for the threads that access them anyway.

pub use crate::platform::types::Access;
use std::mem;
use std::ptr;
use std::sync::OnceLock;
use windows_sys::Win32::Foundation::EXCEPTION_ACCESS_VIOLATION;
use windows_sys::Win32::System::Diagnostics::Debug::{
    AddVectoredExceptionHandler, EXCEPTION_POINTERS,
};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RESERVE, PAGE_NOACCESS, PAGE_READONLY, PAGE_READWRITE, VirtualAlloc,
    VirtualProtect,
};
use windows_sys::Win32::System::SystemInformation::GetSystemInfo;

/// Returns the bytes of a page.
pub fn page_size() -> usize {
    // SAFETY: the structure is plain data, and a local variable.
    unsafe {
        let mut system = mem::zeroed();
        GetSystemInfo(&raw mut system);
        system.dwPageSize as usize
    }
}

pub fn reserve(bytes: usize) -> Option<*mut u8> {
    // SAFETY: new memory, where the system likes it.
    let pages = unsafe { VirtualAlloc(ptr::null(), bytes, MEM_RESERVE, PAGE_NOACCESS) };
    (!pages.is_null()).then_some(pages.cast())
}

/// # Safety
/// The pages are from [`reserve`], and nothing relies on another access to them.
pub unsafe fn protect(start: *mut u8, bytes: usize, access: Access) -> bool {
    let protection = match access {
        Access::None => PAGE_NOACCESS,
        Access::Read => PAGE_READONLY,
        Access::Write => PAGE_READWRITE,
    };
    let mut before = 0;
    // SAFETY: as the caller promises. Pages become memory when they are first used.
    unsafe {
        !VirtualAlloc(start.cast(), bytes, MEM_COMMIT, protection).is_null()
            && VirtualProtect(start.cast(), bytes, protection, &raw mut before) != 0
    }
}

/// Returns true if the instruction that accessed this address may be executed again.
static TOUCHED: OnceLock<fn(usize) -> bool> = OnceLock::new();

pub fn install(touched: fn(usize) -> bool) {
    TOUCHED.get_or_init(|| {
        // SAFETY: the handler has the right type and is never removed.
        unsafe { AddVectoredExceptionHandler(1, Some(on_exception)) };
        touched
    });
}

unsafe extern "system" fn on_exception(pointers: *mut EXCEPTION_POINTERS) -> i32 {
    const CONTINUE_EXECUTION: i32 = -1;
    const CONTINUE_SEARCH: i32 = 0;
    // SAFETY: the system passes a whole record. The second parameter of this exception is the address.
    let record = unsafe { &*(*pointers).ExceptionRecord };
    let address = record.ExceptionInformation[1];
    let is_ours = record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION
        && TOUCHED.get().is_some_and(|touched| touched(address));
    if is_ours { CONTINUE_EXECUTION } else { CONTINUE_SEARCH }
}
