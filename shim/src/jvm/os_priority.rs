//! The priority of a thread as the operating system sees it. By default the JVM does not set
//! it, so that a profiler's thread of the highest priority would wait behind the
//! program's threads like any other.

/// Half the highest niceness against others: ahead of the program, not of the system.
const NICE: i32 = -10;
/// The shortest time slice that Linux gives; a thread that asks for a short one is scheduled soon.
const SLICE_NANOS: u64 = 100_000;

/// Has the current thread scheduled soon after it wakes up, as far as the process may: by a
/// higher weight, which takes a privilege, or else by a short time slice (Linux 6.12).
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
    // SAFETY: the structure has the size that it says; 0 is the current thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) == 0 }
}
