//! Objects: tags, and all that are in the heap.

use super::{Jvmti, jvmti};
use crate::boundary::guard;
use crate::jvm::error::Result;
use jni_sys::{jint, jlong, jobject};
use jvmti_sys::*;
use std::ffi::c_void;
use std::ptr;

type HeapVisitor<'a> = dyn FnMut(jlong, &mut jlong, jlong) + 'a;

unsafe extern "system" fn visit_object(
    class_tag: jlong,
    size: jlong,
    tag: *mut jlong,
    _length: jint,
    visitor: *mut c_void,
) -> jint {
    // SAFETY: `iterate_through_heap` passed the visitor, which lives until it returns, and JVMTI
    // passes a tag to be read and written.
    let (visit, tag) = unsafe { (&mut *visitor.cast::<&mut HeapVisitor<'_>>(), &mut *tag) };
    guard(JVMTI_VISIT_ABORT as jint, || {
        visit(class_tag, tag, size);
        JVMTI_VISIT_OBJECTS as jint
    })
}

impl Jvmti {
    /// The object's tag, 0 if it has none.
    pub fn tag(self, object: jobject) -> Result<jlong> {
        let mut tag = 0;
        jvmti!(self, GetTag, object, &mut tag)?;
        Ok(tag)
    }

    pub fn set_tag(self, object: jobject, tag: jlong) -> Result<()> {
        jvmti!(self, SetTag, object, tag)
    }

    /// An object with one of these tags, in the current frame. Takes time in proportion to the
    /// number of tags in use.
    pub fn tagged(self, tags: &[jlong]) -> Option<jobject> {
        let (mut count, mut objects) = (0, ptr::null_mut());
        let (length, none) = (tags.len() as jint, ptr::null_mut());
        jvmti!(self, GetObjectsWithTags, length, tags.as_ptr(), &mut count, &mut objects, none)
            .ok()?;
        self.array(objects, count).first().copied()
    }

    /// Makes the VM report an object every `interval` bytes that are allocated, each one for 0.
    pub fn set_heap_sampling_interval(self, interval: jint) -> Result<()> {
        jvmti!(self, SetHeapSamplingInterval, interval)
    }

    /// Calls `visit` for every object in the heap, dead ones included, while the world is
    /// stopped: with its class's tag, its own tag, which may be changed, and its size in bytes.
    /// `filter` are bits `JVMTI_HEAP_FILTER_*`. `visit` must not call the VM.
    pub fn iterate_through_heap(
        self,
        filter: jint,
        mut visit: impl FnMut(jlong, &mut jlong, jlong),
    ) -> Result<()> {
        let mut visit: &mut HeapVisitor<'_> = &mut visit;
        // SAFETY: all bits zero are a structure without callbacks.
        let mut callbacks: jvmtiHeapCallbacks = unsafe { std::mem::zeroed() };
        callbacks.heap_iteration_callback = Some(visit_object);
        let data: *mut c_void = ptr::from_mut(&mut visit).cast();
        jvmti!(self, IterateThroughHeap, filter, ptr::null_mut(), &callbacks, data)
    }

    /// The bytes that the object occupies, its header included.
    pub fn object_size(self, object: jobject) -> Result<jlong> {
        let mut size = 0;
        jvmti!(self, GetObjectSize, object, &mut size)?;
        Ok(size)
    }

    /// Collects garbage now; returns when the VM's collection is over.
    pub fn force_garbage_collection(self) -> Result<()> {
        jvmti!(self, ForceGarbageCollection)
    }

    /// The objects with these tags, in the current frame, each with its tag. Takes time in
    /// proportion to the number of tags in use.
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
