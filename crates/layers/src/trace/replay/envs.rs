//! The environments of threads.

use super::jni::{FUNCTIONS, Functions};
use super::slab::Slab;
use jni_sys::JNIEnv;
use std::collections::HashMap;
use std::ffi::c_void;
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// A thread's environment, for one of the recording. It begins as a `JNIEnv` does.
#[repr(C)]
pub struct Env {
    functions: &'static Functions,
    /// The one that was recorded.
    pub recorded: u64,
    storage: AtomicPtr<c_void>,
}

impl Env {
    pub fn pointer(&'static self) -> *mut JNIEnv {
        ptr::from_ref(self).cast_mut().cast()
    }

    /// GetThreadLocalStorage.
    pub fn storage(&self) -> *mut c_void {
        self.storage.load(Ordering::Relaxed)
    }

    /// SetThreadLocalStorage.
    pub fn set_storage(&self, value: *mut c_void) {
        self.storage.store(value, Ordering::Relaxed);
    }
}

/// All environments.
pub struct Envs {
    all: Slab<Env>,
    by_recorded: Mutex<HashMap<u64, &'static Env>>,
}

impl Envs {
    pub fn new() -> Self {
        Self { all: Slab::new(), by_recorded: Mutex::default() }
    }

    /// Returns the environment that stands for a recorded one, which is not NULL.
    pub fn of(&'static self, recorded: u64) -> &'static Env {
        let mut by_recorded = self.by_recorded.lock().unwrap_or_else(PoisonError::into_inner);
        by_recorded.entry(recorded).or_insert_with(|| {
            let env = Env { functions: &FUNCTIONS, recorded, storage: AtomicPtr::default() };
            self.all.add(env).unwrap_or_else(|| {
                eprintln!(
                    "jvmpi: error: the recording names more threads than the replay can distinguish"
                );
                process::exit(1);
            })
        })
    }

    /// Returns the environment that an agent passes, if it is one of the replay.
    #[inline]
    pub fn get(&'static self, env: *mut JNIEnv) -> Option<&'static Env> {
        self.all.get(env.addr() as u64)
    }
}
