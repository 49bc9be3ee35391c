//! Waiting for other threads, as long as they can go on.
//!
//! Who is waited for may be in an agent's handler, and the agent may hold a lock that the one who
//! waits would have to release: such a wait never ends. Time does not tell that from a thread that
//! merely waits for a processor, which may take as long as the machine is busy. So a wait is given up
//! only for a thread that cannot go on. What that is:
//!
//! - It waits for the one that waits for it: at raw monitors, at mutexes of the C library, as the VM's
//!   locks are, and in waits of this kind, whose owners and aims are known, directly or through others.
//!   (If it waits for somebody else in a wait of this kind, it gives that up when it has to, and so goes
//!   on.)
//! - It sleeps, at some lock or in some call that nobody here knows of, and goes on sleeping without
//!   having used its processor in between: not because the VM has stopped it, as the one who waits
//!   looks only when the VM lets it run itself; and not because whoever has the lock is kept from a
//!   processor, as each thread of the process that wants one has had one meanwhile.
//! - It has computed for longer than any handler takes, and done no step of what is waited for. Then it
//!   is no event that is about to end. Who has a mutex gives it back, however long that takes.

use super::aim::Awaited;
use super::lock_owner;
use crate::jvm;
use crate::world::threads::os_thread::os_thread;
use crate::world::threads::record::Thread;
use crate::world::threads::{registry, running};
use crate::world::{cpu_clock, raw_monitors};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Counts what is done of that for which others wait: a collection that is played, a replay.
static STEPS: AtomicU64 = AtomicU64::new(0);

/// Takes note that what others wait for has got a step further.
pub fn count_step() {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// How often a thread is found asleep in a row until it counts as one that does not wake by itself.
/// They are counted by the one who waits, which gets its turns as slowly as all others do where there
/// are too few processors.
const TURNS: u32 = 24;

/// How many nanoseconds of its processor's time a thread may use without a step.
const COMPUTING: i64 = 250_000_000;

/// A thread that has had a processor for so many nanoseconds has given back what it held for a moment
/// only, as the VM's locks are held: the scheduler gives about as much at once.
const SLICE: i64 = 3_000_000;

/// The pauses between two looks: most waits are over after the first.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LAST_PAUSE: Duration = Duration::from_millis(1);

/// One wait for others.
pub struct BoundedWait {
    pause: Duration,
    steps: u64,
    seen: Vec<Seen>,
    /// Those that want a processor and have not had their [`SLICE`] since none of the others seemed to
    /// go on; None as long as one does.
    starving: Option<Vec<Starving>>,
    /// The record in which the aim of the wait is to be seen.
    me: Option<Arc<Thread>>,
}

/// A thread that is waited for.
struct Seen {
    os_thread: i32,
    /// Its CPU time when it was looked at first, or when there was a step.
    begun: i64,
    /// Its CPU time when it was looked at last.
    cpu: i64,
    /// How often it has been found asleep in a row.
    asleep: u32,
}

/// A thread that wants a processor, with the CPU time at which it has had its [`SLICE`].
struct Starving {
    os_thread: i32,
    until: i64,
}

impl BoundedWait {
    pub fn new() -> Self {
        Self { pause: FIRST_PAUSE, steps: steps(), seen: Vec::new(), starving: None, me: None }
    }

    /// How long to pause before the next look.
    pub fn pause(&mut self) -> Duration {
        let next = LAST_PAUSE.min(self.pause * 2);
        std::mem::replace(&mut self.pause, next)
    }

    /// Pauses before the next look.
    pub fn sleep(&mut self) {
        sleep(self.pause());
    }

    /// Whether the wait for this thread makes sense still. No lock may be held, as the VM may stop the
    /// thread that runs here.
    pub fn can_go_on(&mut self, other: i32) -> bool {
        self.aim_at(other);
        self.look(&registry::all(), &[other])
    }

    /// Shows for whom the thread that runs waits, so that those who wait for it know.
    pub fn aim_at(&mut self, other: i32) {
        if self.me.is_none() {
            self.me = registry::by_env(running::known_current_env());
        }
        if let Some(me) = &self.me {
            me.waits_for.set(other);
        }
    }

    /// Shows that the wait of the thread that runs ends whatever others do.
    pub fn ends_by_itself(&mut self) {
        self.aim_at(os_thread());
    }

    /// Whether one of these threads can go on, so that the wait for all of them makes sense still. No
    /// lock may be held, as above.
    pub fn can_any_go_on(&mut self, others: &[i32]) -> bool {
        self.look(&registry::all(), others)
    }

    fn look(&mut self, threads: &[Arc<Thread>], others: &[i32]) -> bool {
        // Who is still asleep behind this does not sleep because the VM stands still.
        if let Some(jni) = jvm::try_get().and_then(jvm::Jvm::jni) {
            jni.pass_safepoint();
        }
        let steps = steps();
        if steps != self.steps {
            self.steps = steps;
            self.seen.clear();
        }
        let (mut ends, mut one_ends) = (Vec::new(), false);
        for other in others {
            match end_of_line(threads, *other) {
                End::Me => {}
                End::BoundedWait => one_ends = true,
                End::Other { os_thread, has_mutex } => ends.push((os_thread, has_mutex)),
            }
        }
        ends.sort_unstable();
        ends.dedup();
        self.seen.retain(|seen| ends.iter().any(|(os_thread, _)| *os_thread == seen.os_thread));
        // Each is looked at, as its sleep is counted.
        let goes_on = |(os_thread, has_mutex): &&(i32, bool)| self.goes_on(*os_thread, *has_mutex);
        let one_goes_on = ends.iter().filter(goes_on).count() > 0 || one_ends;
        if one_goes_on {
            self.starving = None;
        }
        one_goes_on || !ends.is_empty() && self.somebody_starves()
    }

    /// Whether a thread of the process that wants a processor has not had one since this was asked
    /// first: it may be the one that could wake the others.
    fn somebody_starves(&mut self) -> bool {
        let starving = self.starving.get_or_insert_with(|| {
            let me = os_thread();
            let wants = |os_thread: &i32| *os_thread != me && !is_asleep(*os_thread);
            let has_had =
                |os_thread| Some(Starving { os_thread, until: cpu_clock::of(os_thread)? + SLICE });
            os_threads().filter(wants).filter_map(has_had).collect()
        });
        starving.retain(|Starving { os_thread, until }| {
            cpu_clock::of(*os_thread).is_some_and(|cpu| cpu < *until) && !is_asleep(*os_thread)
        });
        !starving.is_empty()
    }

    /// Whether a thread that waits for none that is known may do something.
    fn goes_on(&mut self, os_thread: i32, has_mutex: bool) -> bool {
        // The state comes first: who has run since shows it by the clock.
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

/// What a wait for a thread comes down to, if that waits itself.
enum End {
    /// The thread that runs: nobody gets on.
    Me,
    /// A wait of this kind, which is given up if need be: it ends.
    BoundedWait,
    /// A thread that waits for none that is known, and whether another one waits for its mutex.
    Other { os_thread: i32, has_mutex: bool },
}

/// Follows those that wait one for the other, beginning with this thread.
fn end_of_line(threads: &[Arc<Thread>], first: i32) -> End {
    let me = os_thread();
    let (mut last, mut is_bounded, mut has_mutex) = (first, false, false);
    // In a circle of others anyone is as good as the last: if it is not for ever, they wake.
    for _ in 0..threads.len().max(8) {
        if last == me {
            return End::Me;
        }
        let awaited = find(threads, last).and_then(|thread| thread.waits_for.awaited());
        let next = match awaited {
            Some(Awaited::Thread(other)) => Some(other),
            Some(Awaited::RawMonitor(number)) => raw_monitors::owner(number),
            None if is_asleep(last) => lock_owner::of(last),
            None => None,
        };
        let Some(next) = next.filter(|next| *next != 0) else { break };
        has_mutex = awaited.is_none();
        is_bounded |= matches!(awaited, Some(Awaited::Thread(_)));
        last = next;
    }
    match last {
        last if last == me => End::Me,
        _ if is_bounded => End::BoundedWait,
        last => End::Other { os_thread: last, has_mutex },
    }
}

/// All threads of the process.
fn os_threads() -> impl Iterator<Item = i32> {
    let all = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether the thread sleeps until something happens, and neither runs nor waits for a processor or a
/// disk.
fn is_asleep(os_thread: i32) -> bool {
    let Ok(stat) = fs::read(format!("/proc/self/task/{os_thread}/stat")) else {
        // Then only its clock tells.
        return true;
    };
    // The name comes before, in parentheses, and may be anything.
    let name_end = stat.iter().rposition(|byte| *byte == b')');
    name_end.and_then(|end| stat.get(end + 2)) == Some(&b'S')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::order::lock_owner::tests::CMutex;
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
        while waiting.can_go_on(other) {
            waiting.sleep();
        }
    }

    #[test]
    fn a_sleeper_is_given_up() {
        wait_for(sleep_until, wait_in_vain);
    }

    #[test]
    fn who_is_gone_is_not_waited_for() {
        wait_in_vain(std::thread::spawn(os_thread).join().unwrap());
    }

    #[test]
    fn who_computes_is_waited_for() {
        wait_for(compute_until, |other| {
            let clock = || cpu_clock::of(other).unwrap();
            let (mut waiting, begun) = (BoundedWait::new(), clock());
            while clock() - begun < COMPUTING / 2 {
                assert!(waiting.can_go_on(other));
                waiting.sleep();
            }
            // A step shows that what is waited for is being done.
            let begun = clock();
            count_step();
            while waiting.can_go_on(other) {
                waiting.sleep();
            }
            assert!(clock() - begun >= COMPUTING);
        });
    }

    /// Does `work` while threads of the usual priority take all processors from it.
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
    fn a_sleeper_is_waited_for_whose_lock_another_cannot_give_back_for_want_of_a_processor() {
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
                let is_left = waiting.can_go_on(number.load(Ordering::Relaxed));
                assert!(is_left || is_free.load(Ordering::Relaxed));
                waiting.sleep();
            }
        });
    }

    /// Runs `wait` for a thread that waits for the mutex, which `owner` has meanwhile.
    fn wait_for_mutex(owner: impl FnOnce(&dyn Fn()) + Send, wait: impl FnOnce(i32) + Send) {
        let (mutex, number) = (CMutex::new(), AtomicI32::new(0));
        let begun = Barrier::new(2);
        std::thread::scope(|scope| {
            let (mutex, number, begun) = (&mutex, &number, &begun);
            mutex.lock();
            scope.spawn(|| {
                number.store(os_thread(), Ordering::Relaxed);
                begun.wait();
                mutex.lock();
                mutex.unlock();
            });
            begun.wait();
            let number = number.load(Ordering::Relaxed);
            while lock_owner::of(number).is_none() {
                std::thread::yield_now();
            }
            std::thread::scope(|scope| {
                scope.spawn(|| wait(number));
                owner(&|| mutex.unlock());
            });
        });
    }

    #[test]
    fn who_has_a_mutex_is_waited_for_however_long_it_computes() {
        let clock = || cpu_clock::of(os_thread()).unwrap();
        let is_free = AtomicBool::new(false);
        wait_for_mutex(
            |unlock| {
                let begun = clock();
                while clock() - begun < 2 * COMPUTING {}
                is_free.store(true, Ordering::Relaxed);
                unlock();
            },
            |other| {
                let mut waiting = BoundedWait::new();
                while waiting.can_go_on(other) && !is_free.load(Ordering::Relaxed) {
                    waiting.sleep();
                }
                assert!(is_free.load(Ordering::Relaxed));
            },
        );
    }

    #[test]
    fn who_waits_for_a_mutex_of_the_one_who_waits_is_given_up_at_once() {
        let (mutex, number) = (CMutex::new(), AtomicI32::new(0));
        mutex.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                number.store(os_thread(), Ordering::Relaxed);
                mutex.lock();
                mutex.unlock();
            });
            while lock_owner::of(number.load(Ordering::Relaxed)).is_none() {
                std::thread::yield_now();
            }
            assert!(!BoundedWait::new().can_go_on(number.load(Ordering::Relaxed)));
            mutex.unlock();
        });
    }

    #[test]
    fn several_are_waited_for_as_long_as_one_can_go_on() {
        wait_for(sleep_until, |sleeper| {
            wait_for(compute_until, |other| {
                let mut waiting = BoundedWait::new();
                for _ in 0..2 * TURNS {
                    assert!(waiting.can_any_go_on(&[sleeper, other]));
                    sleep(FIRST_PAUSE);
                }
            });
        });
    }
}
