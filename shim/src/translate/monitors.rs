//! MONITOR_CONTENDED_ENTER, ENTERED and EXIT, MONITOR_WAIT and WAITED.
//!
//! A sleeping thread is reported as waiting without an object, a parked one as waiting on the object that blocks
//! it.

use super::{announce, frames};
use crate::classes::{method_numbers, methods};
use crate::notify::{self, short_cut};
use crate::records::agents::{self, Agent};
use crate::records::{ids, virtual_thread};
use crate::sync::{contention, tagging};
use crate::threads::{self, Current, Thread};
use jni_sys::{JNIEnv, jboolean, jclass, jint, jlong, jobject};
use jvm::lock::Memo;
use jvm::types::{JVMTI_THREAD_STATE_INTERRUPTED, jthread};
use jvm::{FieldId, Jni, internals, symbols};
use jvmpi_sys::*;
use std::ffi::c_void;
use std::ptr;
use std::time::Duration;

jvm::callbacks! {
    pub fn monitor_contended_enter(waiting: jthread, object: jobject) => |jni, waiting, object| {
        // From JDK 27 on the VM also reports a notified thread, if it really has to wait.
        if let Some(thread) = waiter_at_entry(jni, waiting) {
            contended_enter(jni, &thread, object);
        }
    };
    pub fn monitor_contended_entered(waiting: jthread, object: jobject) => |jni, waiting, object| {
        if let Some(thread) = waiter_at_entry(jni, waiting) {
            contended_entered(jni, &thread, object);
        }
    };
    pub fn monitor_wait(waiting: jthread, object: jobject, timeout: jlong) => begins_to_wait;
    pub fn monitor_waited(waiting: jthread, object: jobject, timed_out: jboolean) => has_waited;
}

/// Returns the current thread, if it is the waiting one, its events are sent, and it does not enter the monitor again
/// because it was notified.
fn waiter_at_entry(jni: Jni, waiting: jthread) -> Option<Current> {
    reported_waiter(jni, waiting).filter(|thread| !thread.waits.enters_again())
}

/// Handles MonitorContendedEnter: the current thread is about to wait to enter the monitor.
fn contended_enter(jni: Jni, thread: &Thread, object: jobject) {
    let Ok(id) = tagging::id_of(object) else { return };
    // Registered first: the owner may leave while the event is still in flight.
    contention::enter(jni, &thread.waits, id);
    if !announce::send_about(jni, thread, JVMPI_EVENT_MONITOR_CONTENDED_ENTER, object, monitor) {
        contention::entered(jni, &thread.waits, id);
    }
}

/// Reports that the current thread owns the monitor, if it had to wait for it.
fn contended_entered(jni: Jni, thread: &Thread, object: jobject) {
    let Ok(id) = tagging::id_of(object) else { return };
    if contention::entered(jni, &thread.waits, id) {
        announce::send_about(jni, thread, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED, object, monitor);
    }
}

fn begins_to_wait(jni: Jni, waiting: jthread, object: jobject, timeout: jlong) {
    let thread = threads::current(jni);
    // The VM reports the beginning of a wait that throws an exception, but not the end.
    if !notify::is_reported(&thread) || timeout < 0 || !holds_lock(jni, object) {
        return;
    }
    let body = |_: &Agent, object| JVMPI_Event_monitor_wait { object, timeout };
    let is_sent = blocks(jni, waiting)
        && announce::send_about(jni, &thread, JVMPI_EVENT_MONITOR_WAIT, object, body);
    // A wait releases the monitor completely, however often the thread has entered it, unless it is interrupted.
    if is_awaited(object) && !is_interrupted() {
        announce::send_about(jni, &thread, JVMPI_EVENT_MONITOR_CONTENDED_EXIT, object, monitor);
    }
    if is_sent {
        thread.waits.begin();
    }
}

fn has_waited(jni: Jni, waiting: jthread, object: jobject, timed_out: jboolean) {
    let Some(thread) = reported_waiter(jni, waiting) else { return };
    if let Some(waited) = thread.waits.end() {
        announce::send_about(jni, &thread, JVMPI_EVENT_MONITOR_WAITED, object, wait(waited));
    }
    // A notifying thread owns the monitor, so this one has to wait for it. After a timeout or an interrupt
    // the VM itself reports a wait for the monitor.
    let was_notified = || !timed_out && !is_interrupted() && !jni.is_virtual(waiting);
    if thread.waits.returns_are_seen() && is_contention_wanted() && was_notified() {
        contended_enter(jni, &thread, object);
        thread.waits.enter_again();
    }
}

/// Reports that the current thread, which was notified, owns the monitor again. If it was interrupted, the
/// exception is pending.
pub fn entered_again(jni: Jni, object: jobject) {
    let thread = threads::current(jni);
    jni.frame(8, |jni| contended_entered(jni, &thread, object));
}

fn is_contention_wanted() -> bool {
    let contention = [
        JVMPI_EVENT_MONITOR_CONTENDED_ENTER,
        JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
        JVMPI_EVENT_MONITOR_CONTENDED_EXIT,
    ];
    contention.into_iter().any(agents::anyone_wants)
}

/// Finds the object on which the current thread sleeps or parks: NULL for a thread that sleeps, None if it is unknown.
pub type FindObject = fn(Jni) -> Option<jobject>;

/// Reports that the current thread is about to sleep or park for `time` (zero: no limit). Returns true if [`end_pause`] is
/// to be called afterwards.
pub fn begin_pause(jni: Jni, time: Duration, find: FindObject) -> bool {
    let wanted = [JVMPI_EVENT_MONITOR_WAIT, JVMPI_EVENT_MONITOR_WAITED];
    if !wanted.into_iter().any(agents::anyone_wants) {
        return false;
    }
    let thread = threads::current(jni);
    if !short_cut::is_reportable(&thread) {
        return false;
    }
    jni.frame(8, |jni| {
        let Some(object) = find(jni) else { return false };
        // Rounded up to milliseconds, because a timeout of 0 ms means no limit.
        let body = wait(time + Duration::from_nanos(999_999));
        announce::send_about(jni, &thread, JVMPI_EVENT_MONITOR_WAIT, object, body);
        thread.waits.begin();
        true
    })
}

/// Reports that the current thread has slept or parked. If it was interrupted, the exception is pending.
pub fn end_pause(jni: Jni, find: FindObject) {
    let thread = threads::current(jni);
    let Some(waited) = thread.waits.end() else { return };
    jni.frame(8, |jni| {
        if let Some(object) = find(jni) {
            announce::send_about(jni, &thread, JVMPI_EVENT_MONITOR_WAITED, object, wait(waited));
        }
    });
}

/// Returns the object that the current thread is about to park on, as `LockSupport.getBlocker` does. None if it
/// is unknown, and for a virtual thread.
pub fn blocker(jni: Jni) -> Option<jobject> {
    static BLOCKER: Memo<Option<FieldId>> = Memo::new();
    let field = BLOCKER.get_or_find(|| {
        let class = jni.find_class(c"java/lang/Thread")?;
        jni.field(class, c"parkBlocker", c"Ljava/lang/Object;")
    });
    let thread =
        jvm::get().jvmti.current_thread().ok().filter(|thread| !jni.is_virtual(*thread))?;
    Some(jni.object_field(thread, (*field)?)).filter(|blocker| !blocker.is_null())
}

/// Reports MONITOR_CONTENDED_EXIT if needed. Rewritten code calls this before it leaves the object's monitor,
/// while some thread is waiting to enter a monitor.
pub fn leaving(jni: Jni, object: jobject) {
    if !is_awaited(object) {
        return;
    }
    let thread = threads::current(jni);
    if notify::is_reported(&thread) && lets_go(jni, &thread, object) {
        thread.in_flight.while_tracking(|| {
            announce::send_about(jni, &thread, JVMPI_EVENT_MONITOR_CONTENDED_EXIT, object, monitor);
        });
    }
}

/// Does the same as [`leaving`] for the class that declares the running method with this number.
pub fn leaving_class(jni: Jni, number: jint) {
    let class = method_numbers::with(jni, number as usize, |method| method.class.object(jni));
    if let Some(class) = class.flatten() {
        leaving(jni, class);
    }
}

/// Handles a JNI MonitorExit of the current thread, which may have an exception pending.
pub fn leaving_by_jni(jni: Jni, object: jobject) {
    leaving_natively(jni, object, |jni, thread| {
        // The MonitorEnter may have been missed.
        let by_jni = thread.jni_monitors.count(jni, object).max(1);
        holds_lock(jni, object) && by_jni + entries_by_methods(object) == 1
    });
}

/// Handles the exit from a native method that is synchronized on the object. An exception may be pending.
pub fn leaving_native_method(jni: Jni, object: jobject) {
    leaving_natively(jni, object, |jni, thread| lets_go(jni, thread, object));
}

/// Reports MONITOR_CONTENDED_EXIT from native code, if `is_last` says that the thread then no longer owns the
/// monitor.
fn leaving_natively(jni: Jni, object: jobject, is_last: impl FnOnce(Jni, &Thread) -> bool) {
    if !is_awaited(object) {
        return;
    }
    let thread = threads::current(jni);
    jni.frame(8, |jni| {
        if notify::is_reported(&thread) && is_last(jni, &thread) {
            announce::send_about(jni, &thread, JVMPI_EVENT_MONITOR_CONTENDED_EXIT, object, monitor);
        }
    });
}

/// Returns true if a thread is waiting to enter the object's monitor.
fn is_awaited(object: jobject) -> bool {
    contention::is_any_awaited()
        && ids::tag(object).is_ok_and(|tag| contention::is_awaited(tag.id()))
}

/// Returns true if the current thread, which is about to leave the monitor once, no longer owns it afterwards.
/// The VM knows the entry count but stops the world to read it. So it is asked only if the methods on the stack
/// have more than one place that can have locked the monitor, or if native code can have locked it.
fn lets_go(jni: Jni, thread: &Thread, object: jobject) -> bool {
    if thread.jni_monitors.is_empty() && has_locked_once(jni) {
        return true;
    }
    thread.jni_monitors.count(jni, object) + entries_by_methods(object) == 1
}

/// Returns the number of times that methods on the stack of the monitor's owner have entered it.
fn entries_by_methods(object: jobject) -> usize {
    jvm::get().jvmti.monitor_usage(object).map_or(0, |usage| usage.entry_count as usize)
}

/// Returns true if at most one place in the methods on the stack locks monitors.
fn has_locked_once(jni: Jni) -> bool {
    let mut locks = 0;
    frames::each(0, |frame| {
        locks += methods::as_it_is(jni, frame.method, true).map_or(0, |(method, _)| method.locks());
        locks <= 1
    });
    locks <= 1
}

fn is_interrupted() -> bool {
    let state = jvm::get().jvmti.thread_state(ptr::null_mut()).unwrap_or(0);
    state & JVMTI_THREAD_STATE_INTERRUPTED != 0
}

/// Returns the current thread, if it is the waiting one and its events are sent.
fn reported_waiter(jni: Jni, waiting: jthread) -> Option<Current> {
    let thread = threads::current(jni);
    (notify::is_reported(&thread) && blocks(jni, waiting)).then_some(thread)
}

/// Returns true if the current thread itself waits. If events of virtual threads name their carriers, this
/// matters for a virtual thread. Before JDK 24 it keeps its carrier while it waits for a monitor. Later JDKs
/// release the carrier, so the carrier must not be reported as waiting.
fn blocks(jni: Jni, waiting: jthread) -> bool {
    const CARRIERS_GO_ON_SINCE: u32 = 24;
    virtual_thread::are_threads()
        || jvm::get().feature_version() < CARRIERS_GO_ON_SINCE
        || !jni.is_virtual(waiting)
}

fn monitor(_: &Agent, object: jobjectID) -> JVMPI_Event_monitor {
    JVMPI_Event_monitor { object }
}

/// Returns the event body of a wait with this timeout, or of this duration.
fn wait(time: Duration) -> impl Fn(&Agent, jobjectID) -> JVMPI_Event_monitor_wait {
    move |_, object| JVMPI_Event_monitor_wait { object, timeout: time.as_millis() as jlong }
}

type HoldsLock = unsafe extern "system" fn(*mut JNIEnv, jclass, jobject) -> jboolean;

/// Returns the function behind `Thread.holdsLock`, which the VM exports.
pub fn holds_lock_function() -> Option<HoldsLock> {
    static HOLDS_LOCK: Memo<Option<HoldsLock>> = Memo::new();
    *HOLDS_LOCK.get_or_find(|| {
        let address = internals::HOLDS_LOCK.find(|| symbols::find(c"JVM_HoldsLock"))?;
        // SAFETY: the function of this name has this type.
        Some(unsafe { std::mem::transmute::<*mut c_void, HoldsLock>(address.as_ptr()) })
    })
}

/// Returns true if the current thread owns the object's monitor.
fn holds_lock(jni: Jni, object: jobject) -> bool {
    // SAFETY: the environment is the current thread's. The class, which is not used, is that of a static method.
    let holds = |function: HoldsLock| unsafe { function(jni.env(), ptr::null_mut(), object) };
    holds_lock_function().is_none_or(holds)
}
