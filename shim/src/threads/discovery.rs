//! Finds threads that may never have run code of the shim.

use super::current::{current_attached, try_current};
use super::identity::learn_object;
use super::{mounting, structure};
use crate::records::phase;
use crate::records::registry::{
    by_env, by_id, forget, has_ended, is_current, known_current, record,
};
use crate::records::thread::Thread;
use crate::sync::tagging;
use jni_sys::{JNIEnv, jobject};
use jvm::Jni;
use std::ptr;
use std::sync::Arc;

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
    if is_current(env) {
        return try_current().filter(|thread| is_there(thread)).map(|thread| f(&thread));
    }
    if let Some(thread) = by_env(env) {
        return (!thread.is_hidden()).then(|| f(&thread));
    }
    // The current thread may have no record yet.
    let (_, thread) = current_attached().filter(|(jni, _)| jni.env() == env)?;
    is_there(&thread).then(|| f(&thread))
}

/// Returns true if agents may use the record of the current thread.
fn is_there(current: &Thread) -> bool {
    !current.has_ended() || phase::is_shutting_down_here()
}

/// Returns the record of the live thread for which this `java.lang.Thread` stands, even if it has never run code of
/// the shim. None if it has ended or has not started. None for a virtual thread, unless these are threads of their
/// own.
pub fn discover(jni: Jni, object: jobject) -> Option<Arc<Thread>> {
    let id = tagging::id_of(object).ok()?;
    if let Some(thread) = by_id(id) {
        return Some(thread);
    }
    let is_thread = |jni: Jni| {
        jni.find_class(c"java/lang/Thread").is_some_and(|class| jni.instance_of(object, class))
    };
    if !jni.frame(4, is_thread) {
        return None;
    }
    let native = structure::of(jni, object);
    let distance = structure::env_distance()?;
    if native == 0 {
        return mounting::find(jni, object);
    }
    let env = native.wrapping_add(distance);
    let has_ended = || has_ended(env, id);
    if has_ended() {
        return None;
    }
    let thread = record(ptr::without_provenance_mut(env));
    learn_object(&thread, jni, object);
    if thread.id() != id {
        return None;
    }
    if structure::of(jni, object) != native || has_ended() {
        // It has ended meanwhile, perhaps before its record was created. Then no other call removes that.
        forget(&thread);
        return None;
    }
    Some(thread)
}
