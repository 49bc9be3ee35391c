//! The service thread, which has threads that a signal has stopped suspended by JVMTI instead.

use super::stop::state::*;
use super::{can_suspend, futex};
use crate::jvm::{self, Error, Jni, os_priority};
use crate::world::scheduling;
use crate::world::threads::{self, Thread};
use jvmti_sys::JVMTI_ERROR_THREAD_SUSPENDED;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

/// The threads that wait for the service thread, the newest first.
static WAITING: AtomicPtr<Thread> = AtomicPtr::new(ptr::null_mut());
/// Counts their requests; the service thread waits for it to change.
static CALLS: AtomicU32 = AtomicU32::new(0);

/// The service thread's number while it is in a call of the VM, where it may be blocked by a thread that is
/// in its handler, and that of the thread that it suspends there; else 0.
static CALLING: AtomicI32 = AtomicI32::new(0);
static CALLED_FOR: AtomicI32 = AtomicI32::new(0);

/// Whether the service thread may be blocked until a thread that waits for it goes on. Otherwise it, or the
/// thread that it suspends, needs nothing but a processor. May be asked in a signal handler.
pub fn may_be_held_up() -> bool {
    let [calling, called_for] = [&CALLING, &CALLED_FOR].map(|thread| thread.load(Ordering::SeqCst));
    calling != 0
        && !scheduling::wants_processor(calling)
        && !scheduling::wants_processor(called_for)
}

/// Starts the service thread.
pub fn start(jni: Jni) -> jvm::Result<()> {
    threads::start_hidden(jni, c"jvmpi suspension", |_| {
        serve();
    })
}

/// Asks the service thread to take over the current thread, which is overdue. Called in the signal
/// handler.
pub fn ask_for(thread: &Thread) {
    let link = &thread.stop.queue;
    if link.is_waiting.swap(true, Ordering::SeqCst) {
        return;
    }
    let this = ptr::from_ref(thread).cast_mut();
    let mut first = WAITING.load(Ordering::SeqCst);
    loop {
        link.next.store(first, Ordering::SeqCst);
        match WAITING.compare_exchange(first, this, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => break,
            Err(newer) => first = newer,
        }
    }
    CALLS.fetch_add(1, Ordering::SeqCst);
    futex::wake(&CALLS);
}

fn serve() -> ! {
    os_priority::favour_current_thread();
    loop {
        serve_waiting(&suspend);
    }
}

/// Takes over the threads that wait, or waits for one.
fn serve_waiting(suspend: &impl Fn(&Thread) -> u32) {
    let calls = CALLS.load(Ordering::SeqCst);
    let mut next = WAITING.swap(ptr::null_mut(), Ordering::SeqCst);
    if next.is_null() {
        futex::wait(&CALLS, calls, None);
    }
    while !next.is_null() {
        // SAFETY: a record that waits is kept (`suspension::KEPT`).
        let thread = unsafe { &*next };
        let link = &thread.stop.queue;
        next = link.next.load(Ordering::SeqCst);
        // Only a record that does not wait any more may wait again.
        link.is_waiting.store(false, Ordering::SeqCst);
        // No claim is taken: its owner may be blocked by a thread that is in its handler. None is
        // needed: the thread to be taken over has been kept from claims since it was signalled.
        if thread.stop.change(OVERDUE, TAKEOVER) || thread.stop.change(ADRIFT, TAKEOVER) {
            CALLED_FOR.store(thread.os_thread(), Ordering::SeqCst);
            CALLING.store(threads::os_thread(), Ordering::SeqCst);
            take_over_by(thread, suspend);
            CALLING.store(0, Ordering::SeqCst);
        }
    }
}

/// Suspends a thread by JVMTI. The caller has just brought it into the state `TAKEOVER`.
pub fn take_over(thread: &Thread) {
    take_over_by(thread, &suspend);
}

/// As [`take_over`]; `suspend` stands for what JVMTI does.
pub fn take_over_by(thread: &Thread, suspend: &impl Fn(&Thread) -> u32) {
    let stop = &thread.stop;
    stop.taker.enter();
    stop.wake();
    let state = suspend(thread);
    stop.taker.leave();
    if !stop.change(TAKEOVER, state) {
        // It was resumed meanwhile.
        if state == SUSPENDED {
            resume(thread);
        }
        stop.change(UNWANTED, RUNNING);
    }
    stop.wake();
}

/// SuspendThread of JVMTI; the state that the thread is to have then: `SUSPENDED`, also if others had
/// suspended it already, `LOOSE` if another agent has can_suspend, and `RUNNING` if the thread has
/// ended, or the VM.
pub fn suspend(thread: &Thread) -> u32 {
    let Some(object) = thread.object() else { return RUNNING };
    let result = can_suspend::with(|| jvm::get().jvmti.suspend(object.get()));
    let Some(result) = result else { return LOOSE };
    let by_others = matches!(result, Err(Error(JVMTI_ERROR_THREAD_SUSPENDED)));
    thread.stop.by_others.store(by_others, Ordering::SeqCst);
    if by_others || result.is_ok() { SUSPENDED } else { RUNNING }
}

/// ResumeThread of JVMTI, unless others had suspended the thread before.
pub fn resume(thread: &Thread) {
    if thread.stop.by_others.load(Ordering::SeqCst) {
        return;
    }
    let resumed = thread.object().map(|object| jvm::get().jvmti.resume(object.get()));
    if let Some(Err(error)) = resumed {
        log::debug!("a thread is not resumed: {error}");
    }
}

/// Serves without a VM; `suspend` stands for what JVMTI does.
#[cfg(test)]
pub fn serve_for_test(is_over: impl Fn() -> bool, suspend: impl Fn(&Thread) -> u32) {
    while !is_over() {
        serve_waiting(&suspend);
    }
}

/// Has the service thread look whether it is over.
#[cfg(test)]
pub fn wake_for_test() {
    CALLS.fetch_add(1, Ordering::SeqCst);
    futex::wake(&CALLS);
}
