//! Finds slow method calls and prints their methods when the program ends.
//!
//! ```text
//! java -agentpath:libjvmpi.so=./libslow_methods.so:ms=50 Main
//! ```
//!
//! The option `ms` sets the duration in milliseconds from which on a call is slow (default 100). Durations are
//! wall-clock time, so time spent waiting counts. Methods are sorted by their longest call:
//!
//! ```text
//! slow_methods: 2 methods had calls of 50 ms and more
//!   longest    calls  method
//!    812 ms        1  Main.main
//!    203 ms        4  Main.query
//! ```
//!
//! Each thread keeps a stack of its open calls in thread-local storage. Only a slow call takes a lock.

use jvmpi::*;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// The slow calls of a method.
#[derive(Clone, Copy, Default)]
struct Slow {
    calls: u64,
    longest: Duration,
}

struct SlowMethods {
    limit: Duration,
    /// The open calls of each thread, with the time of entry.
    open: ThreadLocal<RefCell<Vec<(MethodId, Instant)>>>,
    /// The slow methods by name, because unloading a class invalidates the IDs of its methods.
    slow: RawMonitor<RefCell<HashMap<String, Slow>>>,
    names: RawMonitor<RefCell<HashMap<MethodId, String>>>,
}

impl Agent for SlowMethods {
    fn load(jvmpi: &mut OnLoad, options: &str) -> Result<Self, LoadError> {
        let ms = match options.split_once('=') {
            None if options.is_empty() => 100,
            Some(("ms", number)) => {
                number.parse().map_err(|_| format!("ms must be a number, not {number:?}"))?
            }
            _ => return Err(format!("unknown option {options:?}; use ms=NUMBER").into()),
        };
        jvmpi.enable_all([EventType::ClassLoad, EventType::JvmShutDown]);
        jvmpi.enable_all([EventType::MethodEntry, EventType::MethodExit]);
        Ok(Self {
            limit: Duration::from_millis(ms),
            open: ThreadLocal::new(jvmpi)?,
            slow: RawMonitor::new(jvmpi, c"_slow", RefCell::default()),
            names: RawMonitor::new(jvmpi, c"_names", RefCell::default()),
        })
    }

    fn class_load(&self, jvmpi: &mut GcDisabled<'_>, class: ClassLoad<'_>) {
        let names = self.names.enter(jvmpi);
        let named =
            |method: Method<'_>| (method.id(), format!("{}.{}", class.name(), method.name()));
        names.borrow_mut().extend(class.methods().map(named));
    }

    fn method_entry(&self, jvmpi: &mut MultiThreaded<'_>, method: MethodId) {
        if let Some(open) = self.open.get_or_init(jvmpi, RefCell::default) {
            open.borrow_mut().push((method, Instant::now()));
        }
    }

    fn method_exit(&self, jvmpi: &mut MultiThreaded<'_>, method: MethodId) {
        let Some(open) = self.open.get(jvmpi) else { return };
        // Each exit has an entry, except for methods that were entered before the agent was loaded.
        let Some((_, entered)) = open.borrow_mut().pop_if(|(entered, _)| *entered == method) else {
            return;
        };
        let took = entered.elapsed();
        if took >= self.limit {
            let name = self.names.enter(jvmpi).borrow().get(&method).cloned();
            let slow = self.slow.enter(jvmpi);
            let mut slow = slow.borrow_mut();
            let slow = slow.entry(name.unwrap_or_default()).or_default();
            slow.calls += 1;
            slow.longest = slow.longest.max(took);
        }
    }

    fn jvm_shut_down(&self, jvmpi: &mut MultiThreaded<'_>) {
        let slow = self.slow.enter(jvmpi);
        let slow = slow.borrow();
        let mut slow: Vec<_> = slow.iter().collect();
        slow.sort_by_key(|(name, slow)| (Reverse(slow.longest), *name));
        // A failed write to stderr cannot be reported anywhere.
        let _ = print(&slow, self.limit);
    }
}

fn print(slow: &[(&String, &Slow)], limit: Duration) -> Result<(), io::Error> {
    let mut out = io::stderr().lock();
    let (methods, ms) = (slow.len(), limit.as_millis());
    writeln!(out, "slow_methods: {methods} methods had calls of {ms} ms and more")?;
    writeln!(out, "  longest    calls  method")?;
    for (name, Slow { calls, longest }) in slow {
        writeln!(out, "{:>6} ms {calls:>8}  {name}", longest.as_millis())?;
    }
    Ok(())
}

export_agent!(SlowMethods);
