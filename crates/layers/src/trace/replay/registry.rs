//! Structures that agents get pointers to: environments of threads, and raw monitors.

use super::jni::{FUNCTIONS, Functions};
use crate::trace::shared::lock;
use jni_sys::JNIEnv;
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Structures of one type. They are never freed.
pub struct Registry<T: 'static>(Mutex<Maps<T>>);

struct Maps<T: 'static> {
    by_address: HashMap<u64, &'static T>,
    by_recorded: HashMap<u64, &'static T>,
}

impl<T> Registry<T> {
    pub fn new() -> Self {
        Self(Mutex::new(Maps { by_address: HashMap::new(), by_recorded: HashMap::new() }))
    }

    /// Adds a structure, in the place of the one at this address of the recording if that is known.
    pub fn add(&self, recorded: Option<u64>, item: T) -> &'static T {
        let mut maps = lock(&self.0);
        let item: &T = Box::leak(Box::new(item));
        maps.by_address.insert(ptr::from_ref(item).expose_provenance() as u64, item);
        maps.by_recorded.extend(recorded.map(|recorded| (recorded, item)));
        item
    }

    /// Returns the structure that stands for the recorded one, if there is one.
    pub fn of(&self, recorded: u64) -> Option<&'static T> {
        lock(&self.0).by_recorded.get(&recorded).copied()
    }

    /// Returns the structure at an address that an agent passes, if there is one.
    pub fn get(&self, address: u64) -> Option<&'static T> {
        lock(&self.0).by_address.get(&address).copied()
    }
}

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

impl Registry<Env> {
    /// Returns the environment that stands for a recorded one, which is not NULL.
    pub fn env(&self, recorded: u64) -> &'static Env {
        self.of(recorded).unwrap_or_else(|| {
            let env = Env { functions: &FUNCTIONS, recorded, storage: AtomicPtr::default() };
            self.add(Some(recorded), env)
        })
    }
}
