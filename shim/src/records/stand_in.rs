//! The thread in whose name another thread delivers GC events, and its clock meanwhile.

use super::agents::{Agent, MAX_AGENTS};
use super::on_drop::OnDrop;
use jni_sys::JNIEnv;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering};

/// The state of a thread that delivers GC events, or in whose name another one does.
pub struct StandIn {
    /// On a hidden thread, the environment that events for agents name.
    env: AtomicPtr<JNIEnv>,
    /// The time that the thread's clock shows to the agent that gets the GC events, else [`NO_TIME`].
    clock: AtomicI64,
    /// The nanoseconds of the collections that were delivered in the thread's name, by agent.
    collections: [AtomicI64; MAX_AGENTS],
}

/// A value that no clock shows.
const NO_TIME: i64 = i64::MIN;

impl Default for StandIn {
    fn default() -> Self {
        Self {
            env: AtomicPtr::new(ptr::null_mut()),
            clock: AtomicI64::new(NO_TIME),
            collections: Default::default(),
        }
    }
}

impl StandIn {
    /// Runs `work` while the thread stands for the thread with this environment, whose clock shows this time.
    pub fn standing_for<R>(
        &self,
        env: *mut JNIEnv,
        time: Option<i64>,
        work: impl FnOnce() -> R,
    ) -> R {
        let outer = self.env.swap(env, Ordering::Relaxed);
        let outer_time = self.clock.swap(time.unwrap_or(NO_TIME), Ordering::Relaxed);
        let _after = OnDrop(|| {
            self.env.store(outer, Ordering::Relaxed);
            self.clock.store(outer_time, Ordering::Relaxed);
        });
        work()
    }

    /// Returns the environment of the thread for which it stands, NULL if there is none.
    pub fn env(&self) -> *mut JNIEnv {
        self.env.load(Ordering::Relaxed)
    }

    /// Returns the time of the clock while the thread delivers GC events to an agent.
    pub fn clock(&self) -> Option<i64> {
        Some(self.clock.load(Ordering::Relaxed)).filter(|time| *time != NO_TIME)
    }

    /// Returns the nanoseconds of the collections that the agent has got in the thread's name.
    pub fn time_of_collections(&self, agent: &Agent) -> i64 {
        self.collections[agent.index].load(Ordering::Relaxed)
    }

    /// Adds the nanoseconds of a collection that the agent gets in the thread's name.
    pub fn add_collection(&self, agent: &Agent, nanos: i64) {
        self.collections[agent.index].fetch_add(nanos, Ordering::Relaxed);
    }
}
