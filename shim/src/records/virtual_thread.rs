//! Virtual threads as threads of their own (setting `virtual=own`).

use jni_sys::JNIEnv;
use jvm::virtual_env::VirtualEnv;
use std::sync::OnceLock;

static ARE_THREADS: OnceLock<()> = OnceLock::new();

/// Returns true if each virtual thread is a thread of its own.
#[inline]
pub fn are_threads() -> bool {
    ARE_THREADS.get().is_some()
}

/// Makes each virtual thread a thread of its own. From now on the VM reports their mounting.
pub fn make_threads() {
    let _ = ARE_THREADS.set(());
}

/// The state that only a virtual thread has.
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

    /// Records that the thread runs on the carrier with this environment.
    pub fn mount(&self, env: *mut JNIEnv) {
        self.env.set_carrier(env);
    }
}
