//! The thread in whose name another one tells agents of a collection, and its clock meanwhile.

use super::agents::{Agent, MAX_AGENTS};
use super::on_drop::OnDrop;
use jni_sys::JNIEnv;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering};

/// What a thread keeps for the collections that it tells agents of, or that they are told of in its name.
pub struct StandIn {
    /// On a hidden thread, the environment that events for agents name.
    env: AtomicPtr<JNIEnv>,
    /// What the thread's clock shows to the agent that it tells of a collection, else [`NO_TIME`].
    clock: AtomicI64,
    /// Nanoseconds of the collections that agents were told of in the thread's name.
    collections: [AtomicI64; MAX_AGENTS],
}

/// No clock shows this.
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
    /// Runs `work`, in which the thread stands for the one with this environment, whose clock shows this time.
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

    /// Returns what the clock shows while the thread tells an agent of a collection.
    pub fn clock(&self) -> Option<i64> {
        Some(self.clock.load(Ordering::Relaxed)).filter(|time| *time != NO_TIME)
    }

    /// Returns the nanoseconds of the collections that the agent was told of in the thread's name.
    pub fn time_of_collections(&self, agent: &Agent) -> i64 {
        self.collections[agent.index].load(Ordering::Relaxed)
    }

    /// Adds the nanoseconds of a collection that the agent is told of in the thread's name.
    pub fn add_collection(&self, agent: &Agent, nanos: i64) {
        self.collections[agent.index].fetch_add(nanos, Ordering::Relaxed);
    }
}
