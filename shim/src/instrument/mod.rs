//! Bytecode rewriting: which classes are rewritten, what the rewritten code calls, and how it is
//! switched on.

pub mod allocations;
mod beginnings;
pub mod instructions;
mod jni_allocations;
mod jni_functions;
pub mod jni_references;
mod methods;
mod monitors;
mod natives;
pub mod receivers;
mod retransformation;
mod selection;
pub mod sleep;
pub mod tracker;
mod transitions;

use crate::boundary::guard;
use crate::jvm::{self, ClassFileHook, Jni};
use crate::lock::Lock;
use crate::translate::{
    construction, instructions as instruction_events, methods as method_events,
    monitors as monitor_events, objects,
};
use crate::world::class::Class;
use crate::world::classes;
use crate::world::{threads, tracked};
use classfile::{ClassFile, Editor};
use jni_sys::{JNIEnv, jboolean, jclass, jint, jobject};
use jvmti_sys::{JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, jvmtiEnv};
pub use methods::Calls;
use std::ffi::{c_char, c_uchar, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use tracker::Native;

/// What classes report.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Reports {
    /// What they allocate.
    pub allocations: bool,
    /// Which objects are constructed; of `Object` only.
    constructed: bool,
    /// Which of their methods are called.
    pub calls: Calls,
    /// Their instructions.
    pub instructions: bool,
    /// Which monitors they leave.
    pub monitor_exits: bool,
    /// Where virtual threads are put on carriers; of the scheduler's classes, if there is any report
    /// at all.
    transitions: bool,
}

impl Reports {
    pub const NONE: Self = Self {
        allocations: false,
        constructed: false,
        calls: Calls::NONE,
        instructions: false,
        monitor_exits: false,
        transitions: false,
    };

    /// Whether constructors are told of when their object is known: METHOD_ENTRY2 names it, and
    /// OBJECT_ALLOC comes before.
    fn objects_before_constructors(self) -> bool {
        self.calls.receivers || self.calls.entries && self.allocations
    }

    /// Whether these report all that the others do.
    pub fn include(self, others: Self) -> bool {
        let pairs = [
            (self.allocations, others.allocations),
            (self.calls.entries, others.calls.entries),
            (self.calls.receivers, others.calls.receivers),
            (self.calls.exits, others.calls.exits),
            (self.instructions, others.instructions),
            (self.monitor_exits, others.monitor_exits),
        ];
        pairs.into_iter().all(|(has, needs)| has || !needs)
    }
}

static REPORTS: Lock<Reports> = Lock::new(Reports::NONE);

/// What classes report now.
pub fn reports() -> Reports {
    *REPORTS.lock()
}

/// Makes all classes report this. One thread at a time may call it; if it fails, classes go on
/// reporting what they did before, or more.
pub fn report(jni: Jni, after: Reports) -> Result<(), String> {
    let before = replace_reports(after);
    let rewritten = threads::quietly(jni, || rewrite_classes(jni, before, after));
    if rewritten.is_err() {
        replace_reports(before);
    }
    rewritten
}

fn replace_reports(after: Reports) -> Reports {
    std::mem::replace(&mut REPORTS.lock(), after)
}

fn rewrite_classes(jni: Jni, before: Reports, after: Reports) -> Result<(), String> {
    tracker::define(jni, &natives())?;
    if after.objects_before_constructors() {
        receivers::prepare(jni);
    }
    let jvmti = jvm::get().jvmti;
    let rewritten = jvmti
        .set_notification(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true)
        .and_then(|()| {
            retransformation::of_all(jni, |object, class| {
                let is_boot = jvmti.class_loader(object).is_ok_and(|l| l.is_null());
                let of = |reports: Reports| reports.of(class.internal_name(), is_boot);
                of(before) != of(after)
            })
        })
        .and_then(|()| {
            let any = after != Reports::NONE;
            jvmti.set_notification(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, any)
        })
        .and_then(|()| match after.allocations == before.allocations {
            true => Ok(()),
            false => jni_allocations::replace(after.allocations),
        });
    rewritten.map_err(|error| format!("classes cannot be rewritten: {error}"))
}

/// The code of a parameter's type in a descriptor (JVMS 4.3.2).
macro_rules! code {
    (jboolean) => {
        "Z"
    };
    (jint) => {
        "I"
    };
    (jobject) => {
        "Ljava/lang/Object;"
    };
}

/// Calls what reports: `=>` lets no panic out, `->` is for what sees to that itself.
macro_rules! report {
    (=> $report:expr) => {
        guard((), || $report)
    };
    (-> $report:expr) => {
        $report
    };
}

/// Defines the static natives of the Tracker, and a function that lists them.
macro_rules! natives {
    ($($(#[$about:meta])*
    fn $name:ident($($argument:ident: $type:ident),*) $arrow:tt $report:expr;)*) => {
        $(
            $(#[$about])*
            unsafe extern "system" fn $name(env: *mut JNIEnv, _: jclass, $($argument: $type),*) {
                // SAFETY: the VM passes the environment of the thread that runs this.
                report!($arrow $report(unsafe { Jni::new(env) }, $($argument),*));
            }
        )*

        fn natives() -> Vec<Native> {
            vec![
                receivers::APPLY,
                $(Native {
                    name: tracker::name(concat!(stringify!($name), "\0")),
                    descriptor: tracker::name(concat!("(", $(code!($type),)* ")V\0")),
                    is_static: true,
                    function: $name as *mut c_void,
                },)*
            ]
        }
    };
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
    /// A method returned an object of which no constructor has run, and perhaps none will.
    fn unconstructed(object: jobject) => objects::unconstructed;
    /// A method returned a string; the compiler may have made it without its constructor.
    fn string(string: jobject) => objects::seen_string;
    /// A method is entered whose receiver nobody wants to know.
    fn enter(number: jint) -> method_events::entered;
    /// A constructor is entered of whose object agents are to hear first.
    fn enter_constructor(number: jint) => construction::entered;
    /// A method is entered, a static one with NULL.
    fn enter_with(number: jint, receiver: jobject) => method_events::entered_with;
    /// A method is left.
    fn exit(number: jint) -> method_events::exited;
    /// An instruction that decides nothing begins.
    fn instruction(offset: jint, method: jint) => instruction_events::plain;
    /// A branch that compares numbers begins.
    fn compared(one: jint, other: jint, condition: jint, offset: jint, method: jint)
        => instruction_events::compared;
    /// A branch that compares references begins.
    fn same(one: jobject, other: jobject, condition: jint, offset: jint, method: jint)
        => instruction_events::same;
    /// A `tableswitch` begins.
    fn tableswitch(key: jint, low: jint, high: jint, offset: jint, method: jint)
        => instruction_events::tableswitch;
    /// A `lookupswitch` begins.
    fn lookupswitch(key: jint, keys: jint, offset: jint, method: jint)
        => instruction_events::lookupswitch;
    /// A virtual thread is about to be put on its carrier or taken off, or has been.
    fn transition(begins: jboolean) => |jni, begins| threads::current(jni).note_transition(begins);
    /// A virtual thread is about to go on in the middle of its code, or goes on now.
    fn resumption(begins: jboolean) => |jni, begins| threads::current(jni).note_resumption(begins);
    /// A monitor is about to be left while some thread waits for one.
    fn leaving(object: jobject) => monitor_events::leaving;
}

/// Rewrites each class that is loaded or retransformed.
pub unsafe extern "system" fn class_file_load_hook(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    class_being_redefined: jclass,
    loader: jobject,
    _name: *const c_char,
    _protection_domain: jobject,
    class_data_len: jint,
    class_data: *const c_uchar,
    new_class_data_len: *mut jint,
    new_class_data: *mut *mut c_uchar,
) {
    guard((), || {
        let reports = reports();
        if env.is_null() || reports == Reports::default() && class_being_redefined.is_null() {
            return;
        }
        // SAFETY: JVMTI passes the environment of the thread that runs this.
        let jni = unsafe { Jni::new(env) };
        let place = Place { class: class_being_redefined, is_boot: loader.is_null() };
        let hook = ClassFileHook { class_data_len, class_data, new_class_data_len, new_class_data };
        let change = |original: &[u8]| rewrite(jni, original, place, reports);
        // SAFETY: these are the parameters of this callback.
        unsafe { hook.replace(jvm::get().jvmti, change) };
    });
}

/// What is known of a class whose file is rewritten.
#[derive(Clone, Copy)]
struct Place {
    /// The class that is loaded already, NULL if it is just being loaded.
    class: jclass,
    /// Whether the boot loader defines it.
    is_boot: bool,
}

/// The class file with everything that the class is to report, None if that is nothing.
fn rewrite(jni: Jni, original: &[u8], place: Place, reports: Reports) -> Option<Vec<u8>> {
    match ClassFile::parse(original).and_then(|class| edit(jni, &class, place, reports)) {
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
    place: Place,
    reports: Reports,
) -> Result<Option<Vec<u8>>, classfile::Error> {
    let mut reports = reports.of(class.name(), place.is_boot);
    if transitions::serves(class) {
        reports = Reports { calls: Calls::NONE, instructions: false, ..reports };
    }
    let mut editor = Editor::new(class);
    let wrapped = natives::wrap(class, &mut editor, place, reports.calls);
    if reports == Reports::default() && wrapped.is_empty() {
        return Ok(None);
    }
    if reports.transitions {
        transitions::edit(class, &mut editor)?;
    }
    let first = numbers(jni, class, place.class);
    if reports.constructed {
        allocations::report_constructed(class, &mut editor)?;
    }
    methods::edit(class, &mut editor, reports, &wrapped, first)?;
    if reports.monitor_exits {
        monitors::edit(class, &mut editor)?;
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

/// The number of the class's first method; the others follow. A class that is rewritten again
/// keeps its numbers, unless someone has given it other methods.
fn numbers(jni: Jni, file: &ClassFile<'_>, class: jclass) -> usize {
    let count = file.methods().len();
    if class.is_null() {
        return tracked::reserve(count);
    }
    let mut shape = DefaultHasher::new();
    file.methods().for_each(|method| (method.name(), method.descriptor()).hash(&mut shape));
    let numbers = |class: &Class| class.numbers(shape.finish(), || tracked::reserve(count));
    classes::with(jni, class, numbers).unwrap_or_else(|_| tracked::reserve(count))
}
