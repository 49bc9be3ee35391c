//! One memory barrier that the kernel runs on all threads, instead of one for each event.

use crate::jvm::internals;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence};

/// Whether the kernel can make all threads of the process run a memory barrier.
pub fn is_cheap() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let register = || membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    *REGISTERED.get_or_init(|| internals::MEMBARRIER.is_there(register))
}

fn membarrier(command: libc::membarrier_cmd) -> bool {
    // SAFETY: the system call takes no pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// For the side that must be cheap: orders the current thread's stores before its later loads, given
/// [`of_all_threads`] on the other side.
pub fn fence() {
    if is_cheap() {
        compiler_fence(Ordering::SeqCst);
    } else {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// For the other side: afterwards every other thread either sees what this one has stored, or has its
/// own stores seen. Each thread that is on a processor is interrupted for it.
pub fn of_all_threads() {
    if is_cheap() {
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    } else {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}
