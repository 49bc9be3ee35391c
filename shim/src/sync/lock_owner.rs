//! The owner of the mutex that a thread waits for in the kernel.
//!
//! The VM's locks and most agents' locks are mutexes of the C library. Linux shows the system call in
//! which a thread waits, with the address of the mutex, in which glibc keeps the owner's number. The
//! result is used only if everything that was read is consistent.

use jvm::internals;
use jvm::platform::own_memory;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// The number of 32-bit words of a mutex that are read.
const WORDS: usize = 3;

/// The first and the third word of a glibc mutex.
struct Mutex {
    lock: u32,
    owner: i32,
}

/// glibc's value of a lock that is held and that threads wait for.
const CONTENDED: u32 = 2;

/// Returns the owner of the mutex that this thread waits for. None if it waits for none, or if the
/// owner cannot be determined.
pub fn of(os_thread: i32) -> Option<i32> {
    if !is_shown() {
        return None;
    }
    let call = fs::read_to_string(format!("/proc/self/task/{os_thread}/syscall")).ok()?;
    let mut words = call.split_whitespace();
    let number: libc::c_long = words.next()?.parse().ok()?;
    let mut argument = || usize::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (address, operation, value) = (argument()?, argument()?, argument()?);
    let waits = operation & !(libc::FUTEX_PRIVATE_FLAG as usize) == libc::FUTEX_WAIT as usize;
    if number != libc::SYS_futex || !waits || value != CONTENDED as usize {
        return None;
    }
    let mutex = read(address)?;
    let is_one = mutex.lock == CONTENDED && mutex.owner != os_thread;
    let exists = |owner: i32| Path::new(&format!("/proc/self/task/{owner}")).exists();
    (is_one && mutex.owner > 0 && exists(mutex.owner)).then_some(mutex.owner)
}

/// Returns true if the kernel shows the needed data, which a sandbox may forbid.
pub fn is_shown() -> bool {
    static IS_SHOWN: OnceLock<bool> = OnceLock::new();
    let look = || {
        let words = [0_u32; WORDS];
        // A mutex of musl does not say who owns it.
        if cfg!(not(target_env = "gnu")) {
            return false;
        }
        // An emulator's own system call may have another number.
        let call = fs::read_to_string("/proc/thread-self/syscall").unwrap_or_default();
        let is_this = call.split(' ').next() == Some(&libc::SYS_read.to_string());
        is_this && read(words.as_ptr().expose_provenance()).is_some()
    };
    *IS_SHOWN.get_or_init(|| internals::MUTEX_OWNER.is_there(look))
}

/// Reads the mutex at an address of this process. None if the memory is unmapped, because the thread
/// may have continued and freed the mutex.
fn read(address: usize) -> Option<Mutex> {
    let mut words = [[0; size_of::<u32>()]; WORDS];
    let is_there = own_memory::read(address, words.as_flattened_mut());
    let [lock, _count, owner] = words;
    let mutex = Mutex { lock: u32::from_ne_bytes(lock), owner: i32::from_ne_bytes(owner) };
    is_there.then_some(mutex)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use jvm::platform::os_thread::os_thread;
    use std::cell::UnsafeCell;
    use std::sync::atomic::{AtomicI32, Ordering};

    /// A mutex of the C library, such as agents use.
    pub struct CMutex(UnsafeCell<libc::pthread_mutex_t>);

    // SAFETY: a `pthread_mutex_t` may be used by several threads at once, and only its address is
    // passed on.
    unsafe impl Sync for CMutex {}

    impl CMutex {
        pub const fn new() -> Self {
            Self(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
        }

        pub fn lock(&self) {
            // SAFETY: the mutex has the value of its static initializer.
            unsafe { libc::pthread_mutex_lock(self.0.get()) };
        }

        pub fn unlock(&self) {
            // SAFETY: as above; the caller has locked it.
            unsafe { libc::pthread_mutex_unlock(self.0.get()) };
        }

        /// Locks the mutex, and runs `f` with the number of a thread that waits for it. `f` unlocks
        /// the mutex.
        pub fn while_awaited(&self, f: impl FnOnce(i32)) {
            self.lock();
            let number = AtomicI32::new(0);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    number.store(os_thread(), Ordering::Relaxed);
                    self.lock();
                    self.unlock();
                });
                // Waits until the thread is blocked on the mutex.
                while of(number.load(Ordering::Relaxed)).is_none() {
                    std::thread::yield_now();
                }
                f(number.load(Ordering::Relaxed));
            });
        }
    }

    /// Returns true if the tests can run.
    pub fn is_shown() -> bool {
        let is_shown = super::is_shown();
        if !is_shown {
            println!("skipped: the kernel does not show who waits for which mutex");
        }
        is_shown
    }

    #[test]
    fn the_owner_of_a_mutex_is_found_by_a_thread_that_waits_for_it() {
        if !is_shown() {
            return;
        }
        let mutex = CMutex::new();
        assert_eq!(of(os_thread()), None);
        mutex.while_awaited(|waiting| {
            assert_eq!(of(waiting), Some(os_thread()));
            mutex.unlock();
        });
    }

    #[test]
    fn unmapped_address_is_not_read() {
        assert!(read(16).is_none());
    }
}
