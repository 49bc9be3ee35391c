//! The tables of JVMTI callbacks, one for each JVMTI environment.

use super::{
    class_files, classes, collection, compiled, lifecycle, monitors, native_methods, objects,
    threads,
};
use crate::instrument;
use jvm::types::jvmtiEventCallbacks;

/// Returns the callbacks of the environment that reads class files.
pub fn of_reader_env() -> jvmtiEventCallbacks {
    jvmtiEventCallbacks {
        ClassFileLoadHook: Some(instrument::class_files::class_file_load_hook),
        ..jvmtiEventCallbacks::default()
    }
}

/// Returns the callbacks of the environment for classes.
pub fn of_class_env() -> jvmtiEventCallbacks {
    jvmtiEventCallbacks {
        ClassFileLoadHook: Some(class_files::class_file_load_hook),
        ObjectFree: Some(collection::class_tag_free),
        ..jvmtiEventCallbacks::default()
    }
}

/// Returns the callbacks of the environment for object lookups.
pub fn of_lookup_env() -> jvmtiEventCallbacks {
    jvmtiEventCallbacks {
        ObjectFree: Some(collection::object_free),
        ..jvmtiEventCallbacks::default()
    }
}

/// Returns the callbacks of all other JVMTI events that the shim ever enables, except `VMStart`.
/// Its callback is in `load`, because it starts the agents.
pub fn of_main_env() -> jvmtiEventCallbacks {
    jvmtiEventCallbacks {
        VMInit: Some(lifecycle::vm_init),
        VMDeath: Some(lifecycle::vm_death),
        DataDumpRequest: Some(lifecycle::data_dump_request),
        ThreadStart: Some(threads::thread_start),
        ThreadEnd: Some(threads::thread_end),
        VirtualThreadStart: Some(threads::virtual_thread_start),
        VirtualThreadEnd: Some(threads::virtual_thread_end),
        ClassLoad: Some(classes::class_load),
        ClassPrepare: Some(classes::class_prepare),
        ClassFileLoadHook: Some(instrument::class_file_load_hook),
        SampledObjectAlloc: Some(objects::sampled_object_alloc),
        ObjectFree: Some(collection::object_free),
        GarbageCollectionStart: Some(collection::garbage_collection_start),
        GarbageCollectionFinish: Some(collection::garbage_collection_finish),
        CompiledMethodLoad: Some(compiled::compiled_method_load),
        CompiledMethodUnload: Some(compiled::compiled_method_unload),
        NativeMethodBind: Some(native_methods::native_method_bind),
        MonitorContendedEnter: Some(monitors::monitor_contended_enter),
        MonitorContendedEntered: Some(monitors::monitor_contended_entered),
        MonitorWait: Some(monitors::monitor_wait),
        MonitorWaited: Some(monitors::monitor_waited),
        ..jvmtiEventCallbacks::default()
    }
}
