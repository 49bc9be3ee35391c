//! The events that can be enabled.

use jni_sys::jint;
use jvmpi_sys::*;

macro_rules! event_types {
    ($($(#[doc = $what:literal])* $name:ident = $constant:ident,)*) => {
        /// An event that can be enabled. Each variant names the method of [`Agent`](crate::Agent) that
        /// receives it.
        ///
        /// The events that can only be requested are functions of a [`Context`](crate::Context):
        /// `heap_dump`, `object_dump` and `monitor_dump`.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(i32)]
        pub enum EventType {
            $($(#[doc = $what])* $name = $constant,)*
        }

        impl EventType {
            /// All events that can be enabled.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the name in the specification, for example `METHOD_ENTRY`.
            pub fn name(self) -> &'static str {
                jvmpi_sys::EventType::of(self as jint).map_or("", jvmpi_sys::EventType::name)
            }
        }
    };
}

event_types! {
    /// `method_entry`
    MethodEntry = JVMPI_EVENT_METHOD_ENTRY,
    /// `method_entry2`
    MethodEntry2 = JVMPI_EVENT_METHOD_ENTRY2,
    /// `method_exit`
    MethodExit = JVMPI_EVENT_METHOD_EXIT,
    /// `object_alloc`
    ObjectAlloc = JVMPI_EVENT_OBJECT_ALLOC,
    /// `object_free`
    ObjectFree = JVMPI_EVENT_OBJECT_FREE,
    /// `object_move`
    ObjectMove = JVMPI_EVENT_OBJECT_MOVE,
    /// `compiled_method_load`
    CompiledMethodLoad = JVMPI_EVENT_COMPILED_METHOD_LOAD,
    /// `compiled_method_unload`
    CompiledMethodUnload = JVMPI_EVENT_COMPILED_METHOD_UNLOAD,
    /// `instruction_start`
    InstructionStart = JVMPI_EVENT_INSTRUCTION_START,
    /// `thread_start`
    ThreadStart = JVMPI_EVENT_THREAD_START,
    /// `thread_end`
    ThreadEnd = JVMPI_EVENT_THREAD_END,
    /// `class_load_hook`
    ClassLoadHook = JVMPI_EVENT_CLASS_LOAD_HOOK,
    /// `jni_globalref_alloc`
    JniGlobalrefAlloc = JVMPI_EVENT_JNI_GLOBALREF_ALLOC,
    /// `jni_globalref_free`
    JniGlobalrefFree = JVMPI_EVENT_JNI_GLOBALREF_FREE,
    /// `jni_weak_globalref_alloc`
    JniWeakGlobalrefAlloc = JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC,
    /// `jni_weak_globalref_free`
    JniWeakGlobalrefFree = JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE,
    /// `class_load`
    ClassLoad = JVMPI_EVENT_CLASS_LOAD,
    /// `class_unload`
    ClassUnload = JVMPI_EVENT_CLASS_UNLOAD,
    /// `data_dump_request`
    DataDumpRequest = JVMPI_EVENT_DATA_DUMP_REQUEST,
    /// `data_reset_request`
    DataResetRequest = JVMPI_EVENT_DATA_RESET_REQUEST,
    /// `jvm_init_done`
    JvmInitDone = JVMPI_EVENT_JVM_INIT_DONE,
    /// `jvm_shut_down`
    JvmShutDown = JVMPI_EVENT_JVM_SHUT_DOWN,
    /// `arena_new`
    ArenaNew = JVMPI_EVENT_ARENA_NEW,
    /// `arena_delete`
    ArenaDelete = JVMPI_EVENT_ARENA_DELETE,
    /// `raw_monitor_contended_enter`
    RawMonitorContendedEnter = JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER,
    /// `raw_monitor_contended_entered`
    RawMonitorContendedEntered = JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED,
    /// `raw_monitor_contended_exit`
    RawMonitorContendedExit = JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT,
    /// `monitor_contended_enter`
    MonitorContendedEnter = JVMPI_EVENT_MONITOR_CONTENDED_ENTER,
    /// `monitor_contended_entered`
    MonitorContendedEntered = JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
    /// `monitor_contended_exit`
    MonitorContendedExit = JVMPI_EVENT_MONITOR_CONTENDED_EXIT,
    /// `monitor_wait`
    MonitorWait = JVMPI_EVENT_MONITOR_WAIT,
    /// `monitor_waited`
    MonitorWaited = JVMPI_EVENT_MONITOR_WAITED,
    /// `gc_start`
    GcStart = JVMPI_EVENT_GC_START,
    /// `gc_finish`
    GcFinish = JVMPI_EVENT_GC_FINISH,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lists_exactly_the_events_that_can_be_enabled() {
        let mine: Vec<jint> = EventType::ALL.iter().map(|t| *t as jint).collect();
        let all: Vec<jint> = EVENTS.iter().filter(|e| e.enabled).map(|e| e.number).collect();
        assert_eq!(mine, all);
        assert_eq!(EventType::MethodEntry2.name(), "METHOD_ENTRY2");
    }
}
