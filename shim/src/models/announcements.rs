//! Announcements (`sync/announcements.rs`, `records/announced.rs`).

use super::{AgentLock, check, shared, spawn};
use crate::gc::gate;
use crate::records::agents::{self, Agent};
use crate::records::announced::{Announced, Replay, Sending};
use crate::sync::announcements;
use jvm::platform::model::machine;
use jvm::platform::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::ptr::without_provenance_mut;
use std::sync::atomic as exact;
use std::sync::atomic::Ordering::SeqCst;

const THREADS: usize = 3;

/// An agent's record of a class, thread or object.
#[derive(Default)]
struct Record {
    /// Written by the handler of the defining event.
    value: AtomicU64,
    /// The number of calls of that handler.
    calls: exact::AtomicU32,
    /// True once that handler has returned.
    is_complete: exact::AtomicBool,
}

impl Record {
    /// The handler of the defining event.
    fn define(&self) {
        assert_eq!(self.calls.fetch_add(1, SeqCst), 0, "the defining event is sent twice");
        machine::work(10);
        self.value.store(1, Ordering::Relaxed);
        machine::work(10);
        self.is_complete.store(true, SeqCst);
    }

    /// The handler of another event that names it.
    fn name(&self) {
        assert!(self.is_complete.load(SeqCst), "an event names what the agent does not know");
        assert_eq!(self.value.load(Ordering::Relaxed), 1, "the handler does not see the record");
    }
}

/// Prepares and sends the defining event.
fn define(sending: &Sending<'_>, record: &Record) -> bool {
    machine::work(10);
    if sending.call() {
        record.define();
    }
    true
}

fn agent() -> &'static Agent {
    agents::get(0)
}

/// A class is announced exactly once, and no thread names it before the handler has returned. Meanwhile a collection
/// is delivered, and a first attempt to announce the class may fail. The thread that announces it may name it.
///
/// Fails if `Announced::begin` loads and stores the state in two steps, or does not wait for the announcing thread.
/// Fails if `Sending::done` stores the state with Relaxed, or if a dropped `Sending` does not reset it.
#[test]
fn class_is_announced_once_before_it_is_named() {
    check(2_000, || {
        let (announced, record): (&Announced, &Record) = (shared(), shared());
        let use_class = |number| {
            spawn(number, move |thread| {
                for _ in 0..2 {
                    let _passage = gate::enter(thread);
                    if number == 0
                        && let Ok(failing) = announced.begin(agent(), 0)
                    {
                        machine::work(10);
                        drop(failing);
                    }
                    if !announced.to(agent()) {
                        announcements::once(announced, agent(), |sending| {
                            let again = |_: &Sending<'_>| unreachable!("it is being announced");
                            announcements::once(announced, agent(), again);
                            define(sending, record)
                        });
                    }
                    record.name();
                }
            })
        };
        let mut all: Vec<_> = (0..THREADS).map(use_class).collect();
        all.push(spawn(THREADS, |_| {
            machine::work(40);
            let closed = gate::close().expect("no other thread closes it");
            assert!(closed.is_idle, "a thread at the gate is waited for");
        }));
        all
    });
}

/// An object, which has one bit for the agent in its tag, is announced exactly once, before any thread names it.
///
/// Fails if `Announcement::begin` releases the lock between its two steps.
#[test]
fn object_is_announced_once_before_it_is_named() {
    check(2_000, || {
        let objects: &[(AtomicBool, Record); 2] = shared();
        let use_objects = |number| {
            spawn(number, move |_| {
                for turn in 0..2 {
                    let index = (number + turn) % 2;
                    let (tag, record) = &objects[index];
                    if !tag.load(Ordering::Acquire) {
                        let id = without_provenance_mut(16 * (index + 1));
                        announcements::of_object(agent(), id, |sending| {
                            if !tag.load(Ordering::Acquire) && sending.call() {
                                record.define();
                                tag.store(true, Ordering::Release);
                            }
                            true
                        });
                    }
                    record.name();
                }
            })
        };
        (0..THREADS).map(use_objects).collect()
    });
}

/// Objects that a walk has found are marked before they are announced; no thread names one before that.
///
/// Fails if `wait_for_replay` does not wait, and if a `Replay` ends with a Relaxed store.
#[test]
fn object_that_a_walk_has_found_is_announced_before_it_is_named() {
    check(4_000, || {
        let objects: &[(AtomicBool, Record); 2] = shared();
        let replay = spawn(0, move |_| {
            let _replay = Replay::begin(agent());
            objects.iter().for_each(|(tag, _)| tag.store(true, Ordering::Release));
            objects.iter().for_each(|(_, record)| record.define());
        });
        let user = |number| {
            spawn(number, move |_| {
                machine::work(20);
                for (tag, record) in objects {
                    if tag.load(Ordering::Acquire) {
                        announcements::wait_for_replay(agent());
                        record.name();
                    }
                }
            })
        };
        vec![replay, user(1), user(2)]
    });
}

/// The handler of a defining event wants a lock of a thread that is about to name the class: that thread does not wait
/// for ever.
///
/// Fails if `begin` waits without an end, and if it ends its wait at the first check.
#[test]
fn thread_does_not_wait_for_an_announcement_that_waits_for_it() {
    check(300, move || {
        let (announced, record): (&Announced, &Record) = (shared(), shared());
        let (lock, has_blocked): (&AgentLock, &exact::AtomicBool) = (shared(), shared());
        let use_class = |number| {
            spawn(number, move |_| {
                let locked = (number == 0).then(|| lock.lock());
                announcements::once(announced, agent(), |sending| {
                    if sending.call() {
                        if number > 0 {
                            has_blocked.store(true, SeqCst);
                            drop(lock.lock());
                        }
                        record.define();
                    }
                    true
                });
                if announced.to(agent()) {
                    record.name();
                } else {
                    assert!(has_blocked.load(SeqCst), "the handler can return");
                }
                drop(locked);
            })
        };
        (0..THREADS).map(use_class).collect()
    });
}

/// The thread that prepares an announcement waits for a lock of a thread that names the class: that thread takes its
/// place, so the agent gets the defining event once and first all the same.
///
/// Fails if `begin` returns None instead of taking the place, and if `Sending::call` returns true afterwards.
#[test]
fn thread_that_prepares_an_announcement_for_too_long_is_replaced() {
    check(300, move || {
        let (announced, record): (&Announced, &Record) = (shared(), shared());
        let lock: &AgentLock = shared();
        let use_class = |number| {
            spawn(number, move |_| {
                let locked = (number == 0).then(|| lock.lock());
                announcements::once(announced, agent(), |sending| {
                    if number > 0 {
                        drop(lock.lock());
                    }
                    define(sending, record)
                });
                record.name();
                drop(locked);
            })
        };
        (0..THREADS).map(use_class).collect()
    });
}
