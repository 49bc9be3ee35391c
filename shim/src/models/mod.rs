//! Models: small programs of a few threads that run the shim's own code, without a JVM, with thousands of schedules
//! each.
//!
//! They are unit tests that are built with the feature `model`; `cargo xtask models` runs them. What the threads run on
//! is `platform::model`, whose page says what of the memory and the scheduler is modeled. Each model says which mutations
//! of the code make it fail.

mod announcements;
mod gate;
mod locks;

use crate::gc;
use crate::records::phase;
use crate::sync::raw_monitors::{self, RawMonitor};
use crate::threads::{self, Thread};
use jvm::platform::model::machine;
use jvm::platform::sync::{Mutex, MutexGuard};
use shuttle::thread::JoinHandle;
use std::ptr;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::SeqCst;

/// Runs `run` as a thread that is known by this number.
fn spawn(number: usize, run: impl FnOnce(&Thread) + Send + 'static) -> JoinHandle<()> {
    machine::spawn(move || {
        let thread = threads::adopt_for_test(0x1000 * (number + 1));
        run(&thread);
        threads::ended(&thread);
    })
}

/// Returns what the threads of a model share. It is never freed.
fn shared<T: Default>() -> &'static T {
    Box::leak(Box::default())
}

/// Runs the threads of a model after the kernel has registered the process for its barrier.
fn check(rounds: usize, model: impl Fn() -> Vec<JoinHandle<()>> + Send + Sync + 'static) {
    machine::check(rounds, move || {
        gc::gate::barrier_of_all_threads();
        assert!(gc::gate::has_epochs());
        model().into_iter().for_each(machine::join);
        assert!(phase::is_open(phase::epoch()), "the gate stays closed");
    });
}

/// Returns a new raw monitor, by the address that is its handle.
fn new_monitor() -> usize {
    raw_monitors::create(c"model").addr()
}

fn monitor(handle: usize) -> RawMonitor {
    raw_monitors::get(ptr::without_provenance_mut(handle)).expect("it was created")
}

/// A lock of an agent.
#[derive(Default)]
struct AgentLock {
    mutex: Mutex<()>,
    owner: AtomicI32,
}

/// The right of the owner of an [`AgentLock`].
struct AgentLocked<'a> {
    owner: &'a AtomicI32,
    _guard: MutexGuard<'a, ()>,
}

impl AgentLock {
    fn lock(&self) -> AgentLocked<'_> {
        let guard = self.mutex.lock().expect("a failed thread ends the model");
        self.owner.store(machine::number(), SeqCst);
        AgentLocked { owner: &self.owner, _guard: guard }
    }

    /// Returns true if the thread with this number owns the lock.
    fn is_owned_by(&self, os_thread: i32) -> bool {
        self.owner.load(SeqCst) == os_thread
    }
}

impl Drop for AgentLocked<'_> {
    fn drop(&mut self) {
        self.owner.store(0, SeqCst);
    }
}
