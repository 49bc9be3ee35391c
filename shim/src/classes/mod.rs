//! Classes and their methods. The ID of a class is the ID of its `java.lang.Class` object; CLASS_LOAD defines
//! it.

pub mod definitions;
pub mod layouts;
pub mod method_classes;
pub mod method_numbers;
pub mod methods;
pub mod seen_frames;

use crate::records::class::{self, Class, Instances, name_in_signature};
use crate::records::ids::{self, Kind};
use crate::sync::tagging;
use crate::{suspension, threads};
use jni_sys::{jclass, jint, jobject, jvalue};
use jvm::lock::{Map, Memo};
use jvm::types::JVMTI_ERROR_INVALID_CLASS;
use jvm::{Error, FieldId, Jni, Result, WeakRef, internals, suspending};
use jvmpi_sys::*;
use std::ffi::CStr;
use std::ptr;
use std::sync::{Arc, LazyLock, OnceLock};

static BY_ID: LazyLock<Map<usize, Arc<Class>>> = LazyLock::new(Map::new);

/// Runs `f` with the record of a class, which is created the first time. Later calls cost only a read of the
/// class's tag.
pub fn with<R>(jni: Jni, class: jclass, f: impl FnOnce(&Class) -> R) -> Result<R> {
    // SAFETY: the record lives as long as its class, and the class lives because the caller has a reference to it.
    match unsafe { known(class)?.as_ref() } {
        Some(record) => Ok(f(record)),
        None => create(jni, class).map(|record| f(&record)),
    }
}

/// Returns the record of a class, which is created the first time.
pub fn of(jni: Jni, class: jclass) -> Result<Arc<Class>> {
    let record = known(class)?;
    if record.is_null() {
        return create(jni, class);
    }
    // SAFETY: the pointer is that of an `Arc`, which [`BY_ID`] has as long as the class lives, as in `with`.
    unsafe {
        Arc::increment_strong_count(record);
        Ok(Arc::from_raw(record))
    }
}

/// Returns the record to which the tag of a class leads; NULL if it has none yet.
fn known(class: jclass) -> Result<*const Class> {
    let tag = jvm::get().class_env.tag(class)?;
    Ok(ptr::with_exposed_provenance(ids::value(tag) as usize))
}

fn create(jni: Jni, class: jclass) -> Result<Arc<Class>> {
    loop {
        let id = tagging::id_of(class)?;
        let record = make(jni, class, id)?;
        // The ID of a class with a record is fixed; before that, a copying collection may have changed it.
        if tagging::id_of(class)? == id {
            let address = Arc::as_ptr(&record).expose_provenance();
            jvm::get().class_env.set_tag(class, Kind::Class.tag(address as i64))?;
            return Ok(record);
        }
        BY_ID.remove(id.addr());
    }
}

fn make(jni: Jni, class: jclass, id: jobjectID) -> Result<Arc<Class>> {
    let signature = jvm::get().jvmti.class_signature(class)?;
    // CLASS_LOAD cannot define `int.class` and other primitive types.
    if signature.count_bytes() == 1 {
        return Err(Error(JVMTI_ERROR_INVALID_CLASS));
    }
    let name = name_in_signature(signature.to_bytes());
    let instances = instances(jni, class, signature.to_bytes());
    let new = Arc::new(Class::new(id, instances, WeakRef::new(jni, class), name));
    Ok(BY_ID.get_or_insert(id.addr(), new))
}

fn instances(jni: Jni, class: jclass, signature: &[u8]) -> Instances {
    match signature {
        [b'[', b'L' | b'[', ..] => Instances::References(component(jni, class)),
        [b'[', element] => Instances::Primitives(primitive(*element)),
        b"Ljava/lang/Class;" => Instances::Classes,
        _ => Instances::Objects(OnceLock::new()),
    }
}

/// Returns the class of an array class's elements.
fn component(jni: Jni, array_class: jclass) -> Option<Arc<Class>> {
    jni.frame(8, |jni| {
        if let Some(field) = class_fields(jni).component_type {
            return of(jni, jni.object_field(array_class, field)).ok();
        }
        if suspending::is_suspending() {
            return None;
        }
        let reflection = jni.find_class(c"java/lang/Class")?;
        let method = jni.method(reflection, c"getComponentType", c"()Ljava/lang/Class;")?;
        // Internal, because an event of this call would name the array class, which has no record yet.
        let element = threads::internally(jni, || jni.call_object(array_class, method, &[]))?;
        of(jni, element).ok()
    })
}

/// Returns the `is_array` code for the element type of a descriptor.
fn primitive(descriptor: u8) -> jint {
    match descriptor {
        b'Z' => JVMPI_BOOLEAN,
        b'C' => JVMPI_CHAR,
        b'F' => JVMPI_FLOAT,
        b'D' => JVMPI_DOUBLE,
        b'B' => JVMPI_BYTE,
        b'S' => JVMPI_SHORT,
        b'I' => JVMPI_INT,
        _ => JVMPI_LONG,
    }
}

/// The class loaders that may be called when a class is linked: the VM asks the loader for the classes that
/// verification needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Linking {
    /// The boot loader, which runs no Java code.
    Boot,
    /// The JDK's loaders. They call no code of the program's, but lock the names of classes.
    Jdk,
    /// Any loader. The calling thread must hold no locks.
    Any,
}

impl Linking {
    /// Returns true if a class with this class's defining loader may be linked.
    fn allows(self, jni: Jni, class: jclass) -> bool {
        let Ok(loader) = jvm::get().jvmti.class_loader(class) else { return false };
        self == Self::Any || loader.is_null() || self == Self::Jdk && is_of_jdk(jni, loader)
    }
}

/// Returns true if the class loader is the JDK's, for its own modules or for the class path.
fn is_of_jdk(jni: Jni, loader: jobject) -> bool {
    let is_it =
        |class: &Class| class.internal_name().starts_with(b"jdk/internal/loader/ClassLoaders$");
    with(jni, jni.class_of(loader), is_it).unwrap_or(false)
}

/// Links a class like [`link`], if `linking` allows its loader. Returns false if nothing was tried.
pub fn link_if(jni: Jni, class: jclass, linking: Linking) -> bool {
    jni.frame(4, |jni| linking.allows(jni, class)) && link(jni, class)
}

/// Links a class without initializing it, by reflection on its public fields, usually few. Unlike
/// `Class.getDeclaredFields`, the native below it caches nothing.
///
/// Returns false if nothing was tried: a thread that the current one has suspended may be linking the class
/// or hold a lock of its loader. A thread that links a class of the boot loader cannot be suspended in
/// between.
pub fn link(jni: Jni, class: jclass) -> bool {
    let is_boot = || jvm::get().jvmti.class_loader(class).is_ok_and(|loader| loader.is_null());
    if suspension::current_suspends_others() && !is_boot() {
        return false;
    }
    let fields = |jni: Jni| {
        let reflection = jni.find_class(c"java/lang/Class")?;
        let signature = c"(Z)[Ljava/lang/reflect/Field;";
        let list = jni.method(reflection, c"getDeclaredFields0", signature)?;
        let public_only = jvalue { z: true };
        jni.call_object(class, list, &[public_only]).map(drop)
    };
    if threads::internally(jni, || jni.frame(8, fields)).is_none() && !class::is_ready(class) {
        let signature = jvm::get().jvmti.class_signature(class).unwrap_or_default();
        log::debug!("{} cannot be linked now", signature.to_string_lossy());
    }
    true
}

/// Returns the records of all loaded classes. `java.lang.Class` comes first, because agents request it when
/// any other class is announced.
pub fn all_loaded(jni: Jni) -> Result<Vec<Arc<Class>>> {
    let mut records = Vec::new();
    each_loaded(jni, |jni, class| of(jni, class).map(|record| records.push(record)))?;
    records.sort_by_key(|class| !matches!(class.instances(), Instances::Classes));
    Ok(records)
}

/// Passes all loaded classes to `visit`, until that fails.
pub fn each_loaded(jni: Jni, mut visit: impl FnMut(Jni, jclass) -> Result<()>) -> Result<()> {
    // No Java code may run while so many local references exist: in callbacks that it causes, the VM would
    // count them as the callback's own.
    let loaded = jni.frame(jvm::LARGE_FRAME, |jni| -> Result<Vec<WeakRef>> {
        let loaded = jvm::get().jvmti.loaded_classes()?;
        Ok(loaded.iter().map(|class| WeakRef::new(jni, *class)).collect())
    })?;
    let visit = |class: &WeakRef| {
        jni.frame(8, |jni| class.get(jni).map_or(Ok(()), |class| visit(jni, class)))
    };
    loaded.iter().try_for_each(visit)
}

/// Returns the number of redefinitions and retransformations, by any agent, of the class and its
/// superclasses. The VM counts them in a field of its own, at the moment when it installs the new methods.
pub fn redefinitions(jni: Jni, class: jclass) -> jint {
    class_fields(jni).redefined_count.map_or(0, |count| jni.int_field(class, count))
}

/// The fields of `java.lang.Class` that the shim reads.
#[derive(Clone, Copy)]
pub struct ClassFields {
    redefined_count: Option<FieldId>,
    component_type: Option<FieldId>,
}

/// Returns the fields. The first call looks them up and must not happen while threads are suspended.
pub fn class_fields(jni: Jni) -> ClassFields {
    static FIELDS: Memo<ClassFields> = Memo::new();
    let find = |name: &CStr, signature: &CStr| {
        jni.frame(4, |jni| jni.field(jni.find_class(c"java/lang/Class")?, name, signature))
    };
    *FIELDS.get_or_find(|| ClassFields {
        redefined_count: internals::REDEFINED_COUNT.find(|| find(c"classRedefinedCount", c"I")),
        component_type: internals::COMPONENT_TYPE
            .find(|| find(c"componentType", c"Ljava/lang/Class;")),
    })
}

/// Returns the class with this ID, if it has a record and is not unloaded.
pub fn by_id(id: jobjectID) -> Option<Arc<Class>> {
    BY_ID.get(id.addr())
}

pub fn count() -> usize {
    BY_ID.keys().len()
}

/// Removes the record of a class, if the ID is that of one.
pub fn remove(id: jobjectID) -> Option<Arc<Class>> {
    BY_ID.remove(id.addr())
}
