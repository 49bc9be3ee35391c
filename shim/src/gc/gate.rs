//! The gate: no collection is delivered, and no ID dies, while an agent has disabled garbage collection
//! (`DisableGC`) or while an event is in flight.
//!
//! Delivering an event must cost only a few plain stores, so each thread counts its own events in flight.
//! The thread that delivers a collection closes the gate to new ones, makes every thread's stores visible
//! with one process-wide barrier, and waits until all counters are zero.
//!
//! All waits are [`BoundedWait`]s: a handler may be blocked on a lock that the agent holds during the
//! collection, so an event in flight may be unable to end before GC_FINISH. Then no object moves. Its object is alive, because
//! its thread has a reference to it, so the object's ID does not die.

use super::deaths::{self, due, is_gc_disabled};
use crate::records::calls::{Step, Tracked};
use crate::records::in_flight::Passage;
use crate::records::thread::{Thread, known_current};
use crate::records::{phase, registry};
use crate::sync::bounded_wait::BoundedWait;
use jvm::boundary::OnDrop;
use jvm::internals;
use jvm::lock::{Condition, Lock};
use jvm::platform::membarrier;
use jvm::platform::os_thread::os_thread;
use jvm::platform::sync::atomic::{self, AtomicI32, Ordering, compiler_fence};
use std::sync::OnceLock;
use std::thread;

/// The OS thread that has closed the gate to all others, 0 while it is open.
static CLOSED_BY: AtomicI32 = AtomicI32::new(0);
/// True while a collection is being delivered.
static PLAYING: Lock<bool> = Lock::new(false);
/// Signalled when the gate opens.
static OPENED: Condition = Condition::new();

fn is_closed_to_me() -> bool {
    // A thread that finds the gate open again sees the effects of agents' handlers in the collection.
    let closed_by = CLOSED_BY.load(Ordering::Acquire);
    closed_by != 0 && closed_by != os_thread()
}

/// Lets an event of the current thread pass. Waits while a collection is being delivered, unless the event
/// is nested in another one.
#[inline]
pub fn enter(thread: &Thread) -> Passage<'_> {
    let passage = thread.in_flight.enter();
    fence();
    if is_closed_to_me() && passage.is_outermost() { enter_later(passage, thread) } else { passage }
}

#[cold]
fn enter_later<'a>(mut passage: Passage<'a>, thread: &'a Thread) -> Passage<'a> {
    let mut may_wait = true;
    while may_wait && is_closed_to_me() {
        drop(passage);
        may_wait = wait_until_open();
        passage = thread.in_flight.enter();
        fence();
    }
    passage
}

/// Lets an event reported by the Tracker pass, if it is not nested and the thread may take the short cut
/// in the current epoch, which is returned too. None while the gate is closed.
#[inline(always)]
pub fn enter_in_epoch(thread: &Thread, step: Step) -> Option<(Tracked<'_>, u64)> {
    let passage = thread.in_flight.enter_tracked(step)?;
    // Sufficient, because [`has_epochs`] requires the kernel's barrier on the other side.
    compiler_fence(Ordering::SeqCst);
    let epoch = phase::epoch();
    thread.short_cut.is_allowed_in(epoch).then_some((passage, epoch))
}

/// Returns true if [`enter_in_epoch`] may be used: the kernel is known to be able to run a memory barrier on all threads
/// of the process.
pub fn has_epochs() -> bool {
    REGISTERED.get().copied().unwrap_or(false)
}

/// True if the kernel can run such barriers; unset until that is known.
static REGISTERED: OnceLock<bool> = OnceLock::new();

/// Registers the process for such barriers, on a separate thread. If there are other threads, the kernel waits for
/// an RCU grace period of about 20 ms. Until registration is done, events use barriers of their own.
pub fn register_early() {
    let thread = thread::Builder::new().name("jvmpi barrier".to_owned());
    if let Err(error) = thread.spawn(is_registered) {
        log::debug!("the kernel is asked for memory barriers later: {error}");
    }
}

/// Registers the process, or waits until that has been done. [`barrier_of_all_threads`] calls this, so that it never
/// runs a barrier of its own while another thread relies on the kernel's.
fn is_registered() -> bool {
    *REGISTERED.get_or_init(|| internals::MEMBARRIER.is_there(membarrier::register))
}

/// For the side that must be cheap: orders the current thread's stores before its later loads, provided that the
/// other side calls [`barrier_of_all_threads`].
fn fence() {
    if has_epochs() {
        compiler_fence(Ordering::SeqCst);
    } else {
        atomic::fence(Ordering::SeqCst);
    }
}

/// For the other side: afterwards every other thread either sees this thread's stores, or its own stores are seen
/// here. Each thread that is on a processor is interrupted for it.
pub fn barrier_of_all_threads() {
    if is_registered() {
        membarrier::of_all_threads();
    } else {
        atomic::fence(Ordering::SeqCst);
    }
}

/// Waits while the gate is closed to the current thread. Returns false if the handler of a GC event does not return.
fn wait_until_open() -> bool {
    let mut waiting = BoundedWait::new();
    loop {
        let playing = PLAYING.lock();
        if !is_closed_to_me() {
            return true;
        }
        drop(OPENED.wait_for(playing, waiting.pause()));
        if !waiting.goes_on_in_handlers() {
            return false;
        }
    }
}

/// Implements `DisableGC`: counts, and returns after the end of a collection that is being delivered. A
/// deferred one is delivered first, unless that would wait for an event of the current thread.
pub fn disable_gc() {
    let can_wait = !known_current().is_some_and(|thread| thread.in_flight.is_any());
    if can_wait && (due().can_play_deferred() || is_closed_to_me()) {
        wait_for_deferred();
    }
    let playing = PLAYING.lock();
    deaths::disable_gc();
    if *playing {
        drop(playing);
        wait_until_open();
    }
}

/// Waits until a deferred collection has been delivered. Otherwise agents that disable collections most of the time would
/// prevent that.
fn wait_for_deferred() {
    let mut waiting = BoundedWait::new();
    while due().can_play_deferred() && waiting.goes_on() {
        waiting.sleep();
    }
    wait_until_open();
}

/// Disables collections until the result is dropped: meanwhile no ID dies or changes.
pub fn without_gc() -> OnDrop<impl FnMut()> {
    disable_gc();
    OnDrop(deaths::enable_gc)
}

/// While this exists, the gate is closed to all threads but this one, which delivers a collection.
pub struct Closed {
    /// True if no event of another thread is in flight.
    pub is_idle: bool,
}

/// Closes the gate and waits until no event of another thread is in flight, except those that take too long.
/// None if garbage collection is disabled, or if another thread has closed the gate.
pub fn close() -> Option<Closed> {
    let me = os_thread();
    let close = || CLOSED_BY.compare_exchange(0, me, Ordering::SeqCst, Ordering::SeqCst);
    if is_gc_disabled() || close().is_err() {
        return None;
    }
    let mut closed = Closed { is_idle: false };
    phase::close_epoch();
    barrier_of_all_threads();
    // If it is disabled meanwhile, even if enabled again, there may be events that can end.
    closed.is_idle = wait_until_idle(is_gc_disabled)?;
    let may_play = {
        let mut playing = PLAYING.lock();
        *playing = !is_gc_disabled();
        *playing
    };
    may_play.then_some(closed)
}

impl Drop for Closed {
    fn drop(&mut self) {
        let mut playing = PLAYING.lock();
        *playing = false;
        CLOSED_BY.store(0, Ordering::SeqCst);
        phase::open_epoch();
        OPENED.notify_all();
    }
}

/// Waits for events of other threads that began before the last change of the phase or of enabled events.
/// Does not wait for those that take too long.
pub fn let_pass() {
    barrier_of_all_threads();
    wait_until_idle(|| false);
}

/// Waits until every other thread was once seen with no event in flight. Returns false if some events
/// take too long. None if `gives_up` returns true.
fn wait_until_idle(gives_up: impl Fn() -> bool) -> Option<bool> {
    let me = os_thread();
    let mut waiting = BoundedWait::new();
    let mut busy = registry::all();
    loop {
        let count = busy.len();
        busy.retain(|thread| thread.in_flight.is_any() && thread.os_thread() != me);
        if busy.is_empty() {
            return Some(true);
        }
        if gives_up() {
            return None;
        }
        if busy.len() < count {
            waiting.step();
        }
        if !waiting.goes_on() {
            return Some(false);
        }
        waiting.sleep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use jvm::platform::sync::atomic::AtomicBool;
    use std::cell::UnsafeCell;

    /// The tables of an agent without locks. Each thread writes to its own place, the thread that delivers
    /// collections to all of them.
    struct Tables([UnsafeCell<u64>; THREADS]);

    // SAFETY: the gate keeps threads from using a place at the same time, which is tested here.
    unsafe impl Sync for Tables {}

    const THREADS: usize = 4;
    const COLLECTIONS: u64 = 100;
    static TABLES: Tables = Tables([const { UnsafeCell::new(0) }; THREADS]);
    static OVER: AtomicBool = AtomicBool::new(false);
    /// The number of threads that have disabled collections and returned from the call.
    static DISABLING: AtomicI32 = AtomicI32::new(0);

    /// Adds to a place in more than one step.
    fn add(place: usize, number: u64) {
        let place = TABLES.0[place].get();
        // SAFETY: as above.
        unsafe {
            let before = place.read_volatile();
            place.write_volatile(before + 1);
            thread::yield_now();
            assert_eq!(place.read_volatile(), before + 1);
            place.write_volatile(before + number);
        }
    }

    /// Sends events in both ways until the test is over, and returns their number.
    fn send_events(place: usize) -> u64 {
        let thread = threads::adopt_for_test(place + 1);
        let mut events = 0_u64;
        while !OVER.load(Ordering::Relaxed) {
            if let Some((passage, _)) = enter_in_epoch(&thread, Step::Stay) {
                add(place, 2);
                passage.end();
            } else {
                let epoch = phase::epoch();
                let _passage = enter(&thread);
                let _inside = enter(&thread);
                add(place, 2);
                if has_epochs() && phase::is_open(epoch) {
                    thread.short_cut.allow(epoch, &thread.in_flight.calls);
                }
            }
            events += 1;
            if events.is_multiple_of(64) {
                phase::end_epoch();
            }
            if events.is_multiple_of(100) {
                disable_gc();
                DISABLING.fetch_add(1, Ordering::SeqCst);
                thread::yield_now();
                DISABLING.fetch_sub(1, Ordering::SeqCst);
                deaths::enable_gc();
            }
        }
        threads::ended(&thread);
        events
    }

    #[test]
    fn no_other_thread_passes_while_a_collection_is_delivered() {
        let senders: Vec<_> =
            (0..THREADS).map(|place| thread::spawn(move || send_events(place))).collect();
        let mut played = 0;
        while played < COLLECTIONS {
            if let Some(closed) = close() {
                assert!(closed.is_idle, "an event is in flight");
                assert!(close().is_none(), "it is closed twice");
                let are_disabled = || DISABLING.load(Ordering::SeqCst) > 0;
                assert!(!are_disabled(), "they are disabled already");
                (0..THREADS).for_each(|place| add(place, 3));
                assert!(!are_disabled(), "they have been disabled meanwhile");
                played += 1;
            }
            thread::yield_now();
        }
        OVER.store(true, Ordering::Relaxed);
        for (place, sender) in senders.into_iter().enumerate() {
            let events = sender.join().unwrap();
            // SAFETY: the thread that has used the place has ended.
            assert_eq!(unsafe { *TABLES.0[place].get() }, 2 * events + 3 * played);
        }
        assert!(phase::is_open(phase::epoch()));
    }
}
