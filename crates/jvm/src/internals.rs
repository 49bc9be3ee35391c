//! The JVM and system internals that the shim relies on although no specification guarantees them, each under a name
//! (docs/explanation/internals.md). If one is missing, agents get less, and a log line says what they lose.
//!
//! In builds with debug assertions, which the tests load, the environment variable `JVMPI_TEST_WITHOUT` makes
//! internals unavailable: it contains their names, separated by commas, or `all`.

use super::vm;
use log::Level;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// An internal that the shim relies on.
pub struct Internal {
    name: &'static str,
    /// The first JDK that has it; nothing is logged on older ones.
    since: u32,
    /// The log level of the line about a missing internal.
    level: Level,
    /// The consequence for agents if it is missing.
    loss: &'static str,
    is_logged: AtomicBool,
    /// The result of the last search, as a [`Found`].
    found: AtomicU8,
}

/// The result of a search for an internal.
#[repr(u8)]
enum Found {
    /// There was none: the value of a new [`Internal`].
    NotTried,
    Yes,
    No,
}

/// The oldest JDK that the shim supports.
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
                is_logged: AtomicBool::new(false),
                found: AtomicU8::new(Found::NotTried as u8),
            };
        )*
        const ALL: &[&Internal] = &[$(&$constant),*];
    };
}

internals! {
    EETOP: "eetop", since OLDEST, Warn,
        "threads that only wait may miss in lists, dumps and traces";
    THREAD_STATE: "thread_state", since OLDEST, Info,
        "a sampler finds virtual threads too often where they leave their carriers";
    VM_OPTIONS: "Arguments", since OLDEST, Info,
        "the JVM reports a library of -Xrun that is no agent, and 25 crashes on it";
    ASYNC_GET_CALL_TRACE: "AsyncGetCallTrace", since OLDEST, Warn,
        "call traces show safepoint polls only";
    SLEEP: "JVM_Sleep", since OLDEST, Warn,
        "MONITOR_WAIT is not sent for Thread.sleep";
    WAIT: "JVM_MonitorWait", since OLDEST, Warn,
        "a notified thread is not reported as waiting for the monitor again";
    HOLDS_LOCK: "JVM_HoldsLock", since OLDEST, Info,
        "a wait for a monitor that the thread does not own is reported too";
    PARK: "Unsafe.park", since OLDEST, Warn,
        "park=monitor has no effect";
    BOUND_FUNCTIONS: "native_function", since OLDEST, Warn,
        "after an attach, calls of native methods that are already bound are not reported";
    COLLECTOR: "collector", since OLDEST, Info,
        "METHOD_ENTRY2 takes 30 to 50 ns more";
    LIVE_STACK_FRAME: "LiveStackFrame", since OLDEST, Warn,
        "METHOD_ENTRY2 of some constructors has no object";
    ENUM_CONSTANTS: "enumConstants", since OLDEST, Warn,
        "METHOD_ENTRY2 may break the first method handle of a program";
    THREAD_SNAPSHOT: "ThreadSnapshot", since 25, Warn,
        "MONITOR_DUMP does not show the monitors that threads wait in";
    CARRIER_THREAD: "carrierThread", since 21, Warn,
        "MONITOR_DUMP shows no owner for a lock that a virtual thread owns";
    TRANSITIONS: "transitions", since 21, Warn,
        "METHOD events of a virtual thread that is being mounted can make JVMTI hang";
    THREAD_NUMBER: "tid", since OLDEST, Warn,
        "virtual=own has no effect";
    REDEFINED_COUNT: "classRedefinedCount", since OLDEST, Warn,
        "a method that another agent has redefined may show the line numbers of its old version";
    COMPONENT_TYPE: "componentType", since OLDEST, Info,
        "in a dump, an array whose element class is being loaded has no element class";
    PROTECTION_DOMAIN: "protectionDomain", since OLDEST, Info,
        "OBJECT_DUMP of a class needs a walk through the heap";
    MEMBARRIER: "membarrier", since OLDEST, Info,
        "each event takes a few nanoseconds longer";
    SIGNAL: "signal", since OLDEST, Warn,
        "call traces show safepoint polls only";
}

impl Internal {
    /// Returns the result of `look`. If it is `None`, logs that the internal is missing.
    pub fn find<T>(&self, look: impl FnOnce() -> Option<T>) -> Option<T> {
        let found = if self.is_taken_away() { None } else { look() };
        let result = if found.is_some() { Found::Yes } else { Found::No };
        self.found.store(result as u8, Ordering::Relaxed);
        if found.is_none() {
            self.tell();
        }
        found
    }

    /// Returns the result of `look`. If it is false, logs that the internal is missing.
    pub fn is_there(&self, look: impl FnOnce() -> bool) -> bool {
        self.find(|| look().then_some(())).is_some()
    }

    /// Returns false on JDKs that are too old for this internal.
    fn is_expected(&self) -> bool {
        self.since <= OLDEST || vm::get().feature_version() >= self.since
    }

    fn tell(&self) {
        if self.is_expected() && !self.is_logged.swap(true, Ordering::Relaxed) {
            log::log!(self.level, "cannot find {}: {}", self.name, self.loss);
        }
    }

    fn is_taken_away(&self) -> bool {
        static NAMES: LazyLock<String> =
            LazyLock::new(|| std::env::var("JVMPI_TEST_WITHOUT").unwrap_or_default());
        cfg!(debug_assertions) && NAMES.split(',').any(|name| name == self.name || name == "all")
    }
}

/// Logs the result of the search for each internal, for `selftest=on`. `jvmpi doctor` reads these lines.
pub fn log_results() {
    for internal in ALL.iter().filter(|internal| internal.is_expected()) {
        let (name, loss) = (internal.name, internal.loss);
        match internal.found.load(Ordering::Relaxed) {
            found if found == Found::Yes as u8 => log::info!("internal {name}: works"),
            found if found == Found::No as u8 => log::info!("internal {name}: missing: {loss}"),
            // It depends on one that is missing.
            _ => log::info!("internal {name}: not tested: {loss}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of the page that begin with a name are the internals that can be missing.
    #[test]
    fn documentation_lists_all_internals() {
        let page = include_str!("../../../docs/explanation/internals.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| **")?.split("**").next());
        let names: Vec<_> = ALL.iter().map(|internal| internal.name).collect();
        assert_eq!(rows.collect::<Vec<_>>(), names);
    }
}
