//! Gives methods their IDs before a signal handler needs them.

use super::subscriptions;
use crate::classes;
use jvm::Jni;

/// Gives IDs to the methods of all classes, now and when further classes are loaded.
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
