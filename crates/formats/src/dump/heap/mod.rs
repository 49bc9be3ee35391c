//! Heap and object dumps.

pub mod read;
pub mod write;

use crate::dump::{Id, Type, Value};

/// An object in a dump of level 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The type of the elements if the object is an array.
    pub elements: Option<Type>,
    /// The object.
    pub id: Id,
}

/// A frame in a thread's stack trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The thread's environment.
    pub thread: Id,
    /// The index of the frame in the trace of that thread, where 0 is the innermost frame; `None` if the trace does
    /// not contain it.
    pub number: Option<u32>,
}

/// The reason why an object is reachable: the kind of a GC root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// An unspecified reference inside the VM.
    Unknown(Id),
    /// A JNI global reference.
    JniGlobal {
        /// The object.
        object: Id,
        /// The `jobject`.
        reference: Id,
    },
    /// A JNI local reference.
    JniLocal(Id, Frame),
    /// A local variable of a Java method.
    JavaFrame(Id, Frame),
    /// A reference on the native stack of a thread.
    NativeStack {
        /// The object.
        object: Id,
        /// The thread's environment.
        thread: Id,
    },
    /// A class that is never unloaded.
    StickyClass(Id),
    /// A live thread.
    ThreadBlock {
        /// The `java.lang.Thread`.
        object: Id,
        /// The thread's environment.
        thread: Id,
    },
    /// A monitor in use.
    MonitorUsed(Id),
}

/// An entry in the constant pool of a class.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Constant {
    /// The index in the constant pool.
    pub index: u16,
    /// The value. Agents expect references only.
    pub value: Value,
}

/// A class, with the values of its static fields.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Class<'a> {
    /// The class.
    pub id: Id,
    /// The superclass.
    pub superclass: Id,
    /// The class loader; NULL for the bootstrap loader.
    pub loader: Id,
    /// The array of signers.
    pub signers: Id,
    /// The protection domain.
    pub protection_domain: Id,
    /// The name, a `java.lang.String`.
    pub name: Id,
    /// The size of an instance's field values in bytes, including inherited fields.
    pub instance_size: u32,
    /// The direct interfaces, in the order of CLASS_LOAD.
    pub interfaces: Vec<Id>,
    /// The entries of the constant pool.
    pub constants: Vec<Constant>,
    /// The values of the static fields in the order of CLASS_LOAD, without the types that the level omits.
    pub statics: &'a [u8],
}

/// A record of level 1 or 2.
#[derive(Clone, PartialEq, Debug)]
pub enum Record<'a> {
    /// A GC root.
    Root(Root),
    /// A class.
    Class(Class<'a>),
    /// An object that is neither an array nor a class.
    Instance {
        /// The object.
        id: Id,
        /// Its class.
        class: Id,
        /// The values of the fields in the order of CLASS_LOAD: those of its own class first, then those of its
        /// superclasses in turn. Types that the level omits are missing.
        values: &'a [u8],
    },
    /// An array of references.
    Objects {
        /// The array.
        id: Id,
        /// The class of its elements.
        class: Id,
        /// The elements.
        elements: Ids<'a>,
    },
    /// An array of a primitive type.
    Primitives {
        /// The array.
        id: Id,
        /// The type of its elements.
        of_type: Type,
        /// The number of elements.
        count: u32,
        /// The elements; empty at level 1.
        values: &'a [u8],
    },
}

/// A list of IDs in the encoding of dumps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ids<'a>(&'a [u8]);

impl<'a> Ids<'a> {
    /// Wraps encoded IDs. Trailing bytes that do not make up an ID are ignored.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the number of IDs.
    pub fn count(self) -> usize {
        self.0.len() / crate::dump::ID
    }

    /// Returns an iterator over the IDs.
    pub fn iter(self) -> impl Iterator<Item = Id> + 'a {
        let (chunks, _) = self.0.as_chunks();
        chunks.iter().map(|bytes| Id::from_ne_bytes(*bytes))
    }
}
