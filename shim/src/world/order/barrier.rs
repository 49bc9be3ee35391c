//! One barrier of the kernel's for all threads instead of one for each event.

use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence};

/// Whether the kernel can make all threads of the process run a memory barrier.
pub fn is_cheap() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
}

fn membarrier(command: libc::membarrier_cmd) -> bool {
    // SAFETY: the system call takes no pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// On the side that must be cheap: orders what the thread that runs has stored before what it loads
/// next, given [`of_all_threads`] on the other side.
pub fn fence() {
    if is_cheap() {
        compiler_fence(Ordering::SeqCst);
    } else {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// On the other side: behind it every thread either sees what was stored before, or what it had stored
/// itself is seen. Each thread that is on a processor is interrupted for it.
pub fn of_all_threads() {
    if is_cheap() {
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    } else {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}
