//! Threads. A thread's ID is its `JNIEnv *`. Everything in a virtual thread belongs to the carrier whose
//! environment it runs in. With `virtual=own` it belongs to the record of the virtual thread, which is the
//! current thread's while it is mounted.
//!
//! The current thread gets its record when it first runs code of the shim. Others get theirs when an agent or an event
//! names them.

pub mod agent_clock;
pub mod mounting;
pub mod objects;

pub use crate::records::registry::{
    all, by_env, by_id, hidden_objects, is_current, is_hidden_object, known_to,
};
pub use crate::records::thread::{Current, Thread, known_current};
pub use jvm::platform::os_thread::os_thread;
pub use mounting::{expect_notices, mounted, numbers_are_known, unmounted};
pub use objects::{hide, locate_environments, locate_states, os_thread_of};

use crate::records::registry::{self, has_ended, own, record};
use crate::records::{agents, ids, phase, virtual_thread};
use crate::sync::{tagging, vm_locks};
use jni_sys::{JNIEnv, jint, jobject};
use jvm::Jni;
use objects::learn_object;
use std::ffi::CStr;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Returns the current thread and its JNI, if it is attached to the VM.
pub fn current_attached() -> Option<(Jni, Current)> {
    let jni = jvm::try_get()?.jni()?;
    Some((jni, current(jni)))
}

/// Returns the current thread and its JNI, if it is attached and the VM is in a phase in which it answers.
pub fn current_answered() -> Option<(Jni, Current)> {
    if phase::vm_answers() { current_attached() } else { None }
}

/// Returns the record of the current thread, and creates it if there is none.
pub fn current(jni: Jni) -> Current {
    match known_current() {
        Some(thread) if thread.runs_in(jni.env()) => thread,
        _ => adopt(jni),
    }
}

/// Runs Java code for the shim, and reports nothing of it to agents.
pub fn internally<R>(jni: Jni, work: impl FnOnce() -> R) -> R {
    current(jni).internally(work)
}

/// Makes the record for this environment that of the current thread.
#[cold]
fn adopt(jni: Jni) -> Current {
    let mut thread = record(jni.env());
    if is_anothers(jni, &thread) {
        // Agents know that one, and the VM has not reported its end: from JDK 26 on it does not while it is ending. So
        // nothing of this thread is reported either, unless the VM reports its start.
        let is_last =
            thread.has_ended() || agents::all().iter().any(|agent| thread.announced.to(agent));
        registry::forget(&thread);
        thread = record(jni.env());
        thread.ended.store(is_last, Ordering::Release);
    }
    let current = own_record(thread);
    if current.object().is_none() {
        jni.frame(8, |jni| {
            let object = carrier(jni);
            // Not while the thread is being attached: its object is being constructed then, which is
            // reported like that of any other object.
            if mounting::is_alive(object) {
                learn_object(&current, jni, object);
            }
        });
    }
    if virtual_thread::are_threads() {
        mounting::find_mounted(jni).unwrap_or(current)
    } else {
        current
    }
}

/// Makes this the record of the current OS thread.
fn own_record(thread: Arc<Thread>) -> Current {
    thread.os_thread.store(os_thread(), Ordering::Relaxed);
    let current = Current::of(&thread);
    own(Some(thread));
    current
}

/// Gives the current thread this environment, as if it were attached to a VM.
#[cfg(test)]
pub fn adopt_for_test(env: usize) -> Current {
    own_record(record(ptr::without_provenance_mut(env)))
}

/// Returns true if the record belongs to an earlier thread with the same environment. Another thread
/// created it anew while that thread ended.
fn is_anothers(jni: Jni, thread: &Thread) -> bool {
    let Some(known) = thread.object().filter(|_| objects::structures_are_known()) else {
        return false;
    };
    jni.frame(4, |jni| {
        let object = jvm::get().jvmti.current_thread().unwrap_or(ptr::null_mut());
        // If a virtual thread is mounted, its object cannot be compared with the carrier's.
        !object.is_null()
            && objects::structure_of(jni, object) != 0
            && !jni.same_object(known.get(), object)
    })
}

/// Returns the `java.lang.Thread` of the current platform thread; NULL while it is being attached.
fn carrier(jni: Jni) -> jobject {
    let thread = jvm::get().jvmti.current_thread().unwrap_or(ptr::null_mut());
    if thread.is_null() || objects::structure_of(jni, thread) != 0 {
        return thread;
    }
    // A virtual thread is mounted.
    let carrier = || {
        let class = jni.find_class(c"java/lang/Thread")?;
        let method = jni.static_method(class, c"currentCarrierThread", c"()Ljava/lang/Thread;")?;
        internally(jni, || jni.call_static_object(class, method, &[]))
    };
    carrier().unwrap_or(thread)
}

/// Called when the VM reports that the current thread has started.
pub fn started(jni: Jni) -> Current {
    let mut thread = current(jni);
    if thread.has_ended() || is_anothers(jni, &thread) {
        registry::forget(&thread);
        own(None);
        thread = current(jni);
    }
    if thread.object().is_none() {
        jni.frame(8, |jni| learn_object(&thread, jni, carrier(jni)));
    }
    thread
}

/// Called when the VM reports that the current thread has ended, after agents got THREAD_END.
///
/// The thread keeps its record, marked as ended, so that nothing more is reported about it. A suspended
/// thread waits here until it has been resumed, because its record must be found until then.
pub fn ended(thread: &Thread) {
    {
        let _lock = vm_locks::for_resuming();
        thread.ended.store(true, Ordering::Release);
    }
    thread.short_cut.forbid();
    registry::note_end(thread);
    registry::forget(thread);
}

/// Called when the VM reports that the current virtual thread has ended, after agents got THREAD_END.
/// Afterwards the carrier's record is the current one.
pub fn virtual_ended(jni: Jni, thread: &Thread) {
    // The caller's record must outlast the change of the current thread.
    let _kept = by_env(thread.env());
    unmounted(jni);
    ended(thread);
}

/// Starts a hidden daemon thread.
pub fn start_hidden(
    jni: Jni,
    name: &CStr,
    run: impl FnOnce(Jni) + Send + 'static,
) -> jvm::Result<()> {
    const NORMAL_PRIORITY: jint = 5;
    internally(jni, || jvm::start_thread(jni, name, NORMAL_PRIORITY, hide, run))
}

/// Runs `f` on the live thread with this environment. None for NULL, invalid pointers and threads that have ended.
/// The thread that sends JVM_SHUT_DOWN has ended for agents, but is found in its handlers. For the current thread
/// this costs only some comparisons.
#[inline]
pub fn with_env<R>(env: *mut JNIEnv, f: impl FnOnce(&Thread) -> R) -> Option<R> {
    match known_current() {
        Some(thread) if thread.env() == env && !thread.has_ended() && !env.is_null() => {
            Some(f(&thread))
        }
        _ => with_any_env(env, f),
    }
}

#[cold]
#[inline(never)]
fn with_any_env<R>(env: *mut JNIEnv, f: impl FnOnce(&Thread) -> R) -> Option<R> {
    // Agents may use the record of the current thread.
    let is_there = |current: &Thread| !current.has_ended() || phase::is_shutting_down_here();
    if is_current(env) {
        return known_current().filter(|thread| is_there(thread)).map(|thread| f(&thread));
    }
    if let Some(thread) = by_env(env) {
        return (!thread.is_hidden()).then(|| f(&thread));
    }
    // The current thread may have no record yet.
    let (_, thread) = current_attached().filter(|(jni, _)| jni.env() == env)?;
    is_there(&thread).then(|| f(&thread))
}

/// Returns the record of the live thread for which this `java.lang.Thread` stands, even if it has never run code of
/// the shim. None if it has ended or has not started. None for a virtual thread, unless these are threads of their
/// own.
pub fn discover(jni: Jni, object: jobject) -> Option<Arc<Thread>> {
    if let Some(thread) = by_id(ids::tag(object).ok()?.id()) {
        return Some(thread);
    }
    let id = tagging::id_of(object).ok()?;
    let is_thread = |jni: Jni| {
        jni.find_class(c"java/lang/Thread").is_some_and(|class| jni.instance_of(object, class))
    };
    if !jni.frame(4, is_thread) {
        return None;
    }
    let native = objects::structure_of(jni, object);
    let distance = objects::env_distance()?;
    if native == 0 {
        return mounting::find(jni, object);
    }
    let env = native.wrapping_add(distance);
    if has_ended(env, id) {
        return None;
    }
    let thread = record(ptr::without_provenance_mut(env));
    learn_object(&thread, jni, object);
    if thread.id() != id {
        return None;
    }
    if objects::structure_of(jni, object) != native || has_ended(env, id) {
        // It has ended meanwhile, perhaps before its record was created. Then no other call removes that.
        registry::forget(&thread);
        return None;
    }
    Some(thread)
}
