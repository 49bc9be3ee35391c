//! METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT of native methods, and MONITOR_CONTENDED_EXIT of those that are
//! synchronized. They have no code that could be rewritten: when the VM binds one to its function, it gets a
//! stub in its place (`native_stubs`).

use super::native_stubs::{self, Call};
use super::{blocking, bound_natives, methods as method_events, monitors, natives};
use crate::boundary::guard;
use crate::classes::{method_numbers, methods};
use crate::instrument::{self, Reports};
use crate::jvm::{self, Jni};
use crate::records::native_methods::{self, Shape};
use crate::records::phase::{self, Phase};
use classfile::access;
use jni_sys::{JNIEnv, jint, jmethodID, jobject};
use jvmti_sys::{JVMTI_EVENT_NATIVE_METHOD_BIND, JVMTI_PHASE_ONLOAD, jthread, jvmtiEnv};
use options::Natives;
use std::ffi::c_void;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicU8, Ordering};

/// What is reported, as bits.
static REPORTED: AtomicU8 = AtomicU8::new(0);

const ENTRIES: u8 = 1;
const RECEIVERS: u8 = 2;
const EXITS: u8 = 4;
const CALLS: u8 = ENTRIES | RECEIVERS | EXITS;
const MONITOR_EXITS: u8 = 8;

/// Whether native methods get stubs.
fn have_stubs() -> bool {
    options::get().natives == Natives::Stub
}

/// Has the VM tell of native methods as it binds them.
pub fn prepare() -> jvm::Result<()> {
    let jvmti = jvm::get().jvmti;
    let is_starting = jvmti.phase() == Ok(JVMTI_PHASE_ONLOAD);
    if !is_starting && have_stubs() {
        bound_natives::came_late();
    }
    // In a VM that runs already its own are bound.
    let sees_blocking = is_starting && blocking::is_known();
    if have_stubs() || sees_blocking {
        jvmti.set_notification(JVMTI_EVENT_NATIVE_METHOD_BIND, true)?;
    }
    Ok(())
}

/// The VM binds a native method to its function. Most of its own come so early that it cannot be asked
/// for their names yet.
pub unsafe extern "system" fn native_method_bind(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    _: jthread,
    method: jmethodID,
    address: *mut c_void,
    new_address: *mut *mut c_void,
) {
    guard((), || {
        if natives::has(address) {
            return;
        }
        let function = blocking::instead_of(address);
        let slot = if have_stubs() { bind(method, function.unwrap_or(address)) } else { None };
        if let Some(instead) = slot.map(native_stubs::stub).or(function) {
            // SAFETY: JVMTI passes the place to be written; this has the type of the original.
            unsafe { new_address.write(instead) };
        }
        match slot {
            Some(slot) if matches!(phase::now(), Phase::Replaying | Phase::Live) => {
                // SAFETY: JVMTI passes the environment of the thread that runs this.
                update(unsafe { Jni::new(env) }, slot, method);
            }
            // Nothing else is waited for.
            None if !have_stubs() && blocking::are_bound() => stop_listening(),
            _ => {}
        }
    });
}

fn bind(method: jmethodID, function: *mut c_void) -> Option<usize> {
    // A program may bind a method to what it was bound to before.
    let behind_stub =
        native_stubs::slot_of(function).map(|slot| native_methods::at(slot).function());
    let slot = native_methods::bind(method, behind_stub.unwrap_or(function));
    if slot.is_none() {
        static SAID: Once = Once::new();
        SAID.call_once(|| {
            let most = native_methods::SLOTS;
            log::warn!(
                "{most} native methods report their calls, and no more can: others are silent"
            );
        });
    }
    slot
}

fn stop_listening() {
    let done = jvm::get().jvmti.set_notification(JVMTI_EVENT_NATIVE_METHOD_BIND, false);
    if let Err(error) = done {
        log::debug!("native methods are still told of: {error}");
    }
}

/// Has native methods report what is theirs of this.
pub fn report(jni: Jni, reports: Reports) {
    let bits = [
        (reports.calls.entries, ENTRIES),
        (reports.calls.receivers, RECEIVERS),
        (reports.calls.exits, EXITS),
        (reports.monitor_exits, MONITOR_EXITS),
    ];
    let reported = bits.into_iter().filter(|(is_on, _)| *is_on).fold(0, |all, (_, bit)| all | bit);
    if reported != 0 {
        bound_natives::adopt(jni);
    }
    if REPORTED.swap(reported, Ordering::SeqCst) != reported {
        for (slot, method) in native_methods::all() {
            update(jni, slot, method);
        }
    }
}

/// Has the stub of a method report or not.
fn update(jni: Jni, slot: usize, method: jmethodID) {
    let reported = || REPORTED.load(Ordering::SeqCst);
    if reported() != 0 && native_methods::at(slot).shape().is_none() {
        native_methods::at(slot).set_shape(shape(jni, method));
    }
    let is_reported = |shape: Shape| {
        shape.number.is_some() && reported() & CALLS != 0
            || shape.is_synchronized && reported() & MONITOR_EXITS != 0
    };
    native_methods::lead(slot, native_stubs::reporting(), is_reported);
}

/// How a method is called, and by which number reported.
fn shape(jni: Jni, method: jmethodID) -> Shape {
    let Ok((name, descriptor)) = jvm::get().jvmti.method_name(method) else { return Shape::SILENT };
    let Some(known) = methods::of(jni, method).filter(|known| !known.class.is_own()) else {
        return Shape::SILENT;
    };
    let modifiers = jvm::get().jvmti.method_modifiers(method).unwrap_or(0) as u16;
    let class = known.class.internal_name();
    let parameters = classfile::parameters(descriptor.to_bytes());
    let Ok(parameters) = parameters else { return Shape::SILENT };
    let number = || method_numbers::reserve_for_method(known.id(), &known.class) as u32;
    Shape {
        number: instrument::is_chosen(class).then(number),
        stack_words: native_stubs::stack_words(&parameters) as u16,
        is_static: modifiers & access::STATIC != 0,
        is_synchronized: modifiers & access::SYNCHRONIZED != 0,
        can_be_left_behind: class == b"java/lang/Object" && &*name == c"wait0",
    }
}

/// A native method is entered. Its first arguments are the environment and the receiver or, if it is
/// static, its class.
pub unsafe extern "C" fn entered(env: *mut JNIEnv, receiver: jobject, slot: u32) -> Call {
    let method = native_methods::at(slot as usize);
    let shape = method.shape().unwrap_or(Shape::SILENT);
    let reported = REPORTED.load(Ordering::Relaxed);
    // SAFETY: the VM passes the environment of the thread that runs this.
    let jni = unsafe { Jni::new(env) };
    let number = shape.number.filter(|_| !shape.can_be_left_behind || !leaves_behind(jni));
    if let Some(number) = number.map(|number| number as jint) {
        if reported & RECEIVERS != 0 {
            let receiver = if shape.is_static { ptr::null_mut() } else { receiver };
            method_events::entered_with(jni, number, receiver);
        } else if reported & ENTRIES != 0 {
            method_events::entered(jni, number);
        }
    }
    let exit = if number.is_some() && reported & EXITS != 0 { EXIT } else { 0 };
    let leaves_monitor = shape.is_synchronized && reported & MONITOR_EXITS != 0;
    let monitor = if leaves_monitor { MONITOR } else { 0 };
    let to_left = slot | exit | monitor;
    Call { function: method.function(), stack_words: shape.stack_words.into(), to_left }
}

/// What [`left`] is to report besides the slot, as bits above it.
const EXIT: u32 = 1 << 31;
const MONITOR: u32 = 1 << 30;

/// A native method is left, whose exception may be pending. The VM lets go of its monitor afterwards. `what`
/// is from [`entered`].
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

/// Since when a virtual thread that waits in `Object.wait` leaves its carrier, and the native method with
/// it: what runs behind that is not the thread.
const LEAVES_BEHIND_SINCE: u32 = 24;

fn leaves_behind(jni: Jni) -> bool {
    jvm::get().feature_version() >= LEAVES_BEHIND_SINCE
        && jni.frame(2, |jni| {
            let thread = jvm::get().jvmti.current_thread();
            thread.is_ok_and(|thread| jni.is_virtual(thread))
        })
}
