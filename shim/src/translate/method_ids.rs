//! Methods get IDs before a signal handler names them.

use super::subscriptions;
use crate::classes;
use crate::jvm::{self, Jni};

/// Gives IDs to the methods of all classes, those that are loaded and those that will be.
pub fn give_all(jni: Jni) {
    let updated = subscriptions::update().and_then(|_| {
        for class in classes::all_loaded(jni)? {
            jni.frame(4, |jni| class.object(jni).map(|o| drop(jvm::get().jvmti.class_methods(o))));
        }
        Ok(())
    });
    if let Err(error) = updated {
        log::warn!("some methods may be missing in call traces: {error}");
    }
}
