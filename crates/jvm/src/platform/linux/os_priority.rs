//! The operating system's priority of a thread. By default the JVM does not set it, so a profiler's thread with the
//! highest Java priority would still wait for a CPU like any thread of the program.

/// Half of the highest niceness: ahead of the program's threads, but not of the system's.
const NICE: i32 = -10;
/// The shortest time slice that Linux grants. A thread with a short slice is scheduled sooner.
const SLICE_NANOS: u64 = 100_000;

/// Makes the current thread run soon after it wakes up, as far as the process is permitted to: by a higher weight,
/// which needs a privilege, or else by a short time slice (Linux 6.12).
pub fn favour_current_thread() {
    if !set(NICE) {
        set(0);
    }
}

fn set(nice: i32) -> bool {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: SLICE_NANOS,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the structure has the size in its first field; 0 means the current thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) == 0 }
}
