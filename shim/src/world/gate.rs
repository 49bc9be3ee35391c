//! When IDs may die: not while an agent has disabled garbage collection (`DisableGC`), and, as
//! far as agents let it be, not while an event is being delivered.
//!
//! Delivering an event must cost only a few plain stores, so each thread counts its own events in
//! flight; whoever wants to report deaths closes the gate to new ones, makes every thread's
//! stores visible with one process-wide barrier, and waits until all counters are zero.
//!
//! Every wait has a bound. An agent holds its own locks from GC_START to GC_FINISH, so events may
//! be in flight that cannot end before GC_FINISH. The object that such an event is about is alive,
//! as the event's thread has a reference to it, so its ID is not among those that die.

use super::epoch;
use super::in_flight::{Passage, TrackedPassage};
use super::threads::{self, Thread};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering, compiler_fence};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// The OS thread that has closed the gate to all others, 0 while it is open.
static CLOSED_BY: AtomicI32 = AtomicI32::new(0);
/// How often DisableGC was called and not taken back.
static GC_DISABLED: AtomicU32 = AtomicU32::new(0);
/// True while deaths are being reported.
static REPORTING: Mutex<bool> = Mutex::new(false);
/// Signalled when the gate opens.
static OPENED: Condvar = Condvar::new();

/// How long events in flight are waited for before the gate closes to new ones.
const POLITE: Duration = Duration::from_millis(2);
/// How long the gate stays closed for events in flight.
const CLOSED_AT_MOST: Duration = Duration::from_millis(5);
/// How long an event waits at the closed gate while nothing gets any further behind it.
const HELD_BACK_AT_MOST: Duration = Duration::from_millis(50);

/// Counts what is done of that for which others wait: a collection that is played, a replay.
static STEPS: AtomicU64 = AtomicU64::new(0);

/// Takes note that what others wait for has got a step further.
pub fn count_step() {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// Since when nothing that is waited for has got any further, as far as somebody who waits has seen.
pub struct Progress {
    steps: u64,
    since: Instant,
}

impl Progress {
    pub fn new() -> Self {
        Self { steps: STEPS.load(Ordering::Relaxed), since: Instant::now() }
    }

    /// Whether there was not a step for so long.
    pub fn is_missing_for(&mut self, at_least: Duration) -> bool {
        let steps = STEPS.load(Ordering::Relaxed);
        if steps != self.steps {
            *self = Self { steps, since: Instant::now() };
        }
        self.since.elapsed() >= at_least
    }
}

fn lock() -> MutexGuard<'static, bool> {
    REPORTING.lock().unwrap_or_else(|e| e.into_inner())
}

fn is_closed_to_me() -> bool {
    let closed_by = CLOSED_BY.load(Ordering::Relaxed);
    closed_by != 0 && closed_by != threads::os_thread()
}

/// Lets an event of the thread that runs pass; waits while deaths are being reported, unless it
/// comes from inside another event.
pub fn enter(thread: &Thread) -> Passage<'_> {
    let passage = thread.in_flight.enter();
    fence_for_barrier();
    if passage.is_outermost() && is_closed_to_me() {
        drop(passage);
        wait_until_open(lock());
        return thread.in_flight.enter();
    }
    passage
}

/// Lets an event that the Tracker reports pass if it is not inside another one, and this is an epoch
/// in which the thread was found to be free to send it; returns the epoch. While the gate is closed
/// there is none.
#[inline]
pub fn enter_in_epoch(thread: &Thread) -> Option<(TrackedPassage<'_>, u64)> {
    let passage = thread.in_flight.enter_tracked()?;
    // `barrier` does the rest: no epoch is relied on without it.
    compiler_fence(Ordering::SeqCst);
    let epoch = epoch::now();
    (thread.examined_in.load(Ordering::Relaxed) == epoch).then_some((passage, epoch))
}

/// Whether [`enter_in_epoch`] may be used.
pub fn has_epochs() -> bool {
    has_membarrier()
}

fn wait_until_open(mut reporting: MutexGuard<'static, bool>) {
    let mut progress = Progress::new();
    while is_closed_to_me() && !progress.is_missing_for(HELD_BACK_AT_MOST) {
        let waited = OPENED.wait_timeout(reporting, HELD_BACK_AT_MOST);
        reporting = waited.unwrap_or_else(|e| e.into_inner()).0;
    }
}

/// `DisableGC`: counts; returns when deaths that are just being reported have been.
pub fn disable_gc() {
    let reporting = lock();
    GC_DISABLED.fetch_add(1, Ordering::SeqCst);
    if *reporting {
        wait_until_open(reporting);
    }
}

/// `EnableGC`: takes back one [`disable_gc`] of any thread; a surplus one does nothing.
pub fn enable_gc() {
    let _ = GC_DISABLED.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
}

/// While it lives, no ID dies or changes.
pub struct NoGc(());

impl NoGc {
    /// As [`disable_gc`].
    pub fn begin() -> Self {
        disable_gc();
        Self(())
    }
}

impl Drop for NoGc {
    fn drop(&mut self) {
        enable_gc();
    }
}

/// Whether an agent has disabled garbage collection.
pub fn gc_is_disabled() -> bool {
    GC_DISABLED.load(Ordering::SeqCst) > 0
}

/// Runs `report` while no new event begins on another thread; with true if none is in flight
/// there either. Does nothing and returns None while garbage collection is disabled. One thread
/// at a time may call this.
pub fn report_deaths<R>(report: impl FnOnce(bool) -> R) -> Option<R> {
    wait_until_quiet(POLITE);
    let closed = Closed::new();
    let quiet = wait_until_quiet(CLOSED_AT_MOST);
    closed.begin_reporting().then(|| report(quiet))
}

/// The gate is closed to all threads but this one until it is dropped.
struct Closed;

impl Closed {
    fn new() -> Self {
        CLOSED_BY.store(threads::os_thread(), Ordering::SeqCst);
        epoch::close();
        barrier();
        Self
    }

    /// From here on DisableGC waits; false if it came before.
    fn begin_reporting(&self) -> bool {
        let mut reporting = lock();
        *reporting = !gc_is_disabled();
        *reporting
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        let mut reporting = lock();
        *reporting = false;
        CLOSED_BY.store(0, Ordering::SeqCst);
        epoch::open();
        OPENED.notify_all();
    }
}

/// Waits until no other thread delivers an event; false if that takes longer than `at_most`.
fn wait_until_quiet(at_most: Duration) -> bool {
    let me = threads::os_thread();
    let begun = Instant::now();
    loop {
        let busy = threads::all().iter().any(|t| t.os_thread() != me && t.in_flight.is_any());
        if !busy {
            return true;
        }
        if begun.elapsed() > at_most {
            return false;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Whether the kernel can make all threads of the process run a memory barrier.
fn has_membarrier() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
}

fn membarrier(command: libc::membarrier_cmd) -> bool {
    // SAFETY: the system call takes no pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// The event side: orders the counter's store before the load of [`CLOSED_BY`], given
/// [`barrier`].
fn fence_for_barrier() {
    if has_membarrier() {
        compiler_fence(Ordering::SeqCst);
    } else {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// The other side: after it every event either sees the closed gate or is seen in flight. Each thread that
/// is on a processor is interrupted for it.
pub fn barrier() {
    if has_membarrier() {
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    } else {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}
