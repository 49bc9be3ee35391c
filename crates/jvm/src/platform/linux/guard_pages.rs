//! Pages whose access is restricted, and a handler for the threads that access them anyway.

pub use crate::platform::types::Access;
use libc::{c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::OnceLock;

/// Returns the bytes of a page, which on AArch64 the kernel is built for.
pub fn page_size() -> usize {
    // SAFETY: sysconf has no preconditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Reserves memory that nothing can access yet; None if there is none.
pub fn reserve(bytes: usize) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: new memory, where the system likes it.
    let pages = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    (pages != libc::MAP_FAILED).then_some(pages.cast())
}

/// Allows and forbids accesses to whole pages. Returns false if the system refuses.
///
/// # Safety
/// The pages are from [`reserve`], and nothing relies on another access to them.
pub unsafe fn protect(start: *mut u8, bytes: usize, access: Access) -> bool {
    let protection = match access {
        Access::None => libc::PROT_NONE,
        Access::Read => libc::PROT_READ,
        Access::Write => libc::PROT_READ | libc::PROT_WRITE,
    };
    // SAFETY: as the caller promises.
    unsafe { libc::mprotect(start.cast(), bytes, protection) == 0 }
}

/// The handler of SIGSEGV that was set before ours.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Returns true if the instruction that accessed this address may be executed again.
static TOUCHED: OnceLock<fn(usize) -> bool> = OnceLock::new();

/// Installs the handler, once, and the function that it asks about each address. The VM's has its turn when the
/// function returns false.
pub fn install(touched: fn(usize) -> bool) {
    TOUCHED.get_or_init(|| {
        // SAFETY: both structures are whole, and the handler has the type that SA_SIGINFO asks for. It needs
        // `BEFORE` as soon as it is in place.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            libc::sigaction(libc::SIGSEGV, ptr::null(), &raw mut action);
            BEFORE.get_or_init(|| action);
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags |= libc::SA_SIGINFO;
            libc::sigaction(libc::SIGSEGV, &raw const action, ptr::null_mut());
        }
        touched
    });
}

unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a whole structure.
    let address = unsafe { (*info).si_addr() }.addr();
    if TOUCHED.get().is_some_and(|touched| touched(address)) {
        return;
    }
    // SAFETY: it is called as the system would have called it.
    unsafe {
        match BEFORE.get() {
            Some(before) if before.sa_sigaction > libc::SIG_IGN => {
                if before.sa_flags & libc::SA_SIGINFO != 0 {
                    type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
                    mem::transmute::<usize, Handler>(before.sa_sigaction)(signal, info, context);
                } else {
                    mem::transmute::<usize, unsafe extern "C" fn(c_int)>(before.sa_sigaction)(
                        signal,
                    );
                }
            }
            // The instruction is executed again, and ends the process.
            _ => _ = libc::signal(signal, libc::SIG_DFL),
        }
    }
}
