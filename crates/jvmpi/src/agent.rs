//! The trait that agents implement.

use crate::{
    ArenaId, ArenaNew, ClassFile, ClassId, ClassLoad, CompiledMethodLoad, CompiledMethodUnload,
    GcDisabled, GlobalrefAlloc, HeapUse, InstructionStart, LoadError, MethodEntry2, MethodId,
    MonitorWait, MultiThreaded, ObjectAlloc, ObjectId, ObjectMove, OnLoad, RawMonitorContended,
    ReferenceId, Stopped, ThreadStart,
};

/// A profiler agent: how to load it, and one method for each event that it may enable.
///
/// Several threads call these methods at the same time. The data passed to a method is valid only until the
/// method returns. The [`Context`](crate::Context) permits what the specification permits in the event.
///
/// If a method panics, the event is disabled, a line on stderr reports it, and the program continues. An event
/// with a NULL ID where the specification requires one is not passed to the agent.
#[allow(unused_variables)]
pub trait Agent: Sized + Send + Sync + 'static {
    /// JVM_OnLoad: creates the agent and enables the events that it wants.
    ///
    /// `options` is the text after the first `:` of the agent's option on the command line.
    ///
    /// # Errors
    /// An error fails the load. JVM_OnLoad returns JNI_ERR, and the error is written to stderr.
    fn load(jvmpi: &mut OnLoad, options: &str) -> Result<Self, LoadError>;

    /// JVM_OnLoad for a library that is already loaded, usually because it is attached to a running VM again.
    ///
    /// There is only one agent per library. The default refuses; override this if the agent can start anew.
    fn load_again(&self, jvmpi: &mut OnLoad, options: &str) -> Result<(), LoadError> {
        Err("the agent is already loaded and cannot be loaded twice".into())
    }

    /// JVM_INIT_DONE: the VM is ready; from now on the agent may create threads.
    fn jvm_init_done(&self, jvmpi: &mut MultiThreaded<'_>) {}
    /// JVM_SHUT_DOWN: the VM is shutting down; this is the last event.
    fn jvm_shut_down(&self, jvmpi: &mut MultiThreaded<'_>) {}
    /// DATA_DUMP_REQUEST: the user asks for a dump.
    fn data_dump_request(&self, jvmpi: &mut MultiThreaded<'_>) {}
    /// DATA_RESET_REQUEST: the user asks the agent to discard the data collected so far.
    fn data_reset_request(&self, jvmpi: &mut MultiThreaded<'_>) {}

    /// THREAD_START: a thread starts, or was running before the event was enabled.
    fn thread_start(&self, jvmpi: &mut GcDisabled<'_>, thread: ThreadStart<'_>) {}
    /// THREAD_END: the current thread ends.
    fn thread_end(&self, jvmpi: &mut MultiThreaded<'_>) {}

    /// CLASS_LOAD: a class was loaded.
    fn class_load(&self, jvmpi: &mut GcDisabled<'_>, class: ClassLoad<'_>) {}
    /// CLASS_UNLOAD: a class is unloaded. `libjvmpi.so` sends it between GC_START and GC_FINISH.
    fn class_unload(&self, jvmpi: &mut Stopped<'_>, class: ClassId) {}
    /// CLASS_LOAD_HOOK: a class file is about to be parsed.
    fn class_load_hook(&self, jvmpi: &mut MultiThreaded<'_>, class_file: &mut ClassFile<'_>) {}

    /// METHOD_ENTRY: a method is entered.
    fn method_entry(&self, jvmpi: &mut MultiThreaded<'_>, method: MethodId) {}
    /// METHOD_ENTRY2: a method is entered; the event names the receiver.
    fn method_entry2(&self, jvmpi: &mut GcDisabled<'_>, entry: MethodEntry2) {}
    /// METHOD_EXIT: a method returns or is left by an exception.
    fn method_exit(&self, jvmpi: &mut MultiThreaded<'_>, method: MethodId) {}
    /// INSTRUCTION_START: a bytecode instruction starts.
    fn instruction_start(&self, jvmpi: &mut MultiThreaded<'_>, instruction: InstructionStart) {}
    /// COMPILED_METHOD_LOAD: a method was compiled.
    fn compiled_method_load(&self, jvmpi: &mut MultiThreaded<'_>, code: CompiledMethodLoad<'_>) {}
    /// COMPILED_METHOD_UNLOAD: compiled code is discarded.
    fn compiled_method_unload(&self, jvmpi: &mut MultiThreaded<'_>, code: CompiledMethodUnload) {}

    /// OBJECT_ALLOC: an object was allocated.
    fn object_alloc(&self, jvmpi: &mut GcDisabled<'_>, alloc: ObjectAlloc) {}
    /// OBJECT_FREE: an object was freed.
    fn object_free(&self, jvmpi: &mut Stopped<'_>, object: ObjectId) {}
    /// OBJECT_MOVE: an object has a new ID.
    fn object_move(&self, jvmpi: &mut Stopped<'_>, moved: ObjectMove) {}
    /// ARENA_NEW: an arena was created. `libjvmpi.so` also sends it between GC_START and GC_FINISH.
    fn arena_new(&self, jvmpi: &mut Stopped<'_>, arena: ArenaNew<'_>) {}
    /// ARENA_DELETE: an arena was deleted, with all objects in it.
    fn arena_delete(&self, jvmpi: &mut Stopped<'_>, arena: ArenaId) {}
    /// GC_START: a collection starts. Enter raw monitors here and [keep](crate::Entered::keep) them if the
    /// events of the collection need their data.
    fn gc_start(&self, jvmpi: &mut MultiThreaded<'_>) {}
    /// GC_FINISH: a collection has finished. Exit the kept raw monitors here.
    fn gc_finish(&self, jvmpi: &mut MultiThreaded<'_>, heap: HeapUse) {}

    /// JNI_GLOBALREF_ALLOC: a global reference was created.
    fn jni_globalref_alloc(&self, jvmpi: &mut GcDisabled<'_>, alloc: GlobalrefAlloc) {}
    /// JNI_GLOBALREF_FREE: a global reference is deleted.
    fn jni_globalref_free(&self, jvmpi: &mut MultiThreaded<'_>, reference: ReferenceId) {}
    /// JNI_WEAK_GLOBALREF_ALLOC: a weak global reference was created.
    fn jni_weak_globalref_alloc(&self, jvmpi: &mut GcDisabled<'_>, alloc: GlobalrefAlloc) {}
    /// JNI_WEAK_GLOBALREF_FREE: a weak global reference is deleted.
    fn jni_weak_globalref_free(&self, jvmpi: &mut MultiThreaded<'_>, reference: ReferenceId) {}

    /// MONITOR_CONTENDED_ENTER: the thread is about to wait for a monitor that another thread owns.
    fn monitor_contended_enter(&self, jvmpi: &mut GcDisabled<'_>, object: ObjectId) {}
    /// MONITOR_CONTENDED_ENTERED: the thread has entered the monitor that it waited for.
    fn monitor_contended_entered(&self, jvmpi: &mut GcDisabled<'_>, object: ObjectId) {}
    /// MONITOR_CONTENDED_EXIT: the thread exits a monitor that other threads are waiting for.
    fn monitor_contended_exit(&self, jvmpi: &mut GcDisabled<'_>, object: ObjectId) {}
    /// MONITOR_WAIT: the thread starts to wait on an object, or to sleep.
    fn monitor_wait(&self, jvmpi: &mut GcDisabled<'_>, wait: MonitorWait) {}
    /// MONITOR_WAITED: the thread's wait or sleep is over.
    fn monitor_waited(&self, jvmpi: &mut GcDisabled<'_>, wait: MonitorWait) {}

    /// RAW_MONITOR_CONTENDED_ENTER: the thread is about to wait for a raw monitor that another thread owns.
    fn raw_monitor_contended_enter(
        &self,
        jvmpi: &mut MultiThreaded<'_>,
        monitor: RawMonitorContended<'_>,
    ) {
    }
    /// RAW_MONITOR_CONTENDED_ENTERED: the thread has entered the raw monitor that it waited for.
    fn raw_monitor_contended_entered(
        &self,
        jvmpi: &mut MultiThreaded<'_>,
        monitor: RawMonitorContended<'_>,
    ) {
    }
    /// RAW_MONITOR_CONTENDED_EXIT: the thread exits a raw monitor that other threads are waiting for.
    fn raw_monitor_contended_exit(
        &self,
        jvmpi: &mut MultiThreaded<'_>,
        monitor: RawMonitorContended<'_>,
    ) {
    }
}
