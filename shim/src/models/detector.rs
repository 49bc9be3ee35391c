//! Waits that end when the other thread cannot continue (`sync/bounded_wait.rs`).

use super::{AgentLock, monitor, new_monitor, number_of, spawn};
use crate::sync::bounded_wait::BoundedWait;
use jvm::platform::cpu_clock;
use jvm::platform::model::machine;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32};

/// Of two threads that wait for each other, one finds that, and soon.
///
/// Fails if `end_of_chain` does not end at the current thread, and if `WaitTarget::set` does not count.
#[test]
fn threads_that_wait_for_each_other_are_found() {
    machine::check(1_000, || {
        let numbers: Arc<[AtomicI32; 2]> = Arc::default();
        let gave_up: Arc<[AtomicBool; 2]> = Arc::default();
        let thread = |number: usize| {
            let (numbers, gave_up) = (Arc::clone(&numbers), Arc::clone(&gave_up));
            spawn(number, move |_| {
                numbers[number].store(machine::number(), SeqCst);
                while numbers[1 - number].load(SeqCst) == 0 {
                    machine::step();
                }
                let other = numbers[1 - number].load(SeqCst);
                let (mut waiting, mut checks) = (BoundedWait::new(), 0);
                while !gave_up[1 - number].load(SeqCst) && waiting.can_continue(other) {
                    checks += 1;
                    assert!(checks < 12, "each misses the other");
                    waiting.sleep();
                }
                gave_up[number].store(true, SeqCst);
            })
        };
        [thread(0), thread(1)].into_iter().for_each(machine::join);
    });
}

/// A thread that is blocked at a raw monitor of the waiting thread is found at the first check.
///
/// Fails if `block` does not show the monitor.
#[test]
fn thread_at_a_raw_monitor_of_the_waiting_one_is_found() {
    machine::check(500, || {
        let handle = new_monitor();
        let owner = spawn(0, move |_| {
            monitor(handle).enter(|_, _| ());
            let blocked = spawn(1, move |_| {
                monitor(handle).enter(|_, _| ());
                monitor(handle).exit(|_, _| ());
            });
            let number = number_of(&blocked);
            while !machine::is_asleep(number) {
                machine::step();
            }
            assert!(!BoundedWait::new().can_continue(number), "it waits for this thread");
            monitor(handle).exit(|_, _| ());
            machine::join(blocked);
        });
        machine::join(owner);
        monitor(handle).destroy();
    });
}

/// Runs four threads. One takes a lock and works, one computes, and one waits for the lock. The fourth waits until the
/// third has had the lock, and must not take it for stuck.
fn wait_for_owner(rounds: usize, shows_owner: bool, work: fn()) {
    machine::check(rounds, move || {
        let lock = Arc::new(AgentLock::new(shows_owner));
        let is_locked = Arc::new(AtomicBool::new(false));
        let is_over = Arc::new(AtomicBool::new(false));
        let owner = {
            let (lock, is_locked) = (Arc::clone(&lock), Arc::clone(&is_locked));
            spawn(0, move |_| {
                let _locked = lock.lock();
                is_locked.store(true, SeqCst);
                work();
            })
        };
        let blocked = {
            let is_over = Arc::clone(&is_over);
            spawn(1, move |_| {
                while !is_locked.load(SeqCst) {
                    machine::step();
                }
                drop(lock.lock());
                is_over.store(true, SeqCst);
            })
        };
        let number = number_of(&blocked);
        let computing = {
            let is_over = Arc::clone(&is_over);
            spawn(3, move |_| {
                while !is_over.load(SeqCst) {
                    machine::step();
                }
            })
        };
        let waiting = spawn(2, move |_| {
            let mut waiting = BoundedWait::new();
            while !is_over.load(SeqCst) {
                let can_continue = waiting.can_continue(number);
                // The second check.
                assert!(
                    can_continue || is_over.load(SeqCst),
                    "a thread that can continue is stuck"
                );
                waiting.sleep();
            }
        });
        [owner, blocked, computing, waiting].into_iter().for_each(machine::join);
    });
}

/// A blocked thread is not stuck if the owner of the lock, which is unknown, gets no processor.
///
/// Fails if `can_any_continue` does not ask for starving threads.
#[test]
fn thread_is_waited_for_while_the_owner_of_its_lock_starves() {
    wait_for_owner(40, false, || (0..30).for_each(|_| machine::starved_step(200)));
}

/// A blocked thread is not stuck however long the owner of its mutex works.
///
/// Fails if `continues` limits the CPU time of the owner of a mutex, and if `end_of_chain` does not ask for the owner.
#[test]
fn thread_is_waited_for_while_the_owner_of_its_mutex_computes() {
    wait_for_owner(3, true, || (0..13_000).for_each(|_| machine::step()));
}

/// A thread that waits for a third one, in a wait that ends if it must, is not stuck, although it sleeps.
///
/// Fails if `end_of_chain` does not note that a wait is bounded.
#[test]
fn thread_in_a_bounded_wait_is_waited_for() {
    machine::check(100, || {
        let lock = Arc::new(AgentLock::new(false));
        let is_over = Arc::new(AtomicBool::new(false));
        let (locked, over) = (Arc::clone(&lock), Arc::clone(&is_over));
        let owner = spawn(0, move |_| {
            let _locked = locked.lock();
            let third = spawn(1, move |_| drop(lock.lock()));
            let third_number = number_of(&third);
            let second = spawn(2, move |_| {
                let mut waiting = BoundedWait::new();
                waiting.set_target(third_number);
                while !over.load(SeqCst) {
                    waiting.sleep();
                }
            });
            let number = number_of(&second);
            let mut waiting = BoundedWait::new();
            // The thread shows what it waits for when it has begun.
            machine::work(100);
            for _ in 0..40 {
                assert!(waiting.can_continue(number), "its wait ends");
                waiting.sleep();
            }
            is_over.store(true, SeqCst);
            drop(_locked);
            machine::join(second);
            machine::join(third);
        });
        machine::join(owner);
    });
}

/// A thread that sleeps for good, and one that computes for good, are not waited for. The second one has used the CPU
/// time by which that is known.
///
/// Fails if `continues` does not count checks, or limits no CPU time.
#[test]
fn thread_that_does_not_continue_is_not_waited_for() {
    machine::check(3, || {
        let lock = Arc::new(AgentLock::new(false));
        let is_over = Arc::new(AtomicBool::new(false));
        let locked = Arc::clone(&lock);
        let owner = spawn(0, move |_| {
            let held = locked.lock();
            let sleeping = spawn(1, move |_| drop(lock.lock()));
            let computing = {
                let is_over = Arc::clone(&is_over);
                spawn(2, move |_| {
                    while !is_over.load(SeqCst) {
                        machine::step();
                    }
                })
            };
            let mut waiting = BoundedWait::new();
            let others = [number_of(&sleeping), number_of(&computing)];
            while waiting.can_any_continue(&others) {
                waiting.sleep();
            }
            let computed = cpu_clock::of(others[1]).expect("it exists");
            assert!(computed >= 250_000_000, "{computed} ns are no reason");
            is_over.store(true, SeqCst);
            machine::join(computing);
            let mut waiting = BoundedWait::new();
            while waiting.can_continue(others[0]) {
                waiting.sleep();
            }
            drop(held);
            machine::join(sleeping);
        });
        machine::join(owner);
    });
}
