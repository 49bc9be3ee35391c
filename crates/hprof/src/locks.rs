//! `monitor=y`: the locks of java.util.concurrent, at which threads park. libjvmpi.so tells of that as of waiting
//! for a notification, with the setting `park=monitor`.

/// Whether objects of this class block who wants a lock, as a monitor does that has an owner. Others that
/// threads park at wait for a notification, or for a result.
pub fn are_locks(class: &str) -> bool {
    let is_of = |package: &str| class.starts_with(package);
    is_of("java.util.concurrent.Semaphore$") || is_of(LOCKS) && !class.ends_with("$ConditionObject")
}

/// Whether methods of this class only make a thread wait that wants a lock: who wants it is further out.
pub fn are_machinery(class: &str) -> bool {
    let in_locks = class.strip_prefix(LOCKS);
    ["jdk.internal.misc.Unsafe", "sun.misc.Unsafe"].contains(&class)
        || in_locks.is_some_and(|name| name == "LockSupport" || name.starts_with("AbstractQueued"))
}

/// The most frames of such methods one upon the other, as JDK 11 to 25 have it.
pub const MACHINERY: usize = 8;

const LOCKS: &str = "java.util.concurrent.locks.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_a_lock_waits_for_no_notification() {
        for (class, expected) in [
            ("java.util.concurrent.locks.ReentrantLock$NonfairSync", true),
            ("java.util.concurrent.locks.ReentrantReadWriteLock$FairSync", true),
            ("java.util.concurrent.locks.StampedLock", true),
            ("java.util.concurrent.Semaphore$NonfairSync", true),
            ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", false),
            ("java.util.concurrent.CountDownLatch$Sync", false),
            ("java.util.concurrent.ForkJoinPool", false),
            ("java.lang.Object", false),
        ] {
            assert_eq!(are_locks(class), expected, "{class}");
        }
    }
}
