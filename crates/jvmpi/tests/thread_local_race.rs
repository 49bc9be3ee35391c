//! Threads end while other threads read their data. `cargo xtask race` runs this under ThreadSanitizer.

#[macro_use]
mod fake_vm;

use jvmpi::sys::jni_sys::JNI_OK;
use jvmpi::sys::*;
use jvmpi::*;
use std::sync::atomic::{AtomicU64, Ordering};

static MADE: AtomicU64 = AtomicU64::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);
static SEEN: AtomicU64 = AtomicU64::new(0);

/// On the heap, so that a sanitizer detects use after free.
struct Data(Box<u64>);

impl Data {
    fn new(number: usize) -> Self {
        MADE.fetch_add(1, Ordering::Relaxed);
        Self(Box::new(number as u64))
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        *self.0 = 0;
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

struct Looker(ThreadLocal<Data>);

impl Agent for Looker {
    fn load(jvmpi: &mut OnLoad, _: &str) -> Result<Self, LoadError> {
        Ok(Self(ThreadLocal::new(jvmpi)?))
    }

    fn method_entry(&self, jvmpi: &mut MultiThreaded<'_>, _: MethodId) {
        let number = jvmpi.thread().as_usize();
        let data = self.0.get_or_init(jvmpi, || Data::new(number)).expect("the event has a thread");
        assert_eq!(*data.0, number as u64);
    }

    fn monitor_wait(&self, jvmpi: &mut GcDisabled<'_>, _: MonitorWait) {
        for number in (1..=THREADS).map(|thread| thread * 16) {
            let thread = ThreadId::from_usize(number).expect("it is not 0");
            if let Some(data) = self.0.of(jvmpi, thread) {
                // Gives the other threads time to end.
                std::thread::yield_now();
                assert_eq!(*data.0, number as u64, "the data was dropped");
                SEEN.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

const THREADS: usize = 4;
const LIVES: usize = 5_000;

#[test]
fn no_thread_reads_dropped_data() {
    let vm = fake_vm::vm(JVMPI_VERSION_1_2);
    assert_eq!(load!(Looker, vm, c"".as_ptr()), JNI_OK);
    _ = fake_vm::calls();
    std::thread::scope(|scope| {
        for thread in 1..=THREADS {
            scope.spawn(move || {
                for _ in 0..LIVES {
                    fake_vm::send(JVMPI_EVENT_METHOD_ENTRY, thread * 16);
                    fake_vm::send(JVMPI_EVENT_MONITOR_WAIT, thread * 16);
                    fake_vm::send(JVMPI_EVENT_THREAD_END, thread * 16);
                }
            });
        }
    });
    // The end of one more thread drops the data that was in use when its thread ended.
    fake_vm::send(JVMPI_EVENT_METHOD_ENTRY, 16);
    fake_vm::send(JVMPI_EVENT_THREAD_END, 16);
    let [made, dropped, seen] = [&MADE, &DROPPED, &SEEN].map(|n| n.load(Ordering::Relaxed));
    assert_eq!(made, (THREADS * LIVES + 1) as u64);
    assert_eq!(dropped, made);
    assert!(seen >= made - 1, "each thread sees its own data");
    // A failed assertion in a method would have disabled its event.
    assert_eq!(fake_vm::calls(), []);
}
