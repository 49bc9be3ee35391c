//! Heap and object dumps.

pub mod read;
pub mod write;

use crate::{Id, Type, Value};

/// An object in a dump of level 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The type of the elements if the object is an array.
    pub elements: Option<Type>,
    /// The object.
    pub id: Id,
}

/// A frame of a thread's stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The thread's environment.
    pub thread: Id,
    /// The frame's index in the trace of that thread, counted from the innermost; None if it is in
    /// none.
    pub number: Option<u32>,
}

/// Why an object is alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// For a reason of the VM's.
    Unknown(Id),
    /// By a JNI global reference.
    JniGlobal {
        /// The object.
        object: Id,
        /// The `jobject`.
        reference: Id,
    },
    /// By a local reference of native code.
    JniLocal(Id, Frame),
    /// By a local variable of Java code.
    JavaFrame(Id, Frame),
    /// By native code of a thread.
    NativeStack {
        /// The object.
        object: Id,
        /// The thread's environment.
        thread: Id,
    },
    /// As a class that is never unloaded.
    StickyClass(Id),
    /// As a live thread.
    ThreadBlock {
        /// The `java.lang.Thread`.
        object: Id,
        /// The thread's environment.
        thread: Id,
    },
    /// As a monitor in use.
    MonitorUsed(Id),
}

/// An entry of a class's constant pool.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Constant {
    /// Its index.
    pub index: u16,
    /// What it is; agents expect nothing but references.
    pub value: Value,
}

/// A class and the values of its static fields.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Class<'a> {
    /// The class.
    pub id: Id,
    /// Its superclass.
    pub superclass: Id,
    /// Its loader; NULL for the boot loader.
    pub loader: Id,
    /// Its signers, an array.
    pub signers: Id,
    /// Its protection domain.
    pub protection_domain: Id,
    /// Its name, a `String`.
    pub name: Id,
    /// How many bytes the fields of an instance have, inherited ones included.
    pub instance_size: u32,
    /// The interfaces that it names, in the order of CLASS_LOAD.
    pub interfaces: Vec<Id>,
    /// Entries of its constant pool.
    pub constants: Vec<Constant>,
    /// The values of its static fields in the order of CLASS_LOAD, without those that the level
    /// leaves out.
    pub statics: &'a [u8],
}

/// A record of level 1 or 2.
#[derive(Clone, PartialEq, Debug)]
pub enum Record<'a> {
    /// A reason why an object is alive.
    Root(Root),
    /// A class.
    Class(Class<'a>),
    /// An object that is no array and no class.
    Instance {
        /// The object.
        id: Id,
        /// Its class.
        class: Id,
        /// The values of its fields, its own class's first, then the superclass's, each in the
        /// order of CLASS_LOAD, without those that the level leaves out.
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
        /// How many there are.
        count: u32,
        /// The elements; nothing at level 1.
        values: &'a [u8],
    },
}

/// IDs as they lie in a dump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ids<'a>(&'a [u8]);

impl<'a> Ids<'a> {
    /// The IDs in these bytes; what is too short for one at the end is left out.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.0.len() / crate::ID
    }

    /// The IDs.
    pub fn iter(self) -> impl Iterator<Item = Id> + 'a {
        let (chunks, _) = self.0.as_chunks();
        chunks.iter().map(|bytes| Id::from_ne_bytes(*bytes))
    }
}

/// The tags of records, `JVMPI_GC_…`.
mod tag {
    pub const ROOT_UNKNOWN: u8 = 0xff;
    pub const ROOT_JNI_GLOBAL: u8 = 0x01;
    pub const ROOT_JNI_LOCAL: u8 = 0x02;
    pub const ROOT_JAVA_FRAME: u8 = 0x03;
    pub const ROOT_NATIVE_STACK: u8 = 0x04;
    pub const ROOT_STICKY_CLASS: u8 = 0x05;
    pub const ROOT_THREAD_BLOCK: u8 = 0x06;
    pub const ROOT_MONITOR_USED: u8 = 0x07;
    pub const CLASS_DUMP: u8 = 0x20;
    pub const INSTANCE_DUMP: u8 = 0x21;
    pub const OBJ_ARRAY_DUMP: u8 = 0x22;
    pub const PRIM_ARRAY_DUMP: u8 = 0x23;
}

/// The frame number of a root that is in no frame.
const NO_FRAME: u32 = u32::MAX;
