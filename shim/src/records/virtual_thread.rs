//! Virtual threads as threads of their own (setting `virtual=own`).

use crate::jvm::virtual_env::VirtualEnv;
use jni_sys::JNIEnv;
use std::sync::OnceLock;

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
}

impl VirtualThread {
    pub fn new(number: i64) -> Self {
        Self { number, env: VirtualEnv::new() }
    }

    pub fn number(&self) -> i64 {
        self.number
    }

    pub fn env(&self) -> *mut JNIEnv {
        self.env.env()
    }

    /// It runs on the carrier with this environment.
    pub fn mount(&self, env: *mut JNIEnv) {
        self.env.set_carrier(env);
    }
}
