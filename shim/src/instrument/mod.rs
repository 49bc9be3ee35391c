//! Bytecode rewriting: which classes are rewritten, what the rewritten code calls, and how it is
//! switched on.

pub mod allocations;
mod jni_allocations;
pub mod tracker;

use crate::boundary::guard;
use crate::jvm::{self, Jni};
use crate::translate::objects;
use crate::world::threads;
use classfile::ClassFile;
use jni_sys::{JNIEnv, jclass, jint, jobject};
use jvmti_sys::{JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, jvmtiEnv};
use std::ffi::{CStr, c_char, c_uchar, c_void};
use std::slice;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use tracker::Native;

/// Whether classes report their allocations.
static ALLOCATIONS: AtomicBool = AtomicBool::new(false);

/// Makes all classes report their allocations, or none.
pub fn track_allocations(jni: Jni, on: bool) -> Result<(), String> {
    if ALLOCATIONS.load(Ordering::Acquire) == on {
        return Ok(());
    }
    threads::quietly(jni, || {
        define_tracker(jni)?;
        ALLOCATIONS.store(on, Ordering::Release);
        let jvmti = jvm::get().jvmti;
        let rewritten = jvmti
            .set_notification(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true)
            .and_then(|()| tracker::retransform_everything(jni))
            .and_then(|()| jvmti.set_notification(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, on))
            .and_then(|()| jni_allocations::report(on));
        rewritten.map_err(|error| format!("classes cannot be rewritten: {error}"))
    })
}

/// Defines the Tracker, once.
fn define_tracker(jni: Jni) -> Result<(), String> {
    static DEFINED: Mutex<bool> = Mutex::new(false);
    let mut defined = DEFINED.lock().unwrap_or_else(|e| e.into_inner());
    if !*defined {
        let native = |(name, function): (&'static CStr, Reporter)| Native {
            name,
            descriptor: c"(Ljava/lang/Object;)V",
            function: function as *mut c_void,
        };
        let natives: [(&CStr, Reporter); 4] = [
            (c"initialized", initialized),
            (c"array", array),
            (c"arrays", arrays),
            (c"returned", returned),
        ];
        tracker::define(jni, &natives.map(native))?;
        *defined = true;
    }
    Ok(())
}

type Reporter = unsafe extern "system" fn(*mut JNIEnv, jclass, jobject);

/// Defines a native of the Tracker that takes an object.
macro_rules! reporter {
    ($(#[$about:meta])* $name:ident => $report:path) => {
        $(#[$about])*
        unsafe extern "system" fn $name(env: *mut JNIEnv, _: jclass, object: jobject) {
            // SAFETY: the VM passes the environment of the thread that runs this.
            guard((), || $report(unsafe { Jni::new(env) }, object));
        }
    };
}

reporter! {
    /// `Object.<init>` runs for a new object.
    initialized => objects::constructed
}
reporter! {
    /// An instruction made an array.
    array => objects::made
}
reporter! {
    /// An array was made, and the arrays in it.
    arrays => objects::made_with_elements
}
reporter! {
    /// A method returned an object, which may be new.
    returned => objects::seen
}

/// Rewrites each class that is loaded or retransformed.
pub unsafe extern "system" fn class_file_load_hook(
    _: *mut jvmtiEnv,
    _env: *mut JNIEnv,
    _class_being_redefined: jclass,
    _loader: jobject,
    _name: *const c_char,
    _protection_domain: jobject,
    class_data_len: jint,
    class_data: *const c_uchar,
    new_class_data_len: *mut jint,
    new_class_data: *mut *mut c_uchar,
) {
    guard((), || {
        if !ALLOCATIONS.load(Ordering::Acquire) {
            return;
        }
        // SAFETY: JVMTI passes the class file's bytes, which live until the callback returns.
        let original = unsafe { slice::from_raw_parts(class_data, class_data_len as usize) };
        if let Some((memory, length)) = rewrite(original).and_then(|b| jvm::get().jvmti.copy(&b)) {
            // SAFETY: JVMTI passes both places to be written, and takes over memory that its own
            // Allocate returned.
            unsafe {
                new_class_data_len.write(length);
                new_class_data.write(memory);
            }
        }
    });
}

fn rewrite(original: &[u8]) -> Option<Vec<u8>> {
    let rewritten = ClassFile::parse(original).and_then(|class| {
        let name = String::from_utf8_lossy(class.name()).into_owned();
        Ok((name, allocations::rewrite(&class)?))
    });
    match rewritten {
        Ok((name, rewritten)) => {
            let rewritten = rewritten?;
            for (method, reason) in &rewritten.skipped {
                log::warn!("method {method} of {name} is left as it is: {reason}");
            }
            Some(rewritten.bytes)
        }
        Err(error) => {
            log::debug!("a class is left as it is: {error}");
            None
        }
    }
}
