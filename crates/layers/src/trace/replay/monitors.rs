//! Raw monitors.

use super::slab::Slab;
use crate::trace::replay::Replay;
use crate::trace::replay::player::{Blocked, Player};
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

thread_local! {
    /// A number for each thread.
    static THREAD: u64 = {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
}

/// The current thread waits no more.
fn forget_current(threads: &mut Vec<usize>) {
    let me = Player::current_number();
    threads.retain(|thread| Some(*thread) != me);
}

/// A raw monitor.
pub struct Monitor {
    /// Its name, which lives for ever: dumps and events point to it.
    pub name: &'static CStr,
    state: Mutex<State>,
    /// Notified when a thread has left it.
    left: Condvar,
    /// Notified when a thread has called RawMonitorNotifyAll.
    notified: Condvar,
}

#[derive(Default)]
struct State {
    /// The thread that has entered, 0 for none, and how often.
    owner: u64,
    count: u32,
    /// The number of times it was notified.
    notifications: u64,
    /// The threads of the recording that wait to enter, and those that wait to be notified.
    entering: Vec<usize>,
    waiting: Vec<usize>,
}

impl State {
    /// Releases it: no thread has entered any more.
    fn leave(&mut self, left: &Condvar) {
        self.owner = 0;
        left.notify_all();
        free(&mut self.entering);
    }
}

/// Releases these threads, which continue before any other.
fn free(threads: &mut Vec<usize>) {
    if !threads.is_empty() {
        Replay::get().order.free(threads);
        threads.clear();
    }
}

impl Monitor {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// RawMonitorEnter.
    pub fn enter(&self) {
        self.enter_times(1);
    }

    fn enter_times(&self, times: u32) {
        let me = THREAD.with(|thread| *thread);
        loop {
            let mut state = self.lock();
            if state.owner == me {
                state.count += times;
                return;
            }
            if state.owner == 0 {
                (state.owner, state.count) = (me, times);
                return;
            }
            state.entering.extend(Player::current_number());
            drop(state);
            // Other threads run meanwhile.
            let _blocked = Blocked::begin(true);
            let mut state = self.lock();
            if state.owner != 0 {
                state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            forget_current(&mut state.entering);
        }
    }

    /// RawMonitorExit.
    pub fn exit(&self) {
        let mut state = self.lock();
        if state.owner == THREAD.with(|thread| *thread) {
            state.count -= 1;
            if state.count == 0 {
                state.leave(&self.left);
            }
        }
    }

    /// RawMonitorWait: lets others enter until `until` returns, for which it is passed a function that waits
    /// to be notified for so long.
    pub fn wait(&self, until: impl FnOnce(&dyn Fn(Option<Duration>))) {
        let mut state = self.lock();
        if state.owner != THREAD.with(|thread| *thread) {
            return;
        }
        let (count, before) = (state.count, state.notifications);
        state.count = 0;
        state.leave(&self.left);
        drop(state);
        until(&|at_most| {
            let _blocked = Blocked::begin(at_most.is_none());
            let end = at_most.map(|at_most| Instant::now() + at_most);
            let mut state = self.lock();
            if state.notifications == before {
                state.waiting.extend(Player::current_number());
            }
            while state.notifications == before {
                state = match end.map(|end| end.saturating_duration_since(Instant::now())) {
                    None => self.notified.wait(state).unwrap_or_else(PoisonError::into_inner),
                    Some(Duration::ZERO) => {
                        forget_current(&mut state.waiting);
                        return;
                    }
                    Some(rest) => {
                        let waited = self.notified.wait_timeout(state, rest);
                        waited.unwrap_or_else(PoisonError::into_inner).0
                    }
                };
            }
        });
        self.enter_times(count);
    }

    /// RawMonitorNotifyAll.
    pub fn notify_all(&self) {
        let mut state = self.lock();
        if state.owner == THREAD.with(|thread| *thread) {
            state.notifications += 1;
            self.notified.notify_all();
            free(&mut state.waiting);
        }
    }
}

/// All raw monitors.
pub struct Monitors {
    all: Slab<Monitor>,
    by_recorded: Mutex<HashMap<u64, &'static Monitor>>,
}

impl Monitors {
    pub fn new() -> Self {
        Self { all: Slab::new(), by_recorded: Mutex::default() }
    }

    /// RawMonitorCreate. `recorded` is the monitor that the recorded agent got, if it is known.
    pub fn create(&'static self, name: &CStr, recorded: Option<u64>) -> Option<&'static Monitor> {
        let mut by_recorded = self.by_recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let monitor = self.all.add(Monitor {
            name: Box::leak(name.into()),
            state: Mutex::default(),
            left: Condvar::new(),
            notified: Condvar::new(),
        })?;
        by_recorded.extend(recorded.map(|recorded| (recorded, monitor)));
        Some(monitor)
    }

    /// Returns the monitor that stands for a recorded one, if there is one.
    pub fn of(&self, recorded: u64) -> Option<&'static Monitor> {
        self.by_recorded.lock().unwrap_or_else(PoisonError::into_inner).get(&recorded).copied()
    }

    /// Returns the monitor that an agent passes, if it is one of the replay.
    #[inline]
    pub fn get(&'static self, monitor: u64) -> Option<&'static Monitor> {
        self.all.get(monitor)
    }
}
