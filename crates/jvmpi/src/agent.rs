//! The agent.

use crate::{
    ArenaId, ArenaNew, ClassFile, ClassId, ClassLoad, CompiledMethodLoad, CompiledMethodUnload,
    GcDisabled, GlobalrefAlloc, HeapUse, InstructionStart, LoadError, MethodEntry2, MethodId,
    MonitorWait, MultiThreaded, ObjectAlloc, ObjectId, ObjectMove, OnLoad, RawMonitorContended,
    ReferenceId, Stopped, ThreadStart,
};

/// A profiler agent: how it is loaded, and one method for each event that it may enable.
///
/// Several threads call them at the same time. What comes in an event lives as long as the event; the
/// [`Context`](crate::Context) says what may be done in it.
///
/// If a method panics, the event is disabled, one line on stderr says so, and the program goes on. What
/// the event tells of an ID that is NULL where the specification has none is not passed on.
#[allow(unused_variables)]
pub trait Agent: Sized + Send + Sync + 'static {
    /// JVM_OnLoad: makes the agent, and enables the events that it wants. `options` is what follows the
    /// first `:` of the agent's option on the command line.
    fn load(jvmpi: &mut OnLoad, options: &str) -> Result<Self, LoadError>;

    /// JVM_OnLoad once more: the library is loaded already, and somebody loads it with other options, into a
    /// running VM as a rule. There is but one agent, so unless it can begin again this refuses.
    fn load_again(&self, jvmpi: &mut OnLoad, options: &str) -> Result<(), LoadError> {
        Err("the agent is loaded already, and can be loaded once".into())
    }

    /// JVM_INIT_DONE: the VM is ready; threads may now be created.
    fn jvm_init_done(&self, jvmpi: &mut MultiThreaded<'_>) {}
    /// JVM_SHUT_DOWN: the VM ends; the last event.
    fn jvm_shut_down(&self, jvmpi: &mut MultiThreaded<'_>) {}
    /// DATA_DUMP_REQUEST: the user asks for a dump.
    fn data_dump_request(&self, jvmpi: &mut MultiThreaded<'_>) {}
    /// DATA_RESET_REQUEST: the user asks for a reset: what was counted so far is not wanted any more.
    fn data_reset_request(&self, jvmpi: &mut MultiThreaded<'_>) {}

    /// THREAD_START: a thread starts, or is there already.
    fn thread_start(&self, jvmpi: &mut GcDisabled<'_>, thread: ThreadStart<'_>) {}
    /// THREAD_END: the current thread ends.
    fn thread_end(&self, jvmpi: &mut MultiThreaded<'_>) {}

    /// CLASS_LOAD: a class was loaded.
    fn class_load(&self, jvmpi: &mut GcDisabled<'_>, class: ClassLoad<'_>) {}
    /// CLASS_UNLOAD: a class is unloaded. `libjvmpi.so` sends it in a collection.
    fn class_unload(&self, jvmpi: &mut Stopped<'_>, class: ClassId) {}
    /// CLASS_LOAD_HOOK: a class file is about to be parsed.
    fn class_load_hook(&self, jvmpi: &mut MultiThreaded<'_>, class_file: &mut ClassFile<'_>) {}

    /// METHOD_ENTRY: a method is entered.
    fn method_entry(&self, jvmpi: &mut MultiThreaded<'_>, method: MethodId) {}
    /// METHOD_ENTRY2: a method is entered, with the object whose method it is.
    fn method_entry2(&self, jvmpi: &mut GcDisabled<'_>, entry: MethodEntry2) {}
    /// METHOD_EXIT: a method is left, by return or exception.
    fn method_exit(&self, jvmpi: &mut MultiThreaded<'_>, method: MethodId) {}
    /// INSTRUCTION_START: a bytecode instruction starts.
    fn instruction_start(&self, jvmpi: &mut MultiThreaded<'_>, instruction: InstructionStart) {}
    /// COMPILED_METHOD_LOAD: a method was compiled.
    fn compiled_method_load(&self, jvmpi: &mut MultiThreaded<'_>, code: CompiledMethodLoad<'_>) {}
    /// COMPILED_METHOD_UNLOAD: compiled code goes away.
    fn compiled_method_unload(&self, jvmpi: &mut MultiThreaded<'_>, code: CompiledMethodUnload) {}

    /// OBJECT_ALLOC: an object was allocated.
    fn object_alloc(&self, jvmpi: &mut GcDisabled<'_>, alloc: ObjectAlloc) {}
    /// OBJECT_FREE: an object was freed.
    fn object_free(&self, jvmpi: &mut Stopped<'_>, object: ObjectId) {}
    /// OBJECT_MOVE: an object has a new ID.
    fn object_move(&self, jvmpi: &mut Stopped<'_>, moved: ObjectMove) {}
    /// ARENA_NEW: there is a new arena. `libjvmpi.so` sends it also in a collection.
    fn arena_new(&self, jvmpi: &mut Stopped<'_>, arena: ArenaNew<'_>) {}
    /// ARENA_DELETE: an arena is gone, with all objects in it.
    fn arena_delete(&self, jvmpi: &mut Stopped<'_>, arena: ArenaId) {}
    /// GC_START: a collection starts; the place to enter raw monitors and
    /// [keep](crate::Entered::keep) them.
    fn gc_start(&self, jvmpi: &mut MultiThreaded<'_>) {}
    /// GC_FINISH: a collection has ended; the place to leave them.
    fn gc_finish(&self, jvmpi: &mut MultiThreaded<'_>, heap: HeapUse) {}

    /// JNI_GLOBALREF_ALLOC: a global reference was created.
    fn jni_globalref_alloc(&self, jvmpi: &mut GcDisabled<'_>, alloc: GlobalrefAlloc) {}
    /// JNI_GLOBALREF_FREE: a global reference is deleted.
    fn jni_globalref_free(&self, jvmpi: &mut MultiThreaded<'_>, reference: ReferenceId) {}
    /// JNI_WEAK_GLOBALREF_ALLOC: a weak global reference was created.
    fn jni_weak_globalref_alloc(&self, jvmpi: &mut GcDisabled<'_>, alloc: GlobalrefAlloc) {}
    /// JNI_WEAK_GLOBALREF_FREE: a weak global reference is deleted.
    fn jni_weak_globalref_free(&self, jvmpi: &mut MultiThreaded<'_>, reference: ReferenceId) {}

    /// MONITOR_CONTENDED_ENTER: the thread has to wait for a monitor.
    fn monitor_contended_enter(&self, jvmpi: &mut GcDisabled<'_>, object: ObjectId) {}
    /// MONITOR_CONTENDED_ENTERED: the thread has got the monitor that it waited for.
    fn monitor_contended_entered(&self, jvmpi: &mut GcDisabled<'_>, object: ObjectId) {}
    /// MONITOR_CONTENDED_EXIT: the thread leaves a monitor that others wait for.
    fn monitor_contended_exit(&self, jvmpi: &mut GcDisabled<'_>, object: ObjectId) {}
    /// MONITOR_WAIT: the thread starts to wait on an object, or to sleep.
    fn monitor_wait(&self, jvmpi: &mut GcDisabled<'_>, wait: MonitorWait) {}
    /// MONITOR_WAITED: the thread has waited.
    fn monitor_waited(&self, jvmpi: &mut GcDisabled<'_>, wait: MonitorWait) {}

    /// RAW_MONITOR_CONTENDED_ENTER: the thread has to wait for a raw monitor.
    fn raw_monitor_contended_enter(
        &self,
        jvmpi: &mut MultiThreaded<'_>,
        monitor: RawMonitorContended<'_>,
    ) {
    }
    /// RAW_MONITOR_CONTENDED_ENTERED: the thread has got the raw monitor that it waited for.
    fn raw_monitor_contended_entered(
        &self,
        jvmpi: &mut MultiThreaded<'_>,
        monitor: RawMonitorContended<'_>,
    ) {
    }
    /// RAW_MONITOR_CONTENDED_EXIT: the thread leaves a raw monitor that others wait for.
    fn raw_monitor_contended_exit(
        &self,
        jvmpi: &mut MultiThreaded<'_>,
        monitor: RawMonitorContended<'_>,
    ) {
    }
}
