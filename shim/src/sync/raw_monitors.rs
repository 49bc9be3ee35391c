//! JVMPI raw monitors: recursive, with an owner, usable by every thread in every phase of the VM.
//!
//! JVMTI's raw monitors cannot be used before the VM has started, which is when agents create theirs. They
//! also do not show their owner, which a monitor dump needs.

use crate::records::numbered::AppendOnly;
use crate::records::thread;
use jni_sys::jint;
use jvm::lock::{Condition, Lock, Locked};
use jvm::platform::os_thread::os_thread;
use jvm::platform::sync::Instant;
use jvmpi_formats::dump::{Kind, Monitor};
use jvmpi_sys::*;
use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// The memory of a raw monitor. Slots are never freed, so every handle can be checked safely, even a
/// destroyed or an invalid one.
#[derive(Default)]
struct Slot {
    state: Lock<State>,
    /// Signalled when the monitor is free.
    free: Condition,
    /// Signalled when waiting threads are notified.
    notified: Condition,
}

#[derive(Default)]
struct State {
    /// Counts the monitors that have used the slot. A handle with another generation belongs to a destroyed
    /// monitor.
    generation: u32,
    /// None while the slot is vacant.
    name: Option<Arc<CStr>>,
    /// The OS thread that owns the monitor, 0 for none.
    owner: i32,
    /// The ID of its thread, like the next ones.
    owner_env: usize,
    entry_count: u32,
    entering: Vec<usize>,
    waiting: Vec<usize>,
    notifications: u64,
}

/// Returns the ID of the current thread as a monitor dump shows it; 0 for a thread that is hidden or not attached.
fn current_env() -> usize {
    let thread = thread::known_current().filter(|thread| !thread.is_hidden());
    thread.map_or(0, |thread| thread.env().addr())
}

static SLOTS: AppendOnly<Slot, 512, 2048> = AppendOnly::new();
static VACANT: Lock<Vec<usize>> = Lock::new(Vec::new());

/// The first bit of the generation in a handle. The numbers of a million slots fit below it. 32-bit pointers
/// leave 7 bits for the generation.
const GENERATION: u32 = if usize::BITS == 64 { 32 } else { 25 };
/// The bits of the slot's number.
const NUMBER: usize = (1 << GENERATION) - 1;

/// Returns the handle: the slot's number, counted from 1, times 16, with the generation above it.
fn handle(number: usize, generation: u32) -> JVMPI_RawMonitor {
    ptr::without_provenance_mut((generation as usize) << GENERATION | (number + 1) << 4)
}

/// Returns the slot's number of a valid handle.
fn number(handle: JVMPI_RawMonitor) -> usize {
    ((handle.addr() & NUMBER) >> 4) - 1
}

/// A raw monitor, live or destroyed.
#[derive(Clone, Copy)]
pub struct RawMonitor {
    place: &'static Slot,
    handle: JVMPI_RawMonitor,
}

/// Creates a monitor and copies the name. Returns NULL if a million monitors exist.
pub fn create(name: &CStr) -> JVMPI_RawMonitor {
    let number = VACANT.lock().pop().unwrap_or_else(|| SLOTS.reserve(1));
    let Some(place) = SLOTS.get(number) else { return ptr::null_mut() };
    let mut state = place.state.lock();
    state.generation = state.generation.wrapping_add(1);
    state.name = Some(Arc::from(CString::from(name).into_boxed_c_str()));
    handle(number, state.generation)
}

/// A raw monitor as a dump shows it.
pub struct Snapshot {
    pub monitor: Monitor,
    /// The name that [`Self::monitor`] points to.
    _name: Arc<CStr>,
}

/// Returns all monitors that are not destroyed.
pub fn all() -> Vec<Snapshot> {
    let numbers = 0..SLOTS.count();
    numbers.filter_map(|number| snapshot(number, &SLOTS.known(number)?.state.lock())).collect()
}

fn snapshot(number: usize, state: &State) -> Option<Snapshot> {
    let name = state.name.clone()?;
    let envs = |envs: &[usize]| envs.iter().copied().filter(|env| *env != 0).collect();
    let monitor = Monitor {
        kind: Kind::Raw {
            name: name.as_ptr().addr(),
            monitor: handle(number, state.generation).addr(),
        },
        owner: state.owner_env,
        entry_count: state.entry_count,
        waiting_to_enter: envs(&state.entering),
        waiting_to_be_notified: envs(&state.waiting),
    };
    Some(Snapshot { monitor, _name: name })
}

/// Returns the monitor of a handle; None for NULL and invalid handles. Every operation on a destroyed
/// monitor does nothing.
pub fn get(handle: JVMPI_RawMonitor) -> Option<RawMonitor> {
    let bits = handle.addr() & NUMBER;
    if bits == 0 || !bits.is_multiple_of(16) {
        return None;
    }
    Some(RawMonitor { place: SLOTS.known(number(handle))?, handle })
}

impl RawMonitor {
    /// Locks and returns the state. None if the monitor is destroyed.
    fn lock(&self) -> Option<Locked<'static, State>> {
        let state = self.place.state.lock();
        self.is_alive(&state).then_some(state)
    }

    fn is_alive(&self, state: &State) -> bool {
        state.name.is_some() && handle(number(self.handle), state.generation) == self.handle
    }

    pub fn handle(&self) -> JVMPI_RawMonitor {
        self.handle
    }

    pub fn name(&self) -> Option<Arc<CStr>> {
        self.lock()?.name.clone()
    }

    /// Enters the monitor, also if the thread owns it already. If the thread has to wait, `contended` is
    /// called with the types of the events before the wait and after the entry, with no lock held.
    pub fn enter(&self, contended: impl Fn(&Self, jint)) {
        let me = os_thread();
        let Some(mut state) = self.lock() else { return };
        if state.owner == me {
            state.entry_count += 1;
            return;
        }
        self.take_or_block(state, me, 1, contended);
    }

    /// Enters the monitor, and blocks first if another thread owns it.
    fn take_or_block(
        &self,
        mut state: Locked<'static, State>,
        me: i32,
        entry_count: u32,
        contended: impl Fn(&Self, jint),
    ) {
        if state.owner == 0 {
            state.take(me, entry_count);
            return;
        }
        drop(state);
        contended(self, JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER);
        if self.block(me, entry_count) {
            contended(self, JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED);
        }
    }

    /// Waits until the monitor is free and enters it. Returns false if it was destroyed meanwhile.
    fn block(&self, me: i32, entry_count: u32) -> bool {
        let Some(mut state) = self.lock() else { return false };
        let env = current_env();
        state.entering.push(env);
        let mut state = has_status(JVMPI_THREAD_MONITOR_WAIT, || {
            while state.owner != 0 && self.is_alive(&state) {
                state = self.place.free.wait(state);
            }
            state
        });
        remove(&mut state.entering, env);
        let alive = self.is_alive(&state);
        if alive {
            state.take(me, entry_count);
        }
        alive
    }

    /// Exits once. Does nothing if the thread does not own the monitor. If the monitor became free and
    /// others wait for it, `contended` is called with no lock held.
    pub fn exit(&self, contended: impl Fn(&Self, jint)) {
        let Some(mut state) = self.lock() else { return };
        if state.owner != os_thread() {
            return;
        }
        state.entry_count -= 1;
        if state.entry_count > 0 {
            return;
        }
        let others_wait = !state.entering.is_empty();
        self.release(state);
        if others_wait {
            contended(self, JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT);
        }
    }

    fn release(&self, mut state: Locked<'_, State>) {
        state.owner = 0;
        state.owner_env = 0;
        state.entry_count = 0;
        let wake = !state.entering.is_empty();
        drop(state);
        if wake {
            self.place.free.notify_one();
        }
    }

    /// Releases the monitor, waits for a notification or for `at_most` (None: no limit), and enters as often
    /// as before. Returns at once if the thread does not own the monitor.
    pub fn wait(&self, at_most: Option<Duration>, contended: impl Fn(&Self, jint)) {
        let me = os_thread();
        let Some(mut state) = self.lock() else { return };
        if state.owner != me {
            return;
        }
        let entry_count = state.entry_count;
        let notifications = state.notifications;
        let env = current_env();
        state.waiting.push(env);
        let others_wait = !state.entering.is_empty();
        self.release(state);
        if others_wait {
            contended(self, JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT);
        }

        let end = at_most.and_then(|time| Instant::now().checked_add(time));
        // The slot outlives the monitor. Destroying the monitor meanwhile only ends the wait, because
        // `destroy` notifies.
        let mut state = self.place.state.lock();
        state = has_status(JVMPI_THREAD_CONDVAR_WAIT, || {
            while state.notifications == notifications {
                let Some(end) = end else {
                    state = self.place.notified.wait(state);
                    continue;
                };
                let Some(left) = end.checked_duration_since(Instant::now()) else { break };
                state = self.place.notified.wait_for(state, left).0;
            }
            state
        });
        remove(&mut state.waiting, env);
        if self.is_alive(&state) {
            self.take_or_block(state, me, entry_count, contended);
        }
    }

    /// Notifies all waiting threads. Does nothing if the thread does not own the monitor.
    pub fn notify_all(&self) {
        let Some(mut state) = self.lock() else { return };
        if state.owner == os_thread() {
            state.notifications += 1;
            drop(state);
            self.place.notified.notify_all();
        }
    }

    /// Destroys the monitor. Wakes all threads that wait for it or to enter it.
    pub fn destroy(&self) {
        let Some(mut state) = self.lock() else { return };
        state.name = None;
        state.notifications += 1;
        state.entry_count = 0;
        state.owner_env = 0;
        state.owner = 0;
        drop(state);
        self.place.notified.notify_all();
        self.place.free.notify_all();
        VACANT.lock().push(number(self.handle));
    }
}

/// Calls `wait`, during which the current thread has this status.
fn has_status<R>(status: jint, wait: impl FnOnce() -> R) -> R {
    match thread::known_current() {
        Some(thread) => thread.at_raw_monitor(status, wait),
        None => wait(),
    }
}

impl State {
    fn take(&mut self, owner: i32, entry_count: u32) {
        self.owner = owner;
        self.owner_env = current_env();
        self.entry_count = entry_count;
    }
}

fn remove(envs: &mut Vec<usize>, env: usize) {
    if let Some(position) = envs.iter().position(|other| *other == env) {
        envs.swap_remove(position);
    }
}
