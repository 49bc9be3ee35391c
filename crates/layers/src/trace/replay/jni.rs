//! The functions of JNI: there are no Java objects, so that nearly all of them are refused, in one line each.

use jni_sys::{JNI_ERR, JNI_OK, JNIEnv, JavaVM, jboolean, jint, jobject};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A table of JNI functions.
#[repr(transparent)]
pub struct Functions([*const c_void; COUNT]);

// SAFETY: they are functions.
unsafe impl Sync for Functions {}

/// The table of all threads.
pub static FUNCTIONS: Functions = Functions(with_those_that_work(REFUSED));

/// The VM that GetJavaVM returns.
pub static VM: AtomicPtr<JavaVM> = AtomicPtr::new(std::ptr::null_mut());

/// Makes the list of names, and of a function for each that refuses to do anything.
macro_rules! functions {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        const COUNT: usize = NAMES.len();
        /// The places of the functions in the table.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the names are JNI's")]
        enum Place { $($name),* }
        const REFUSED: [*const c_void; COUNT] =
            [$(refuse::<{ Place::$name as usize }> as *const c_void),*];
    };
}

functions! {
    reserved0 reserved1 reserved2 reserved3 GetVersion DefineClass FindClass FromReflectedMethod
    FromReflectedField ToReflectedMethod GetSuperclass IsAssignableFrom ToReflectedField Throw ThrowNew
    ExceptionOccurred ExceptionDescribe ExceptionClear FatalError PushLocalFrame PopLocalFrame
    NewGlobalRef DeleteGlobalRef DeleteLocalRef IsSameObject NewLocalRef EnsureLocalCapacity AllocObject
    NewObject NewObjectV NewObjectA GetObjectClass IsInstanceOf GetMethodID CallObjectMethod
    CallObjectMethodV CallObjectMethodA CallBooleanMethod CallBooleanMethodV CallBooleanMethodA
    CallByteMethod CallByteMethodV CallByteMethodA CallCharMethod CallCharMethodV CallCharMethodA
    CallShortMethod CallShortMethodV CallShortMethodA CallIntMethod CallIntMethodV CallIntMethodA
    CallLongMethod CallLongMethodV CallLongMethodA CallFloatMethod CallFloatMethodV CallFloatMethodA
    CallDoubleMethod CallDoubleMethodV CallDoubleMethodA CallVoidMethod CallVoidMethodV CallVoidMethodA
    CallNonvirtualObjectMethod CallNonvirtualObjectMethodV CallNonvirtualObjectMethodA
    CallNonvirtualBooleanMethod CallNonvirtualBooleanMethodV CallNonvirtualBooleanMethodA
    CallNonvirtualByteMethod CallNonvirtualByteMethodV CallNonvirtualByteMethodA
    CallNonvirtualCharMethod CallNonvirtualCharMethodV CallNonvirtualCharMethodA
    CallNonvirtualShortMethod CallNonvirtualShortMethodV CallNonvirtualShortMethodA
    CallNonvirtualIntMethod CallNonvirtualIntMethodV CallNonvirtualIntMethodA CallNonvirtualLongMethod
    CallNonvirtualLongMethodV CallNonvirtualLongMethodA CallNonvirtualFloatMethod
    CallNonvirtualFloatMethodV CallNonvirtualFloatMethodA CallNonvirtualDoubleMethod
    CallNonvirtualDoubleMethodV CallNonvirtualDoubleMethodA CallNonvirtualVoidMethod
    CallNonvirtualVoidMethodV CallNonvirtualVoidMethodA GetFieldID GetObjectField GetBooleanField
    GetByteField GetCharField GetShortField GetIntField GetLongField GetFloatField GetDoubleField
    SetObjectField SetBooleanField SetByteField SetCharField SetShortField SetIntField SetLongField
    SetFloatField SetDoubleField GetStaticMethodID CallStaticObjectMethod CallStaticObjectMethodV
    CallStaticObjectMethodA CallStaticBooleanMethod CallStaticBooleanMethodV CallStaticBooleanMethodA
    CallStaticByteMethod CallStaticByteMethodV CallStaticByteMethodA CallStaticCharMethod
    CallStaticCharMethodV CallStaticCharMethodA CallStaticShortMethod CallStaticShortMethodV
    CallStaticShortMethodA CallStaticIntMethod CallStaticIntMethodV CallStaticIntMethodA
    CallStaticLongMethod CallStaticLongMethodV CallStaticLongMethodA CallStaticFloatMethod
    CallStaticFloatMethodV CallStaticFloatMethodA CallStaticDoubleMethod CallStaticDoubleMethodV
    CallStaticDoubleMethodA CallStaticVoidMethod CallStaticVoidMethodV CallStaticVoidMethodA
    GetStaticFieldID GetStaticObjectField GetStaticBooleanField GetStaticByteField GetStaticCharField
    GetStaticShortField GetStaticIntField GetStaticLongField GetStaticFloatField GetStaticDoubleField
    SetStaticObjectField SetStaticBooleanField SetStaticByteField SetStaticCharField SetStaticShortField
    SetStaticIntField SetStaticLongField SetStaticFloatField SetStaticDoubleField NewString
    GetStringLength GetStringChars ReleaseStringChars NewStringUTF GetStringUTFLength GetStringUTFChars
    ReleaseStringUTFChars GetArrayLength NewObjectArray GetObjectArrayElement SetObjectArrayElement
    NewBooleanArray NewByteArray NewCharArray NewShortArray NewIntArray NewLongArray NewFloatArray
    NewDoubleArray GetBooleanArrayElements GetByteArrayElements GetCharArrayElements
    GetShortArrayElements GetIntArrayElements GetLongArrayElements GetFloatArrayElements
    GetDoubleArrayElements ReleaseBooleanArrayElements ReleaseByteArrayElements ReleaseCharArrayElements
    ReleaseShortArrayElements ReleaseIntArrayElements ReleaseLongArrayElements ReleaseFloatArrayElements
    ReleaseDoubleArrayElements GetBooleanArrayRegion GetByteArrayRegion GetCharArrayRegion
    GetShortArrayRegion GetIntArrayRegion GetLongArrayRegion GetFloatArrayRegion GetDoubleArrayRegion
    SetBooleanArrayRegion SetByteArrayRegion SetCharArrayRegion SetShortArrayRegion SetIntArrayRegion
    SetLongArrayRegion SetFloatArrayRegion SetDoubleArrayRegion RegisterNatives UnregisterNatives
    MonitorEnter MonitorExit GetJavaVM GetStringRegion GetStringUTFRegion GetPrimitiveArrayCritical
    ReleasePrimitiveArrayCritical GetStringCritical ReleaseStringCritical NewWeakGlobalRef
    DeleteWeakGlobalRef ExceptionCheck NewDirectByteBuffer GetDirectBufferAddress
    GetDirectBufferCapacity GetObjectRefType GetModule IsVirtualThread GetStringUTFLengthAsLong
}

/// The functions that return a status; any other returns 0 or NULL.
const STATUS: &[&str] = &[
    "EnsureLocalCapacity",
    "MonitorEnter",
    "MonitorExit",
    "PushLocalFrame",
    "RegisterNatives",
    "Throw",
    "ThrowNew",
    "UnregisterNatives",
];

/// Says once that there is no such thing.
extern "C" fn refuse<const PLACE: usize>() -> usize {
    static SAID: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
    let name = NAMES[PLACE];
    let status = if STATUS.contains(&name) { JNI_ERR } else { 0 };
    if !SAID[PLACE].swap(true, Ordering::Relaxed) {
        eprintln!(
            "jvmpi: warning: the agent calls JNI's {name}, which returns {status} in a replay"
        );
    }
    status as usize
}

/// Adds the functions that need no objects.
const fn with_those_that_work(mut table: [*const c_void; COUNT]) -> [*const c_void; COUNT] {
    table[Place::GetVersion as usize] = version as *const c_void;
    table[Place::GetJavaVM as usize] = get_java_vm as *const c_void;
    table[Place::ExceptionCheck as usize] = is_exception_pending as *const c_void;
    table[Place::ExceptionOccurred as usize] = no_exception as *const c_void;
    table[Place::ExceptionClear as usize] = nothing_to_do as *const c_void;
    table[Place::ExceptionDescribe as usize] = nothing_to_do as *const c_void;
    table[Place::DeleteLocalRef as usize] = forget_reference as *const c_void;
    table[Place::DeleteGlobalRef as usize] = forget_reference as *const c_void;
    table[Place::DeleteWeakGlobalRef as usize] = forget_reference as *const c_void;
    table[Place::NewLocalRef as usize] = same_reference as *const c_void;
    table[Place::NewGlobalRef as usize] = same_reference as *const c_void;
    table[Place::NewWeakGlobalRef as usize] = same_reference as *const c_void;
    table[Place::IsSameObject as usize] = is_same as *const c_void;
    table
}

extern "C" fn version(_: *mut JNIEnv) -> jint {
    jni_sys::JNI_VERSION_1_8
}

extern "C" fn get_java_vm(_: *mut JNIEnv, vm: *mut *mut JavaVM) -> jint {
    // SAFETY: the caller passes a place for it.
    unsafe { vm.write(VM.load(Ordering::Relaxed)) };
    JNI_OK
}

extern "C" fn is_exception_pending(_: *mut JNIEnv) -> jboolean {
    false
}

extern "C" fn no_exception(_: *mut JNIEnv) -> jobject {
    std::ptr::null_mut()
}

extern "C" fn nothing_to_do(_: *mut JNIEnv) {}

extern "C" fn forget_reference(_: *mut JNIEnv, _: jobject) {}

extern "C" fn same_reference(_: *mut JNIEnv, reference: jobject) -> jobject {
    reference
}

extern "C" fn is_same(_: *mut JNIEnv, a: jobject, b: jobject) -> jboolean {
    a == b
}
