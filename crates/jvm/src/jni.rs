//! JNI functions, called on the current thread.

use super::jni_table;
use crate::lock::assert_none_held;
use crate::suspending::assert_may_allocate;
use jni_sys::{
    JNI_OK, JNIEnv, JNINativeMethod, jclass, jfieldID, jint, jlong, jmethodID, jobject, jthrowable,
    jvalue, jweak,
};
use std::ffi::CStr;
use std::ptr;

/// The JNI environment of the current thread.
///
/// It is valid only on that thread, so it is neither `Send` nor `Sync`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Jni(*mut JNIEnv);

/// The ID of a field, valid as long as its class lives.
#[derive(Clone, Copy)]
pub struct FieldId(pub jfieldID);

// SAFETY: every thread may use field IDs.
unsafe impl Send for FieldId {}
// SAFETY: as above.
unsafe impl Sync for FieldId {}

/// The ID of a method, valid as long as its class lives.
#[derive(Clone, Copy)]
pub struct MethodId(pub jmethodID);

// SAFETY: every thread may use method IDs.
unsafe impl Send for MethodId {}
// SAFETY: as above.
unsafe impl Sync for MethodId {}

/// The capacity of a frame for as many references as there are classes or threads. A large capacity costs nothing;
/// `-Xcheck:jni` warns about more references than the capacity.
pub const LARGE_FRAME: jint = 60_000;

/// Calls a function of the JNI function table. All functions used here exist since JNI 1.2.
macro_rules! jni {
    ($jni:expr, $slot:ident $(, $argument:expr)*) => {{
        $crate::lock::assert_none_held();
        let env = $jni.env();
        // SAFETY: `Jni::new` promises an environment of this thread, whose table has the slot;
        // the callers pass live references and NUL-terminated strings.
        unsafe { ((**env).v1_2.$slot)(env $(, $argument)*) }
    }};
}

/// Calls a function like `jni!`, but the original if the shim has replaced it: the shim's own references are not
/// reported.
macro_rules! original {
    ($jni:expr, $slot:ident, $argument:expr) => {{
        assert_none_held();
        // SAFETY: as for `jni!`.
        unsafe {
            match jni_table::originals() {
                Some(originals) => (originals.$slot)($jni.0, $argument),
                None => ((**$jni.0).v1_2.$slot)($jni.0, $argument),
            }
        }
    }};
}

/// Defines methods of [`Jni`] that only call a function of the JNI function table.
macro_rules! functions {
    ($(
        $(#[$doc:meta])*
        $visible:vis fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?
            = $slot:ident($($passed:expr),*);
    )*) => {
        impl Jni {$(
            $(#[$doc])*
            $visible fn $name(self $(, $argument: $type)*) $(-> $result)? {
                jni!(self, $slot $(, $passed)*)
            }
        )*}
    };
}

functions! {
    pub fn is_throwing() -> bool = ExceptionCheck();
    fn exception() -> jthrowable = ExceptionOccurred();

    /// Creates a local reference. Returns NULL for NULL, and for a weak reference whose object was collected.
    pub fn new_local(object: jobject) -> jobject = NewLocalRef(object);
    pub fn delete_local(reference: jobject) = DeleteLocalRef(reference);
    /// Returns true if both refer to the same object, or both are NULL.
    pub fn same_object(one: jobject, other: jobject) -> bool = IsSameObject(one, other);

    pub fn class_of(object: jobject) -> jclass = GetObjectClass(object);
    pub fn instance_of(object: jobject, class: jclass) -> bool = IsInstanceOf(object, class);
    /// Returns true if `class` is `other` or inherits from it.
    pub fn is_assignable(class: jclass, other: jclass) -> bool = IsAssignableFrom(class, other);
    /// Returns the superclass; NULL for Object, interfaces and primitive types.
    pub fn superclass(class: jclass) -> jclass = GetSuperclass(class);

    pub fn array_length(array: jobject) -> jint = GetArrayLength(array);
    /// Sets an element of a reference array. The index is within bounds, and the object has the element type.
    pub fn set_array_element(array: jobject, index: jint, object: jobject)
        = SetObjectArrayElement(array, index, object);
    /// Returns an element of a reference array. The index is within bounds.
    pub fn array_element(array: jobject, index: jint) -> jobject
        = GetObjectArrayElement(array, index);

    pub fn long_field(object: jobject, field: FieldId) -> i64 = GetLongField(object, field.0);
    pub fn int_field(object: jobject, field: FieldId) -> jint = GetIntField(object, field.0);
    pub fn object_field(object: jobject, field: FieldId) -> jobject
        = GetObjectField(object, field.0);
    /// Sets a reference field to an object of the field's type.
    pub fn set_object_field(object: jobject, field: FieldId, value: jobject)
        = SetObjectField(object, field.0, value);
    pub fn set_int_field(object: jobject, field: FieldId, value: jint)
        = SetIntField(object, field.0, value);
    pub(crate) fn set_long_field(object: jobject, field: FieldId, value: i64)
        = SetLongField(object, field.0, value);
    pub fn static_int_field(class: jclass, field: FieldId) -> jint
        = GetStaticIntField(class, field.0);
    pub(crate) fn static_object_field(class: jclass, field: FieldId) -> jobject
        = GetStaticObjectField(class, field.0);
    pub fn set_static_boolean(class: jclass, field: FieldId, value: bool)
        = SetStaticBooleanField(class, field.0, value);
}

/// Defines methods of [`Jni`] that call a function of the JNI function table which may allocate or run Java code. They
/// return `None` if it threw an exception or returned NULL.
macro_rules! allocating_functions {
    ($(
        $(#[$doc:meta])*
        $visible:vis fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty
            = $slot:ident($($passed:expr),*);
    )*) => {
        impl Jni {$(
            $(#[$doc])*
            $visible fn $name(self $(, $argument: $type)*) -> Option<$result> {
                assert_may_allocate();
                let result: $result = jni!(self, $slot $(, $passed)*);
                (!self.clear_exception() && !result.is_null()).then_some(result)
            }
        )*}
    };
}

allocating_functions! {
    /// Returns a class of the bootstrap loader or, in native code of a class, of that class's loader.
    pub fn find_class(name: &CStr) -> jclass = FindClass(name.as_ptr());
    /// Defines a class in the bootstrap loader.
    pub fn define_class(name: &CStr, file: &[u8]) -> jclass
        = DefineClass(name.as_ptr(), ptr::null_mut(), file.as_ptr().cast(), file.len() as jint);
    /// Creates an array of references, all of them NULL.
    pub fn new_array(length: jint, class: jclass) -> jobject
        = NewObjectArray(length, class, ptr::null_mut());
    pub fn new_object(class: jclass, constructor: MethodId, arguments: &[jvalue]) -> jobject
        = NewObjectA(class, constructor.0, arguments.as_ptr());
    /// Allocates an object without running a constructor.
    pub fn allocate(class: jclass) -> jobject = AllocObject(class);
    /// Creates a `java.lang.String` from modified UTF-8.
    pub fn new_string(text: &CStr) -> jobject = NewStringUTF(text.as_ptr());

    pub fn call_static_object(class: jclass, method: MethodId, arguments: &[jvalue]) -> jobject
        = CallStaticObjectMethodA(class, method.0, arguments.as_ptr());
    pub fn call_static_void(class: jclass, method: MethodId) -> ()
        = CallStaticVoidMethodA(class, method.0, ptr::null());
    pub(crate) fn call_static_long(class: jclass, method: MethodId) -> jlong
        = CallStaticLongMethodA(class, method.0, ptr::null());
    pub fn call_object(object: jobject, method: MethodId, arguments: &[jvalue]) -> jobject
        = CallObjectMethodA(object, method.0, arguments.as_ptr());
    pub fn call_long(object: jobject, method: MethodId, arguments: &[jvalue]) -> jlong
        = CallLongMethodA(object, method.0, arguments.as_ptr());
    pub fn call_void(object: jobject, method: MethodId, arguments: &[jvalue]) -> ()
        = CallVoidMethodA(object, method.0, arguments.as_ptr());
}

/// Results of JNI functions that are not references, and so never NULL.
trait NeverNull {
    fn is_null(&self) -> bool {
        false
    }
}

impl NeverNull for () {}
impl NeverNull for jlong {}

/// A frame of local references, popped when dropped.
struct Frame {
    jni: Jni,
    pushed: bool,
    /// The pending exception, which is set aside and thrown again at the end.
    pending: jthrowable,
}

impl Drop for Frame {
    fn drop(&mut self) {
        self.jni.clear_exception();
        if !self.pending.is_null() {
            jni!(self.jni, Throw, self.pending);
        }
        if self.pushed {
            jni!(self.jni, PopLocalFrame, ptr::null_mut());
        }
    }
}

impl Jni {
    /// # Safety
    /// `env` is the JNI environment of the current thread, which stays attached while the value
    /// is used.
    pub unsafe fn new(env: *mut JNIEnv) -> Self {
        Self(env)
    }

    /// Returns the environment, which is also the thread's ID in JVMPI.
    pub fn env(self) -> *mut JNIEnv {
        self.0
    }

    /// Runs `body` in a new frame of local references, so that none is left behind. A pending exception of the
    /// thread is set aside meanwhile, because most JNI functions must not be called with one.
    pub fn frame<R>(self, capacity: jint, body: impl FnOnce(Self) -> R) -> R {
        // The frame comes first: PushLocalFrame and PopLocalFrame may be called with a pending exception.
        let pushed = jni!(self, PushLocalFrame, capacity) == JNI_OK;
        let pending = self.exception();
        if !pending.is_null() {
            jni!(self, ExceptionClear);
        }
        let _frame = Frame { jni: self, pushed, pending };
        body(self)
    }

    /// Waits for the end of a safepoint, if one is in progress.
    pub fn pass_safepoint(self) {
        // Every function that enters the VM waits for the end of a safepoint.
        let _ = jni!(self, ExceptionCheck);
    }

    /// Clears a pending exception. Returns true if there was one.
    pub(crate) fn clear_exception(self) -> bool {
        let pending = self.exception();
        if pending.is_null() {
            return false;
        }
        jni!(self, ExceptionClear);
        self.delete_local(pending);
        true
    }

    /// Returns the result of a function, or `None` if the function threw an exception or returned NULL.
    fn unless_thrown<T>(self, result: *mut T) -> Option<*mut T> {
        (!self.clear_exception() && !result.is_null()).then_some(result)
    }

    /// Creates a global reference; NULL for NULL.
    pub(crate) fn new_global(self, object: jobject) -> jobject {
        original!(self, NewGlobalRef, object)
    }

    pub(crate) fn delete_global(self, reference: jobject) {
        original!(self, DeleteGlobalRef, reference);
    }

    /// Creates a weak global reference; NULL for NULL.
    pub(crate) fn new_weak(self, object: jobject) -> jweak {
        original!(self, NewWeakGlobalRef, object)
    }

    pub(crate) fn delete_weak(self, reference: jweak) {
        original!(self, DeleteWeakGlobalRef, reference);
    }

    /// Registers functions for native methods of the class. Returns false on failure.
    ///
    /// # Safety
    /// Each function has the C type of its method's descriptor.
    pub unsafe fn register_natives(self, class: jclass, methods: &[JNINativeMethod]) -> bool {
        let count = methods.len() as jint;
        jni!(self, RegisterNatives, class, methods.as_ptr(), count) == JNI_OK
            && !self.clear_exception()
    }

    /// Returns the ID of an instance method, or `None` if the class does not have it.
    pub fn method(self, class: jclass, name: &CStr, signature: &CStr) -> Option<MethodId> {
        let method = jni!(self, GetMethodID, class, name.as_ptr(), signature.as_ptr());
        self.unless_thrown(method).map(MethodId)
    }

    /// Returns the ID of a static method, or `None` if the class does not have it.
    pub fn static_method(self, class: jclass, name: &CStr, signature: &CStr) -> Option<MethodId> {
        let method = jni!(self, GetStaticMethodID, class, name.as_ptr(), signature.as_ptr());
        self.unless_thrown(method).map(MethodId)
    }

    /// Returns the ID of an instance field, or `None` if the class does not have it.
    pub fn field(self, class: jclass, name: &CStr, signature: &CStr) -> Option<FieldId> {
        let field = jni!(self, GetFieldID, class, name.as_ptr(), signature.as_ptr());
        self.unless_thrown(field).map(FieldId)
    }

    /// Returns the ID of a static field, or `None` if the class does not have it.
    pub fn static_field(self, class: jclass, name: &CStr, signature: &CStr) -> Option<FieldId> {
        let field = jni!(self, GetStaticFieldID, class, name.as_ptr(), signature.as_ptr());
        self.unless_thrown(field).map(FieldId)
    }

    /// Returns true if the string equals this ASCII text. False for NULL.
    pub fn is_text(self, string: jobject, text: &CStr) -> bool {
        /// The maximum length of `text`.
        const MOST: usize = 64;
        let (text, mut characters) = (text.to_bytes(), [0; MOST]);
        let length = text.len().min(MOST) as jint;
        if string.is_null() || jni!(self, GetStringLength, string) != length {
            return false;
        }
        jni!(self, GetStringRegion, string, 0, length, characters.as_mut_ptr());
        text.iter().map(|byte| u16::from(*byte)).eq(characters[..length as usize].iter().copied())
    }
}
