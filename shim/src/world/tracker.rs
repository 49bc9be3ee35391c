//! The shim's own class in the VM, whose natives rewritten code calls (`instrument::tracker`).

use crate::jvm::{FieldId, GlobalRef, Jni};
use jni_sys::jobject;
use std::ffi::CStr;
use std::sync::OnceLock;

/// The internal name of the class.
pub const NAME: &CStr = c"jvmpi/Tracker";

/// The same as class loaders are asked for it.
pub const BINARY_NAME: &CStr = c"jvmpi.Tracker";

/// Its static `boolean` that is true while a thread waits for a monitor.
pub const CONTENDED: &CStr = c"contended";

/// The class, once it is defined.
struct Tracker {
    class: GlobalRef,
    contended: FieldId,
}

static TRACKER: OnceLock<Tracker> = OnceLock::new();

/// Whether the class is defined.
pub fn is_defined() -> bool {
    TRACKER.get().is_some()
}

/// Takes note of the class, and of its field [`CONTENDED`].
pub fn defined(class: GlobalRef, contended: FieldId) {
    TRACKER.get_or_init(|| Tracker { class, contended });
}

/// A new instance, which is a `Function`; None if that failed.
pub fn instance(jni: Jni) -> Option<jobject> {
    jni.allocate(TRACKER.get()?.class.get())
}

/// Has a native method of the JDK bound to the shim's function; false if that failed.
pub fn bind(jni: Jni) -> bool {
    let Some(class) = TRACKER.get().map(|tracker| tracker.class.get()) else { return false };
    let bind = || jni.call_static_void(class, jni.static_method(class, c"bind", c"()V")?);
    bind().is_some()
}

/// Sets the flag that rewritten code reads: whether a thread waits for a monitor.
pub fn set_contended(jni: Jni, contended: bool) {
    if let Some(tracker) = TRACKER.get() {
        jni.set_static_boolean(tracker.class.get(), tracker.contended, contended);
    }
}
