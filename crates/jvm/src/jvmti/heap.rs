//! Walks through the heap, and the tags of objects.

use super::{Jvmti, Result, functions, jvmti};
use crate::boundary::guard;
use jni_sys::{jint, jlong, jobject, jvalue};
use jvmpi_jvmti_sys::*;
use std::ffi::c_void;
use std::{ptr, slice};

/// The reference by which a walk reaches an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// A GC root.
    Root(Root),
    /// From an instance or an array to its class. This is the first edge of every instance and array.
    Class,
    /// From the instance field with this index.
    Field(jint),
    /// From the array element with this index.
    Element(jint),
    /// From the static field with this index.
    Static(jint),
    /// From a class to its class loader.
    Loader,
    /// From a class to its signers.
    Signers,
    /// From a class to its protection domain.
    ProtectionDomain,
    /// Any other reference from a class.
    OfClass,
}

/// The kind of a GC root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    JniGlobal,
    SystemClass,
    Monitor,
    StackLocal(Local),
    JniLocal(Local),
    Thread,
    Other,
}

/// The place on a thread's stack that refers to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Local {
    /// The tag of the `java.lang.Thread`.
    pub thread: jlong,
    /// The depth of the frame, where 0 is the innermost frame; `None` if there is no frame.
    pub depth: Option<jint>,
}

/// The data that JVMTI passes for an object, without its tag.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// The tag of the object's class.
    pub class: jlong,
    /// The size of the object in bytes.
    pub size: jlong,
    /// The length of an array; -1 for other objects.
    pub length: jint,
}

/// The object from which a reference comes.
#[derive(Clone, Copy, Debug)]
pub struct Referrer {
    pub tag: jlong,
    /// The tag of the object's class.
    pub class: jlong,
}

/// The decision of a visitor on how to continue the walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Follow the references from the object, unless it was visited before.
    Follow,
    /// Do not follow the references from the object now. Another reference may still reach it.
    Skip,
    /// End the walk.
    Stop,
}

/// The callbacks of a heap walk. The VM is stopped at a safepoint meanwhile, so the callbacks must not call the VM.
///
/// All roots come first. All edges and values of an object come in one sequence.
pub trait Visitor {
    /// Returns true if [`Self::field`] should be called.
    fn wants_fields(&self) -> bool {
        false
    }

    /// Returns true if [`Self::array`] should be called.
    fn wants_arrays(&self) -> bool {
        false
    }

    /// Visits a reference to an object. The callback may change the object's tag.
    fn reference(
        &mut self,
        edge: Edge,
        object: Object,
        tag: &mut jlong,
        referrer: Option<Referrer>,
    ) -> Next;

    /// Visits a primitive field of an object or, with [`Edge::Static`], of a class.
    fn field(&mut self, _edge: Edge, _tag: jlong, _value: Primitive) -> Next {
        Next::Follow
    }

    /// Visits the elements of an array of a primitive type, in the host's byte order.
    fn array(&mut self, _tag: jlong, _elements: &[u8]) -> Next {
        Next::Follow
    }
}

/// A value of a primitive type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Primitive {
    Boolean(bool),
    Byte(i8),
    Char(u16),
    Short(i16),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
}

const STOP: jint = JVMTI_VISIT_ABORT as jint;

impl Next {
    fn code(self) -> jint {
        match self {
            Self::Follow => JVMTI_VISIT_OBJECTS as jint,
            Self::Skip => 0,
            Self::Stop => STOP,
        }
    }
}

/// # Safety
/// `info` is the structure that JVMTI passes for this kind of reference.
unsafe fn edge(kind: jvmtiHeapReferenceKind, info: *const jvmtiHeapReferenceInfo) -> Edge {
    // SAFETY: the kind determines which member of the union is valid.
    unsafe {
        match kind {
            JVMTI_HEAP_REFERENCE_CLASS => Edge::Class,
            JVMTI_HEAP_REFERENCE_FIELD => Edge::Field((*info).field.index),
            JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT => Edge::Element((*info).array.index),
            JVMTI_HEAP_REFERENCE_STATIC_FIELD => Edge::Static((*info).field.index),
            JVMTI_HEAP_REFERENCE_CLASS_LOADER => Edge::Loader,
            JVMTI_HEAP_REFERENCE_SIGNERS => Edge::Signers,
            JVMTI_HEAP_REFERENCE_PROTECTION_DOMAIN => Edge::ProtectionDomain,
            JVMTI_HEAP_REFERENCE_JNI_GLOBAL => Edge::Root(Root::JniGlobal),
            JVMTI_HEAP_REFERENCE_SYSTEM_CLASS => Edge::Root(Root::SystemClass),
            JVMTI_HEAP_REFERENCE_MONITOR => Edge::Root(Root::Monitor),
            JVMTI_HEAP_REFERENCE_THREAD => Edge::Root(Root::Thread),
            JVMTI_HEAP_REFERENCE_OTHER => Edge::Root(Root::Other),
            JVMTI_HEAP_REFERENCE_STACK_LOCAL => {
                let jvmtiHeapReferenceInfoStackLocal { thread_tag, depth, method, .. } =
                    (*info).stack_local;
                let depth = (!method.is_null()).then_some(depth);
                Edge::Root(Root::StackLocal(Local { thread: thread_tag, depth }))
            }
            JVMTI_HEAP_REFERENCE_JNI_LOCAL => {
                let jvmtiHeapReferenceInfoJniLocal { thread_tag, depth, method, .. } =
                    (*info).jni_local;
                let depth = (!method.is_null()).then_some(depth);
                Edge::Root(Root::JniLocal(Local { thread: thread_tag, depth }))
            }
            _ => Edge::OfClass,
        }
    }
}

unsafe extern "system" fn reference<V: Visitor>(
    kind: jvmtiHeapReferenceKind,
    info: *const jvmtiHeapReferenceInfo,
    class: jlong,
    referrer_class: jlong,
    size: jlong,
    tag: *mut jlong,
    referrer_tag: *mut jlong,
    length: jint,
    visitor: *mut c_void,
) -> jint {
    guard(STOP, || {
        // SAFETY: `follow_references` passed the visitor, which lives until that returns. JVMTI passes valid pointers
        // for the rest. The referrer's tag, which may be the object's own, is copied.
        let (visitor, edge, referrer, tag) = unsafe {
            let referrer =
                referrer_tag.as_ref().map(|tag| Referrer { tag: *tag, class: referrer_class });
            (&mut *visitor.cast::<V>(), edge(kind, info), referrer, &mut *tag)
        };
        visitor.reference(edge, Object { class, size, length }, tag, referrer).code()
    })
}

unsafe extern "system" fn field<V: Visitor>(
    kind: jvmtiHeapReferenceKind,
    info: *const jvmtiHeapReferenceInfo,
    _class: jlong,
    tag: *mut jlong,
    value: jvalue,
    of_type: jvmtiPrimitiveType,
    visitor: *mut c_void,
) -> jint {
    guard(STOP, || {
        // SAFETY: as in `reference`; the type determines which member of the value is valid.
        let (visitor, edge, tag, value) = unsafe {
            let value = match of_type {
                JVMTI_PRIMITIVE_TYPE_BOOLEAN => Primitive::Boolean(value.b != 0),
                JVMTI_PRIMITIVE_TYPE_BYTE => Primitive::Byte(value.b),
                JVMTI_PRIMITIVE_TYPE_CHAR => Primitive::Char(value.c),
                JVMTI_PRIMITIVE_TYPE_SHORT => Primitive::Short(value.s),
                JVMTI_PRIMITIVE_TYPE_INT => Primitive::Int(value.i),
                JVMTI_PRIMITIVE_TYPE_LONG => Primitive::Long(value.j),
                JVMTI_PRIMITIVE_TYPE_FLOAT => Primitive::Float(value.f),
                _ => Primitive::Double(value.d),
            };
            (&mut *visitor.cast::<V>(), edge(kind, info), *tag, value)
        };
        visitor.field(edge, tag, value).code()
    })
}

/// Returns the size of a value of this type in the VM, in bytes.
fn width(of_type: jvmtiPrimitiveType) -> usize {
    match of_type {
        JVMTI_PRIMITIVE_TYPE_BOOLEAN | JVMTI_PRIMITIVE_TYPE_BYTE => 1,
        JVMTI_PRIMITIVE_TYPE_CHAR | JVMTI_PRIMITIVE_TYPE_SHORT => 2,
        JVMTI_PRIMITIVE_TYPE_INT | JVMTI_PRIMITIVE_TYPE_FLOAT => 4,
        _ => 8,
    }
}

unsafe extern "system" fn array<V: Visitor>(
    _class: jlong,
    _size: jlong,
    tag: *mut jlong,
    count: jint,
    of_type: jvmtiPrimitiveType,
    elements: *const c_void,
    visitor: *mut c_void,
) -> jint {
    guard(STOP, || {
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: as in `reference`; there are `count` elements.
        let (visitor, tag, elements) = unsafe {
            let elements = if count == 0 {
                &[]
            } else {
                slice::from_raw_parts(elements.cast::<u8>(), count * width(of_type))
            };
            (&mut *visitor.cast::<V>(), *tag, elements)
        };
        visitor.array(tag, elements).code()
    })
}

type HeapVisitor<'a> = dyn FnMut(jlong, &mut jlong, jlong) + 'a;

unsafe extern "system" fn visit_object(
    class_tag: jlong,
    size: jlong,
    tag: *mut jlong,
    _length: jint,
    visitor: *mut c_void,
) -> jint {
    // SAFETY: `iterate_through_heap` passed the visitor, which lives until that returns. JVMTI passes a tag that may be
    // read and written.
    let (visit, tag) = unsafe { (&mut *visitor.cast::<&mut HeapVisitor<'_>>(), &mut *tag) };
    guard(JVMTI_VISIT_ABORT as jint, || {
        visit(class_tag, tag, size);
        JVMTI_VISIT_OBJECTS as jint
    })
}

functions! {
    /// Returns the tag of an object; 0 if it has none.
    pub fn tag(object: jobject) -> Value<jlong> = GetTag(object);
    pub fn set_tag(object: jobject, tag: jlong) -> Action = SetTag(object, tag);
    /// Sets the number of allocated bytes between two samples. With 0, every allocation is reported.
    pub fn set_heap_sampling_interval(interval: jint) -> Action = SetHeapSamplingInterval(interval);
    /// Returns the size of an object in bytes, including its header.
    pub fn object_size(object: jobject) -> Value<jlong> = GetObjectSize(object);
    /// Runs a garbage collection and waits for its end.
    pub fn force_garbage_collection() -> Action = ForceGarbageCollection();
}

impl Jvmti {
    /// Walks everything that can be reached from the GC roots.
    ///
    /// # Safety
    /// No virtual thread is created meanwhile.
    pub unsafe fn follow_from_roots<V: Visitor>(self, visitor: &mut V) -> Result<()> {
        self.follow_references(ptr::null_mut(), visitor)
    }

    /// Walks everything that can be reached from this object. The object must have a tag, and is not visited itself.
    pub fn follow_from<V: Visitor>(self, object: jobject, visitor: &mut V) -> Result<()> {
        self.follow_references(object, visitor)
    }

    fn follow_references<V: Visitor>(self, from: jobject, visitor: &mut V) -> Result<()> {
        let mut callbacks = jvmtiHeapCallbacks {
            heap_reference_callback: Some(reference::<V>),
            ..jvmtiHeapCallbacks::default()
        };
        if visitor.wants_fields() {
            callbacks.primitive_field_callback = Some(field::<V>);
        }
        if visitor.wants_arrays() {
            callbacks.array_primitive_value_callback = Some(array::<V>);
        }
        let visitor = ptr::from_mut(visitor).cast::<c_void>();
        jvmti!(self, FollowReferences, 0, ptr::null_mut(), from, &callbacks, visitor)
    }

    /// Returns an object with one of these tags as a local reference. Takes time proportional to the number of tags
    /// in use.
    pub fn tagged(self, tags: &[jlong]) -> Option<jobject> {
        self.all_tagged(tags).ok()?.first().map(|(object, _)| *object)
    }

    /// Calls `visit` for every object in the heap, including dead ones, at a safepoint. `visit` gets the tag of the
    /// object's class, its own tag, which it may change, and its size in bytes. It must not call the VM. `filter`
    /// consists of `JVMTI_HEAP_FILTER_*` flags.
    pub fn iterate_through_heap(
        self,
        filter: jint,
        mut visit: impl FnMut(jlong, &mut jlong, jlong),
    ) -> Result<()> {
        let mut visit: &mut HeapVisitor<'_> = &mut visit;
        let callbacks = jvmtiHeapCallbacks {
            heap_iteration_callback: Some(visit_object),
            ..jvmtiHeapCallbacks::default()
        };
        let data: *mut c_void = ptr::from_mut(&mut visit).cast();
        jvmti!(self, IterateThroughHeap, filter, ptr::null_mut(), &callbacks, data)
    }

    /// Returns the objects with these tags as local references, each with its tag. Takes time proportional to the
    /// number of tags in use.
    pub fn all_tagged(self, tags: &[jlong]) -> Result<Vec<(jobject, jlong)>> {
        if tags.is_empty() {
            return Ok(Vec::new());
        }
        let (mut count, mut objects, mut found) = (0, ptr::null_mut(), ptr::null_mut());
        let length = tags.len() as jint;
        jvmti!(
            self,
            GetObjectsWithTags,
            length,
            tags.as_ptr(),
            &mut count,
            &mut objects,
            &mut found
        )?;
        let (objects, found) = (self.array(objects, count), self.array(found, count));
        Ok(objects.iter().copied().zip(found.iter().copied()).collect())
    }
}
