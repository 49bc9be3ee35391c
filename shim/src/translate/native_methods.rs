//! Makes native methods report their calls. They have no bytecode to rewrite: when the VM binds one to its
//! function, the shim substitutes a stub for the function (see `native_stubs`).

use super::native_calls::REPORTED;
use super::{blocking, bound_natives, native_stubs, natives};
use crate::classes::{method_numbers, methods};
use crate::instrument::{self, Reports};
use crate::records::native_methods::{self, Shape};
use crate::records::phase::{self, Phase};
use jni_sys::{JNIEnv, jmethodID};
use jvm::Jni;
use jvm::boundary::guard;
use jvm::types::{JVMTI_EVENT_NATIVE_METHOD_BIND, JVMTI_PHASE_ONLOAD, jthread, jvmtiEnv};
use jvmpi_classfile::access;
use jvmpi_settings::{Natives, SelfTest};
use std::ffi::c_void;
use std::sync::Once;
use std::sync::atomic::Ordering;

/// Returns true if native methods get stubs.
fn have_stubs() -> bool {
    jvmpi_settings::get().natives == Natives::Stub
}

/// Enables NativeMethodBind if it is needed.
pub fn prepare() -> jvm::Result<()> {
    let jvmti = jvm::get().jvmti;
    let is_starting = jvmti.phase() == Ok(JVMTI_PHASE_ONLOAD);
    let is_tested = jvmpi_settings::get().selftest == SelfTest::On;
    if (!is_starting || is_tested) && have_stubs() {
        bound_natives::came_late();
    }
    // A running VM has bound its own natives already.
    let sees_blocking = is_starting && blocking::is_known();
    if have_stubs() || sees_blocking {
        jvmti.set_notification(JVMTI_EVENT_NATIVE_METHOD_BIND, true)?;
    }
    Ok(())
}

/// Handles NativeMethodBind. The VM binds most of its own natives so early that it cannot be asked for their names
/// yet.
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
            // SAFETY: JVMTI passes a valid pointer for the new address; the replacement has the type of the
            // original.
            unsafe { new_address.write(instead) };
        }
        match slot {
            Some(slot) if matches!(phase::now(), Phase::Replaying | Phase::Live) => {
                // SAFETY: JVMTI passes the environment of the thread that runs this.
                update(unsafe { Jni::new(env) }, slot, method);
            }
            // The event is not needed for anything else.
            None if !have_stubs() && blocking::are_bound() => stop_listening(),
            _ => {}
        }
    });
}

fn bind(method: jmethodID, function: *mut c_void) -> Option<usize> {
    // A program may bind a method to its own stub again; then the function behind the stub is used.
    let behind_stub =
        native_stubs::slot_of(function).map(|slot| native_methods::at(slot).function());
    let slot = native_methods::bind(method, behind_stub.unwrap_or(function));
    if slot.is_none() {
        static SAID: Once = Once::new();
        SAID.call_once(|| {
            let most = native_methods::SLOTS;
            log::warn!(
                "the calls of {most} native methods are reported, the maximum: calls of others are not"
            );
        });
    }
    slot
}

fn stop_listening() {
    let done = jvm::get().jvmti.set_notification(JVMTI_EVENT_NATIVE_METHOD_BIND, false);
    if let Err(error) = done {
        log::debug!("native methods are still reported: {error}");
    }
}

/// Makes native methods report calls and monitor exits as `reports` says.
pub fn report(jni: Jni, reports: Reports) {
    let reported = reports.among(Reports::CALLS.and(Reports::MONITOR_EXITS));
    if reported != Reports::NONE {
        bound_natives::adopt(jni);
    }
    if REPORTED.swap(reported.0, Ordering::SeqCst) != reported.0 {
        for (slot, method) in native_methods::all() {
            update(jni, slot, method);
        }
    }
}

/// Makes the stub of a method report, or stop reporting.
fn update(jni: Jni, slot: usize, method: jmethodID) {
    let reported = || Reports(REPORTED.load(Ordering::SeqCst));
    if reported() != Reports::NONE && native_methods::at(slot).shape().is_none() {
        native_methods::at(slot).set_shape(shape(jni, method));
    }
    let is_reported = |shape: Shape| {
        shape.number.is_some() && reported().among(Reports::CALLS) != Reports::NONE
            || shape.is_synchronized && reported().include(Reports::MONITOR_EXITS)
    };
    native_methods::lead(slot, native_stubs::reporting(), is_reported);
}

/// Returns how a method is called, and the number under which its calls are reported.
fn shape(jni: Jni, method: jmethodID) -> Shape {
    let Ok((name, descriptor)) = jvm::get().jvmti.method_name(method) else { return Shape::SILENT };
    let Some(known) = methods::of(jni, method).filter(|known| !known.class.is_own()) else {
        return Shape::SILENT;
    };
    let modifiers = jvm::get().jvmti.method_modifiers(method).unwrap_or(0) as u16;
    let class = known.class.internal_name();
    let parameters = jvmpi_classfile::parameters(descriptor.to_bytes());
    let Ok(parameters) = parameters else { return Shape::SILENT };
    let number = || method_numbers::reserve_for_method(known.id(), &known.class) as u32;
    Shape {
        number: instrument::reports_calls_of(class, name.to_bytes()).then(number),
        stack_words: native_stubs::stack_words(&parameters) as u16,
        is_static: modifiers & access::STATIC != 0,
        is_synchronized: modifiers & access::SYNCHRONIZED != 0,
        can_be_left_behind: class == b"java/lang/Object" && &*name == c"wait0",
    }
}
