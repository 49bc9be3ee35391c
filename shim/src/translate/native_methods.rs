//! METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT of native methods, which have no code that could be
//! rewritten: when the VM binds one to its function, it gets a stub in its place (`native_stubs`).

use super::native_stubs::{self, Call};
use super::{blocking, methods as method_events, natives};
use crate::boundary::guard;
use crate::instrument::{self, Calls};
use crate::jvm::{self, Jni};
use crate::world::native_methods::{self, Shape};
use crate::world::phase::{self, Phase};
use crate::world::{method_numbers, methods};
use classfile::access;
use jni_sys::{JNIEnv, jint, jmethodID, jobject};
use jvmti_sys::{JVMTI_EVENT_NATIVE_METHOD_BIND, JVMTI_PHASE_ONLOAD, jthread, jvmtiEnv};
use options::Natives;
use std::ffi::c_void;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicU8, Ordering};

/// Which calls are reported, as bits.
static REPORTED: AtomicU8 = AtomicU8::new(0);

const ENTRIES: u8 = 1;
const RECEIVERS: u8 = 2;
const EXITS: u8 = 4;

/// Whether native methods get stubs.
fn have_stubs() -> bool {
    options::get().natives == Natives::Stub
}

/// Has the VM tell of native methods as it binds them.
pub fn prepare() -> jvm::Result<()> {
    let jvmti = jvm::get().jvmti;
    // In a VM that runs already its own are bound.
    let sees_blocking = jvmti.phase() == Ok(JVMTI_PHASE_ONLOAD) && blocking::is_known();
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

/// Has native methods report these calls.
pub fn report(jni: Jni, calls: Calls) {
    let bits = [(calls.entries, ENTRIES), (calls.receivers, RECEIVERS), (calls.exits, EXITS)];
    let reported = bits.into_iter().filter(|(is_on, _)| *is_on).fold(0, |all, (_, bit)| all | bit);
    if REPORTED.swap(reported, Ordering::SeqCst) != reported {
        for (slot, method) in native_methods::all() {
            update(jni, slot, method);
        }
    }
}

/// Has the stub of a method report or not.
fn update(jni: Jni, slot: usize, method: jmethodID) {
    let is_reported = || REPORTED.load(Ordering::SeqCst) != 0;
    if is_reported() && native_methods::at(slot).shape().is_none() {
        native_methods::at(slot).set_shape(shape(jni, method));
    }
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
    if !instrument::is_chosen(class) {
        return Shape::SILENT;
    }
    let stack_words = native_stubs::stack_words(&parameters);
    Shape {
        number: Some(method_numbers::reserve_for_method(known.id(), &known.class) as u32),
        stack_words: stack_words as u16,
        is_static: modifiers & access::STATIC != 0,
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
    let to_left = number.filter(|_| reported & EXITS != 0).map_or(0, |number| number + 1);
    Call { function: method.function(), stack_words: shape.stack_words.into(), to_left }
}

/// A native method is left, whose exception may be pending; `what` is from [`entered`].
pub unsafe extern "C" fn left(env: *mut JNIEnv, what: u32) {
    let Some(number) = what.checked_sub(1) else { return };
    // SAFETY: as above.
    let jni = unsafe { Jni::new(env) };
    if jni.is_throwing() {
        jni.frame(1, |jni| method_events::exited(jni, number as jint));
    } else {
        method_events::exited(jni, number as jint);
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
