//! What no specification promises, each thing under a name (docs/internals.md). Where one is missing, agents
//! get less, which one line of the log says.
//!
//! In builds with debug assertions, which is what tests load, the variable `JVMPI_TEST_WITHOUT` takes things
//! away: it has their names, with commas between them, or `all`.

use super::vm;
use log::Level;
use std::sync::atomic::{AtomicBool, Ordering};

/// Something that the shim leans on although nobody promises it.
pub struct Internal {
    name: &'static str,
    /// The first JDK to have it, for whose lack nobody is told before.
    since: u32,
    /// How important it is for people to know that it is missing.
    level: Level,
    /// What agents see without it.
    loss: &'static str,
    is_told: AtomicBool,
}

/// The oldest JDK that the shim runs on.
const OLDEST: u32 = 11;

macro_rules! internals {
    ($($constant:ident: $name:literal, since $since:expr, $level:ident, $loss:literal;)*) => {
        $(
            #[doc = concat!("`", $name, "`; without it ", $loss, ".")]
            pub static $constant: Internal = Internal {
                name: $name,
                since: $since,
                level: Level::$level,
                loss: $loss,
                is_told: AtomicBool::new(false),
            };
        )*
        #[cfg(test)]
        const ALL: &[&Internal] = &[$(&$constant),*];
    };
}

internals! {
    EETOP: "eetop", since OLDEST, Warn,
        "threads that only wait may miss in lists, dumps and traces";
    THREAD_STATE: "thread_state", since OLDEST, Info,
        "a sampler finds virtual threads too often where they leave their carriers";
    ASYNC_GET_CALL_TRACE: "AsyncGetCallTrace", since OLDEST, Warn,
        "call traces are of safepoint polls only";
    SLEEP: "JVM_Sleep", since OLDEST, Warn,
        "MONITOR_WAIT does not tell of Thread.sleep";
    WAIT: "JVM_MonitorWait", since OLDEST, Warn,
        "who was notified is not told to wait for the monitor again";
    PARK: "Unsafe.park", since OLDEST, Warn,
        "park=monitor has no effect";
    BOUND_FUNCTIONS: "native_function", since OLDEST, Warn,
        "after an attach, calls of native methods that are bound already are not told of";
    COUNTERS: "counters", since OLDEST, Info,
        "collections are counted by the VM's structures";
    STRUCTURES: "structures", since OLDEST, Info,
        "a collection is one of which something has died";
    LIVE_STACK_FRAME: "LiveStackFrame", since OLDEST, Warn,
        "METHOD_ENTRY2 of some constructors has no object";
    ENUM_CONSTANTS: "enumConstants", since OLDEST, Warn,
        "METHOD_ENTRY2 may make the first method handle of a program fail";
    THREAD_SNAPSHOT: "ThreadSnapshot", since 25, Warn,
        "MONITOR_DUMP misses what threads wait in";
    CARRIER_THREAD: "carrierThread", since 21, Warn,
        "a lock that a virtual thread owns has no owner in MONITOR_DUMP";
    TRANSITIONS: "transitions", since 21, Warn,
        "METHOD events of a virtual thread that is being mounted can make JVMTI wait for ever";
    THREAD_NUMBER: "tid", since OLDEST, Warn,
        "virtual=own does nothing";
    REDEFINED_COUNT: "classRedefinedCount", since OLDEST, Warn,
        "a method that another agent has replaced may have the lines of the old one";
    COMPONENT_TYPE: "componentType", since OLDEST, Info,
        "in a dump, an array of a class that is just being loaded has no element class";
    PROTECTION_DOMAIN: "protectionDomain", since OLDEST, Info,
        "OBJECT_DUMP of a class takes a walk through the heap";
    MUTEX_OWNER: "mutex", since OLDEST, Info,
        "a wait for a thread that waits for somebody's lock is given up sooner";
    MEMBARRIER: "membarrier", since OLDEST, Info,
        "each event takes some nanoseconds more";
    SIGNAL: "signal", since OLDEST, Warn,
        "call traces are of safepoint polls only";
}

impl Internal {
    /// What `look` finds of it, None if it is not there.
    pub fn find<T>(&self, look: impl FnOnce() -> Option<T>) -> Option<T> {
        let found = if self.is_taken_away() { None } else { look() };
        if found.is_none() {
            self.tell();
        }
        found
    }

    /// Whether `look` says that it is there.
    pub fn is_there(&self, look: impl FnOnce() -> bool) -> bool {
        self.find(|| look().then_some(())).is_some()
    }

    fn tell(&self) {
        let is_expected = self.since <= OLDEST || vm::get().feature_version() >= self.since;
        if is_expected && !self.is_told.swap(true, Ordering::Relaxed) {
            log::log!(self.level, "there is no {} here: {}", self.name, self.loss);
        }
    }

    #[cfg(debug_assertions)]
    fn is_taken_away(&self) -> bool {
        use std::sync::OnceLock;

        static NAMES: OnceLock<String> = OnceLock::new();
        let names = NAMES.get_or_init(|| std::env::var("JVMPI_TEST_WITHOUT").unwrap_or_default());
        names.split(',').any(|name| name == self.name || name == "all")
    }

    #[cfg(not(debug_assertions))]
    fn is_taken_away(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of the page begin with the names, each of a thing that can be missed.
    #[test]
    fn the_page_has_them_all() {
        let page = include_str!("../../../docs/internals.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| **")?.split("**").next());
        let names: Vec<_> = ALL.iter().map(|internal| internal.name).collect();
        assert_eq!(rows.collect::<Vec<_>>(), names);
    }

    #[test]
    fn what_is_there_is_found() {
        assert_eq!(MUTEX_OWNER.find(|| Some(1)), Some(1));
        assert!(!MUTEX_OWNER.is_there(|| false));
        assert!(MUTEX_OWNER.is_told.load(Ordering::Relaxed));
    }
}
