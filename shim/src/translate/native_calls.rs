//! METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT of native methods, and MONITOR_CONTENDED_EXIT of synchronized
//! ones, as reported by their stubs.

use super::{methods as method_events, monitors};
use crate::instrument::Reports;
use crate::records::native_methods::{self, Shape};
use jni_sys::{JNIEnv, jint, jobject};
use jvm::Jni;
use jvm::boundary::guard;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU16, Ordering};

/// The [`Reports`] that are on.
pub static REPORTED: AtomicU16 = AtomicU16::new(0);

/// The instructions for the code behind a stub.
#[repr(C)]
pub struct Call {
    /// The function of the native method.
    pub function: *mut c_void,
    /// The number of words of the function's arguments on the stack.
    pub stack_words: u32,
    /// The `what` argument of [`left`], called when the function has returned.
    pub to_left: u32,
}

/// Reports that a native method is entered. Its first arguments are the environment and the receiver or, if it
/// is static, its class.
pub unsafe extern "C" fn entered(env: *mut JNIEnv, receiver: jobject, slot: u32) -> Call {
    let method = native_methods::at(slot as usize);
    let shape = method.shape().unwrap_or(Shape::SILENT);
    let reported = Reports(REPORTED.load(Ordering::Relaxed));
    // SAFETY: the VM passes the environment of the thread that runs this.
    let jni = unsafe { Jni::new(env) };
    let number = shape.number.filter(|_| !shape.can_be_left_behind || !leaves_behind(jni));
    if let Some(number) = number.map(|number| number as jint) {
        if reported.include(Reports::RECEIVERS) {
            let receiver = if shape.is_static { ptr::null_mut() } else { receiver };
            method_events::entered_with(jni, number, receiver);
        } else if reported.include(Reports::ENTRIES) {
            method_events::entered(jni, number);
        }
    }
    let exit = if number.is_some() && reported.include(Reports::EXITS) { EXIT } else { 0 };
    let leaves_monitor = shape.is_synchronized && reported.include(Reports::MONITOR_EXITS);
    let monitor = if leaves_monitor { MONITOR } else { 0 };
    let to_left = slot | exit | monitor;
    Call { function: method.function(), stack_words: shape.stack_words.into(), to_left }
}

/// The reports that [`left`] has to make, as bits above the slot.
const EXIT: u32 = 1 << 31;
const MONITOR: u32 = 1 << 30;

/// Reports that a native method is left, perhaps with an exception pending. The VM releases the method's
/// monitor afterwards. `what` comes from [`entered`].
pub unsafe extern "C" fn left(env: *mut JNIEnv, receiver: jobject, what: u32) {
    // SAFETY: as above.
    let jni = unsafe { Jni::new(env) };
    if what & EXIT != 0 {
        let shape = native_methods::at((what & !(EXIT | MONITOR)) as usize).shape();
        if let Some(number) = shape.and_then(|shape| shape.number) {
            exited(jni, number as jint);
        }
    }
    if what & MONITOR != 0 {
        guard((), || monitors::leaving_native_method(jni, receiver));
    }
}

fn exited(jni: Jni, number: jint) {
    if jni.is_throwing() {
        jni.frame(1, |jni| method_events::exited(jni, number));
    } else {
        method_events::exited(jni, number);
    }
}

/// The first JDK on which a virtual thread that waits in `Object.wait` leaves its carrier, with the native
/// method still on the carrier's stack. The code after the native method then does not run on that thread.
const LEAVES_BEHIND_SINCE: u32 = 24;

fn leaves_behind(jni: Jni) -> bool {
    jvm::get().feature_version() >= LEAVES_BEHIND_SINCE
        && jni.frame(2, |jni| {
            let thread = jvm::get().jvmti.current_thread();
            thread.is_ok_and(|thread| jni.is_virtual(thread))
        })
}
