//! Bytecode rewriting: selects the classes to rewrite, inserts code, and switches it on.

pub mod allocations;
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
use jni_sys::jclass;
use jvm::lock::Lock;
use jvm::types::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK;
use jvm::{ClassFileLoad, Jni};
use jvmpi_classfile::{ClassFile, Editor};
pub use reports::{Reports, reports_calls_of};
use rustc_hash::FxHasher;
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

jvm::class_file_hook! {
    pub fn class_file_load_hook => offer;
}

/// Rewrites a class that is loaded or retransformed.
fn offer(jni: Jni, load: ClassFileLoad<'_>) {
    let reports = reports();
    let is_of_no_use = reports == Reports::NONE && load.class_being_redefined.is_null();
    if is_of_no_use || class_files::is_read(load.name) {
        return;
    }
    let is_loaded = class_files::is_redefined(&load);
    let place = Target {
        class: if is_loaded { load.class_being_redefined } else { ptr::null_mut() },
        is_boot: load.loader.is_null(),
        frame: ptr::from_ref(&load).addr(),
    };
    load.replace(jvm::get().jvmti, |original| rewrite(jni, original, place, reports));
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
        reports = reports.without(Reports::CALLS.and(Reports::INSTRUCTIONS));
    }
    let mut editor = Editor::new(class);
    if reports == Reports::NONE && !is_asked {
        return Ok(None);
    }
    if is_asked {
        delegation::edit(class, &mut editor)?;
    }
    if reports.include(Reports::TRANSITIONS) {
        transitions::edit(class, &mut editor)?;
    }
    editor.add_locals(versions::added_locals(class, place.class));
    let first = numbers(jni, class, place);
    if reports.include(Reports::CONSTRUCTED) {
        allocations::report_constructed(class, &mut editor)?;
    }
    methods::edit(class, &mut editor, reports, first)?;
    if reports.include(Reports::MONITOR_EXITS) {
        monitor_exits::edit(class, &mut editor, first)?;
    }
    if reports.include(Reports::ALLOCATIONS) {
        allocations::edit(class, &mut editor)?;
    }
    if reports.include(Reports::INSTRUCTIONS) {
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
