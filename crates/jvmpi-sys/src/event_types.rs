//! The list of event types, from which the constants, [`EVENTS`], and the tables in `libjvmpi` are generated.

use jni_sys::jint;

/// Expands to `$then! { rows }`, with one row for each event of the specification, by number:
///
/// ```text
/// /// What has happened.
/// CONSTANT = number: arm, mode, who, jvmti [events] reports [reports];
/// ```
///
/// - arm: the member of [`JVMPI_Event_u`](crate::JVMPI_Event_u) with the event's data, or `-` for none;
/// - mode: the [`Mode`] of the specification;
/// - who: `enabled` if EnableEvent accepts the event, `requested` if RequestEvent does, or both;
/// - jvmti: the JVMTI events that a library on top of JVMTI must enable to send the event;
/// - reports: the callbacks that such a library needs from rewritten code and JNI functions:
///   `Entries` of methods, `Receivers` (entries with the receiver), `Exits`, `Instructions`,
///   `Allocations`, `MonitorExits`, or JNI `References`.
#[macro_export]
macro_rules! for_each_event {
    ($then:ident) => {
        $then! {
            /// A method is entered.
            JVMPI_EVENT_METHOD_ENTRY = 1: method, MT, enabled, jvmti [] reports [ENTRIES];
            /// A method is entered, with its receiver.
            JVMPI_EVENT_METHOD_ENTRY2 = 2: method_entry2, GC_OFF, enabled, jvmti [] reports [RECEIVERS];
        /// A method returns or is left by an exception.
            JVMPI_EVENT_METHOD_EXIT = 3: method, MT, enabled, jvmti [] reports [EXITS];
            /// An object was allocated.
            JVMPI_EVENT_OBJECT_ALLOC = 4: obj_alloc, GC_OFF, enabled requested,
                jvmti [] reports [ALLOCATIONS];
            /// An object was freed.
            JVMPI_EVENT_OBJECT_FREE = 5: obj_free, STOPPED, enabled,
                jvmti [JVMTI_EVENT_OBJECT_FREE JVMTI_EVENT_GARBAGE_COLLECTION_FINISH] reports [];
            /// An object has a new ID.
            JVMPI_EVENT_OBJECT_MOVE = 6: obj_move, STOPPED, enabled,
                jvmti [JVMTI_EVENT_GARBAGE_COLLECTION_FINISH] reports [];
        // The unload event clears the record of the agents that received the load event.
            /// A method was compiled.
            JVMPI_EVENT_COMPILED_METHOD_LOAD = 7: compiled_method_load, MT, enabled,
                jvmti [JVMTI_EVENT_COMPILED_METHOD_LOAD JVMTI_EVENT_COMPILED_METHOD_UNLOAD] reports [];
        /// Compiled code is discarded.
            JVMPI_EVENT_COMPILED_METHOD_UNLOAD = 8: compiled_method_unload, MT, enabled,
                jvmti [JVMTI_EVENT_COMPILED_METHOD_UNLOAD] reports [];
            /// A bytecode instruction starts. Since version 1.1.
            JVMPI_EVENT_INSTRUCTION_START = 9: instruction, MT, enabled,
                jvmti [] reports [INSTRUCTIONS];
            /// A thread starts.
            JVMPI_EVENT_THREAD_START = 33: thread_start, GC_OFF, enabled requested,
                jvmti [JVMTI_EVENT_THREAD_START] reports [];
            /// The thread `env_id` ends.
            JVMPI_EVENT_THREAD_END = 34: -, MT, enabled, jvmti [JVMTI_EVENT_THREAD_END] reports [];
            /// A class file is about to be parsed.
            JVMPI_EVENT_CLASS_LOAD_HOOK = 35: class_load_hook, MT, enabled,
                jvmti [JVMTI_EVENT_CLASS_FILE_LOAD_HOOK] reports [];
            /// A dump of the heap.
            JVMPI_EVENT_HEAP_DUMP = 37: heap_dump, GC_OFF, requested, jvmti [] reports [];
            /// A JNI global reference was created.
            JVMPI_EVENT_JNI_GLOBALREF_ALLOC = 38: jni_globalref_alloc, GC_OFF, enabled,
                jvmti [] reports [REFERENCES];
            /// A JNI global reference is deleted.
            JVMPI_EVENT_JNI_GLOBALREF_FREE = 39: jni_globalref_free, MT, enabled,
                jvmti [] reports [REFERENCES];
            /// A JNI weak global reference was created.
            JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC = 40: jni_globalref_alloc, GC_OFF, enabled,
                jvmti [] reports [REFERENCES];
            /// A JNI weak global reference is deleted.
            JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE = 41: jni_globalref_free, MT, enabled,
                jvmti [] reports [REFERENCES];
            /// A class was loaded.
            JVMPI_EVENT_CLASS_LOAD = 42: class_load, GC_OFF, enabled requested,
                jvmti [JVMTI_EVENT_CLASS_PREPARE JVMTI_EVENT_CLASS_LOAD] reports [];
            /// A class is unloaded.
            JVMPI_EVENT_CLASS_UNLOAD = 43: class_unload, GC_OFF, enabled,
                jvmti [JVMTI_EVENT_OBJECT_FREE JVMTI_EVENT_GARBAGE_COLLECTION_FINISH] reports [];
            /// The user asks for a dump.
            JVMPI_EVENT_DATA_DUMP_REQUEST = 44: -, MT, enabled,
                jvmti [JVMTI_EVENT_DATA_DUMP_REQUEST] reports [];
            /// The user asks for a reset.
            JVMPI_EVENT_DATA_RESET_REQUEST = 45: -, MT, enabled,
                jvmti [JVMTI_EVENT_DATA_DUMP_REQUEST] reports [];
        /// The VM is ready; from now on agents may create threads.
            JVMPI_EVENT_JVM_INIT_DONE = 46: -, MT, enabled, jvmti [JVMTI_EVENT_VM_INIT] reports [];
        /// The VM is shutting down; the last event.
            JVMPI_EVENT_JVM_SHUT_DOWN = 47: -, MT, enabled, jvmti [JVMTI_EVENT_VM_DEATH] reports [];
            /// An arena was created.
            JVMPI_EVENT_ARENA_NEW = 48: new_arena, MT, enabled, jvmti [] reports [];
            /// An arena was deleted, with all objects in it.
            JVMPI_EVENT_ARENA_DELETE = 49: delete_arena, STOPPED, enabled,
                jvmti [JVMTI_EVENT_GARBAGE_COLLECTION_FINISH] reports [];
            /// A dump of one object.
            JVMPI_EVENT_OBJECT_DUMP = 50: object_dump, GC_OFF, requested, jvmti [] reports [];
        /// A thread is about to wait for a raw monitor.
            JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER = 51: raw_monitor, MT, enabled, jvmti [] reports [];
        /// A thread has entered the raw monitor that it waited for.
            JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED = 52: raw_monitor, MT, enabled,
                jvmti [] reports [];
        /// A thread exits a raw monitor that other threads are waiting for.
            JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT = 53: raw_monitor, MT, enabled, jvmti [] reports [];
        // Each end of contention or of a wait goes to the agents that received its begin. A notified thread
        // contends for the monitor again, so MonitorWaited is needed too.
        /// A thread is about to wait for a Java monitor.
            JVMPI_EVENT_MONITOR_CONTENDED_ENTER = 54: monitor, GC_OFF, enabled,
                jvmti [JVMTI_EVENT_MONITOR_CONTENDED_ENTER JVMTI_EVENT_MONITOR_CONTENDED_ENTERED
                       JVMTI_EVENT_MONITOR_WAITED]
                reports [];
        /// A thread has entered the Java monitor that it waited for.
            JVMPI_EVENT_MONITOR_CONTENDED_ENTERED = 55: monitor, GC_OFF, enabled,
                jvmti [JVMTI_EVENT_MONITOR_CONTENDED_ENTER JVMTI_EVENT_MONITOR_CONTENDED_ENTERED
                       JVMTI_EVENT_MONITOR_WAITED]
                reports [];
        // A thread that calls wait() exits the monitor, so MonitorWait is needed too.
        /// A thread exits a Java monitor that other threads are waiting for.
            JVMPI_EVENT_MONITOR_CONTENDED_EXIT = 56: monitor, GC_OFF, enabled,
                jvmti [JVMTI_EVENT_MONITOR_CONTENDED_ENTER JVMTI_EVENT_MONITOR_CONTENDED_ENTERED
                       JVMTI_EVENT_MONITOR_WAIT JVMTI_EVENT_MONITOR_WAITED]
                reports [MONITOR_EXITS];
        /// A thread starts to wait on an object, or to sleep.
            JVMPI_EVENT_MONITOR_WAIT = 57: monitor_wait, GC_OFF, enabled,
                jvmti [JVMTI_EVENT_MONITOR_WAIT] reports [];
        /// A thread's wait or sleep is over.
            JVMPI_EVENT_MONITOR_WAITED = 58: monitor_wait, GC_OFF, enabled,
                jvmti [JVMTI_EVENT_MONITOR_WAIT JVMTI_EVENT_MONITOR_WAITED] reports [];
            /// A dump of threads and monitors.
            JVMPI_EVENT_MONITOR_DUMP = 59: monitor_dump, GC_OFF, requested, jvmti [] reports [];
        /// A collection starts; take the locks that the events of the collection need.
            JVMPI_EVENT_GC_START = 60: -, MT, enabled,
                jvmti [JVMTI_EVENT_GARBAGE_COLLECTION_START JVMTI_EVENT_GARBAGE_COLLECTION_FINISH]
                reports [];
        /// A collection has finished; release these locks.
            JVMPI_EVENT_GC_FINISH = 61: gc_info, MT, enabled,
                jvmti [JVMTI_EVENT_GARBAGE_COLLECTION_FINISH] reports [];
        }
    };
}

/// The modes of the specification, which determine what a handler may do; the strictest is the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mode {
    /// Multithreaded, GC enabled: everything is permitted.
    MT,
    /// Multithreaded, GC disabled: IDs stay valid and do not change.
    GC_OFF,
    /// Threads are suspended: no memory allocation, no I/O, no locks.
    STOPPED,
}

/// A row of [`for_each_event`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventType {
    /// The name of the constant, `JVMPI_EVENT_…`.
    pub constant: &'static str,
    /// The number of the event: its `event_type`.
    pub number: jint,
    /// The name of the union member with the event's data, if it has data.
    pub arm: Option<&'static str>,
    /// The mode in which the specification sends the event.
    pub mode: Mode,
    /// True if EnableEvent accepts the event.
    pub enabled: bool,
    /// True if RequestEvent accepts the event.
    pub requested: bool,
    /// The names of the JVMTI events that are its source, `JVMTI_EVENT_…`.
    pub jvmti: &'static [&'static str],
}

impl EventType {
    const NOT_ASKED_FOR: Self = Self {
        constant: "",
        number: 0,
        arm: None,
        mode: Mode::MT,
        enabled: false,
        requested: false,
        jvmti: &[],
    };

    /// Returns the event with this number, which must not include
    /// [`JVMPI_REQUESTED_EVENT`](crate::JVMPI_REQUESTED_EVENT).
    pub fn of(number: jint) -> Option<&'static Self> {
        EVENTS.iter().find(|event| event.number == number)
    }

    /// Returns the name without `JVMPI_EVENT_`, for example `METHOD_ENTRY`.
    pub fn name(&self) -> &'static str {
        self.constant.trim_start_matches("JVMPI_EVENT_")
    }
}

macro_rules! arm {
    (-) => {
        None
    };
    ($arm:ident) => {{
        // Fails to compile unless the union has this member.
        _ = core::mem::offset_of!(crate::JVMPI_Event_u, $arm);
        Some(stringify!($arm))
    }};
}

macro_rules! declare {
    ($(
        $(#[doc = $what:literal])*
        $constant:ident = $number:literal: $arm:tt, $mode:ident, $($who:ident)+,
        jvmti [$($jvmti:ident)*] reports [$($report:ident)*];
    )*) => {
        $(
            $(#[doc = $what])*
            ///
            #[doc = concat!("Member `", stringify!($arm), "`; ", stringify!($mode), "; ", stringify!($($who)+), ".")]
            pub const $constant: jint = $number;
        )*

        /// All events of the specification.
        #[allow(clippy::needless_update, reason = "only some rows say everything")]
        pub const EVENTS: &[EventType] = &[$(EventType {
            constant: stringify!($constant),
            number: $constant,
            arm: arm!($arm),
            mode: Mode::$mode,
            $($who: true,)+
            jvmti: &[$(stringify!($jvmti)),*],
            ..EventType::NOT_ASKED_FOR
        }),*];
    };
}

for_each_event!(declare);

/// The highest event number.
pub const JVMPI_MAX_EVENT_TYPE_VAL: jint = 61;

/// A flag that is set in `event_type` when the event answers `RequestEvent`.
pub const JVMPI_REQUESTED_EVENT: jint = 0x1000_0000;

// Older names of event types, which some agents use.

/// Older name of [`JVMPI_EVENT_OBJECT_ALLOC`].
pub const JVMPI_EVENT_OBJ_ALLOC: jint = JVMPI_EVENT_OBJECT_ALLOC;
/// Older name of [`JVMPI_EVENT_OBJECT_FREE`].
pub const JVMPI_EVENT_OBJ_FREE: jint = JVMPI_EVENT_OBJECT_FREE;
/// Older name of [`JVMPI_EVENT_OBJECT_MOVE`].
pub const JVMPI_EVENT_OBJ_MOVE: jint = JVMPI_EVENT_OBJECT_MOVE;
/// Older name of [`JVMPI_EVENT_COMPILED_METHOD_LOAD`].
pub const JVMPI_EVENT_LOAD_COMPILED_METHOD: jint = JVMPI_EVENT_COMPILED_METHOD_LOAD;
/// Older name of [`JVMPI_EVENT_COMPILED_METHOD_UNLOAD`].
pub const JVMPI_EVENT_UNLOAD_COMPILED_METHOD: jint = JVMPI_EVENT_COMPILED_METHOD_UNLOAD;
/// Older name of [`JVMPI_EVENT_DATA_DUMP_REQUEST`].
pub const JVMPI_EVENT_DUMP_DATA_REQUEST: jint = JVMPI_EVENT_DATA_DUMP_REQUEST;
/// Older name of [`JVMPI_EVENT_DATA_RESET_REQUEST`].
pub const JVMPI_EVENT_RESET_DATA_REQUEST: jint = JVMPI_EVENT_DATA_RESET_REQUEST;
/// Older name of [`JVMPI_EVENT_ARENA_NEW`].
pub const JVMPI_EVENT_NEW_ARENA: jint = JVMPI_EVENT_ARENA_NEW;
/// Older name of [`JVMPI_EVENT_ARENA_DELETE`].
pub const JVMPI_EVENT_DELETE_ARENA: jint = JVMPI_EVENT_ARENA_DELETE;
