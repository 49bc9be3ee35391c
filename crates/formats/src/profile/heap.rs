//! The records of a heap dump. They are passed one after the other, by a reader to its caller and by an
//! agent to a writer, and borrow what they tell: a heap may have fifty million objects.

use crate::profile::model::{ObjectId, ThreadSerial, TraceSerial, Type, Value};

/// A record of a heap dump.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Record<'a> {
    Root(Root<'a>),
    Class(Class<'a>),
    Instance(Instance<'a>),
    Objects(Objects<'a>),
    Primitives(Primitives<'a>),
}

impl Record<'_> {
    /// Returns the size of the object in bytes if the record is of an object. Class objects count as nothing.
    pub fn object_size(&self) -> Option<u64> {
        match self {
            Self::Root(_) => None,
            Self::Class(_) => Some(0),
            Self::Instance(instance) => Some(instance.size),
            Self::Objects(array) => Some(array.size),
            Self::Primitives(array) => Some(array.size),
        }
    }
}

/// A reason why an object is alive. An object may have several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Root<'a> {
    /// The object; NULL for a thread that is not known and a JNI reference that is not known.
    pub object: ObjectId,
    /// The reason.
    pub kind: RootKind<'a>,
}

/// Why an object is alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RootKind<'a> {
    /// For a reason of the VM's.
    Unknown,
    /// By a JNI global reference.
    JniGlobal {
        /// The `jobject`.
        reference: u64,
        /// The trace of its allocation (text).
        trace: TraceSerial,
    },
    /// By a local reference of native code.
    JniLocal(Place),
    /// By a local variable of Java code.
    JavaFrame(Place),
    /// By native code of a thread.
    NativeStack(ThreadSerial),
    /// A class that is never unloaded.
    StickyClass {
        /// The name of the class; empty if it is not known.
        name: &'a str,
    },
    /// An object that a thread waits in.
    ThreadBlock(ThreadSerial),
    /// A monitor in use.
    MonitorUsed,
    /// A live thread.
    ThreadObject {
        /// The thread.
        thread: ThreadSerial,
        /// Its stack.
        trace: TraceSerial,
    },
}

/// A frame of a thread's stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The thread.
    pub thread: ThreadSerial,
    /// The frame's index in the thread's trace, innermost first; None if it is in none.
    pub frame: Option<u32>,
}

/// A class.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Class<'a> {
    /// The Class object.
    pub id: ObjectId,
    /// The trace of its allocation.
    pub trace: TraceSerial,
    /// Its name, with dots; empty if it is not known.
    pub name: &'a str,
    /// Its superclass.
    pub superclass: ObjectId,
    /// Its loader; NULL for the boot loader.
    pub loader: ObjectId,
    /// Its signers, an array.
    pub signers: ObjectId,
    /// Its protection domain.
    pub protection_domain: ObjectId,
    /// The size of an instance's fields in bytes, inherited ones included (binary).
    pub instance_size: u32,
    /// Entries of its constant pool.
    pub constants: &'a [Constant],
    /// Its static fields; in text only references that are not NULL.
    pub statics: &'a [Field<'a>],
    /// The fields of its instances without inherited ones (binary).
    pub fields: &'a [FieldType<'a>],
}

/// An entry of a class's constant pool.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Constant {
    /// Its index.
    pub index: u16,
    /// The value of the field.
    pub value: Value,
}

/// A field and its value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value.
    pub value: Value,
}

/// A field of the instances of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldType<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub of_type: Type,
}

/// An object that is no array and no class.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Instance<'a> {
    /// The object.
    pub id: ObjectId,
    /// The trace of its allocation.
    pub trace: TraceSerial,
    /// Its class.
    pub class: ObjectId,
    /// The name of its class; empty if it is not known.
    pub class_name: &'a str,
    /// The size in bytes: in text as the VM reported it, in binary that of its fields.
    pub size: u64,
    /// Its fields, those of its class first, then those of the superclass, and so on; in text only references
    /// that are not NULL. None in binary if its class is not in the dump.
    pub fields: &'a [Field<'a>],
}

/// An array of references.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Objects<'a> {
    /// The array.
    pub id: ObjectId,
    /// The trace of its allocation.
    pub trace: TraceSerial,
    /// The class of its elements; NULL if it is not known.
    pub class: ObjectId,
    /// The name of that class; empty if it is not known.
    pub class_name: &'a str,
    /// The class of the array itself. NULL if unknown: JVMPI, its HPROF and text have only that of the
    /// elements.
    pub array_class: ObjectId,
    /// The size in bytes: in text as the VM reported it, in binary that of its elements.
    pub size: u64,
    /// Its elements.
    pub elements: Elements<'a>,
}

/// An array of a primitive type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Primitives<'a> {
    /// The array.
    pub id: ObjectId,
    /// The trace of its allocation.
    pub trace: TraceSerial,
    /// The type of its elements. Text does not tell `double` from `long`.
    pub of_type: Type,
    /// The size in bytes: in text as the VM reported it, in binary that of its elements.
    pub size: u64,
    /// The number of elements.
    pub length: u32,
    /// The elements, packed and big-endian; nothing in text.
    pub values: &'a [u8],
}

/// The elements of an array of references.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Elements<'a> {
    /// All of them.
    All(&'a [ObjectId]),
    /// All of them as they lie in a binary file, big-endian.
    Packed {
        /// Their bytes.
        bytes: &'a [u8],
        /// The size of each ID in bytes.
        id_size: usize,
    },
    /// The elements that are not NULL, as text has them.
    NotNull {
        /// The number of elements, including NULL.
        length: u32,
        /// Indices and elements.
        elements: &'a [(u32, ObjectId)],
    },
}

impl Objects<'_> {
    /// Returns the name of its type, as Java's source has it: `java.lang.String[]`.
    pub fn type_name(&self) -> String {
        let elements = if self.class_name.is_empty() { "<Unknown>" } else { self.class_name };
        format!("{}[]", type_name(elements))
    }
}

/// The largest ID that writers assign; the next one is smaller. No VM has objects there, and the ID is positive for
/// readers that take it for signed.
pub(super) const LAST_ID: u64 = (i64::MAX as u64) & !0xf;

/// Returns the name of the class of arrays with elements of this class.
pub(super) fn array_name(element: &str) -> String {
    match element.strip_prefix('[') {
        Some(_) => format!("[{element}"),
        None => format!("[L{element};"),
    }
}

/// Returns the name of a class in Java source: `int[]` of `[I`, `java.lang.String[][]` of
/// `[[Ljava.lang.String;`. A name of another class stays as it is.
pub fn type_name(class: &str) -> String {
    let element = class.trim_start_matches('[');
    let dimensions = class.len() - element.len();
    if dimensions == 0 {
        return class.to_owned();
    }
    let primitive = || Type::ALL[1..].iter().find(|of| of.array_name()[1..] == *element);
    let of_class = element.strip_prefix('L').and_then(|class| class.strip_suffix(';'));
    match of_class.or_else(|| primitive().map(|of| of.name())) {
        Some(element) => format!("{element}{}", "[]".repeat(dimensions)),
        None => class.to_owned(),
    }
}

impl<'a> Elements<'a> {
    /// Returns the number of elements, including NULL.
    pub fn length(self) -> u32 {
        match self {
            Self::All(ids) => ids.len() as u32,
            Self::Packed { bytes, id_size } => (bytes.len() / id_size.max(1)) as u32,
            Self::NotNull { length, .. } => length,
        }
    }

    /// Returns the elements that are not NULL, with their indices.
    pub fn iter(self) -> impl Iterator<Item = (u32, ObjectId)> + 'a {
        let (ids, bytes, id_size, pairs): (&[_], &[_], _, &[_]) = match self {
            Self::All(ids) => (ids, &[], 1, &[]),
            Self::Packed { bytes, id_size } => (&[], bytes, id_size.max(1), &[]),
            Self::NotNull { elements, .. } => (&[], &[], 1, elements),
        };
        let packed = bytes.chunks_exact(id_size).map(id_of);
        let all = ids.iter().copied().chain(packed);
        let all = (0..).zip(all).filter(|(_, id)| *id != ObjectId(0));
        all.chain(pairs.iter().copied())
    }
}

/// Returns the ID in these bytes, big-endian.
fn id_of(bytes: &[u8]) -> ObjectId {
    ObjectId(bytes.iter().fold(0, |id, byte| id << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_named_as_in_source() {
        for (name, expected) in [
            ("[I", "int[]"),
            ("[[Ljava.lang.String;", "java.lang.String[][]"),
            ("java.lang.String", "java.lang.String"),
            ("I", "I"),
            ("", ""),
            ("[", "["),
            ("[Lx", "[Lx"),
        ] {
            assert_eq!(type_name(name), expected);
        }
    }
}
