//! Bytecode rewriting: selects the classes to rewrite, inserts code, and switches it on.

pub mod allocations;
mod beginnings;
pub mod class_files;
mod delegation;
pub mod instructions;
mod methods;
mod monitor_exits;
mod reports;
mod retransformation;
pub mod tracker;
mod transitions;
mod versions;

use crate::classes::definitions::{self, Definition};
use crate::classes::{self, method_numbers};
use crate::records::class::Class;
use crate::records::virtual_thread;
use crate::threads;
use jni_sys::{JNIEnv, jclass, jint, jobject};
use jvm::boundary::guard;
use jvm::lock::Lock;
use jvm::types::{JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, jvmtiEnv};
use jvm::{ClassFileHook, Jni};
use jvmpi_classfile::{ClassFile, Editor};
pub use reports::{Calls, Reports, reports_calls_of};
use rustc_hash::FxHasher;
use std::ffi::{CStr, c_char, c_uchar};
use std::hash::{Hash, Hasher};
use std::ptr;

static REPORTS: Lock<Reports> = Lock::new(Reports::NONE);

/// Returns the reports that classes make now.
pub fn reports() -> Reports {
    *REPORTS.lock()
}

/// Makes all classes report this to the natives of the Tracker, which must be defined. Calls must not
/// overlap. After a failure, classes make their previous reports or more.
pub fn report(jni: Jni, after: Reports) -> Result<(), String> {
    let before = replace_reports(after);
    // On from before the first report until after the last, unless the scheduler proves unable to report.
    if before == Reports::NONE {
        threads::expect_notices(true);
    }
    let rewritten = threads::internally(jni, || rewrite_classes(jni, before, after));
    if rewritten.is_err() {
        replace_reports(before);
    }
    if reports() == Reports::NONE {
        threads::expect_notices(false);
    }
    rewritten
}

/// Called when the current thread has defined a class, whose code may name the Tracker.
pub fn defined(jni: Jni, class: jclass) {
    if reports() != Reports::NONE {
        delegation::resolve(jni, class);
    }
}

fn replace_reports(after: Reports) -> Reports {
    std::mem::replace(&mut REPORTS.lock(), after)
}

fn rewrite_classes(jni: Jni, before: Reports, after: Reports) -> Result<(), String> {
    let jvmti = jvm::get().jvmti;
    let (begins, ends) = (before == Reports::NONE, after == Reports::NONE);
    let are_apart = virtual_thread::are_threads();
    // The scheduler must report transitions as long as code that can run during one reports anything. Class loaders must
    // answer for the Tracker as long as any code names it. So these classes come first at the beginning, and last at the
    // end.
    let group = |object, class: &Class| {
        let is_boot = jvmti.class_loader(object).is_ok_and(|l| l.is_null());
        let of = |reports: Reports| reports.of(class.internal_name(), is_boot);
        let is_loader = begins != ends && delegation::is_loader(jni, object);
        let serves =
            is_loader || begins != ends && are_apart && transitions::makes(class.internal_name());
        (is_loader || of(before) != of(after)).then_some(serves != begins)
    };
    let rewritten = jvmti
        .set_notification(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true)
        .and_then(|()| {
            let groups = retransformation::select(jni, group)?;
            retransformation::of_all(jni, groups, |groups| {
                if begins != ends && are_apart {
                    transitions::wait_for_all();
                }
                if begins {
                    delegation::resolve_for_loaded(jni, groups.iter().flatten());
                }
            })
        })
        .and_then(|()| jvmti.set_notification(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, !ends));
    rewritten.map_err(|error| format!("classes cannot be rewritten: {error}"))
}

/// Rewrites each class that is loaded or retransformed.
pub unsafe extern "system" fn class_file_load_hook(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    class_being_redefined: jclass,
    loader: jobject,
    name: *const c_char,
    _protection_domain: jobject,
    class_data_len: jint,
    class_data: *const c_uchar,
    new_class_data_len: *mut jint,
    new_class_data: *mut *mut c_uchar,
) {
    guard((), || {
        // SAFETY: JVMTI passes a string, or NULL.
        if unsafe { class_files::is_read(name) } {
            return;
        }
        let reports = reports();
        if env.is_null() || reports == Reports::default() && class_being_redefined.is_null() {
            return;
        }
        // SAFETY: JVMTI passes the environment of the thread that runs this.
        let jni = unsafe { Jni::new(env) };
        // SAFETY: JVMTI passes a string, or NULL.
        let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
        let is_loaded = class_files::is_redefined(class_being_redefined, name);
        let place = Target {
            class: if is_loaded { class_being_redefined } else { ptr::null_mut() },
            is_boot: loader.is_null(),
            frame: ptr::from_ref(&env).addr(),
        };
        let hook = ClassFileHook { class_data_len, class_data, new_class_data_len, new_class_data };
        let change = |original: &[u8]| rewrite(jni, original, place, reports);
        // SAFETY: these are the parameters of this callback.
        unsafe { hook.replace(jvm::get().jvmti, change) };
    });
}

/// The facts about a class whose file is being rewritten.
#[derive(Clone, Copy)]
struct Target {
    /// The class, if it is already loaded; NULL while it is being loaded.
    class: jclass,
    /// True if the boot loader defines the class.
    is_boot: bool,
    /// The address of a frame that is left before the class exists.
    frame: usize,
}

/// Returns the class file with all reports that the class is to make; None if there are none.
fn rewrite(jni: Jni, original: &[u8], place: Target, reports: Reports) -> Option<Vec<u8>> {
    let rewritten = ClassFile::parse(original).and_then(|class| {
        let rewritten = edit(jni, &class, place, reports);
        let new = rewritten.as_ref().ok().and_then(Option::as_deref);
        versions::note_constants(jni, &class, place.class, new);
        rewritten
    });
    match rewritten {
        Ok(bytes) => bytes,
        Err(error) => {
            log::debug!("a class is left as it is: {error}");
            None
        }
    }
}

fn edit(
    jni: Jni,
    class: &ClassFile<'_>,
    place: Target,
    reports: Reports,
) -> Result<Option<Vec<u8>>, jvmpi_classfile::Error> {
    let is_asked = reports != Reports::NONE && delegation::is_asked(class);
    let mut reports = reports.of(class.name(), place.is_boot);
    if transitions::serves(class) {
        reports = Reports { calls: Calls::NONE, instructions: false, ..reports };
    }
    let mut editor = Editor::new(class);
    if reports == Reports::default() && !is_asked {
        return Ok(None);
    }
    if is_asked {
        delegation::edit(class, &mut editor)?;
    }
    if reports.transitions {
        transitions::edit(class, &mut editor)?;
    }
    editor.add_locals(versions::added_locals(class, place.class));
    let first = numbers(jni, class, place);
    if reports.constructed {
        allocations::report_constructed(class, &mut editor)?;
    }
    methods::edit(class, &mut editor, reports, first)?;
    if reports.monitor_exits {
        monitor_exits::edit(class, &mut editor, first)?;
    }
    if reports.allocations {
        allocations::edit(class, &mut editor)?;
    }
    if reports.instructions {
        instructions::edit(class, &mut editor, first)?;
    }
    let rewritten = editor.finish();
    for (method, reason) in &rewritten.skipped {
        let name = class.method(*method).map_or(&b"?"[..], |method| method.name());
        let [class, name] = [class.name(), name].map(String::from_utf8_lossy);
        log::warn!("{class}.{name} reports nothing: {reason}");
    }
    Ok(Some(rewritten.bytes))
}

/// Returns the number of the class's first method; the others follow. A class that is rewritten again
/// keeps its numbers, unless another JVMTI agent has changed its set of methods.
fn numbers(jni: Jni, file: &ClassFile<'_>, place: Target) -> usize {
    let count = file.methods().len();
    let mut shape = FxHasher::default();
    file.methods().for_each(|method| (method.name(), method.descriptor()).hash(&mut shape));
    let shape = shape.finish();
    if !place.class.is_null() {
        let numbers =
            |class: &Class| class.numbers(shape, || method_numbers::reserve_for(class, count));
        return classes::with(jni, place.class, numbers)
            .unwrap_or_else(|_| method_numbers::reserve(count));
    }
    let first = method_numbers::reserve(count);
    // Classes of the boot loader are never unloaded.
    if !place.is_boot {
        let (name, numbers) = (file.name().to_vec(), first..first + count);
        definitions::begin(Definition { name, shape, numbers, frame: place.frame });
    }
    first
}
