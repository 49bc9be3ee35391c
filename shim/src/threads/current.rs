//! The current thread, which gets its record when it first runs code of the shim.

use super::identity::learn_object;
use super::{mounting, structure};
use crate::records::agents;
use crate::records::registry::{self, Current, known_current, own, record};
use crate::records::thread::Thread;
use crate::records::virtual_thread;
use jni_sys::jobject;
use jvm::Jni;
use jvm::platform::os_thread::os_thread;
use std::ptr;
use std::sync::atomic::Ordering;

/// Returns the record of the current thread, if it is attached to the VM.
pub fn try_current() -> Option<Current> {
    known_current().or_else(|| jvm::try_get()?.jni().map(current))
}

/// Returns the current thread and its JNI, if it is attached to the VM.
pub fn current_attached() -> Option<(Jni, Current)> {
    let jni = jvm::try_get()?.jni()?;
    Some((jni, current(jni)))
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
    thread.os_thread.store(os_thread(), Ordering::Relaxed);
    let current = Current::of(&thread);
    own(Some(thread));
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

/// Returns true if the record belongs to an earlier thread with the same environment. Another thread
/// created it anew while that thread ended.
pub fn is_anothers(jni: Jni, thread: &Thread) -> bool {
    let Some(known) = thread.object().filter(|_| structure::is_known()) else { return false };
    jni.frame(4, |jni| {
        let object = jvm::get().jvmti.current_thread().unwrap_or(ptr::null_mut());
        // If a virtual thread is mounted, its object cannot be compared with the carrier's.
        !object.is_null()
            && structure::of(jni, object) != 0
            && !jni.same_object(known.get(), object)
    })
}

/// Returns the `java.lang.Thread` of the current platform thread; NULL while it is being attached.
pub fn carrier(jni: Jni) -> jobject {
    let thread = jvm::get().jvmti.current_thread().unwrap_or(ptr::null_mut());
    if thread.is_null() || structure::of(jni, thread) != 0 {
        return thread;
    }
    // A virtual thread is mounted.
    jni.find_class(c"java/lang/Thread")
        .and_then(|class| {
            let method =
                jni.static_method(class, c"currentCarrierThread", c"()Ljava/lang/Thread;")?;
            internally(jni, || jni.call_static_object(class, method, &[]))
        })
        .unwrap_or(thread)
}

/// Gives the current thread this environment, as if it were attached to a VM.
#[cfg(test)]
pub fn adopt_for_test(env: usize) -> Current {
    let thread = record(ptr::without_provenance_mut(env));
    thread.os_thread.store(os_thread(), Ordering::Relaxed);
    let current = Current::of(&thread);
    own(Some(thread));
    current
}
