//! Finds the classes of methods that an agent names. The agent may pass any value, and the VM would
//! dereference it. So the shim looks it up among the methods of all classes.

use super::methods::{self, Method};
use crate::classes;
use crate::records::class::Class;
use jni_sys::{jint, jmethodID};
use jvm::Jni;
use jvm::lock::Map;
use jvmpi_sys::jobjectID;
use std::ptr;
use std::sync::{Arc, LazyLock};

/// For each method that existed at the last listing, the ID of the class that declares it.
static BY_METHOD: LazyLock<Map<usize, usize>> = LazyLock::new(Map::new);
/// The number of redefinitions of each listed class, because a redefinition may add methods.
static LISTED: LazyLock<Map<usize, jint>> = LazyLock::new(Map::new);

/// Returns the ID of the class that declares the method; None if there is no such method.
pub fn class_of(jni: Jni, method: jmethodID) -> Option<jobjectID> {
    if let Some(known) = methods::known(method) {
        return Some(known.class.id());
    }
    let listed = || BY_METHOD.get(method.addr()).map(ptr::without_provenance_mut);
    listed().or_else(|| {
        list_all(jni);
        listed()
    })
}

/// Returns the record of a method that the VM may have freed. It is asked only about methods of live classes: older
/// updates crash otherwise (see [`jvm::Jvm::knows_freed_methods`]).
pub fn find_if_alive(jni: Jni, method: jmethodID) -> Option<Arc<Method>> {
    methods::known_as_it_is(jni, method).or_else(|| {
        let class = classes::by_id(class_of(jni, method)?)?;
        jni.frame(4, |jni| {
            class.object(jni)?;
            methods::find_out(jni, method)
        })
    })
}

/// Lists the methods of classes that were loaded or redefined since the last listing.
fn list_all(jni: Jni) {
    match classes::all_loaded(jni) {
        Ok(loaded) => loaded.iter().for_each(|class| jni.frame(4, |jni| list(jni, class))),
        Err(error) => log::debug!("the methods of new classes stay unknown: {error}"),
    }
}

/// Lists the methods of a class. A class that is not linked has no method IDs and is skipped.
fn list(jni: Jni, class: &Class) {
    let id = class.id().addr();
    let Some(object) = class.object(jni) else { return };
    let redefinitions = classes::redefinitions(jni, object);
    if LISTED.get(id) == Some(redefinitions) {
        return;
    }
    let Ok(methods) = jvm::get().jvmti.class_methods(object) else { return };
    for method in methods.iter() {
        class.add_method(*method);
        BY_METHOD.insert(method.addr(), id);
    }
    LISTED.insert(id, redefinitions);
}

/// Removes an unloaded class and these methods of it.
pub fn forget(class: jobjectID, methods: &[usize]) {
    LISTED.remove(class.addr());
    for method in methods {
        BY_METHOD.remove(*method);
    }
}
