//! The shim's own class in the VM, whose natives rewritten code calls (`instrument::tracker`).

use jni_sys::{jclass, jobject};
use jvm::{FieldId, GlobalRef, Jni};
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// The binary name of the class, which class loaders get.
pub const BINARY_NAME: &CStr = c"jvmpi.Tracker";

/// Its static `boolean` that is true while a thread waits for a monitor.
pub const CONTENDED: &CStr = c"contended";

/// Its native method that is bound to no function.
pub const UNBOUND: &CStr = c"unbound";

/// Its methods that call a native (with a `0` after the name), which binds native methods of the JDK to the shim's
/// functions. The VM complains unless code of the JDK's loader makes the call, as here.
pub const BINDERS: [&str; 2] = [BIND_PARK, BIND_BOUND];
/// `Unsafe.park`.
pub const BIND_PARK: &str = "bind_park";
/// Native methods that are already bound when the shim is attached to the VM.
pub const BIND_BOUND: &str = "bind_bound";

/// The class, once it is defined.
struct Tracker {
    class: GlobalRef,
    contended: FieldId,
}

static TRACKER: OnceLock<Tracker> = OnceLock::new();

pub fn is_defined() -> bool {
    TRACKER.get().is_some()
}

/// Stores the class and its field [`CONTENDED`].
pub fn defined(class: GlobalRef, contended: FieldId) {
    TRACKER.get_or_init(|| Tracker { class, contended });
}

/// Creates an instance, which is a `Function`. None if that failed.
pub fn instance(jni: Jni) -> Option<jobject> {
    jni.allocate(TRACKER.get()?.class.get())
}

pub fn class() -> Option<jclass> {
    TRACKER.get().map(|tracker| tracker.class.get())
}

/// Calls one of the [`BINDERS`]. Returns false if that failed.
pub fn bind(jni: Jni, binder: &str) -> bool {
    let bind = || {
        let (class, name) = (class()?, CString::new(binder).ok()?);
        jni.call_static_void(class, jni.static_method(class, &name, c"()V")?)
    };
    bind().is_some()
}

/// Sets the flag that rewritten code reads: true while a thread waits for a monitor.
pub fn set_contended(jni: Jni, contended: bool) {
    if let Some(tracker) = TRACKER.get() {
        jni.set_static_boolean(tracker.class.get(), tracker.contended, contended);
    }
}
