//! OBJECT_ALLOC, OBJECT_MOVE, ARENA_NEW, GC_FINISH, and the events of JNI references.

use crate::{ArenaId, ClassId, ModifiedUtf8, ObjectId, ReferenceId};
use jvmpi_sys::{
    JVMPI_Event_gc_info, JVMPI_Event_new_arena, JVMPI_Event_obj_alloc, JVMPI_Event_obj_move,
    JVMPI_NORMAL_OBJECT,
};
use std::fmt;

/// OBJECT_ALLOC: an object was allocated.
#[derive(Clone, Copy)]
pub struct ObjectAlloc {
    object: ObjectId,
    event: JVMPI_Event_obj_alloc,
}

impl ObjectAlloc {
    /// Returns `None` if the event names no object.
    #[inline]
    pub(crate) fn of(event: JVMPI_Event_obj_alloc) -> Option<Self> {
        Some(Self { object: ObjectId::of(event.obj_id)?, event })
    }

    /// Returns the object.
    #[inline]
    pub fn object(&self) -> ObjectId {
        self.object
    }

    /// Returns the class of the object. For an array of references this is the class of its elements, if known.
    /// It is `None` for an array of primitive values and for the Class object of `java.lang.Class`.
    #[inline]
    pub fn class(&self) -> Option<ClassId> {
        ClassId::of(self.event.class_id)
    }

    /// Returns the type of the elements if the object is an array.
    #[inline]
    pub fn elements(&self) -> Option<crate::Type> {
        match self.event.is_array {
            JVMPI_NORMAL_OBJECT => None,
            code => u8::try_from(code).ok().and_then(crate::Type::from_code),
        }
    }

    /// Returns the size on the heap in bytes, including the header.
    #[inline]
    pub fn size(&self) -> u32 {
        self.event.size.cast_unsigned()
    }

    /// Returns the arena of the object.
    #[inline]
    pub fn arena(&self) -> ArenaId {
        ArenaId(self.event.arena_id)
    }
}

impl fmt::Debug for ObjectAlloc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("ObjectAlloc");
        f.field("object", &self.object).field("class", &self.class());
        f.field("elements", &self.elements()).field("size", &self.size());
        f.field("arena", &self.arena()).finish()
    }
}

/// OBJECT_MOVE: an object has a new ID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectMove {
    /// The old ID.
    pub object: ObjectId,
    /// The old arena.
    pub arena: ArenaId,
    /// The new ID.
    pub new_object: ObjectId,
    /// The new arena.
    pub new_arena: ArenaId,
}

impl ObjectMove {
    pub(crate) fn of(event: JVMPI_Event_obj_move) -> Option<Self> {
        Some(Self {
            object: ObjectId::of(event.obj_id)?,
            arena: ArenaId(event.arena_id),
            new_object: ObjectId::of(event.new_obj_id)?,
            new_arena: ArenaId(event.new_arena_id),
        })
    }
}

/// ARENA_NEW: an arena was created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArenaNew<'e> {
    /// The arena.
    pub arena: ArenaId,
    /// Its name.
    pub name: ModifiedUtf8<'e>,
}

impl<'e> ArenaNew<'e> {
    pub(crate) fn of(event: &'e JVMPI_Event_new_arena) -> Self {
        // SAFETY: what the event points to lives as long as it.
        let name = unsafe { ModifiedUtf8::of(event.arena_name) };
        Self { arena: ArenaId(event.arena_id), name }
    }
}

/// GC_FINISH: the heap after a collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapUse {
    /// The number of live objects.
    pub used_objects: i64,
    /// The size of the live objects in bytes.
    pub used_object_space: i64,
    /// The size of the heap in bytes.
    pub total_object_space: i64,
}

impl HeapUse {
    pub(crate) fn of(event: JVMPI_Event_gc_info) -> Self {
        let JVMPI_Event_gc_info { used_objects, used_object_space, total_object_space } = event;
        Self { used_objects, used_object_space, total_object_space }
    }
}

/// JNI_GLOBALREF_ALLOC and JNI_WEAK_GLOBALREF_ALLOC: a reference was created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GlobalrefAlloc {
    /// The reference.
    pub reference: ReferenceId,
    /// The object that it refers to; `None` for a reference to NULL.
    pub object: Option<ObjectId>,
}

impl GlobalrefAlloc {
    pub(crate) fn of(event: jvmpi_sys::JVMPI_Event_jni_globalref_alloc) -> Option<Self> {
        let reference = ReferenceId::of(event.ref_id)?;
        Some(Self { reference, object: ObjectId::of(event.obj_id) })
    }
}
