//! The state of a replay that all its threads share.

use super::known::Known;
use super::monitors::Monitor;
use super::registry::{Env, Registry};
use super::turns::Turns;
use crate::trace::read::Trace;
use crate::trace::shared::lock;
use jni_sys::jint;
use jvmpi_sys::{JVMPI_Event, JVMPI_Interface};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// A function of a thread that the agent creates.
pub type ThreadFunction = unsafe extern "C" fn(*mut c_void);

/// A replay.
pub struct Replay {
    pub trace: Trace,
    pub turns: Turns,
    pub envs: Registry<Env>,
    pub monitors: Registry<Monitor>,
    /// The events that the agent has enabled, as bits.
    pub enabled: AtomicU64,
    pub delivered: [AtomicU64; 64],
    notes: Mutex<BTreeMap<String, u64>>,
    known: Mutex<Known>,
    /// The functions that the agent has passed to CreateSystemThread, in order.
    pub functions: Mutex<Vec<ThreadFunction>>,
    /// The table that the agent gets, into which it writes its handler.
    pub table: AtomicPtr<JVMPI_Interface>,
}

impl Replay {
    /// Returns the replay of a recording, and the place of the thread that begins. `start` starts the thread with this
    /// place.
    pub fn new(mut trace: Trace, start: fn(usize)) -> (Self, usize) {
        trace.have_a_thread();
        let keys: Vec<_> = trace.threads().iter().map(|thread| thread.first()).collect();
        let first = (0..keys.len()).min_by_key(|thread| keys[*thread]).unwrap_or(0);
        let replay = Self {
            turns: Turns::new(&keys, first, start),
            trace,
            envs: Registry::new(),
            monitors: Registry::new(),
            enabled: AtomicU64::new(0),
            delivered: [const { AtomicU64::new(0) }; 64],
            notes: Mutex::default(),
            known: Mutex::default(),
            functions: Mutex::default(),
            table: AtomicPtr::new(ptr::null_mut()),
        };
        (replay, first)
    }

    /// Takes note of something that is not as it was recorded.
    pub fn note(&self, what: impl Into<String>) {
        *lock(&self.notes).entry(what.into()).or_default() += 1;
    }

    /// Returns the notes with their counts.
    pub fn notes(&self) -> BTreeMap<String, u64> {
        lock(&self.notes).clone()
    }

    /// Returns the classes, threads and machine code that were announced.
    pub fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    /// Returns true if the agent has enabled events of this type.
    #[inline]
    pub fn wants(&self, event_type: jint) -> bool {
        self.enabled.load(Ordering::Relaxed) & (1 << event_type) != 0
    }

    /// Counts an event that the agent gets. Only the thread that has its turn calls this.
    #[inline]
    pub fn count(&self, event_type: jint) {
        let count = &self.delivered[event_type as usize];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Returns the agent's handler.
    #[inline]
    pub fn handler(&self) -> Option<unsafe extern "C" fn(*mut JVMPI_Event)> {
        let table = self.table.load(Ordering::Relaxed);
        if table.is_null() {
            return None;
        }
        // SAFETY: the table lives for ever; the agent may write the pointer at any time, as a whole.
        unsafe { ptr::addr_of!((*table).NotifyEvent).read_volatile() }
    }
}
