//! Classes and their methods. A class's ID is that of its `java.lang.Class` object; CLASS_LOAD defines it.

pub mod compiled;
pub mod definitions;
pub mod method_classes;
pub mod method_numbers;
pub mod methods;
pub mod references;
pub mod seen_frames;
pub mod stopped;
pub mod unloading;

use crate::jvm::{self, Error, FieldId, Jni, Result, WeakRef, internals};
use crate::lock::{Map, Memo};
use crate::records::class::{self, Class, Instances, name_in_signature};
use crate::records::tags::{self, Kind};
use crate::suspending;
use crate::suspension;
use crate::sync::tagging;
use crate::threads;
use jni_sys::{jclass, jint, jobject, jvalue};
use jvmpi_sys::*;
use jvmti_sys::JVMTI_ERROR_INVALID_CLASS;
use std::ffi::CStr;
use std::ptr;
use std::sync::{Arc, LazyLock, OnceLock};

static BY_ID: LazyLock<Map<usize, Arc<Class>>> = LazyLock::new(Map::new);

/// Runs `f` with the record of a class, which is made the first time. Costs no more than reading the
/// class's tag later.
pub fn with<R>(jni: Jni, class: jclass, f: impl FnOnce(&Class) -> R) -> Result<R> {
    let tag = jvm::get().class_env.tag(class)?;
    if tag == 0 {
        return of(jni, class).map(|record| f(&record));
    }
    let record = ptr::with_exposed_provenance::<Class>(tags::value(tag) as usize);
    // SAFETY: the tag is made of a pointer to the record, which lives as long as its class, which lives
    // because the caller has a reference to it.
    Ok(f(unsafe { &*record }))
}

/// The record of a class, which is made the first time.
pub fn of(jni: Jni, class: jclass) -> Result<Arc<Class>> {
    loop {
        let id = tagging::id_of(class)?;
        if let Some(known) = by_id(id) {
            return Ok(known);
        }
        let record = make(jni, class, id)?;
        // The ID of a class that has a record stays; a collection that copies may have changed it before.
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
    // `int.class` and its like are no classes that CLASS_LOAD could define.
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

/// The class of an array class's elements.
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
        // Quietly, as an event of this call would name the array class, which has no record yet.
        let element = threads::quietly(jni, || jni.call_object(array_class, method, &[]))?;
        of(jni, element).ok()
    })
}

/// The `is_array` code for the element type of a descriptor.
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

/// Who may be asked for other classes where one is linked: the VM has its loader find what the class needs to
/// be verified.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Linking {
    /// The boot loader, which runs no Java code.
    Boot,
    /// The JDK's loaders. They call no code of the program's, but lock the names of classes.
    Jdk,
    /// Any loader, by a thread that holds no locks.
    Any,
}

impl Linking {
    /// Whether a class may be linked that was defined by the loader which it has.
    fn allows(self, jni: Jni, class: jclass) -> bool {
        let Ok(loader) = jvm::get().jvmti.class_loader(class) else { return false };
        self == Self::Any || loader.is_null() || self == Self::Jdk && is_of_jdk(jni, loader)
    }
}

/// Whether the class loader is the JDK's, for its own modules or for the class path.
fn is_of_jdk(jni: Jni, loader: jobject) -> bool {
    let is_it =
        |class: &Class| class.internal_name().starts_with(b"jdk/internal/loader/ClassLoaders$");
    with(jni, jni.class_of(loader), is_it).unwrap_or(false)
}

/// As [`link`], if that is allowed.
pub fn link_if(jni: Jni, class: jclass, linking: Linking) -> bool {
    jni.frame(4, |jni| linking.allows(jni, class)) && link(jni, class)
}

/// Links a class without initializing it: reflection on its public fields needs that, of which there
/// are few. The native below `Class.getDeclaredFields`, unlike that, keeps nothing of what it finds.
///
/// False if that was not tried: a thread that the current one has suspended may be just linking the class,
/// or hold a lock of its loader. What links a class of the boot loader cannot be suspended in between.
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
    if threads::quietly(jni, || jni.frame(8, fields)).is_none() && !class::is_ready(class) {
        let signature = jvm::get().jvmti.class_signature(class).unwrap_or_default();
        log::debug!("{} cannot be linked now", signature.to_string_lossy());
    }
    true
}

/// The records of all classes that are loaded, that of `java.lang.Class` first: agents request it when
/// any other is announced.
pub fn all_loaded(jni: Jni) -> Result<Vec<Arc<Class>>> {
    let mut records = Vec::new();
    each_loaded(jni, |jni, class| of(jni, class).map(|record| records.push(record)))?;
    records.sort_by_key(|class| !matches!(class.instances(), Instances::Classes));
    Ok(records)
}

/// Shows all classes that are loaded to `visit`, until that fails.
pub fn each_loaded(jni: Jni, mut visit: impl FnMut(Jni, jclass) -> Result<()>) -> Result<()> {
    // No Java code may run while so many local references exist: in callbacks of the VM that it causes
    // they would count as the callback's own.
    let loaded = jni.frame(jvm::LARGE_FRAME, |jni| -> Result<Vec<WeakRef>> {
        let loaded = jvm::get().jvmti.loaded_classes()?;
        Ok(loaded.iter().map(|class| WeakRef::new(jni, *class)).collect())
    })?;
    let visit = |class: &WeakRef| {
        jni.frame(8, |jni| class.get(jni).map_or(Ok(()), |class| visit(jni, class)))
    };
    loaded.iter().try_for_each(visit)
}

/// How often the class or one that it inherits from was redefined or retransformed, by any agent. The
/// VM counts that in a field of its own, at the moment when it installs the new methods.
pub fn redefinitions(jni: Jni, class: jclass) -> jint {
    class_fields(jni).redefined_count.map_or(0, |count| jni.int_field(class, count))
}

/// Fields of `java.lang.Class`.
#[derive(Clone, Copy)]
pub struct ClassFields {
    redefined_count: Option<FieldId>,
    component_type: Option<FieldId>,
}

/// Looks the fields up the first time. That must not happen while threads are suspended.
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

/// The class with this ID, if it has a record and is not unloaded.
pub fn by_id(id: jobjectID) -> Option<Arc<Class>> {
    BY_ID.get(id.addr())
}

/// How many classes have records.
pub fn count() -> usize {
    BY_ID.keys().len()
}

/// Removes the record of a class from the list, if the ID is a class's.
fn remove(id: jobjectID) -> Option<Arc<Class>> {
    BY_ID.remove(id.addr())
}
