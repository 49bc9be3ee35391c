//! `monitor=y`: the locks of java.util.concurrent, at which threads park. With the setting `park=monitor`,
//! libjvmpi.so reports parking as a wait for a notification.

/// Returns true if threads that park at objects of this class wait for a lock, as at an owned monitor. Threads
/// that park at other objects wait for a notification or a result.
pub fn are_locks(class: &str) -> bool {
    let is_of = |package: &str| class.starts_with(package);
    is_of("java.util.concurrent.Semaphore$") || is_of(LOCKS) && !class.ends_with("$ConditionObject")
}

/// Returns true if this class only implements the waiting: the method that wants the lock is further out.
pub fn are_machinery(class: &str) -> bool {
    let in_locks = class.strip_prefix(LOCKS);
    ["jdk.internal.misc.Unsafe", "sun.misc.Unsafe"].contains(&class)
        || in_locks.is_some_and(|name| name == "LockSupport" || name.starts_with("AbstractQueued"))
}

/// The maximum number of such frames in a row, in JDK 11 to 25.
pub const MACHINERY: usize = 8;

const LOCKS: &str = "java.util.concurrent.locks.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_classes_and_condition_classes_are_distinguished() {
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
