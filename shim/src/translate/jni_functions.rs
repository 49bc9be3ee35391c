//! JNI functions that the shim replaces, in groups that are switched on and off each by itself.

/// Defines `pub fn replace(on: bool)`, which puts the functions that this module has under the names
/// of JNI's in the place of those, or takes them away again.
macro_rules! replaces {
    ($($slot:ident)*) => {
        /// Puts this module's functions in the place of JNI's, or takes them away again.
        pub fn replace(on: bool) -> crate::jvm::Result<()> {
            let _alone = crate::sync::claims::to_tag();
            crate::jvm::jni_table::edit(crate::jvm::get().jvmti, |table, originals| {
                $(
                    // Another agent may have put its own function there since, which calls ours.
                    if on {
                        table.$slot = $slot;
                    } else if table.$slot as *const () == $slot as *const () {
                        table.$slot = originals.$slot;
                    }
                )*
            })
        }
    };
}
pub(super) use replaces;

use crate::jvm::jni_table::{self, Functions};

/// The functions that the replaced ones stand for.
pub fn originals() -> &'static Functions {
    jni_table::originals().expect("the functions were replaced")
}
