//! Bytecode rewriting: which classes are rewritten, what the rewritten code calls, and how it is
//! switched on.

pub mod allocations;
mod jni_allocations;
mod jni_functions;
pub mod jni_references;
mod methods;
mod monitors;
pub mod sleep;
pub mod tracker;

use crate::boundary::guard;
use crate::jvm::{self, Jni};
use crate::translate::{methods as method_events, monitors as monitor_events, objects};
use crate::world::threads;
use classfile::{ClassFile, Editor};
use jni_sys::{JNIEnv, jclass, jint, jobject};
use jvmti_sys::{JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, jvmtiEnv};
pub use methods::Calls;
use std::ffi::{c_char, c_uchar};
use std::slice;
use std::sync::{Mutex, RwLock};
use tracker::Native;

/// What classes report.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Reports {
    /// What they allocate.
    pub allocations: bool,
    /// Which of their methods are called.
    pub calls: Calls,
    /// Which monitors they leave.
    pub monitor_exits: bool,
}

static REPORTS: RwLock<Reports> =
    RwLock::new(Reports { allocations: false, calls: Calls::NONE, monitor_exits: false });

/// What classes report now.
pub fn reports() -> Reports {
    *REPORTS.read().unwrap_or_else(|e| e.into_inner())
}

/// Makes all classes report what `change` makes of what they report now.
pub fn change(jni: Jni, change: impl FnOnce(&mut Reports)) -> Result<(), String> {
    let (before, after) = {
        let mut reports = REPORTS.write().unwrap_or_else(|e| e.into_inner());
        let before = *reports;
        change(&mut reports);
        (before, *reports)
    };
    if before == after {
        return Ok(());
    }
    threads::quietly(jni, || {
        define_tracker(jni)?;
        let jvmti = jvm::get().jvmti;
        let rewritten = jvmti
            .set_notification(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true)
            .and_then(|()| tracker::retransform_everything(jni))
            .and_then(|()| {
                let any = after != Reports::default();
                jvmti.set_notification(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, any)
            })
            .and_then(|()| match after.allocations == before.allocations {
                true => Ok(()),
                false => jni_allocations::replace(after.allocations),
            });
        rewritten.map_err(|error| format!("classes cannot be rewritten: {error}"))
    })
}

/// Defines the Tracker, once.
fn define_tracker(jni: Jni) -> Result<(), String> {
    static DEFINED: Mutex<bool> = Mutex::new(false);
    let mut defined = DEFINED.lock().unwrap_or_else(|e| e.into_inner());
    if !*defined {
        let object = c"(Ljava/lang/Object;)V";
        tracker::define(
            jni,
            &[
                Native { name: c"initialized", descriptor: object, function: initialized as _ },
                Native { name: c"array", descriptor: object, function: array as _ },
                Native { name: c"arrays", descriptor: object, function: arrays as _ },
                Native { name: c"returned", descriptor: object, function: returned as _ },
                Native { name: c"enter", descriptor: c"(I)V", function: enter as _ },
                Native {
                    name: c"enter",
                    descriptor: c"(ILjava/lang/Object;)V",
                    function: enter_instance as _,
                },
                Native { name: c"exit", descriptor: c"(I)V", function: exit as _ },
                Native { name: c"leaving", descriptor: object, function: leaving as _ },
            ],
        )?;
        *defined = true;
    }
    Ok(())
}

/// Defines natives of the Tracker.
macro_rules! natives {
    ($($(#[$about:meta])* fn $name:ident($($argument:ident: $type:ty),*) => $report:expr;)*) => {$(
        $(#[$about])*
        unsafe extern "system" fn $name(env: *mut JNIEnv, _: jclass, $($argument: $type),*) {
            // SAFETY: the VM passes the environment of the thread that runs this.
            guard((), || $report(unsafe { Jni::new(env) }, $($argument),*));
        }
    )*};
}

natives! {
    /// `Object.<init>` runs for a new object.
    fn initialized(object: jobject) => objects::constructed;
    /// An instruction made an array.
    fn array(object: jobject) => objects::made;
    /// An array was made, and the arrays in it.
    fn arrays(object: jobject) => objects::made_with_elements;
    /// A method returned an object, which may be new.
    fn returned(object: jobject) => objects::seen;
    /// A method without a receiver that can be passed is entered.
    fn enter(number: jint) => |jni, number| method_events::entered(jni, number as usize, None);
    /// An instance method is entered.
    fn enter_instance(number: jint, receiver: jobject)
        => |jni, number, receiver| method_events::entered(jni, number as usize, Some(receiver));
    /// A method is left.
    fn exit(number: jint) => |jni, number| method_events::exited(jni, number as usize);
    /// A monitor is about to be left while some thread waits for one.
    fn leaving(object: jobject) => monitor_events::leaving;
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
        let reports = reports();
        if reports == Reports::default() {
            return;
        }
        // SAFETY: JVMTI passes the class file's bytes, which live until the callback returns.
        let original = unsafe { slice::from_raw_parts(class_data, class_data_len as usize) };
        if let Some((memory, length)) =
            rewrite(original, reports).and_then(|b| jvm::get().jvmti.copy(&b))
        {
            // SAFETY: JVMTI passes both places to be written, and takes over memory that its own
            // Allocate returned.
            unsafe {
                new_class_data_len.write(length);
                new_class_data.write(memory);
            }
        }
    });
}

fn rewrite(original: &[u8], reports: Reports) -> Option<Vec<u8>> {
    let edit = |class: &ClassFile<'_>| {
        let mut editor = Editor::new(class);
        methods::edit(class, &mut editor, reports.calls)?;
        if reports.monitor_exits {
            monitors::edit(class, &mut editor)?;
        }
        if reports.allocations {
            allocations::edit(class, &mut editor)?;
        }
        Ok(editor.finish())
    };
    match ClassFile::parse(original).and_then(|class| Ok((edit(&class)?, class.name().to_vec()))) {
        Ok((rewritten, name)) => {
            for (method, reason) in &rewritten.skipped {
                let name = String::from_utf8_lossy(&name);
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
