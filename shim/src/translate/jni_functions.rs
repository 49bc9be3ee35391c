//! The JNI functions that the shim replaces, in groups that are switched independently.

/// Defines `pub fn replace(on: bool)`, which installs the module's functions in the JNI function
/// table under the same names, or restores the originals.
macro_rules! replaces {
    ($($slot:ident)*) => {
        /// Installs this module's functions in the JNI function table, or restores the originals.
        pub fn replace(on: bool) -> jvm::Result<()> {
            let _alone = crate::sync::vm_locks::for_tags();
            jvm::jni_table::edit(jvm::get().jvmti, |table, originals| {
                $(
                    // Another agent may have installed its own function since, which calls ours.
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

use jvm::jni_table::{self, Functions};

/// Returns the original JNI functions.
pub fn originals() -> &'static Functions {
    jni_table::originals().expect("the functions were replaced")
}
