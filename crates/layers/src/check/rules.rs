//! The rules: one table, which the site and an installation have at the end of `docs/reference/checks.md`.

use std::fmt::Write as _;

/// A rule for agents.
#[derive(Debug)]
pub struct Rule {
    /// Its name, which never changes.
    pub id: &'static str,
    /// The section of the specification that it comes from.
    pub section: &'static str,
    /// The thing that an agent must not do, and the reason.
    pub text: &'static str,
    /// The way to keep the rule.
    pub remedy: &'static str,
}

impl Rule {
    /// Returns the anchor of the rule in that page.
    #[must_use]
    pub fn anchor(&self) -> String {
        self.id.replace('/', "")
    }
}

macro_rules! rules {
    ($($name:ident = $id:literal, $section:literal: $text:literal, $remedy:literal;)*) => {
        $(
            #[doc = $text]
            pub const $name: &Rule =
                &Rule { id: $id, section: $section, text: $text, remedy: $remedy };
        )*

        /// All rules, in the order of the documentation.
        pub const RULES: &[&Rule] = &[$($name),*];
    };
}

rules! {
    EVENT_UNKNOWN = "event/unknown", "EnableEvent":
        "The agent enables or requests an event type that does not exist, so it waits for that event in vain.",
        "Use the constants of jvmpi.h, and check the result: it is JVMPI_NOT_AVAILABLE.";
    EVENT_NOT_ENABLED = "event/only-requested", "EnableEvent":
        "HEAP_DUMP, OBJECT_DUMP and MONITOR_DUMP cannot be enabled: they come only on request.",
        "Call RequestEvent.";
    EVENT_NOT_REQUESTED = "event/not-requestable", "RequestEvent":
        "RequestEvent takes only CLASS_LOAD, THREAD_START, OBJECT_ALLOC, HEAP_DUMP, OBJECT_DUMP and MONITOR_DUMP.",
        "Call EnableEvent, and wait for the event.";
    EVENT_NO_HANDLER = "event/no-handler", "Start-up":
        "An enabled event comes while NotifyEvent is not set: the event is lost.",
        "Set NotifyEvent in the table before JVM_OnLoad returns, and before you enable events.";
    EVENT_WRITTEN = "event/written", "Event Notification":
        "The handler has written into the event or into memory that the event points to, which belongs to the VM. \
         The agent may write only new_class_data and new_class_data_len of CLASS_LOAD_HOOK.",
        "Change a copy.";
    EVENT_READ_LATE = "event/read-late", "Event Notification":
        "The agent kept an event, or a pointer from it (names, methods, fields, line numbers), and reads it after \
         NotifyEvent has returned. The VM may have freed it.",
        "Copy in the handler what you need later.";

    HOOK_NOT_SET = "class-load-hook/not-set", "CLASS_LOAD_HOOK":
        "The handler has returned without setting new_class_data and new_class_data_len. VMs differ in their \
         reaction.",
        "To leave the class file as it is, set them to class_data and class_data_len.";
    HOOK_ALLOCATOR = "class-load-hook/allocator", "CLASS_LOAD_HOOK":
        "new_class_data is not from malloc_f of the same event. The VM frees it with its own function, which \
         corrupts the heap if the memory comes from another allocator.",
        "Allocate the new class file with the event's malloc_f, in each event anew.";
    HOOK_IN_PLACE = "class-load-hook/in-place", "CLASS_LOAD_HOOK":
        "The handler has changed the class file in place. It may be read-only, and may be shared.",
        "Write the changed class file into memory from malloc_f.";

    ON_LOAD = "mode/in-jvm-onload", "Start-up":
        "This function was called in JVM_OnLoad, where no threads, classes and objects exist yet.",
        "Call it after JVM_INIT_DONE.";
    BEFORE_INIT_DONE = "mode/thread-before-jvm-init-done", "JVM_INIT_DONE":
        "CreateSystemThread was called before JVM_INIT_DONE. It created no thread.",
        "Create threads in the handler of JVM_INIT_DONE.";
    RUN_GC = "gc-disabled/run-gc", "RunGC":
        "RunGC was called while GC is disabled: in the handler of an event that is sent with GC disabled, or after \
         DisableGC. It does nothing, or waits forever.",
        "Call it from an event of the multithreaded mode, or from a thread of the agent, with GC enabled.";
    CREATE_THREAD = "gc-disabled/create-thread", "CreateSystemThread":
        "CreateSystemThread was called while GC is disabled. It allocates Java objects, for which the VM may have to \
         collect garbage first.",
        "Create the thread in JVM_INIT_DONE, and wake it through a raw monitor when you need it.";
    IDS = "gc-enabled/ids", "JVMPI IDs":
        "An object ID was requested or used while GC is enabled. A collection may invalidate it at any moment, even \
         before the function returns it.",
        "Call DisableGC before, and EnableGC when you no longer need the ID.";
    STOPPED = "stopped/function", "Threading and Locking Issues":
        "This function was called while threads are suspended: in OBJECT_FREE, OBJECT_MOVE or ARENA_DELETE, or \
         between SuspendThread and ResumeThread. It may wait for one of them, or allocate memory.",
        "Take a note, and do the work after GC_FINISH or after the threads are resumed.";
    STOPPED_ENTER = "stopped/enter", "Threading and Locking Issues":
        "A raw monitor was entered while threads are suspended. If one of them owns the monitor, all threads wait \
         forever.",
        "Enter it before: in GC_START (and leave it in GC_FINISH), or before SuspendThread.";

    GC_SURPLUS = "gc/enable-without-disable", "EnableGC":
        "EnableGC was called more often than DisableGC. This can enable GC while other code of the agent relies on \
         disabled GC.",
        "Call EnableGC once for each DisableGC.";
    GC_LEFT = "gc/never-enabled", "DisableGC":
        "A handler has returned with GC disabled, and no EnableGC followed until the VM ended. A VM that cannot \
         collect garbage runs out of memory.",
        "Call EnableGC once for each DisableGC, on error paths too.";
    GC_ORDER = "gc/lock-order", "Threading and Locking Issues":
        "DisableGC was called by a thread that owns a raw monitor which the agent enters in GC_START. DisableGC \
         waits for the end of a collection, and that collection waits for the monitor.",
        "Call DisableGC first, then enter the monitor.";

    SUSPEND_GC = "suspend/gc-enabled", "SuspendThread":
        "A thread was suspended while GC is enabled. A collection waits for all threads, so it never ends, and the \
         agent may wait for it.",
        "Call DisableGC before you suspend the first thread.";
    SUSPEND_ENABLE = "suspend/gc-enabled-too-early", "SuspendThread":
        "GC was enabled while threads are still suspended.",
        "Resume all threads, then call EnableGC.";
    SUSPEND_SELF = "suspend/self", "SuspendThread":
        "A thread has suspended itself: no thread is left to resume it.",
        "Leave the current thread out.";
    RESUME = "suspend/not-suspended", "ResumeThread":
        "A thread was resumed that the agent has not suspended. The program may have suspended it.",
        "Resume only threads that the agent has suspended, and each of them once.";

    MONITOR_UNKNOWN = "raw-monitor/unknown", "RawMonitorCreate":
        "The argument is no raw monitor that RawMonitorCreate has returned to this agent.",
        "Create the monitor before you use it; NULL is not a monitor.";
    MONITOR_DESTROYED = "raw-monitor/destroyed", "RawMonitorDestroy":
        "A raw monitor was used after it was destroyed.",
        "Destroy it when no thread can use it any more.";
    MONITOR_EXIT = "raw-monitor/exit-not-owner", "RawMonitorExit":
        "A thread leaves a raw monitor that it does not own. The data that the monitor protects is not protected.",
        "Leave it on the thread that entered it, once for each RawMonitorEnter.";
    MONITOR_WAIT = "raw-monitor/wait-not-owner", "RawMonitorWait":
        "A thread waits on a raw monitor that it does not own. The call returns at once, and a notification can be \
         missed.",
        "Enter the monitor, check the condition, and wait.";
    MONITOR_NOTIFY = "raw-monitor/notify-not-owner", "RawMonitorNotifyAll":
        "A thread notifies the waiters of a raw monitor that it does not own. No thread wakes up.",
        "Enter the monitor, change the condition, and notify.";
    MONITOR_DESTROY = "raw-monitor/destroy-in-use", "RawMonitorDestroy":
        "A raw monitor was destroyed while a thread owns it or waits on it.",
        "Before you destroy it, leave it and make sure that no thread waits on it.";
    MONITOR_LEFT = "raw-monitor/not-left", "RawMonitorExit":
        "A handler has returned and owns other raw monitors than at its start. Only GC_START may do that, because \
         GC_FINISH leaves them, and JVM_SHUT_DOWN.",
        "Leave each monitor that the handler entered, on error paths too.";
    MONITOR_BRACKET = "raw-monitor/not-left-in-gc-finish", "GC_FINISH":
        "Raw monitors that were entered in GC_START are still owned when GC_FINISH has returned.",
        "Leave in GC_FINISH each monitor that GC_START entered.";
    MONITOR_ORDER = "raw-monitor/order", "Threading and Locking Issues":
        "Threads enter the same raw monitors in different orders: each may own a monitor that the other waits for.",
        "Decide on one order for all threads, and keep it.";

    THREAD_NULL = "thread/null", "JVMPI IDs":
        "NULL was passed as a thread.",
        "Check that you know the thread before you pass it.";
    THREAD_UNKNOWN = "thread/unknown", "JVMPI IDs":
        "The argument is no thread: no THREAD_START has named it, and no event came from it.",
        "Pass the JNIEnv of an event, or thread_env_id of THREAD_START.";
    THREAD_ENDED = "thread/ended", "THREAD_END":
        "A thread was used after its THREAD_END. Its JNIEnv is freed, and another thread may get it.",
        "Enable THREAD_END, and forget the thread in its handler.";
    OBJECT_FREED = "object/freed", "OBJECT_FREE":
        "An object ID was used after OBJECT_FREE, OBJECT_MOVE or ARENA_DELETE had ended it. It may now belong to \
         another object.",
        "Forget the ID in the handler of these events.";
    OBJECT_UNKNOWN = "object/unknown", "JVMPI IDs":
        "The argument is no object ID, or is no longer valid: the agent has not enabled OBJECT_FREE, so it cannot \
         know.",
        "Enable OBJECT_FREE, OBJECT_MOVE and ARENA_DELETE, or use IDs only until GC is enabled.";
    CLASS_UNLOADED = "class/unloaded", "CLASS_UNLOAD":
        "A class or one of its methods was used after its CLASS_UNLOAD.",
        "Enable CLASS_UNLOAD, and forget the class and its methods in its handler.";
    METHOD_UNKNOWN = "method/unknown", "JVMPI IDs":
        "The argument is no method ID: no CLASS_LOAD has named it.",
        "Pass the method IDs of events.";

    ARGUMENT_NULL = "argument/null", "Interface Functions":
        "NULL was passed where the function needs a pointer.",
        "Check the pointer: an allocation may have failed, or an event may not have come.";
    ARGUMENT_RANGE = "argument/range", "Interface Functions":
        "A number is outside the range that the function takes.",
        "Pass a number that the specification of the function allows.";
}

/// Returns the rules as they stand below `docs/reference/checks.md` in the site and in an installation.
#[must_use]
pub fn document() -> String {
    let mut text = String::new();
    for rule in RULES {
        let Rule { id, text: what, remedy, .. } = rule;
        let _ = write!(text, "\n## {id}\n\n{what}\n\n**Do**: {remedy}\n");
    }
    text
}
