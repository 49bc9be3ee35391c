//! SuspendThread, ResumeThread and ThreadHasRun.
//!
//! JVMTI stops a thread at a safepoint. One that waits for a processor has to get one first, which
//! takes milliseconds on a busy machine: a sampler that wakes every millisecond would not get its
//! work done. So a thread that runs Java code is stopped by a signal. The handler runs before the
//! thread can execute anything else, so a thread that waits for a processor stands still from the
//! moment when the signal is pending; it takes the thread's call trace and waits there until the
//! thread is resumed. Threads that are blocked or in native code are stopped by JVMTI, which is
//! quick for them.
//!
//! A thread that is stopped in a handler keeps the VM from reaching a safepoint. That is meant
//! for the moment that a sampler takes. If the thread is not resumed soon, a thread of the shim
//! *escalates*: JVMTI takes over and the handler returns.

use super::ids;
use super::threads::{self, Thread};
use crate::jvm::async_call_trace::{self, RawFrame};
use crate::jvm::{self, Jni};
use crate::load;
use crate::options::Suspend;
use crate::world::cpu_clock;
use jni_sys::jint;
use jvmti_sys::{JVMTI_THREAD_STATE_IN_NATIVE, JVMTI_THREAD_STATE_RUNNABLE};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

/// Where a thread stands; the values of [`Stop::state`].
mod state {
    /// The agent has not suspended it.
    pub const RUNNING: u32 = 0;
    /// The signal is on its way: the thread cannot go on, but its trace is not there yet.
    pub const SIGNALLED: u32 = 1;
    /// It waits in the handler, and its trace is there.
    pub const STOPPED: u32 = 2;
    /// It is to leave the handler, and JVMTI is about to stop it.
    pub const LEAVING: u32 = 3;
    /// JVMTI has stopped it.
    pub const BY_JVMTI: u32 = 4;
}

/// How many frames the handler takes at most.
const FRAMES: usize = 256;
/// How long a thread that has run is waited for. A running one answers within microseconds; one
/// that waits for a processor would take milliseconds, and counts as not having run until it can.
const ANSWER: Duration = Duration::from_micros(40);
/// How long a thread that waits keeps its processor. Giving it up would cost a busy machine's
/// time slice to get it back, and a sampler is done by then.
const SPIN: Duration = Duration::from_micros(300);
/// How long GetCallTrace waits for the trace of a suspended thread.
const TRACE: Duration = Duration::from_millis(100);
/// How long a thread stays in the handler before JVMTI takes over.
const HANDLER: Duration = Duration::from_millis(2);
/// How long a thread stays in the handler if nobody takes over.
const HANDLER_AT_MOST: Duration = Duration::from_secs(1);
/// The CPU time that the handler itself may take, in nanoseconds.
const HANDLER_COST: i64 = 10_000;

/// Whether an agent has suspended a thread, and how.
#[derive(Default)]
pub struct Stop {
    state: AtomicU32,
    /// Whether a signal has been sent that the handler has not seen.
    signal_pending: AtomicBool,
    /// The thread's CPU time when it was resumed after it had answered.
    cpu_when_resumed: AtomicI64,
    has_run: AtomicBool,
    /// When the signal was sent, in nanoseconds since [`EPOCH`].
    signalled: AtomicU64,
    /// The thread's state when it was last asked for, and when that was.
    seen: AtomicI32,
    seen_at: AtomicU64,
    trace: OnceLock<Trace>,
}

/// The last trace that the handler has taken. Written by the handler while the state is
/// SIGNALLED, read while it is STOPPED.
struct Trace {
    frames: Box<[AtomicFrame]>,
    /// Negative if the VM could not walk the stack.
    length: AtomicI32,
    /// The thread's CPU time when it was taken.
    cpu: AtomicI64,
}

/// A frame that a handler writes and another thread reads, one after the other.
struct AtomicFrame(std::cell::UnsafeCell<RawFrame>);

// SAFETY: `Stop::state` says who may use it.
unsafe impl Sync for AtomicFrame {}
// SAFETY: as above.
unsafe impl Send for AtomicFrame {}

impl Trace {
    fn new() -> Self {
        let none = RawFrame { bci: 0, method: ptr::null_mut() };
        Self {
            frames: (0..FRAMES).map(|_| AtomicFrame(none.into())).collect(),
            length: AtomicI32::new(-1),
            cpu: AtomicI64::new(-1),
        }
    }

    fn is_empty(&self) -> bool {
        self.length.load(Ordering::Relaxed) == 0
    }

    fn start(&self) -> *mut RawFrame {
        self.frames[0].0.get()
    }
}

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

// What is done once, when an agent first suspends a thread.

/// The signal, 0 if threads are stopped by JVMTI only.
static SIGNAL: OnceLock<c_int> = OnceLock::new();

/// Whether all methods must have IDs, so that a handler can name them.
pub fn wants_method_ids() -> bool {
    SIGNAL.get().is_some_and(|signal| *signal != 0)
}

/// Gets ready to stop threads; true the first time that signals are going to be used.
pub fn prepare(jni: Jni) -> bool {
    let mut first = false;
    SIGNAL.get_or_init(|| {
        if load::options().suspend == Suspend::Jvmti || !async_call_trace::is_available() {
            return 0;
        }
        let started = threads::start_hidden(jni, c"jvmpi suspension", take_over);
        let signal = if started.is_ok() { install_handler().unwrap_or(0) } else { 0 };
        first = signal != 0;
        signal
    });
    first
}

/// Takes the first real-time signal that nobody uses.
fn install_handler() -> Option<c_int> {
    // The JDK interrupts blocked threads with the third last.
    let taken_by_jdk = libc::SIGRTMAX() - 2;
    (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev().filter(|signal| *signal != taken_by_jdk).find(
        |signal| {
            // SAFETY: sigaction is plain data.
            let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
            // SAFETY: the structure is ours to write.
            unsafe { libc::sigaction(*signal, ptr::null(), &mut action) };
            if action.sa_sigaction != libc::SIG_DFL {
                return false;
            }
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
            // SAFETY: the handler does only what handlers may.
            unsafe { libc::sigaction(*signal, &action, ptr::null_mut()) == 0 }
        },
    )
}

// Suspending

/// Stops the threads and tells for each whether it was done, now or before.
pub fn suspend_all(threads: &[Option<Arc<Thread>>], mut result: impl FnMut(usize, bool)) {
    for (i, thread) in threads.iter().enumerate() {
        result(i, thread.as_ref().is_some_and(suspend));
    }
}

/// Stops the thread; true if that was done, now or before. A thread that just runs goes on for
/// the microseconds that the signal takes to get to its processor.
pub fn suspend(thread: &Arc<Thread>) -> bool {
    let stop = &thread.stop;
    if stop.state.load(Ordering::Acquire) != state::RUNNING {
        return true;
    }
    let has_run = stop.has_consumed(cpu_time(thread));
    stop.has_run.store(has_run, Ordering::Relaxed);
    // A thread of the VM's own that waits inside the VM looks like one that runs.
    let idles_in_vm = !has_run && stop.trace.get().is_some_and(|trace| trace.is_empty());
    if !idles_in_vm && runs_java_code(thread) {
        stop.signal(thread)
    } else {
        suspend_by_jvmti(thread)
    }
}

/// Whether the thread is one for the signal.
fn runs_java_code(thread: &Thread) -> bool {
    if SIGNAL.get().is_none_or(|signal| *signal == 0) || thread.os_thread() == 0 {
        return false;
    }
    jvmti_state(thread, RECENT).is_some_and(|state| {
        state & JVMTI_THREAD_STATE_RUNNABLE != 0 && state & JVMTI_THREAD_STATE_IN_NATIVE == 0
    })
}

/// How old a state may be on which it depends how a thread is stopped. Either way works in every
/// state, if slowly.
const RECENT: Duration = Duration::from_micros(100);

/// The thread's state as JVMTI gives it, or as it was not longer ago than `age`: samplers ask for
/// it right before they suspend.
pub fn jvmti_state(thread: &Thread, age: Duration) -> Option<jint> {
    let stop = &thread.stop;
    let now = EPOCH.elapsed().as_nanos() as u64;
    if now - stop.seen_at.load(Ordering::Relaxed) < age.as_nanos() as u64 {
        return Some(stop.seen.load(Ordering::Relaxed));
    }
    let state = jvm::get().jvmti.thread_state(thread.object()?.get()).ok()?;
    stop.seen.store(state, Ordering::Relaxed);
    stop.seen_at.store(now, Ordering::Relaxed);
    Some(state)
}

fn suspend_by_jvmti(thread: &Thread) -> bool {
    let suspended = thread.object().is_some_and(|object| {
        // A thread that is about to tag an object must not be stopped there.
        let _tagging = ids::hold_tagging();
        jvm::get().jvmti.suspend(object.get()).is_ok()
    });
    if suspended {
        thread.stop.state.store(state::BY_JVMTI, Ordering::Release);
    }
    suspended
}

/// Lets the thread go on; true if it was suspended.
pub fn resume(thread: &Arc<Thread>) -> bool {
    let stop = &thread.stop;
    // A thread that has run without answering has still to be counted.
    let cpu = cpu_time(thread);
    if stop.has_run.load(Ordering::Relaxed) || !stop.has_consumed(cpu) {
        stop.cpu_when_resumed.store(cpu.unwrap_or(0), Ordering::Relaxed);
    }
    match stop.state.swap(state::RUNNING, Ordering::AcqRel) {
        state::RUNNING => false,
        state::BY_JVMTI => {
            thread.object().is_some_and(|object| jvm::get().jvmti.resume(object.get()).is_ok())
        }
        _ => {
            wake(&stop.state);
            true
        }
    }
}

/// Whether an agent has suspended the thread.
pub fn is_suspended(thread: &Thread) -> bool {
    thread.stop.state.load(Ordering::Acquire) != state::RUNNING
}

/// Whether the thread consumed CPU time between being resumed and being suspended. A thread that
/// did but could not be stopped at once, since it waits for a processor, has not run yet; it
/// will have, with a trace, when it is stopped while it runs.
pub fn has_run(thread: &Thread) -> bool {
    let stop = &thread.stop;
    if !is_suspended(thread) || !stop.has_run.load(Ordering::Relaxed) {
        return false;
    }
    let answered = stop.wait_for_trace(stop.signalled_at() + ANSWER);
    stop.has_run.store(answered, Ordering::Relaxed);
    answered
}

/// Nanoseconds; None if they cannot be had.
fn cpu_time(thread: &Thread) -> Option<i64> {
    match thread.os_thread() {
        0 => jvm::get().jvmti.thread_cpu_time(thread.object()?.get()).ok(),
        os_thread => cpu_clock::of(os_thread),
    }
}

impl Stop {
    fn has_consumed(&self, cpu: Option<i64>) -> bool {
        let before = self.cpu_when_resumed.load(Ordering::Relaxed);
        cpu.is_none_or(|cpu| cpu - before > HANDLER_COST)
    }

    fn signalled_at(&self) -> Instant {
        *EPOCH + Duration::from_nanos(self.signalled.load(Ordering::Relaxed))
    }

    fn signal(&self, thread: &Thread) -> bool {
        self.trace.get_or_init(Trace::new);
        self.signalled.store(EPOCH.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.state.store(state::SIGNALLED, Ordering::Release);
        if self.signal_pending.swap(true, Ordering::AcqRel) {
            return true;
        }
        let signal = SIGNAL.get().copied().unwrap_or(0);
        // SAFETY: the system call takes numbers only; a thread that has ended makes it fail.
        let sent = unsafe {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), thread.os_thread(), signal) == 0
        };
        if !sent {
            self.signal_pending.store(false, Ordering::Release);
            self.state.store(state::RUNNING, Ordering::Release);
        }
        sent
    }

    /// Waits while the signal is on its way; false if that takes too long.
    fn wait_for_trace(&self, end: Instant) -> bool {
        wait_while(&self.state, state::SIGNALLED, end)
    }
}

// The trace of a suspended thread

/// How deep traces were asked for so far: the handler takes no more.
static DEPTH: AtomicUsize = AtomicUsize::new(16);

/// Runs `f` with the innermost frames of a thread that was stopped by signal, at least `depth` if
/// it has so many. None if JVMTI has to be asked; the thread stands still for it then.
pub fn with_trace<R>(thread: &Thread, depth: usize, f: impl FnOnce(&[RawFrame]) -> R) -> Option<R> {
    let stop = &thread.stop;
    let trace = stop.trace.get()?;
    let limit = DEPTH.fetch_max(depth.min(FRAMES), Ordering::Relaxed);
    if matches!(stop.state.load(Ordering::Acquire), state::RUNNING | state::BY_JVMTI) {
        return None;
    }
    // While the thread has not consumed any time, its last trace is still true.
    let is_true_still = || {
        let taken = trace.cpu.load(Ordering::Relaxed);
        cpu_time(thread).is_some_and(|now| now - taken <= HANDLER_COST)
    };
    if !is_true_still() && !stop.wait_for_trace(Instant::now() + TRACE) {
        escalate(thread);
        return None;
    }
    let length = trace.length.load(Ordering::Acquire);
    match usize::try_from(length) {
        Ok(length) if length < limit || depth <= length => {
            // SAFETY: the handler wrote that many frames, and writes none while the thread waits
            // in it or has not come to it.
            Some(f(unsafe { std::slice::from_raw_parts(trace.start(), length) }))
        }
        _ => {
            escalate(thread);
            None
        }
    }
}

// The handler

extern "C" fn on_signal(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: errno is the thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    if let Some(thread) = threads::current_in_handler() {
        answer(&thread, context);
    }
    // SAFETY: as above.
    unsafe { *errno = before };
}

fn answer(thread: &Thread, context: *mut c_void) {
    let stop = &thread.stop;
    stop.signal_pending.store(false, Ordering::Release);
    let Some(trace) = stop.trace.get() else { return };
    if stop.state.load(Ordering::Acquire) != state::SIGNALLED {
        return;
    }
    let limit = DEPTH.load(Ordering::Relaxed).min(FRAMES);
    // SAFETY: while the state is SIGNALLED nobody reads the frames of a trace that is not true
    // any more, and only this handler writes them.
    let frames = unsafe { std::slice::from_raw_parts_mut(trace.start(), limit) };
    // SAFETY: this is the handler, and `prepare` has asked for the function.
    let walked = unsafe { async_call_trace::walk(thread.env(), frames, context) };
    let length = walked.map_or_else(|reason| reason, |length| length as i32);
    trace.length.store(length, Ordering::Relaxed);
    trace.cpu.store(cpu_clock::current(), Ordering::Relaxed);
    let (from, to) = (state::SIGNALLED, state::STOPPED);
    if stop.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    wake(&stop.state);
    let began = Instant::now();
    if !wait_while(&stop.state, state::STOPPED, began + HANDLER) {
        OVERDUE.fetch_add(1, Ordering::AcqRel);
        wake(&OVERDUE);
        wait_while(&stop.state, state::STOPPED, began + HANDLER_AT_MOST);
    }
}

// Escalation

/// How many threads have waited in the handler for too long, ever.
static OVERDUE: AtomicU32 = AtomicU32::new(0);

/// The thread that takes over from handlers.
fn take_over(_: Jni) {
    let mut seen = 0;
    loop {
        wait(&OVERDUE, seen, Duration::from_secs(3600));
        seen = OVERDUE.load(Ordering::Acquire);
        let stopped = |thread: &Arc<Thread>| {
            matches!(thread.stop.state.load(Ordering::Acquire), state::STOPPED | state::SIGNALLED)
        };
        threads::all().iter().filter(|thread| stopped(thread)).for_each(|t| escalate(t));
    }
}

/// Has JVMTI stop the thread instead of the handler.
fn escalate(thread: &Thread) {
    let state = &thread.stop.state;
    let leave = |now| matches!(now, state::STOPPED | state::SIGNALLED).then_some(state::LEAVING);
    if state.fetch_update(Ordering::AcqRel, Ordering::Acquire, leave).is_err() {
        return;
    }
    wake(state);
    let Some(object) = thread.object() else { return };
    let jvmti = jvm::get().jvmti;
    let suspended = {
        let _tagging = ids::hold_tagging();
        jvmti.suspend(object.get()).is_ok()
    };
    let (from, to) = (state::LEAVING, if suspended { state::BY_JVMTI } else { state::RUNNING });
    let resumed = state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_err();
    if resumed && suspended {
        let _ = jvmti.resume(object.get());
    }
}

// Futexes: what a handler may wait on

/// Waits until the word changes, first without giving up the processor; false if that takes until
/// `end`.
fn wait_while(word: &AtomicU32, value: u32, end: Instant) -> bool {
    let began = Instant::now();
    while word.load(Ordering::Acquire) == value {
        let now = Instant::now();
        let Some(left) = end.checked_duration_since(now) else { return false };
        if now - began < SPIN {
            std::hint::spin_loop();
        } else {
            wait(word, value, left);
        }
    }
    true
}

fn wait(word: &AtomicU32, while_is: u32, at_most: Duration) {
    let timeout = libc::timespec {
        tv_sec: at_most.as_secs() as libc::time_t,
        tv_nsec: at_most.subsec_nanos().into(),
    };
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the timeout live until the call returns.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, while_is, &timeout) };
}

fn wake(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word is valid.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, i32::MAX) };
}
