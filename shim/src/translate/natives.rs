//! The natives of the Tracker (the probe class), which rewritten code calls to report events.

use super::{
    blocking, bound_natives, entries, instructions, methods, monitors, objects, receivers,
    threads as thread_events,
};
use crate::instrument::tracker::{self, Native};
use crate::records::tracker::{BINARY_NAME, class};
use crate::threads;
use jni_sys::{JNIEnv, jboolean, jclass, jint, jobject, jstring};
use jvm::Jni;
use jvm::boundary::guard;
use std::ffi::c_void;

/// Expands to the descriptor of a type (JVMS 4.3.2).
macro_rules! code {
    () => {
        "V"
    };
    (jboolean) => {
        "Z"
    };
    (jint) => {
        "I"
    };
    (jobject) => {
        "Ljava/lang/Object;"
    };
    (jstring) => {
        "Ljava/lang/String;"
    };
    (jclass) => {
        "Ljava/lang/Class;"
    };
}

/// Calls the reporting function. Those that are called directly catch panics themselves.
macro_rules! report {
    (guarded $report:expr) => {
        guard(Default::default(), || $report)
    };
    (directly $report:expr) => {
        $report
    };
}

/// Defines the static natives of the Tracker, and a function that lists them.
macro_rules! natives {
    ($($(#[$about:meta])*
    fn $name:ident($($argument:ident: $type:ident),*) $(-> $result:ident)?, $how:ident $report:expr;)*) => {
        $(
            $(#[$about])*
            unsafe extern "system" fn $name(
                env: *mut JNIEnv, _: jclass, $($argument: $type),*
            ) $(-> $result)? {
                // SAFETY: the VM passes the environment of the thread that runs this.
                report!($how $report(unsafe { Jni::new(env) }, $($argument),*))
            }
        )*

        /// Returns all natives of the Tracker.
        pub fn natives() -> Vec<Native> {
            vec![
                receivers::APPLY,
                $(Native {
                    name: tracker::name(concat!(stringify!($name), "\0")),
                    descriptor: tracker::name(
                        concat!("(", $(code!($type),)* ")", code!($($result)?), "\0")
                    ),
                    is_static: true,
                    function: $name as *mut c_void,
                },)*
            ]
        }
    };
}

/// Returns true if `function` implements one of these natives.
pub fn has(function: *mut c_void) -> bool {
    natives().iter().any(|native| native.function == function)
}

natives! {
    /// Returns true if a class loader is asked for the Tracker.
    fn is_tracker(name: jstring) -> jboolean, guarded |jni: Jni, name| jni.is_text(name, BINARY_NAME);
    /// Returns the Tracker's class, which code of class files before Java 5 cannot push as a constant.
    fn itself() -> jclass, guarded |_| class().unwrap_or_default();
    /// Returns true if the class is the Tracker.
    fn is_itself(class: jclass) -> jboolean,
        guarded |jni: Jni, class| jni.same_object(class, self::class().unwrap_or_default());
    /// `Object.<init>` runs for a new object.
    fn initialized(object: jobject), guarded objects::constructed;
    /// An instruction has created an array.
    fn array(object: jobject), guarded objects::made;
    /// An array was created together with the arrays in it.
    fn arrays(object: jobject), guarded objects::made_with_elements;
    /// A method has returned an object, which may be new.
    fn returned(object: jobject), guarded objects::seen;
    /// A method has returned an object on which no constructor has run and perhaps none will.
    fn unconstructed(object: jobject), guarded objects::unconstructed;
    /// A method has returned a string; the compiler may have created it without its constructor.
    fn string(string: jobject), guarded objects::seen_string;
    /// A method is entered and no agent needs the receiver.
    fn enter(number: jint), directly methods::entered;
    /// A constructor is entered; its object is announced before the entry is reported.
    fn enter_constructor(number: jint), guarded entries::entered;
    /// A method is entered. The receiver is NULL for a static method.
    fn enter_with(number: jint, receiver: jobject), guarded methods::entered_with;
    fn exit(number: jint), directly methods::exited;
    /// A method, which may be a constructor, has caught an exception.
    fn caught(exception: jobject, number: jint, constructs: jboolean), directly methods::caught;
    /// An instruction that is not a branch begins.
    fn instruction(offset: jint, method: jint), guarded instructions::plain;
    /// A branch that compares numbers begins.
    fn compared(one: jint, other: jint, condition: jint, offset: jint, method: jint),
        guarded instructions::compared;
    /// A branch that compares references begins.
    fn same(one: jobject, other: jobject, condition: jint, offset: jint, method: jint),
        guarded instructions::same;
    fn tableswitch(key: jint, low: jint, high: jint, offset: jint, method: jint),
        guarded instructions::tableswitch;
    fn lookupswitch(key: jint, keys: jint, offset: jint, method: jint),
        guarded instructions::lookupswitch;
    /// A virtual thread is about to be mounted or unmounted, or has been.
    fn transition(begins: jboolean), guarded thread_events::transition;
    /// A virtual thread is about to be resumed in the middle of its code, or has been resumed.
    fn resumption(begins: jboolean), guarded |jni, begins| threads::current(jni).note_resumption(begins);
    /// `Unsafe.park` is to be bound to the shim's function.
    fn bind_park0(), guarded blocking::bind_park;
    /// Native methods that are already bound are to get stubs.
    fn bind_bound0(), guarded |jni| bound_natives::bind(jni, &natives());
    /// A monitor is about to be left while some thread is waiting for a monitor.
    fn leaving(object: jobject), guarded monitors::leaving;
    /// The monitor of the class that declares the method is about to be left, as in `leaving`.
    fn leaving_class(number: jint), guarded monitors::leaving_class;
}
