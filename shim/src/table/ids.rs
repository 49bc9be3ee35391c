//! GetThreadObject, GetMethodClass, jobjectID2jobject and jobject2jobjectID.

use crate::classes::{Linking, method_classes};
use crate::gc::lookup;
use crate::records::agents::Agent;
use crate::sync::tagging;
use crate::threads::{self, Thread};
use crate::translate::announce;
use jni_sys::{JNIEnv, jmethodID, jobject};
use jvmpi_sys::jobjectID;
use std::ptr;

pub fn of_thread(agent: &Agent, env: *mut JNIEnv) -> jobjectID {
    let object = threads::with_env(env, Thread::object).flatten();
    object.map_or(ptr::null_mut(), |object| id(agent, object.get()))
}

pub fn of_class(_: &Agent, method: jmethodID) -> jobjectID {
    let class = || {
        let (jni, _) = threads::current_answered().filter(|_| !method.is_null())?;
        method_classes::class_of(jni, method)
    };
    class().unwrap_or(ptr::null_mut())
}

/// Returns a local reference of the current thread; NULL if the object is gone.
pub fn object(_: &Agent, id: jobjectID) -> jobject {
    let object = || {
        let (jni, _) = threads::current_answered()?;
        lookup::object(jni, id)
    };
    object().unwrap_or(ptr::null_mut())
}

pub fn id(agent: &Agent, object: jobject) -> jobjectID {
    let id = || {
        let (jni, thread) = threads::current_answered()?;
        let known = announce::object(jni, agent, &thread, object, Linking::Jdk).ok()?;
        // The agent gets the ID even if the object cannot be announced.
        if known.is_null() { tagging::id_of(object).ok() } else { Some(known) }
    };
    id().unwrap_or(ptr::null_mut())
}
