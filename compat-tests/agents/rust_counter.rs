//! counter.c in Rust: counts METHOD_ENTRY and METHOD_EXIT as cheaply as it can be done.
//!
//! Options: `vm` keeps what a thread has counted in the place that the VM has for its data, `rust` in a
//! thread-local variable.

use jvmpi::*;
use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

export_agent!(Counter);

struct Counter {
    in_vm: bool,
    own: ThreadLocal<&'static Counts>,
    all: Mutex<Vec<&'static Counts>>,
}

/// Of one thread, so that no two threads write to the same place.
#[derive(Default)]
#[repr(align(128))]
struct Counts {
    entries: AtomicU64,
    exits: AtomicU64,
}

thread_local!(static MINE: Cell<Option<&'static Counts>> = const { Cell::new(None) });

/// Adds one as cheaply as C does: no other thread adds.
fn increase(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

impl Counter {
    #[inline]
    fn counts(&self, jvmpi: &MultiThreaded<'_>) -> &'static Counts {
        if self.in_vm {
            return self
                .own
                .get_or_init(jvmpi, || self.new_counts())
                .expect("it is a thread's event");
        }
        MINE.get().unwrap_or_else(|| {
            let counts = self.new_counts();
            MINE.set(Some(counts));
            counts
        })
    }

    #[cold]
    fn new_counts(&self) -> &'static Counts {
        let counts: &Counts = Box::leak(Box::default());
        self.all.lock().unwrap().push(counts);
        counts
    }
}

impl Agent for Counter {
    fn load(jvmpi: &mut OnLoad, options: &str) -> Result<Self, LoadError> {
        jvmpi.enable_all([EventType::MethodEntry, EventType::MethodExit, EventType::JvmShutDown]);
        let in_vm = match options {
            "vm" => true,
            "rust" => false,
            _ => return Err("the option is vm or rust".into()),
        };
        Ok(Self { in_vm, own: ThreadLocal::new(jvmpi)?, all: Mutex::default() })
    }

    fn method_entry(&self, jvmpi: &mut MultiThreaded<'_>, _: MethodId) {
        increase(&self.counts(jvmpi).entries);
    }

    fn method_exit(&self, jvmpi: &mut MultiThreaded<'_>, _: MethodId) {
        increase(&self.counts(jvmpi).exits);
    }

    fn jvm_shut_down(&self, _: &mut MultiThreaded<'_>) {
        let all = self.all.lock().unwrap();
        let sum = |count: fn(&Counts) -> &AtomicU64| -> u64 {
            all.iter().map(|counts| count(counts).load(Ordering::Relaxed)).sum()
        };
        let (entries, exits) = (sum(|counts| &counts.entries), sum(|counts| &counts.exits));
        if let Ok(path) = std::env::var("JVMPI_TEST_REPORT") {
            let file = OpenOptions::new().create(true).append(true).open(path);
            let lines = format!("events type=1 count={entries}\nevents type=3 count={exits}\n");
            file.and_then(|mut file| file.write_all(lines.as_bytes()))
                .expect("a report is written");
        }
    }
}
