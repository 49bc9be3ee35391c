//! The memory barrier that the kernel runs on all threads of the process.

/// Registers the process for such barriers; false if the kernel has none.
pub fn register() -> bool {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

/// Has each thread that is on a processor run a memory barrier. The process must have been registered.
pub fn of_all_threads() {
    membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

fn membarrier(command: libc::membarrier_cmd) -> bool {
    // SAFETY: the system call takes no pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}
