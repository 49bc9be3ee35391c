//! Native methods that the VM had bound to their functions before the shim was loaded. They get their stubs when
//! calls are first to be reported.

use super::native_stubs;
use crate::instrument::tracker::Native;
use crate::records::{native_methods, tracker};
use crate::{classes, threads};
use jni_sys::{JNINativeMethod, jclass, jmethodID};
use jvm::bound_functions::BoundFunctions;
use jvm::{Jni, internals};
use jvmpi_classfile::access;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, Ordering};

/// True if there may be such methods.
static ARE_LEFT: AtomicBool = AtomicBool::new(false);

/// Records that the shim was loaded into a running VM.
pub fn came_late() {
    ARE_LEFT.store(true, Ordering::Relaxed);
}

/// Gives those methods their stubs, once. The Tracker must be defined.
pub fn adopt(jni: Jni) {
    if ARE_LEFT.swap(false, Ordering::Relaxed)
        && !threads::internally(jni, || tracker::bind(jni, tracker::BIND_BOUND))
    {
        log::warn!("calls of native methods that are already bound are not reported");
    }
}

/// Gives those methods their stubs. The Tracker, which has the given natives, calls this.
pub fn bind(jni: Jni, natives: &[Native]) {
    let find = || jni.frame(8, |_| functions(natives));
    let Some(functions) = internals::BOUND_FUNCTIONS.find(find) else { return };
    let adopted = classes::each_loaded(jni, |jni, class| {
        adopt_those_of(jni, functions, class, natives);
        Ok(())
    });
    if let Err(error) = adopted {
        log::warn!("calls of native methods that are already bound are not reported: {error}");
    }
}

/// Finds where the VM stores a native method's function, by means of the Tracker's natives.
fn functions(natives: &[Native]) -> Option<BoundFunctions> {
    let methods = jvm::get().jvmti.class_methods(tracker::class()?).ok()?;
    let named = methods.iter().filter_map(|method| Some((*method, name(*method)?.0)));
    let named: Vec<_> = named.collect();
    let with_name =
        |wanted: &CStr| named.iter().find(|(_, name)| **name == *wanted).map(|(method, _)| *method);
    let known = natives.iter().map(|native| Some((with_name(native.name)?, native.function)));
    BoundFunctions::find(&known.collect::<Option<Vec<_>>>()?, with_name(tracker::UNBOUND)?)
}

fn name(method: jmethodID) -> Option<(CString, CString)> {
    jvm::get().jvmti.method_name(method).ok()
}

/// Gives the native methods of a class their stubs. JVMTI shows no methods of a class that is not linked, and
/// none of its natives are bound.
fn adopt_those_of(jni: Jni, functions: BoundFunctions, class: jclass, natives: &[Native]) {
    let Ok(methods) = jvm::get().jvmti.class_methods(class) else { return };
    let is_native = |method: &&jmethodID| {
        let modifiers = jvm::get().jvmti.method_modifiers(**method).unwrap_or(0);
        modifiers as u16 & access::NATIVE != 0
    };
    for method in methods.iter().filter(is_native) {
        let Some(function) = functions.of(*method) else { continue };
        let is_trackers = natives.iter().any(|native| native.function == function);
        if is_trackers || native_stubs::slot_of(function).is_some() {
            continue;
        }
        let Some((name, descriptor)) = name(*method) else { continue };
        // From now on, binding the method again only changes the function behind the stub.
        let Some(slot) = native_methods::adopt(*method, function) else { continue };
        let native = JNINativeMethod {
            name: name.as_ptr().cast_mut(),
            signature: descriptor.as_ptr().cast_mut(),
            fnPtr: native_stubs::stub(slot),
        };
        // SAFETY: a stub has the type of its function, which is the one that the method had.
        unsafe { jni.register_natives(class, &[native]) };
    }
}
