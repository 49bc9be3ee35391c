//! A memory barrier that the kernel runs on all threads, instead of one barrier per event.

use jvm::internals;
use jvm::platform::membarrier;
use jvm::platform::sync::atomic::{self, Ordering, compiler_fence};
use std::sync::OnceLock;
use std::thread;

/// True if the kernel can run a memory barrier on all threads of the process; unset until that is known.
static REGISTERED: OnceLock<bool> = OnceLock::new();

/// Registers the process for such barriers, on a separate thread. If there are other threads, the kernel waits for
/// an RCU grace period of about 20 ms. Until registration is done, events use barriers of their own.
pub fn register_early() {
    let thread = thread::Builder::new().name("jvmpi barrier".to_owned());
    if let Err(error) = thread.spawn(is_registered) {
        log::debug!("the kernel is asked for memory barriers later: {error}");
    }
}

/// Registers the process, or waits until that has been done. [`of_all_threads`] calls this, so that it never runs a
/// barrier of its own while another thread relies on the kernel's.
fn is_registered() -> bool {
    *REGISTERED.get_or_init(|| internals::MEMBARRIER.is_there(membarrier::register))
}

/// Returns true if the kernel is known to be able to run a memory barrier on all threads of the process.
pub fn is_cheap() -> bool {
    REGISTERED.get().copied().unwrap_or(false)
}

/// For the side that must be cheap: orders the current thread's stores before its later loads, provided that the
/// other side calls [`of_all_threads`].
pub fn fence() {
    if is_cheap() {
        compiler_fence(Ordering::SeqCst);
    } else {
        atomic::fence(Ordering::SeqCst);
    }
}

/// For the other side: afterwards every other thread either sees this thread's stores, or its own stores are seen
/// here. Each thread that is on a processor is interrupted for it.
pub fn of_all_threads() {
    if is_registered() {
        membarrier::of_all_threads();
    } else {
        atomic::fence(Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_are_cheap_once_the_kernel_has_registered_the_process() {
        register_early();
        of_all_threads();
        assert_eq!(is_cheap(), is_registered());
        // SAFETY: the system call takes no pointers.
        let known =
            unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0, 0) };
        let bit = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED as libc::c_long;
        assert_eq!(is_cheap(), known > 0 && known & bit != 0);
    }
}
