//! Virtual threads as threads of their own (setting `virtual=own`).

use crate::jvm::virtual_env::VirtualEnv;
use jni_sys::JNIEnv;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

static ARE_THREADS: OnceLock<()> = OnceLock::new();

/// Whether each virtual thread is a thread of its own.
#[inline]
pub fn are_threads() -> bool {
    ARE_THREADS.get().is_some()
}

/// From now on the VM tells which virtual thread runs where.
pub fn make_threads() {
    let _ = ARE_THREADS.set(());
}

/// What only a virtual thread has.
pub struct VirtualThread {
    /// The number that `java.lang.Thread` gives it.
    number: i64,
    env: VirtualEnv,
    /// The CPU time that it has consumed on the carriers that it has left; on one, less the time that this
    /// had consumed before.
    consumed: AtomicI64,
}

impl VirtualThread {
    pub(super) fn new(number: i64) -> Self {
        Self { number, env: VirtualEnv::new(), consumed: AtomicI64::new(0) }
    }

    pub(super) fn number(&self) -> i64 {
        self.number
    }

    pub(super) fn env(&self) -> *mut JNIEnv {
        self.env.env()
    }

    /// It runs on the carrier with this environment, which has consumed so much CPU time.
    pub(super) fn mount(&self, env: *mut JNIEnv, clock: i64) {
        self.env.set_carrier(env);
        self.consumed.fetch_sub(clock, Ordering::Relaxed);
    }

    /// It leaves its carrier, which has consumed so much CPU time.
    pub(super) fn unmount(&self, clock: i64) {
        self.consumed.fetch_add(clock, Ordering::Relaxed);
    }

    /// Its CPU time, given that of the carrier that it is on; 0 if it is on none.
    pub(super) fn cpu_time(&self, carrier: impl Fn() -> i64) -> i64 {
        loop {
            let consumed = self.consumed.load(Ordering::SeqCst);
            let time = consumed + carrier();
            // Else it has come to a carrier or left one meanwhile.
            if self.consumed.load(Ordering::SeqCst) == consumed {
                return time;
            }
        }
    }
}
