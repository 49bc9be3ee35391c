//! The events that can be enabled.

use jni_sys::jint;
use jvmpi_sys::*;

macro_rules! event_types {
    ($($name:ident: $method:ident = $constant:ident,)*) => {
        /// An event that can be enabled. Each variant names the method of [`Agent`](crate::Agent) that
        /// receives it.
        ///
        /// The events that can only be requested are functions of a [`Context`](crate::Context):
        /// `heap_dump`, `object_dump` and `monitor_dump`.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(i32)]
        pub enum EventType {
            $(
                #[doc = concat!("`", stringify!($method), "`")]
                $name = $constant,
            )*
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
    MethodEntry: method_entry = JVMPI_EVENT_METHOD_ENTRY,
    MethodEntry2: method_entry2 = JVMPI_EVENT_METHOD_ENTRY2,
    MethodExit: method_exit = JVMPI_EVENT_METHOD_EXIT,
    ObjectAlloc: object_alloc = JVMPI_EVENT_OBJECT_ALLOC,
    ObjectFree: object_free = JVMPI_EVENT_OBJECT_FREE,
    ObjectMove: object_move = JVMPI_EVENT_OBJECT_MOVE,
    CompiledMethodLoad: compiled_method_load = JVMPI_EVENT_COMPILED_METHOD_LOAD,
    CompiledMethodUnload: compiled_method_unload = JVMPI_EVENT_COMPILED_METHOD_UNLOAD,
    InstructionStart: instruction_start = JVMPI_EVENT_INSTRUCTION_START,
    ThreadStart: thread_start = JVMPI_EVENT_THREAD_START,
    ThreadEnd: thread_end = JVMPI_EVENT_THREAD_END,
    ClassLoadHook: class_load_hook = JVMPI_EVENT_CLASS_LOAD_HOOK,
    JniGlobalrefAlloc: jni_globalref_alloc = JVMPI_EVENT_JNI_GLOBALREF_ALLOC,
    JniGlobalrefFree: jni_globalref_free = JVMPI_EVENT_JNI_GLOBALREF_FREE,
    JniWeakGlobalrefAlloc: jni_weak_globalref_alloc = JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC,
    JniWeakGlobalrefFree: jni_weak_globalref_free = JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE,
    ClassLoad: class_load = JVMPI_EVENT_CLASS_LOAD,
    ClassUnload: class_unload = JVMPI_EVENT_CLASS_UNLOAD,
    DataDumpRequest: data_dump_request = JVMPI_EVENT_DATA_DUMP_REQUEST,
    DataResetRequest: data_reset_request = JVMPI_EVENT_DATA_RESET_REQUEST,
    JvmInitDone: jvm_init_done = JVMPI_EVENT_JVM_INIT_DONE,
    JvmShutDown: jvm_shut_down = JVMPI_EVENT_JVM_SHUT_DOWN,
    ArenaNew: arena_new = JVMPI_EVENT_ARENA_NEW,
    ArenaDelete: arena_delete = JVMPI_EVENT_ARENA_DELETE,
    RawMonitorContendedEnter: raw_monitor_contended_enter = JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER,
    RawMonitorContendedEntered: raw_monitor_contended_entered = JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED,
    RawMonitorContendedExit: raw_monitor_contended_exit = JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT,
    MonitorContendedEnter: monitor_contended_enter = JVMPI_EVENT_MONITOR_CONTENDED_ENTER,
    MonitorContendedEntered: monitor_contended_entered = JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
    MonitorContendedExit: monitor_contended_exit = JVMPI_EVENT_MONITOR_CONTENDED_EXIT,
    MonitorWait: monitor_wait = JVMPI_EVENT_MONITOR_WAIT,
    MonitorWaited: monitor_waited = JVMPI_EVENT_MONITOR_WAITED,
    GcStart: gc_start = JVMPI_EVENT_GC_START,
    GcFinish: gc_finish = JVMPI_EVENT_GC_FINISH,
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
