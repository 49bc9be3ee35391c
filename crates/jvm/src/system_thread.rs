//! Java threads that run native code: the agents' system threads, and the shim's own.

use super::jni::Jni;
use super::jvmti::{Error, Result};
use super::vm;
use crate::boundary::guard;
use jni_sys::{JNIEnv, jclass, jint, jobject, jvalue};
use jvmpi_jvmti_sys::{JVMTI_ERROR_INTERNAL, JVMTI_ERROR_OUT_OF_MEMORY, jvmtiEnv};
use std::ffi::{CStr, c_void};
use std::ptr;

/// The priority until the VM starts the thread.
const NORMAL_PRIORITY: jint = 5;

type Body = Box<dyn FnOnce(Jni) + Send>;

/// Starts a daemon thread in the top-level thread group, with a priority of 1 to 10. `prepare` gets the
/// `java.lang.Thread` before the thread runs.
///
/// # Errors
/// Returns the errors of RunAgentThread, for example if the VM is not in its live phase.
pub fn start_thread(
    jni: Jni,
    name: &CStr,
    priority: jint,
    prepare: impl FnOnce(jobject) -> Result<()>,
    run: impl FnOnce(Jni) + Send + 'static,
) -> Result<()> {
    jni.frame(16, |jni| {
        let thread = new_thread(jni, name).ok_or(Error(JVMTI_ERROR_OUT_OF_MEMORY))?;
        prepare(thread)?;
        let body = Box::into_raw(Box::new(Box::new(run) as Body));
        // SAFETY: `run_body` takes ownership of the body, which is `Send`.
        let started =
            unsafe { vm::get().jvmti.run_agent_thread(thread, run_body, body.cast(), priority) };
        if started.is_err() {
            // SAFETY: the thread was not started, so this function still owns the body.
            drop(unsafe { Box::from_raw(body) });
        }
        started
    })
}

unsafe extern "system" fn run_body(_: *mut jvmtiEnv, env: *mut JNIEnv, body: *mut c_void) {
    // SAFETY: `start_thread` passed the box to this thread only.
    let body = unsafe { Box::from_raw(body.cast::<Body>()) };
    // SAFETY: JVMTI passes the environment of the new thread, which is the current one.
    let jni = unsafe { Jni::new(env) };
    guard((), || body(jni));
}

/// Creates a `java.lang.Thread`. Its constructor asks the program's security manager, which may refuse the group.
fn new_thread(jni: Jni, name: &CStr) -> Option<jobject> {
    let class = jni.find_class(c"java/lang/Thread")?;
    let signature = c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V";
    let constructor = jni.method(class, c"<init>", signature)?;
    let (group, name) = (top_group().ok()?, jni.new_string(name)?);
    jni.new_object(class, constructor, &[jvalue { l: group }, jvalue { l: name }])
        .or_else(|| unchecked_thread(jni, class, group, name))
}

/// Creates a `java.lang.Thread` without its constructor, by setting the fields that the constructor sets.
fn unchecked_thread(jni: Jni, class: jclass, group: jobject, name: jobject) -> Option<jobject> {
    let thread = jni.allocate(class)?;
    let set = |field: &CStr, signature: &CStr, value: jobject| {
        let field = jni.field(class, field, signature)?;
        jni.set_object_field(thread, field, value);
        Some(())
    };
    set(c"name", c"Ljava/lang/String;", name)?;
    let object = jni.find_class(c"java/lang/Object")?;
    for lock in [c"blockerLock", c"interruptLock"] {
        set(lock, c"Ljava/lang/Object;", jni.allocate(object)?);
    }
    let next_id = if set(c"group", c"Ljava/lang/ThreadGroup;", group).is_some() {
        (class, jni.static_method(class, c"nextThreadID", c"()J")?)
    } else {
        // From JDK 19 on.
        let holder = jni.find_class(c"java/lang/Thread$FieldHolder")?;
        let signature = c"(Ljava/lang/ThreadGroup;Ljava/lang/Runnable;JIZ)V";
        let constructor = jni.method(holder, c"<init>", signature)?;
        let none = jvalue { l: ptr::null_mut() };
        let priority = jvalue { i: NORMAL_PRIORITY };
        let arguments = [jvalue { l: group }, none, jvalue { j: 0 }, priority, jvalue { z: true }];
        let holder = jni.new_object(holder, constructor, &arguments)?;
        set(c"holder", c"Ljava/lang/Thread$FieldHolder;", holder)?;
        let ids = jni.find_class(c"java/lang/Thread$ThreadIdentifiers")?;
        (ids, jni.static_method(ids, c"next", c"()J")?)
    };
    let id = jni.call_static_long(next_id.0, next_id.1)?;
    jni.set_long_field(thread, jni.field(class, c"tid", c"J")?, id);
    Some(thread)
}

/// Returns the root of the thread groups. There, agents' threads do not disturb a program that counts or interrupts the
/// threads of its own groups.
fn top_group() -> Result<jobject> {
    let jvmti = vm::get().jvmti;
    let mut group = jvmti.top_thread_groups()?.first().copied().unwrap_or(ptr::null_mut());
    if group.is_null() {
        group = jvmti.thread_info(ptr::null_mut())?.group;
    }
    if group.is_null() { Err(Error(JVMTI_ERROR_INTERNAL)) } else { Ok(group) }
}
