//! The gate of collections (`gc/gate.rs`).

use super::{AgentLock, check, shared, spawn};
use crate::gc::{deaths, gate};
use crate::records::calls::Step;
use crate::records::phase;
use crate::sync::bounded_wait;
use crate::threads::Thread;
use jvm::platform::model::machine;
use jvm::platform::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::atomic as exact;
use std::sync::atomic::Ordering::SeqCst;

const SENDERS: usize = 2;

/// An agent without locks of its own: each thread writes to a place of its own, the collection to all of them.
#[derive(Default)]
struct Agent {
    table: [AtomicU64; SENDERS],
    /// The values that the table must have, whatever reaches memory when.
    exact: [exact::AtomicU64; SENDERS],
    /// The events in flight.
    in_flight: exact::AtomicI32,
    /// The events of collections in flight.
    collecting: exact::AtomicI32,
    /// The calls of DisableGC that have returned, without those of EnableGC.
    disabled: exact::AtomicI32,
}

impl Agent {
    /// Adds to a place in more than one step.
    fn add(&self, place: usize) {
        let before = self.table[place].load(Relaxed);
        assert_eq!(before, self.exact[place].load(SeqCst), "a write is missing");
        self.exact[place].fetch_add(1, SeqCst);
        self.table[place].store(before + 1, Relaxed);
    }

    /// The handler of an event that carries an ID.
    fn handle_event(&self, place: usize) {
        let is_collecting = || self.collecting.load(SeqCst) > 0;
        assert!(!is_collecting(), "an event comes between GC_START and GC_FINISH");
        self.in_flight.fetch_add(1, SeqCst);
        self.add(place);
        machine::step();
        assert!(!is_collecting(), "GC_START comes while an event is in flight");
        self.in_flight.fetch_sub(1, SeqCst);
    }

    /// The handler of the events from GC_START to GC_FINISH.
    fn handle_collection(&self) {
        self.collecting.fetch_add(1, SeqCst);
        assert_eq!(self.in_flight.load(SeqCst), 0, "GC_START comes while an event is in flight");
        assert_eq!(self.disabled.load(SeqCst), 0, "DisableGC has returned");
        (0..SENDERS).for_each(|place| self.add(place));
        assert_eq!(self.disabled.load(SeqCst), 0, "DisableGC returns during a collection");
        self.collecting.fetch_sub(1, SeqCst);
    }
}

/// Sends an event in the way in which the Tracker's natives do: by the short cut if the epoch allows it.
fn send(thread: &Thread, agent: &Agent, place: usize) {
    if let Some((passage, _)) = gate::enter_in_epoch(thread, Step::Stay) {
        agent.handle_event(place);
        return passage.end();
    }
    let epoch = phase::epoch();
    let _passage = gate::enter(thread);
    agent.handle_event(place);
    let _inside = gate::enter(thread);
    agent.handle_event(place);
    if phase::is_open(epoch) {
        thread.short_cut.allow(epoch, &thread.in_flight.calls);
    }
}

/// Delivers a collection at some time.
fn collect(agent: &Agent) {
    machine::work(60);
    loop {
        if let Some(closed) = gate::close() {
            assert!(closed.is_idle, "an event that can end was not waited for");
            assert!(gate::close().is_none(), "the gate is closed twice");
            bounded_wait::while_delivering(|| agent.handle_collection());
            return;
        }
        machine::step();
    }
}

/// Neither GC_START comes while an event is in flight, nor an event before GC_FINISH; and each sees what the agent has
/// done in the other.
///
/// Fails without the barrier in `close` or the fence in `enter` or `enter_in_epoch`; if `enter` counts the event after
/// it has looked at the gate; if `close` leaves out `phase::close_epoch`; if a `Passage` or `Tracked` ends with a Relaxed
/// store; if `InFlight::count` leaves out the events that have taken the short cut; and if `wait_until_idle` ends its wait at
/// the first check.
#[test]
fn no_event_is_in_flight_during_a_collection() {
    check(4_000, || {
        let agent: &Agent = shared();
        let sender =
            |place| spawn(place, move |thread| (0..4).for_each(|_| send(thread, agent, place)));
        let mut all: Vec<_> = (0..SENDERS).map(sender).collect();
        all.push(spawn(SENDERS, move |_| (0..2).for_each(|_| collect(agent))));
        all
    });
}

/// A collection waits for DisableGC's end, and DisableGC for that of a collection.
///
/// Fails if `disable_gc` does not wait while a collection is being played, and if `close` does not ask once more whether
/// collections are disabled.
#[test]
fn no_collection_comes_while_collections_are_disabled() {
    check(1_000, || {
        let agent: &Agent = shared();
        let disable = |number| {
            spawn(number, move |_| {
                for _ in 0..2 {
                    gate::disable_gc();
                    agent.disabled.fetch_add(1, SeqCst);
                    machine::step();
                    agent.disabled.fetch_sub(1, SeqCst);
                    deaths::enable_gc();
                }
            })
        };
        let mut all: Vec<_> = (0..2).map(disable).collect();
        all.push(spawn(2, move |_| (0..2).for_each(|_| collect(agent))));
        all
    });
}

/// After `let_pass` no event is in flight that was sent before a change.
///
/// Fails without the barrier in `let_pass`, and without the fence in `enter`.
#[test]
fn events_that_began_before_a_change_are_waited_for() {
    check(1_000, || {
        let (is_unwanted, is_over): (&AtomicBool, &exact::AtomicBool) = (shared(), shared());
        let sender = |place| {
            spawn(place, move |thread| {
                for _ in 0..3 {
                    let _passage = gate::enter(thread);
                    if !is_unwanted.load(Relaxed) {
                        machine::step();
                        assert!(!is_over.load(SeqCst), "an event is sent after the change");
                    }
                }
            })
        };
        let mut all: Vec<_> = (0..SENDERS).map(sender).collect();
        all.push(spawn(SENDERS, move |_| {
            is_unwanted.store(true, Relaxed);
            gate::let_pass();
            is_over.store(true, SeqCst);
        }));
        all
    });
}

/// A thread sends an event with the lock held that the agent takes from GC_START to GC_FINISH: it passes the closed gate
/// while the handler of GC_START waits for the lock, and only then.
///
/// Fails if `while_delivering` does not note the call, and if `goes_on_in_handlers` does not ask for it.
#[test]
fn an_event_passes_the_gate_if_the_collection_waits_for_its_thread() {
    check(300, move || {
        let lock: &AgentLock = shared();
        let (collector, waits): (&exact::AtomicI32, &exact::AtomicBool) = (shared(), shared());
        let sender = spawn(0, move |thread| {
            for _ in 0..2 {
                let _locked = lock.lock();
                let _passage = gate::enter(thread);
                let collector = collector.load(SeqCst);
                assert!(collector == 0 || waits.load(SeqCst), "nothing waits for this");
            }
        });
        let other = spawn(1, |thread| drop(gate::enter(thread)));
        let collector = spawn(2, move |_| {
            let Some(closed) = gate::close() else { unreachable!("no other thread closes it") };
            bounded_wait::while_delivering(|| {
                assert!(closed.is_idle || lock.is_owned_by(2), "an event can end");
                collector.store(machine::number(), SeqCst);
                waits.store(true, SeqCst);
                let locked = lock.lock();
                waits.store(false, SeqCst);
                bounded_wait::while_delivering(machine::step);
                collector.store(0, SeqCst);
                drop(locked);
            });
        });
        vec![sender, other, collector]
    });
}

/// A thread that owns a lock waits at the gate although, after their collections, the threads that closed it want the
/// lock.
///
/// Fails if `goes_on_in_handlers` ends the wait at its first check in a handler.
#[test]
fn no_event_passes_the_gate_because_of_a_collection_that_is_over() {
    check(1_000, || {
        let (lock, collecting): (&AgentLock, &exact::AtomicI32) = (shared(), shared());
        let collector = |number| {
            spawn(number, move |_| {
                machine::work(20);
                let closed = loop {
                    if let Some(closed) = gate::close() {
                        break closed;
                    }
                    machine::step();
                };
                bounded_wait::while_delivering(|| {
                    collecting.fetch_add(1, SeqCst);
                    machine::work(60);
                    collecting.fetch_sub(1, SeqCst);
                });
                drop(closed);
                drop(lock.lock());
            })
        };
        let mut all: Vec<_> = (1..3).map(collector).collect();
        all.push(spawn(0, move |thread| {
            let _locked = lock.lock();
            for _ in 0..3 {
                let _passage = gate::enter(thread);
                assert_eq!(collecting.load(SeqCst), 0, "nothing waits for this thread");
            }
        }));
        all
    });
}

/// The caller of RunGC holds a lock that a handler wants: the collection begins although the handler's event is in
/// flight, and only then.
///
/// Fails if `wait_until_idle` ends its wait at the first check, and if it never does.
#[test]
fn a_collection_does_not_wait_for_an_event_that_waits_for_its_thread() {
    check(300, move || {
        let (lock, waiting): (&AgentLock, &exact::AtomicI32) = (shared(), shared());
        let sender = |number| {
            spawn(number, move |thread| {
                for _ in 0..2 {
                    let _passage = gate::enter(thread);
                    waiting.fetch_add(1, SeqCst);
                    let locked = lock.lock();
                    waiting.fetch_sub(1, SeqCst);
                    machine::step();
                    drop(locked);
                }
            })
        };
        let mut all: Vec<_> = (0..SENDERS).map(sender).collect();
        all.push(spawn(SENDERS, move |_| {
            let _locked = lock.lock();
            let closed = gate::close().expect("no other thread closes it");
            assert!(closed.is_idle || waiting.load(SeqCst) > 0, "the events can end");
        }));
        all
    });
}
