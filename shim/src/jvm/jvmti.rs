//! JVMTI functions, each with its result as a Rust value.

use super::error::{Error, Result};
use super::jni_table::Functions;
use crate::boundary::guard;
use crate::lock::assert_none_held;
use jni_sys::{JNIEnv, JNINativeInterface_, jclass, jfieldID, jint, jlong, jmethodID, jobject};
use jvmti_sys::*;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::{MaybeUninit, size_of};
use std::ops::Deref;
use std::{ptr, slice};

/// A JVMTI environment: the shim's own, shared by all threads.
#[derive(Clone, Copy)]
pub struct Jvmti(pub(super) *mut jvmtiEnv);

// SAFETY: a JVMTI environment may be used by every thread (JVMTI specification, "Environments").
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

/// Calls a slot of the JVMTI function table.
macro_rules! jvmti {
    ($jvmti:expr, $slot:ident $(, $argument:expr)*) => {{
        $crate::lock::assert_none_held();
        // SAFETY: `Jvmti::new` promises a live environment; a VM older than a slot leaves the
        // slot out of its table, and no slot newer than JDK 11 is named in this file. Pointers
        // passed are to locals or to what the caller promises; JVMTI checks references itself.
        unsafe {
            match (**$jvmti.0).$slot {
                Some(function) => $crate::jvm::Error::check(function($jvmti.0 $(, $argument)*)),
                None => Err($crate::jvm::Error(jvmti_sys::JVMTI_ERROR_NOT_AVAILABLE)),
            }
        }
    }};
}

pub(super) use jvmti;

/// An array or string that JVMTI allocated; given back when dropped.
pub struct Allocated<T> {
    jvmti: Jvmti,
    start: *mut T,
    length: usize,
}

impl<T> Deref for Allocated<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: JVMTI filled `length` elements at `start`, which are ours until dropped.
        unsafe { slice::from_raw_parts(self.start, self.length) }
    }
}

impl<T> Drop for Allocated<T> {
    fn drop(&mut self) {
        self.jvmti.deallocate(self.start.cast());
    }
}

/// A copy of the JNI function table, which is as long as the VM's version of JNI makes it.
pub struct JniTable(Allocated<JNINativeInterface_>);

impl JniTable {
    /// The functions of JNI 1.2.
    pub fn functions(&mut self) -> &mut Functions {
        // SAFETY: JVMTI returned the table, which is ours alone and begins with these.
        unsafe { &mut (*self.0.start).v1_2 }
    }
}

/// What `GetThreadInfo` tells, references in the current frame.
pub struct ThreadInfo {
    /// The thread's name, modified UTF-8.
    pub name: CString,
    /// Its `ThreadGroup`, NULL when the thread has ended.
    pub group: jobject,
}

/// What `GetThreadGroupInfo` tells.
pub struct GroupInfo {
    /// The group's name, modified UTF-8.
    pub name: CString,
    /// The parent group, NULL at the top.
    pub parent: jobject,
}

/// A field's name and descriptor.
pub struct Field {
    pub name: CString,
    pub signature: CString,
}

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
    /// # Safety
    /// `env` is a JVMTI environment that is never disposed of.
    pub unsafe fn new(env: *mut jvmtiEnv) -> Self {
        Self(env)
    }

    // Memory

    fn allocate(self, size: usize) -> Result<*mut u8> {
        let mut memory = ptr::null_mut();
        jvmti!(self, Allocate, size as jlong, &mut memory)?;
        Ok(memory)
    }

    /// Bytes in memory that JVMTI may take over, with their number.
    pub fn copy(self, bytes: &[u8]) -> Option<(*mut u8, jint)> {
        let length = jint::try_from(bytes.len()).ok()?;
        let memory = self.allocate(bytes.len()).ok()?;
        // SAFETY: Allocate has just returned that many bytes, which nobody else knows of.
        unsafe { memory.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Some((memory, length))
    }

    /// Gives back what JVMTI allocated; NULL is nothing.
    pub fn deallocate(self, memory: *mut u8) {
        let result = jvmti!(self, Deallocate, memory);
        debug_assert!(result.is_ok());
    }

    pub(super) fn array<T>(self, start: *mut T, length: jint) -> Allocated<T> {
        Allocated { jvmti: self, start, length: usize::try_from(length).unwrap_or(0) }
    }

    /// Copies a string that JVMTI allocated; "" for NULL.
    fn string(self, text: *mut c_char) -> CString {
        if text.is_null() {
            return CString::default();
        }
        // SAFETY: JVMTI strings are NUL-terminated.
        let copy = unsafe { CStr::from_ptr(text) }.to_owned();
        self.deallocate(text.cast());
        copy
    }

    // Capabilities, events, phase

    pub fn potential_capabilities(self) -> Result<jvmtiCapabilities> {
        let mut capabilities = MaybeUninit::<jvmtiCapabilities>::zeroed();
        jvmti!(self, GetPotentialCapabilities, capabilities.as_mut_ptr())?;
        // SAFETY: all bits zero are valid capabilities, and JVMTI filled them in.
        Ok(unsafe { capabilities.assume_init() })
    }

    pub fn add_capabilities(self, capabilities: &jvmtiCapabilities) -> Result<()> {
        jvmti!(self, AddCapabilities, capabilities)
    }

    pub fn relinquish_capabilities(self, capabilities: &jvmtiCapabilities) -> Result<()> {
        jvmti!(self, RelinquishCapabilities, capabilities)
    }

    pub fn set_callbacks(self, callbacks: &jvmtiEventCallbacks) -> Result<()> {
        let size = size_of::<jvmtiEventCallbacks>() as jint;
        jvmti!(self, SetEventCallbacks, callbacks, size)
    }

    pub fn set_notification(self, event: jvmtiEvent, on: bool) -> Result<()> {
        assert_none_held();
        let mode = if on { JVMTI_ENABLE } else { JVMTI_DISABLE };
        // SAFETY: the environment is live, and NULL means all threads. Called outside the macro
        // because the C function is variadic.
        unsafe {
            match (**self.0).SetEventNotificationMode {
                Some(function) => Error::check(function(self.0, mode, event, ptr::null_mut())),
                None => Err(Error(JVMTI_ERROR_NOT_AVAILABLE)),
            }
        }
    }

    /// Sends the events of this type for what exists already, on this thread.
    pub fn generate_events(self, event: jvmtiEvent) -> Result<()> {
        jvmti!(self, GenerateEvents, event)
    }

    pub fn phase(self) -> Result<jvmtiPhase> {
        let mut phase = 0;
        jvmti!(self, GetPhase, &mut phase)?;
        Ok(phase)
    }

    /// A system property of the VM, None if it has none such.
    pub fn system_property(self, name: &CStr) -> Option<CString> {
        let mut value = ptr::null_mut();
        jvmti!(self, GetSystemProperty, name.as_ptr(), &mut value).ok()?;
        Some(self.string(value))
    }

    /// The Java version, 11 or 17, say; 0 if the VM does not tell.
    pub fn feature_version(self) -> u32 {
        let version = self.system_property(c"java.vm.specification.version");
        version.and_then(|text| text.to_str().ok()?.parse().ok()).unwrap_or(0)
    }

    // Heap

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

    // Classes

    /// All loaded classes, each a reference in the current frame.
    pub fn loaded_classes(self) -> Result<Allocated<jclass>> {
        let (mut count, mut classes) = (0, ptr::null_mut());
        jvmti!(self, GetLoadedClasses, &mut count, &mut classes)?;
        Ok(self.array(classes, count))
    }

    /// The bits `JVMTI_CLASS_STATUS_*`.
    pub fn class_status(self, class: jclass) -> Result<jint> {
        let mut status = 0;
        jvmti!(self, GetClassStatus, class, &mut status)?;
        Ok(status)
    }

    /// The class's descriptor, such as `Ljava/lang/Object;` or `[I`.
    pub fn class_signature(self, class: jclass) -> Result<CString> {
        let mut signature = ptr::null_mut();
        jvmti!(self, GetClassSignature, class, &mut signature, ptr::null_mut())?;
        Ok(self.string(signature))
    }

    /// The class's loader, a reference in the current frame; NULL for the boot loader.
    pub fn class_loader(self, class: jclass) -> Result<jobject> {
        let mut loader = ptr::null_mut();
        jvmti!(self, GetClassLoader, class, &mut loader)?;
        Ok(loader)
    }

    /// The `SourceFile` attribute, None if the class has none.
    pub fn source_file(self, class: jclass) -> Option<CString> {
        let mut name = ptr::null_mut();
        jvmti!(self, GetSourceFileName, class, &mut name).ok()?;
        Some(self.string(name))
    }

    /// The interfaces that the class itself names, references in the current frame.
    pub fn interfaces(self, class: jclass) -> Result<Allocated<jclass>> {
        let (mut count, mut interfaces) = (0, ptr::null_mut());
        jvmti!(self, GetImplementedInterfaces, class, &mut count, &mut interfaces)?;
        Ok(self.array(interfaces, count))
    }

    /// The methods that the class declares.
    pub fn class_methods(self, class: jclass) -> Result<Allocated<jmethodID>> {
        let (mut count, mut methods) = (0, ptr::null_mut());
        jvmti!(self, GetClassMethods, class, &mut count, &mut methods)?;
        Ok(self.array(methods, count))
    }

    /// The fields that the class declares, in the order of the class file.
    pub fn class_fields(self, class: jclass) -> Result<Allocated<jfieldID>> {
        let (mut count, mut fields) = (0, ptr::null_mut());
        jvmti!(self, GetClassFields, class, &mut count, &mut fields)?;
        Ok(self.array(fields, count))
    }

    pub fn field(self, class: jclass, field: jfieldID) -> Result<Field> {
        let (mut name, mut signature) = (ptr::null_mut(), ptr::null_mut());
        jvmti!(self, GetFieldName, class, field, &mut name, &mut signature, ptr::null_mut())?;
        Ok(Field { name: self.string(name), signature: self.string(signature) })
    }

    /// Whether the field is static (JVMS 4.5).
    pub fn is_static(self, class: jclass, field: jfieldID) -> Result<bool> {
        const ACC_STATIC: jint = 0x0008;
        let mut modifiers = 0;
        jvmti!(self, GetFieldModifiers, class, field, &mut modifiers)?;
        Ok(modifiers & ACC_STATIC != 0)
    }

    /// Makes the VM find the code of a native method also under the name that is left without this
    /// prefix.
    pub fn set_native_method_prefix(self, prefix: &CStr) -> Result<()> {
        jvmti!(self, SetNativeMethodPrefix, prefix.as_ptr())
    }

    /// Whether the class can be retransformed.
    pub fn is_modifiable(self, class: jclass) -> bool {
        let mut modifiable = false;
        jvmti!(self, IsModifiableClass, class, &mut modifiable).is_ok() && modifiable
    }

    /// Has the class file hook called for classes that are loaded, and the result installed.
    pub fn retransform(self, classes: &[jclass]) -> Result<()> {
        jvmti!(self, RetransformClasses, classes.len() as jint, classes.as_ptr())
    }

    // The JNI function table

    /// A copy of the table that all threads use.
    pub fn jni_function_table(self) -> Result<JniTable> {
        let mut table = ptr::null_mut();
        jvmti!(self, GetJNIFunctionTable, &mut table)?;
        Ok(JniTable(self.array(table, 1)))
    }

    /// Makes all threads use these functions.
    pub fn set_jni_function_table(self, table: &JniTable) -> Result<()> {
        jvmti!(self, SetJNIFunctionTable, table.0.start)
    }

    // Methods

    /// The method's name and descriptor.
    pub fn method_name(self, method: jmethodID) -> Result<(CString, CString)> {
        let (mut name, mut signature) = (ptr::null_mut(), ptr::null_mut());
        jvmti!(self, GetMethodName, method, &mut name, &mut signature, ptr::null_mut())?;
        Ok((self.string(name), self.string(signature)))
    }

    /// The class that declares the method, a reference in the current frame.
    pub fn declaring_class(self, method: jmethodID) -> Result<jclass> {
        let mut class = ptr::null_mut();
        jvmti!(self, GetMethodDeclaringClass, method, &mut class)?;
        Ok(class)
    }

    /// The access flags of JVMS 4.6.
    pub fn method_modifiers(self, method: jmethodID) -> Result<jint> {
        let mut modifiers = 0;
        jvmti!(self, GetMethodModifiers, method, &mut modifiers)?;
        Ok(modifiers)
    }

    /// The code array of the method as it is now; an error if it has none.
    pub fn bytecodes(self, method: jmethodID) -> Result<Allocated<u8>> {
        let (mut count, mut bytecodes) = (0, ptr::null_mut());
        jvmti!(self, GetBytecodes, method, &mut count, &mut bytecodes)?;
        Ok(self.array(bytecodes, count))
    }

    /// Whether the method is one that a frame still runs although its class was rewritten.
    pub fn is_obsolete(self, method: jmethodID) -> bool {
        let mut obsolete = false;
        jvmti!(self, IsMethodObsolete, method, &mut obsolete).is_ok() && obsolete
    }

    /// Where each source line begins; an error if the class file does not say.
    pub fn line_numbers(self, method: jmethodID) -> Result<Allocated<jvmtiLineNumberEntry>> {
        let (mut count, mut entries) = (0, ptr::null_mut());
        jvmti!(self, GetLineNumberTable, method, &mut count, &mut entries)?;
        Ok(self.array(entries, count))
    }

    // Threads

    /// The frames of a thread, NULL for the one that runs, without the `start` innermost ones; how
    /// many were written.
    pub fn stack_trace(
        self,
        thread: jthread,
        start: usize,
        frames: &mut [MaybeUninit<jvmtiFrameInfo>],
    ) -> Result<usize> {
        let (depth, mut count) = (jint::try_from(frames.len()).unwrap_or(jint::MAX), 0);
        jvmti!(
            self,
            GetStackTrace,
            thread,
            start as jint,
            depth,
            frames.as_mut_ptr().cast(),
            &mut count
        )?;
        Ok(count as usize)
    }

    /// All live platform threads, references in the current frame.
    pub fn all_threads(self) -> Result<Allocated<jthread>> {
        let (mut count, mut threads) = (0, ptr::null_mut());
        jvmti!(self, GetAllThreads, &mut count, &mut threads)?;
        Ok(self.array(threads, count))
    }

    /// The thread that runs, a reference in the current frame; NULL while it is being attached.
    pub fn current_thread(self) -> Result<jthread> {
        let mut thread = ptr::null_mut();
        jvmti!(self, GetCurrentThread, &mut thread)?;
        Ok(thread)
    }

    pub fn thread_info(self, thread: jthread) -> Result<ThreadInfo> {
        let mut info = MaybeUninit::<jvmtiThreadInfo>::zeroed();
        jvmti!(self, GetThreadInfo, thread, info.as_mut_ptr())?;
        // SAFETY: JVMTI filled the structure in.
        let info = unsafe { info.assume_init() };
        Ok(ThreadInfo { name: self.string(info.name), group: info.thread_group })
    }

    /// The thread groups without a parent, references in the current frame.
    pub fn top_thread_groups(self) -> Result<Allocated<jobject>> {
        let (mut count, mut groups) = (0, ptr::null_mut());
        jvmti!(self, GetTopThreadGroups, &mut count, &mut groups)?;
        Ok(self.array(groups, count))
    }

    pub fn group_info(self, group: jobject) -> Result<GroupInfo> {
        let mut info = MaybeUninit::<jvmtiThreadGroupInfo>::zeroed();
        jvmti!(self, GetThreadGroupInfo, group, info.as_mut_ptr())?;
        // SAFETY: JVMTI filled the structure in.
        let info = unsafe { info.assume_init() };
        Ok(GroupInfo { name: self.string(info.name), parent: info.parent })
    }

    /// The bits `JVMTI_THREAD_STATE_*`.
    pub fn thread_state(self, thread: jthread) -> Result<jint> {
        let mut state = 0;
        jvmti!(self, GetThreadState, thread, &mut state)?;
        Ok(state)
    }

    pub fn suspend(self, thread: jthread) -> Result<()> {
        jvmti!(self, SuspendThread, thread)
    }

    pub fn resume(self, thread: jthread) -> Result<()> {
        jvmti!(self, ResumeThread, thread)
    }

    /// Suspends threads; what became of each.
    pub fn suspend_list(self, threads: &[jthread]) -> Result<Vec<Result<()>>> {
        let mut results = vec![0; threads.len()];
        let (count, results_at) = (threads.len() as jint, results.as_mut_ptr());
        jvmti!(self, SuspendThreadList, count, threads.as_ptr(), results_at)?;
        Ok(results.into_iter().map(Error::check).collect())
    }

    /// Resumes threads; what became of each.
    pub fn resume_list(self, threads: &[jthread]) -> Result<Vec<Result<()>>> {
        let mut results = vec![0; threads.len()];
        let (count, results_at) = (threads.len() as jint, results.as_mut_ptr());
        jvmti!(self, ResumeThreadList, count, threads.as_ptr(), results_at)?;
        Ok(results.into_iter().map(Error::check).collect())
    }

    /// The thread's CPU time in nanoseconds.
    pub fn thread_cpu_time(self, thread: jthread) -> Result<jlong> {
        let mut nanos = 0;
        jvmti!(self, GetThreadCpuTime, thread, &mut nanos)?;
        Ok(nanos)
    }

    /// Starts a daemon thread that runs `start` with `argument`.
    ///
    /// # Safety
    /// `start` may be called with `argument` on another thread.
    pub unsafe fn run_agent_thread(
        self,
        thread: jthread,
        start: unsafe extern "system" fn(*mut jvmtiEnv, *mut JNIEnv, *mut c_void),
        argument: *mut c_void,
        priority: jint,
    ) -> Result<()> {
        jvmti!(self, RunAgentThread, thread, Some(start), argument, priority)
    }
}
