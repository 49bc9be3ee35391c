//! Bounded waits: a wait for other threads that ends if they cannot continue.
//!
//! The other thread may be in an agent's handler, blocked on a lock that the waiting thread holds: such
//! a wait never ends. A timeout cannot distinguish this deadlock from a thread that merely waits for a
//! processor, which takes as long as the machine is busy. So a wait ends early only if the other thread
//! cannot continue, in one of three cases:
//!
//! - There is a wait-for cycle back to the waiting thread. The known edges are: the owner of a raw
//!   monitor, the owner of a glibc mutex (the VM's locks are such mutexes), the target of another
//!   bounded wait, and the thread that suspended it. (A chain through another bounded wait that does
//!   not lead back is no deadlock, because that wait ends.) The edges are not read at the same time, and
//!   a thread in a bounded wait may be about to see that its wait is over. So a chain of several threads,
//!   or of one in a bounded wait, must still be there when each such thread has checked again.
//! - The thread is blocked, on a lock or in a call that the shim does not know, and uses no CPU time in
//!   [`TURNS`] checks. It is not stopped at a safepoint, because the waiting thread passes a safepoint
//!   before each check. The owner of the lock is not just without a processor, because every runnable
//!   thread of the process has run meanwhile.
//! - The thread has computed for longer than any handler takes, without a step of the awaited work: it
//!   is not in an event that is about to end. The owner of a mutex is exempt: it releases the mutex in
//!   the end.

use super::lock_owner;
use super::raw_monitors;
use crate::records::registry;
use crate::records::thread::Thread;
use crate::records::waits::Awaited;
use jvm::platform::cpu_clock;
use jvm::platform::os_thread::os_thread;
use jvm::platform::scheduling::is_asleep;
use jvm::platform::starving::Starving;
use jvm::platform::sync::atomic::{AtomicU64, Ordering};
use jvm::platform::sync::sleep;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Counts the steps of work that other threads wait for: a collection's events, a replay.
static STEPS: AtomicU64 = AtomicU64::new(0);

/// Records a step of such work.
pub fn count_step() {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// The number of consecutive checks that must find a thread asleep before it counts as blocked. This is
/// not a timeout: the checking thread itself is slowed down if there are too few processors.
const TURNS: u32 = 24;

/// The CPU time in nanoseconds that a thread may use without a step.
const COMPUTING: i64 = 250_000_000;

/// The first and the longest pause between two checks. Most waits are over after the first pause.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LAST_PAUSE: Duration = Duration::from_millis(1);

/// A wait for one or more threads.
pub struct BoundedWait {
    pause: Duration,
    steps: u64,
    seen: Vec<Seen>,
    /// The links of the chains that lead back to the current thread, as they were found first.
    links: Vec<Link>,
    /// The threads without a processor since all awaited threads have seemed blocked.
    starving: Starving,
    /// The current thread's record, in which other threads see the wait target.
    me: Option<Arc<Thread>>,
}

/// An awaited thread.
struct Seen {
    os_thread: i32,
    /// Its CPU time at the first check, or at the first check after a step.
    begun: i64,
    /// Its CPU time at the last check.
    cpu: i64,
    /// The number of consecutive checks that found it asleep.
    asleep: u32,
}

impl BoundedWait {
    pub fn new() -> Self {
        Self {
            pause: FIRST_PAUSE,
            steps: steps(),
            seen: Vec::new(),
            links: Vec::new(),
            starving: Starving::new(),
            me: None,
        }
    }

    /// Returns the pause before the next check, which is twice as long each time.
    pub fn pause(&mut self) -> Duration {
        let next = LAST_PAUSE.min(self.pause * 2);
        std::mem::replace(&mut self.pause, next)
    }

    /// Pauses before the next check.
    pub fn sleep(&mut self) {
        sleep(self.pause());
    }

    /// Returns true if the thread can continue, so that waiting is useful. The caller must hold no
    /// lock: the VM may stop the current thread here.
    pub fn can_continue(&mut self, other: i32) -> bool {
        self.set_target(other);
        self.can_any_continue(&[other])
    }

    /// Publishes the thread that the current thread waits for. Threads that wait for the current one
    /// read it.
    pub fn set_target(&mut self, other: i32) {
        if self.me.is_none() {
            self.me = registry::by_env(registry::known_current_env());
        }
        if let Some(me) = &self.me {
            me.waits_for.set(other);
        }
    }

    /// Publishes that the wait of the current thread ends whatever other threads do.
    pub fn ends_by_itself(&mut self) {
        self.set_target(os_thread());
    }

    /// Returns true if one of the threads can continue: then waiting for all is useful. The caller must
    /// hold no lock, as above.
    pub fn can_any_continue(&mut self, others: &[i32]) -> bool {
        let threads = registry::all();
        // A thread that is still asleep after this is not stopped at a safepoint.
        if let Some(jni) = jvm::try_get().and_then(jvm::Jvm::jni) {
            jni.pass_safepoint();
        }
        let steps = steps();
        if steps != self.steps {
            self.steps = steps;
            self.seen.clear();
        }
        // By thread, so that each is checked once even if several chains lead to it.
        let (mut ends, mut one_ends) = (BTreeMap::new(), false);
        let mut links = Vec::new();
        for other in others {
            let mut chain = Vec::new();
            match end_of_chain(&threads, *other, &mut chain) {
                End::Me { is_certain: true } => {}
                End::Me { .. } => {
                    one_ends |= !self.are_confirmed(&chain);
                    links.append(&mut chain);
                }
                End::BoundedWait => one_ends = true,
                End::Other { os_thread, has_mutex } => {
                    *ends.entry(os_thread).or_insert(false) |= has_mutex;
                }
            }
        }
        self.links.retain(|known| links.iter().any(|link| known.is_same(link)));
        self.seen.retain(|seen| ends.contains_key(&seen.os_thread));
        // No short circuit: every thread has to be checked.
        let continues =
            |(os_thread, has_mutex): &(&i32, &bool)| self.continues(**os_thread, **has_mutex);
        let one_continues = ends.iter().filter(continues).count() > 0 || one_ends;
        if one_continues {
            self.starving = Starving::new();
        }
        one_continues || !ends.is_empty() && self.starving.is_any()
    }

    /// Takes note of a chain that leads back to the current thread. Returns true if it was found before and is no
    /// mistake: since then each thread in a wait of this kind has looked again, and continues to wait.
    fn are_confirmed(&mut self, chain: &[Link]) -> bool {
        let mut are_confirmed = true;
        for link in chain {
            let first = self.links.iter().find(|known| known.is_same(link));
            are_confirmed &= first.is_some_and(|first| link.has_looked_since(first));
            if first.is_none() {
                self.links.push(*link);
            }
        }
        are_confirmed
    }

    /// Returns true if a thread that waits for no known thread can continue.
    fn continues(&mut self, os_thread: i32, has_mutex: bool) -> bool {
        // The state is read first: if the thread runs after that, its clock shows it.
        let is_asleep = is_asleep(os_thread);
        let Some(cpu) = cpu_clock::of(os_thread) else { return false };
        let Some(seen) = self.seen.iter_mut().find(|seen| seen.os_thread == os_thread) else {
            self.seen.push(Seen { os_thread, begun: cpu, cpu, asleep: 0 });
            return true;
        };
        seen.asleep = if is_asleep && cpu == seen.cpu { seen.asleep + 1 } else { 0 };
        seen.cpu = cpu;
        seen.asleep < TURNS && (has_mutex || cpu - seen.begun < COMPUTING)
    }
}

impl Drop for BoundedWait {
    fn drop(&mut self) {
        if let Some(me) = &self.me {
            me.waits_for.clear();
        }
    }
}

fn steps() -> u64 {
    STEPS.load(Ordering::Relaxed)
}

fn find(threads: &[Arc<Thread>], os_thread: i32) -> Option<&Arc<Thread>> {
    threads.iter().find(|thread| thread.os_thread() == os_thread)
}

/// A thread that waits for the next one of a chain.
#[derive(Clone, Copy)]
struct Link {
    os_thread: i32,
    /// [`WaitTarget::checks`](crate::records::waits::WaitTarget::checks), if the thread is in a wait of this kind.
    checks: Option<u32>,
}

impl Link {
    /// Returns true if this is the same thread in a wait of the same kind.
    fn is_same(&self, other: &Self) -> bool {
        self.os_thread == other.os_thread && self.checks.is_some() == other.checks.is_some()
    }

    /// Returns true if the thread has begun and ended a look since `first`, or is blocked. Before that, it may not know
    /// yet that what it waits for has happened.
    fn has_looked_since(&self, first: &Self) -> bool {
        let checks = self.checks.zip(first.checks);
        checks.is_none_or(|(checks, first)| checks.wrapping_sub(first) >= 2)
    }
}

/// The end of a chain of threads in which each waits for the next.
enum End {
    /// The current thread: a deadlock. It is certain if the current thread itself blocks the first one. The edges of a
    /// longer chain were not read at the same time, and a thread in a bounded wait may be about to check.
    Me { is_certain: bool },
    /// The chain contains a bounded wait, which ends by itself.
    BoundedWait,
    /// A thread that waits for no known thread. `has_mutex` is true if its mutex is the last edge.
    Other { os_thread: i32, has_mutex: bool },
}

/// Follows the wait-for edges from the thread `first`, and adds them to `links`.
fn end_of_chain(threads: &[Arc<Thread>], first: i32, links: &mut Vec<Link>) -> End {
    let me = os_thread();
    let (mut last, mut is_bounded, mut has_mutex) = (first, false, false);
    // The bound ends a cycle of other threads. Any of them then stands for all of them: if it is no
    // deadlock, they wake up.
    for _ in 0..threads.len().max(8) {
        if last == me {
            break;
        }
        let thread = find(threads, last);
        let awaited = thread.and_then(|thread| thread.waits_for.awaited());
        let suspender = thread.and_then(|thread| thread.suspension.suspender());
        let next = match awaited {
            Some(Awaited::Thread(other)) => Some(other),
            Some(Awaited::RawMonitor(number)) => raw_monitors::owner(number),
            None if suspender.is_some() => suspender,
            None if is_asleep(last) => lock_owner::of(last),
            None => None,
        };
        let Some(next) = next.filter(|next| *next != 0) else { break };
        has_mutex = awaited.is_none() && suspender.is_none();
        let is_check = matches!(awaited, Some(Awaited::Thread(_)));
        is_bounded |= is_check;
        let checks = thread.filter(|_| is_check).map(|thread| thread.waits_for.checks());
        links.push(Link { os_thread: last, checks });
        last = next;
    }
    match last {
        last if last == me => End::Me { is_certain: links.len() <= 1 && !is_bounded },
        _ if is_bounded => End::BoundedWait,
        last => End::Other { os_thread: last, has_mutex },
    }
}

#[cfg(all(test, not(feature = "model")))]
mod tests {
    use super::*;
    use crate::sync::lock_owner::tests::{CMutex, is_shown};
    use crate::threads;
    use jvm::platform::starving::SLICE;
    use std::sync::atomic::{AtomicBool, AtomicI32};
    use std::sync::{Barrier, Mutex};

    /// Runs `wait` for a thread that does `work` until it gets the lock.
    fn wait_for(work: fn(&Mutex<()>), wait: impl FnOnce(i32)) {
        let (number, lock, begun) = (AtomicI32::new(0), Mutex::new(()), Barrier::new(2));
        let held = lock.lock().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                number.store(os_thread(), Ordering::Relaxed);
                begun.wait();
                work(&lock);
            });
            begun.wait();
            wait(number.load(Ordering::Relaxed));
            drop(held);
        });
    }

    fn sleep_until(lock: &Mutex<()>) {
        drop(lock.lock());
    }

    fn compute_until(lock: &Mutex<()>) {
        while lock.try_lock().is_err() {}
    }

    fn wait_in_vain(other: i32) {
        let mut waiting = BoundedWait::new();
        while waiting.can_continue(other) {
            waiting.sleep();
        }
    }

    #[test]
    fn sleeping_thread_is_not_waited_for() {
        wait_for(sleep_until, wait_in_vain);
    }

    #[test]
    fn a_thread_that_is_gone_is_not_waited_for() {
        wait_in_vain(std::thread::spawn(os_thread).join().unwrap());
    }

    fn sleep_known(lock: &Mutex<()>) {
        let me = threads::adopt_for_test(0x5000);
        sleep_until(lock);
        threads::ended(&me);
    }

    #[test]
    fn suspended_thread_is_waited_for_while_its_suspender_can_continue() {
        wait_for(sleep_known, |suspended| {
            let record = loop {
                if let Some(record) = find(&registry::all(), suspended) {
                    break record.clone();
                }
            };
            wait_for(compute_until, |suspender| {
                record.suspension.suspend_for_test(suspender);
                let mut waiting = BoundedWait::new();
                for _ in 0..2 * TURNS {
                    assert!(waiting.can_continue(suspended));
                    sleep(FIRST_PAUSE);
                }
            });
            record.suspension.suspend_for_test(os_thread());
            assert!(!BoundedWait::new().can_continue(suspended));
            record.suspension.resume_for_test();
        });
    }

    #[test]
    fn a_thread_that_computes_is_waited_for() {
        wait_for(compute_until, |other| {
            let clock = || cpu_clock::of(other).unwrap();
            let (mut waiting, begun) = (BoundedWait::new(), clock());
            while clock() - begun < COMPUTING / 2 {
                assert!(waiting.can_continue(other));
                waiting.sleep();
            }
            // A step shows that the awaited work makes progress.
            let begun = clock();
            count_step();
            while waiting.can_continue(other) {
                waiting.sleep();
            }
            assert!(clock() - begun >= COMPUTING);
        });
    }

    /// Runs `work` on a thread of the lowest priority while others occupy all processors.
    fn starved<R>(work: impl FnOnce() -> R + Send) -> R
    where
        R: Send,
    {
        let (is_over, idle) = (AtomicBool::new(false), libc::sched_param { sched_priority: 0 });
        std::thread::scope(|scope| {
            for _ in 0..2 * std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let starved = scope.spawn(|| {
                // SAFETY: the parameter lives as long as the call.
                assert_eq!(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &idle) }, 0);
                work()
            });
            let result = starved.join();
            is_over.store(true, Ordering::Relaxed);
            result.unwrap()
        })
    }

    #[test]
    fn a_sleeper_is_waited_for_while_the_owner_of_its_lock_gets_no_processor() {
        let (lock, begun) = (Mutex::new(()), Barrier::new(3));
        let (number, is_free) = (AtomicI32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                starved(|| {
                    let held = lock.lock();
                    begun.wait();
                    let clock = || cpu_clock::of(os_thread()).unwrap();
                    let begun = clock();
                    while clock() - begun < SLICE / 3 {}
                    is_free.store(true, Ordering::Relaxed);
                    drop(held);
                });
            });
            scope.spawn(|| {
                number.store(os_thread(), Ordering::Relaxed);
                begun.wait();
                drop(lock.lock());
            });
            begun.wait();
            let mut waiting = BoundedWait::new();
            while !is_free.load(Ordering::Relaxed) {
                let is_left = waiting.can_continue(number.load(Ordering::Relaxed));
                assert!(is_left || is_free.load(Ordering::Relaxed));
                waiting.sleep();
            }
        });
    }

    #[test]
    fn the_owner_of_a_mutex_is_waited_for_however_long_it_computes() {
        if !is_shown() {
            return;
        }
        let clock = || cpu_clock::of(os_thread()).unwrap();
        let (mutex, is_free) = (CMutex::new(), AtomicBool::new(false));
        mutex.while_awaited(|other| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut waiting = BoundedWait::new();
                    while waiting.can_continue(other) && !is_free.load(Ordering::Relaxed) {
                        waiting.sleep();
                    }
                    assert!(is_free.load(Ordering::Relaxed));
                });
                let begun = clock();
                while clock() - begun < 2 * COMPUTING {}
                is_free.store(true, Ordering::Relaxed);
                mutex.unlock();
            });
        });
    }

    #[test]
    fn thread_that_waits_for_our_mutex_is_not_waited_for() {
        if !is_shown() {
            return;
        }
        let mutex = CMutex::new();
        mutex.while_awaited(|other| {
            assert!(!BoundedWait::new().can_continue(other));
            mutex.unlock();
        });
    }

    #[test]
    fn a_thread_to_which_two_chains_lead_is_looked_at_once_at_a_time() {
        if !is_shown() {
            return;
        }
        let mutex = CMutex::new();
        let (owner, lock, begun) = (AtomicI32::new(0), Mutex::new(()), Barrier::new(2));
        let held = lock.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                mutex.while_awaited(|other| {
                    owner.store(other, Ordering::Relaxed);
                    begun.wait();
                    drop(lock.lock());
                    mutex.unlock();
                });
            });
            begun.wait();
            let other = owner.load(Ordering::Relaxed);
            let owner = lock_owner::of(other).unwrap();
            let (mut waiting, mut checks) = (BoundedWait::new(), 0);
            while waiting.can_any_continue(&[other, owner]) {
                checks += 1;
                waiting.sleep();
            }
            assert!(checks >= TURNS, "{checks} checks");
            drop(held);
        });
    }

    #[test]
    fn several_threads_are_waited_for_while_one_can_continue() {
        wait_for(sleep_until, |sleeper| {
            wait_for(compute_until, |other| {
                let mut waiting = BoundedWait::new();
                for _ in 0..2 * TURNS {
                    assert!(waiting.can_any_continue(&[sleeper, other]));
                    sleep(FIRST_PAUSE);
                }
            });
        });
    }
}
