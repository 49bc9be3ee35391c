//! Objects: tags, and walks over all objects in the heap.

use super::{Jvmti, Result, jvmti};
use crate::boundary::guard;
use jni_sys::{jint, jlong, jobject};
use jvmpi_jvmti_sys::*;
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
    // SAFETY: `iterate_through_heap` passed the visitor, which lives until that returns. JVMTI passes a tag that may be
    // read and written.
    let (visit, tag) = unsafe { (&mut *visitor.cast::<&mut HeapVisitor<'_>>(), &mut *tag) };
    guard(JVMTI_VISIT_ABORT as jint, || {
        visit(class_tag, tag, size);
        JVMTI_VISIT_OBJECTS as jint
    })
}

impl Jvmti {
    /// Returns the tag of an object; 0 if it has none.
    pub fn tag(self, object: jobject) -> Result<jlong> {
        let mut tag = 0;
        jvmti!(self, GetTag, object, &mut tag)?;
        Ok(tag)
    }

    pub fn set_tag(self, object: jobject, tag: jlong) -> Result<()> {
        jvmti!(self, SetTag, object, tag)
    }

    /// Returns an object with one of these tags as a local reference. Takes time proportional to the number of tags
    /// in use.
    pub fn tagged(self, tags: &[jlong]) -> Option<jobject> {
        let (mut count, mut objects) = (0, ptr::null_mut());
        let (length, none) = (tags.len() as jint, ptr::null_mut());
        jvmti!(self, GetObjectsWithTags, length, tags.as_ptr(), &mut count, &mut objects, none)
            .ok()?;
        self.array(objects, count).first().copied()
    }

    /// Sets the number of allocated bytes between two samples. With 0, every allocation is reported.
    pub fn set_heap_sampling_interval(self, interval: jint) -> Result<()> {
        jvmti!(self, SetHeapSamplingInterval, interval)
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
        // SAFETY: all fields are optional callbacks, for which zero means none.
        let mut callbacks: jvmtiHeapCallbacks = unsafe { std::mem::zeroed() };
        callbacks.heap_iteration_callback = Some(visit_object);
        let data: *mut c_void = ptr::from_mut(&mut visit).cast();
        jvmti!(self, IterateThroughHeap, filter, ptr::null_mut(), &callbacks, data)
    }

    /// Returns the size of an object in bytes, including its header.
    pub fn object_size(self, object: jobject) -> Result<jlong> {
        let mut size = 0;
        jvmti!(self, GetObjectSize, object, &mut size)?;
        Ok(size)
    }

    /// Runs a garbage collection and waits for its end.
    pub fn force_garbage_collection(self) -> Result<()> {
        jvmti!(self, ForceGarbageCollection)
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
