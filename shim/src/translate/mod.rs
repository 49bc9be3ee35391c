//! JVMTI callbacks become JVMPI events: one file per group of events.

pub mod allocations;
pub mod class_files;
pub mod classes;
pub mod collection;
pub mod compiled;
pub mod construction;
pub mod frames;
pub mod instructions;
pub mod lifecycle;
pub mod methods;
pub mod monitors;
pub mod objects;
pub mod raw_monitors;
pub mod references;
pub mod subscriptions;
pub mod threads;

use crate::boundary::guard;
use crate::instrument;
use crate::jvm::Jni;
use jni_sys::JNIEnv;
use jvmti_sys::jvmtiEventCallbacks;

/// The callbacks of the environment for classes.
pub fn class_callbacks() -> jvmtiEventCallbacks {
    jvmtiEventCallbacks {
        ClassFileLoadHook: Some(class_files::class_file_load_hook),
        ObjectFree: Some(collection::class_tag_free),
        ..jvmtiEventCallbacks::default()
    }
}

/// The callbacks of the environment for looking objects up.
pub fn lookup_callbacks() -> jvmtiEventCallbacks {
    jvmtiEventCallbacks {
        ObjectFree: Some(collection::object_free),
        ..jvmtiEventCallbacks::default()
    }
}

/// The callbacks of all other JVMTI events that the shim ever asks for, but for `VMStart`, which
/// `load` has: agents begin then.
pub fn callbacks() -> jvmtiEventCallbacks {
    jvmtiEventCallbacks {
        VMInit: Some(lifecycle::vm_init),
        VMDeath: Some(lifecycle::vm_death),
        DataDumpRequest: Some(lifecycle::data_dump_request),
        ThreadStart: Some(threads::thread_start),
        ThreadEnd: Some(threads::thread_end),
        ClassLoad: Some(classes::class_load),
        ClassPrepare: Some(classes::class_prepare),
        ClassFileLoadHook: Some(instrument::class_file_load_hook),
        SampledObjectAlloc: Some(objects::sampled_object_alloc),
        ObjectFree: Some(collection::object_free),
        GarbageCollectionFinish: Some(collection::garbage_collection_finish),
        CompiledMethodLoad: Some(compiled::compiled_method_load),
        CompiledMethodUnload: Some(compiled::compiled_method_unload),
        NativeMethodBind: Some(instrument::sleep::native_method_bind),
        MonitorContendedEnter: Some(monitors::monitor_contended_enter),
        MonitorContendedEntered: Some(monitors::monitor_contended_entered),
        MonitorWait: Some(monitors::monitor_wait),
        MonitorWaited: Some(monitors::monitor_waited),
        ..jvmtiEventCallbacks::default()
    }
}

/// Runs the body of a callback that JVMTI calls on the thread that `env` belongs to.
///
/// # Safety
/// `env` is the environment of the thread that runs, as JVMTI passes it to callbacks, or NULL.
unsafe fn callback(env: *mut JNIEnv, body: impl FnOnce(Jni)) {
    if !env.is_null() {
        // SAFETY: the caller promises the environment, and the thread stays attached meanwhile.
        let jni = unsafe { Jni::new(env) };
        guard((), || body(jni));
    }
}
