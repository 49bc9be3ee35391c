//! Classes. A class's ID is that of its `java.lang.Class` object; CLASS_LOAD defines it.

use super::agents::Agent;
use super::layout::Layout;
use super::order::announced::Announced;
use super::tags::{self, Kind};
use super::{methods, tagging, threads};
use crate::instrument::tracker;
use crate::jvm::{self, Error, FieldId, Jni, Result, WeakRef};
use crate::lock::{Lock, Map, Memo};
use crate::options::Names;
use jni_sys::{jclass, jint, jlong, jmethodID, jobject};
use jvmpi_sys::*;
use jvmti_sys::{JVMTI_CLASS_STATUS_ARRAY, JVMTI_CLASS_STATUS_PREPARED, JVMTI_ERROR_INVALID_CLASS};
use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

/// What the shim knows of one class.
pub struct Class {
    id: jobjectID,
    instances: Instances,
    object: WeakRef,
    with_dots: CString,
    with_slashes: CString,
    /// The methods of which something is known, which dies with the class.
    methods: Lock<Vec<usize>>,
    /// Whether it was tried in vain to link the class.
    cannot_be_linked: AtomicBool,
    /// By what numbers rewritten code reports the methods.
    numbers: OnceLock<(u64, usize)>,
    /// Where dumps have its fields, once that was asked for.
    pub layout: OnceLock<Arc<Layout>>,
    /// Who has had CLASS_LOAD.
    pub announced: Announced,
}

// SAFETY: the ID is a number, not a pointer to be followed; the other fields are safe to share.
unsafe impl Send for Class {}
// SAFETY: as above.
unsafe impl Sync for Class {}

static BY_ID: LazyLock<Map<usize, Arc<Class>>> = LazyLock::new(Map::new);

/// What the objects of a class are, as OBJECT_ALLOC tells it.
pub enum Instances {
    /// Class objects: `java.lang.Class` itself.
    Classes,
    /// Plain objects, with the bytes that each occupies once that is known.
    Objects(OnceLock<jlong>),
    /// Arrays of references, with the class of their elements.
    References(Option<Arc<Class>>),
    /// Arrays of a primitive type, one of the `JVMPI_BOOLEAN` … `JVMPI_LONG`.
    Primitives(jint),
}

/// Runs `f` with the record of a class, a new one if it is seen for the first time. Costs no more
/// than a look at the class's tag otherwise.
pub fn with<R>(jni: Jni, class: jclass, f: impl FnOnce(&Class) -> R) -> Result<R> {
    let tag = jvm::get().class_env.tag(class)?;
    if tag == 0 {
        return of(jni, class).map(|record| f(&record));
    }
    let record = ptr::with_exposed_provenance::<Class>(tags::value(tag) as usize);
    // SAFETY: the tag is made of a pointer to the record, which lives as long as its class, and that
    // lives because the caller has a reference to it.
    Ok(f(unsafe { &*record }))
}

/// The record of a class, a new one if it is seen for the first time.
pub fn of(jni: Jni, class: jclass) -> Result<Arc<Class>> {
    let id = tagging::id_of(class)?;
    if let Some(known) = by_id(id) {
        return Ok(known);
    }
    let signature = jvm::get().jvmti.class_signature(class)?;
    // `int.class` and its like are no classes that CLASS_LOAD could define.
    if signature.count_bytes() == 1 {
        return Err(Error(JVMTI_ERROR_INVALID_CLASS));
    }
    let name = name_in_signature(signature.to_bytes());
    let new = Arc::new(Class {
        id,
        instances: instances(jni, class, signature.to_bytes()),
        object: WeakRef::new(jni, class),
        with_dots: c_string(with_dots(name)),
        with_slashes: c_string(name.to_vec()),
        methods: Lock::default(),
        cannot_be_linked: AtomicBool::new(false),
        numbers: OnceLock::new(),
        layout: OnceLock::new(),
        announced: Announced::default(),
    });
    let record = BY_ID.get_or_insert(id.addr(), new);
    let address = Arc::as_ptr(&record).expose_provenance();
    jvm::get().class_env.set_tag(class, Kind::Class.tag(address as i64))?;
    Ok(record)
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
        let reflection = jni.find_class(c"java/lang/Class")?;
        let method = jni.method(reflection, c"getComponentType", c"()Ljava/lang/Class;")?;
        // Its call is no event, which would name the array class that is just being examined.
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

/// The records of all classes that are loaded, that of `java.lang.Class` first: agents ask for it
/// when they hear of any other.
pub fn all_loaded(jni: Jni) -> Result<Vec<Arc<Class>>> {
    // Java code must not run while so many local references are held: in what the VM reports
    // meanwhile they would count as references of ours.
    let loaded = jni.frame(jvm::LARGE_FRAME, |jni| -> Result<Vec<WeakRef>> {
        let loaded = jvm::get().jvmti.loaded_classes()?;
        Ok(loaded.iter().map(|class| WeakRef::new(jni, *class)).collect())
    })?;
    let record = |class: &WeakRef| jni.frame(8, |jni| class.get(jni).map(|class| of(jni, class)));
    let mut records = loaded.iter().filter_map(record).collect::<Result<Vec<_>>>()?;
    records.sort_by_key(|class| !matches!(class.instances(), Instances::Classes));
    Ok(records)
}

/// Whether the class is linked, or an array class: JVMTI tells neither methods nor fields of others.
pub fn is_ready(class: jclass) -> bool {
    let ready = JVMTI_CLASS_STATUS_PREPARED | JVMTI_CLASS_STATUS_ARRAY;
    jvm::get().jvmti.class_status(class).is_ok_and(|status| status & ready as jint != 0)
}

/// How often the class or one that it inherits from was redefined or retransformed, by whomever. The
/// VM counts that in a field of its own, at the moment when it puts the new methods in their places.
pub fn redefinitions(jni: Jni, class: jclass) -> jint {
    static COUNT: Memo<Option<FieldId>> = Memo::new();
    let find =
        |jni: Jni| jni.field(jni.find_class(c"java/lang/Class")?, c"classRedefinedCount", c"I");
    let count = COUNT.get_or_find(|| jni.frame(4, find));
    count.map_or(0, |count| jni.int_field(class, count))
}

/// The class with this ID, if it has been seen and is not unloaded.
pub fn by_id(id: jobjectID) -> Option<Arc<Class>> {
    BY_ID.get(id.addr())
}

/// Whether an agent has been told of any class.
pub fn any_announced(agent: &Agent) -> bool {
    BY_ID.any(|class| class.announced.to(agent))
}

/// How many classes are known.
pub fn count() -> usize {
    BY_ID.keys().len()
}

/// Drops what is known of a class that was unloaded, if the ID is one's.
pub fn forget(id: jobjectID) -> Option<Arc<Class>> {
    let class = BY_ID.remove(id.addr())?;
    let methods = std::mem::take(&mut *class.methods.lock());
    methods.into_iter().for_each(methods::forget);
    Some(class)
}

/// A class descriptor without the `L` and `;` around ordinary classes; arrays keep theirs.
pub fn name_in_signature(signature: &[u8]) -> &[u8] {
    signature.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";")).unwrap_or(signature)
}

/// The name as `Class.getName` spells it: dots between packages, and a slash where the VM has
/// the one dot of a hidden class's name.
fn with_dots(name: &[u8]) -> Vec<u8> {
    let swap = |byte: &u8| match byte {
        b'/' => b'.',
        b'.' => b'/',
        other => *other,
    };
    name.iter().map(swap).collect()
}

fn c_string(bytes: Vec<u8>) -> CString {
    CString::new(bytes).expect("the name comes from a C string")
}

impl Class {
    /// The class's ID.
    pub fn id(&self) -> jobjectID {
        self.id
    }

    /// Whether the class is the shim's own, of which agents never hear.
    pub fn is_own(&self) -> bool {
        *self.with_slashes == *tracker::NAME
    }

    /// What the class's objects are.
    pub fn instances(&self) -> &Instances {
        &self.instances
    }

    /// The bytes that an object of this class occupies; all plain objects of a class are as large.
    pub fn size_of(&self, object: jobject) -> Result<jlong> {
        let ask = || jvm::get().jvmti.object_size(object);
        let Instances::Objects(size) = &self.instances else { return ask() };
        match size.get() {
            Some(size) => Ok(*size),
            None => ask().map(|asked| *size.get_or_init(|| asked)),
        }
    }

    /// The class object in the current frame, None if the class was unloaded.
    pub fn object(&self, jni: Jni) -> Option<jobject> {
        self.object.get(jni)
    }

    /// Whether the class is linked now, or ready in another way. `link` is tried if it is not, once: a
    /// class that cannot be linked may still be named often, by arrays of it.
    pub fn is_linked(&self, object: jclass, link: impl FnOnce()) -> bool {
        if is_ready(object) {
            return true;
        }
        if self.cannot_be_linked.load(Ordering::Relaxed) {
            return false;
        }
        link();
        let is_linked = is_ready(object);
        self.cannot_be_linked.store(!is_linked, Ordering::Relaxed);
        is_linked
    }

    /// As [`Self::object`], of a class that lives as long as what is returned is used.
    pub fn object_alive(&self) -> jobject {
        self.object.get_alive()
    }

    /// The name as class files spell it.
    pub fn internal_name(&self) -> &[u8] {
        self.with_slashes.to_bytes()
    }

    /// The name as an agent wants it spelled; it lives as long as the class does.
    pub fn name(&self, names: Names) -> &CStr {
        match names {
            Names::Dot => &self.with_dots,
            Names::Slash => &self.with_slashes,
        }
    }

    /// The first of the numbers by which its methods are reported, which stay the same as long as
    /// the methods' names and order do, whose hash is `shape`.
    pub fn numbers(&self, shape: u64, reserve: impl Fn() -> usize) -> usize {
        let (known, first) = *self.numbers.get_or_init(|| (shape, reserve()));
        if known == shape { first } else { reserve() }
    }

    /// Takes note that something is known of a method of the class.
    pub fn add_method(&self, method: jmethodID) {
        self.methods.lock().push(method.addr());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_class_get_name_does() {
        let dots = |signature: &str| {
            String::from_utf8(with_dots(name_in_signature(signature.as_bytes()))).unwrap()
        };
        assert_eq!(dots("Ljava/lang/String;"), "java.lang.String");
        assert_eq!(dots("[[Ljava/lang/String;"), "[[Ljava.lang.String;");
        assert_eq!(dots("[I"), "[I");
        assert_eq!(dots("Lp/Main$$Lambda.0x01;"), "p.Main$$Lambda/0x01");
        assert_eq!(dots("LL;"), "L");
    }
}
