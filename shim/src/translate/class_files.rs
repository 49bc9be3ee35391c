//! CLASS_LOAD_HOOK: agents see class files before the VM does, and may replace them.

use super::callback::callback;
use super::send;
use crate::jvm::{self, ClassFileHook, Jni};
use crate::world::agents;
use crate::world::threads;
use crate::world::tracker;
use jni_sys::{JNIEnv, jclass, jint, jobject};
use jvmpi_sys::{JVMPI_EVENT_CLASS_LOAD_HOOK, JVMPI_Event_class_load_hook};
use jvmti_sys::jvmtiEnv;
use std::ffi::{CStr, c_char, c_uchar, c_uint, c_void};
use std::slice;

pub unsafe extern "system" fn class_file_load_hook(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    class_being_redefined: jclass,
    _loader: jobject,
    name: *const c_char,
    _protection_domain: jobject,
    class_data_len: jint,
    class_data: *const c_uchar,
    new_class_data_len: *mut jint,
    new_class_data: *mut *mut c_uchar,
) {
    // SAFETY: JVMTI passes a string, or NULL.
    let is_own = !name.is_null() && unsafe { CStr::from_ptr(name) } == tracker::NAME;
    // JVMPI has no class redefinition.
    if is_own || !class_being_redefined.is_null() {
        return;
    }
    let hook = ClassFileHook { class_data_len, class_data, new_class_data_len, new_class_data };
    let offer = |jni| {
        // SAFETY: these are the parameters of this callback.
        unsafe { hook.replace(jvm::get().jvmti, |original| offer(jni, original)) };
    };
    // SAFETY: JVMTI passes the environment of the thread that loads the class and runs this.
    unsafe { callback(env, offer) };
}

/// Sends a class file to one agent after the other, each as the one before has left it; None if no
/// agent changed it.
fn offer(jni: Jni, original: &[u8]) -> Option<Vec<u8>> {
    let thread = threads::current(jni);
    let mut changed = None;
    for agent in agents::wanting(JVMPI_EVENT_CLASS_LOAD_HOOK) {
        let before: &[u8] = changed.as_deref().unwrap_or(original);
        // The agent gets bytes of its own: some change them in place.
        let mut bytes = before.to_vec();
        let (data, length) = (bytes.as_mut_ptr(), bytes.len() as jint);
        let u = JVMPI_Event_class_load_hook {
            class_data: data,
            class_data_len: length,
            new_class_data: data,
            new_class_data_len: length,
            malloc_f: Some(malloc_f),
        };
        let answer = send::to(jni, agent, &thread, JVMPI_EVENT_CLASS_LOAD_HOOK, u);
        let (new, new_length) = (answer.new_class_data, answer.new_class_data_len);
        if new.is_null() || new_length <= 0 {
            continue;
        }
        if new == data {
            bytes.truncate(new_length as usize);
        } else {
            // SAFETY: by the event's contract the agent got the buffer from `malloc_f`, filled
            // that many bytes of it, and leaves it to us to free.
            bytes = unsafe { slice::from_raw_parts(new, new_length as usize) }.to_vec();
            // SAFETY: as above; `malloc_f` is malloc.
            unsafe { libc::free(new.cast()) };
        }
        if bytes != before {
            changed = Some(bytes);
        }
    }
    changed
}

/// Where agents get the memory of a class file that they hand over.
unsafe extern "C" fn malloc_f(bytes: c_uint) -> *mut c_void {
    // SAFETY: malloc has no preconditions.
    unsafe { libc::malloc(bytes as usize) }
}
