//! Raw monitors.

use super::turns::{Turns, Waiter};
use crate::trace::shared::lock;
use std::ffi::CStr;
use std::sync::Mutex;
use std::time::Instant;

/// A raw monitor.
pub struct Monitor {
    /// Its name, which lives for ever: dumps and events point to it.
    pub name: &'static CStr,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The thread that has entered, and how often.
    owner: Option<usize>,
    count: u32,
    /// The number of times it was notified.
    notifications: u64,
    /// The threads that wait to enter, and those that wait to be notified.
    entering: Vec<Waiter>,
    waiting: Vec<Waiter>,
}

/// The thread waits no more.
fn forget(waiters: &mut Vec<Waiter>, waiter: Waiter) {
    waiters.retain(|other| other.thread != waiter.thread);
}

impl Monitor {
    pub fn new(name: &CStr) -> Self {
        Self { name: Box::leak(name.into()), state: Mutex::default() }
    }

    /// Enters it `times` times. Other threads run while this one waits.
    pub fn enter(&self, times: u32, turns: &Turns, me: Waiter) {
        loop {
            let mut state = lock(&self.state);
            if state.owner.is_none_or(|owner| owner == me.thread) {
                state.owner = Some(me.thread);
                state.count += times;
                return;
            }
            state.entering.push(me);
            drop(state);
            turns.block(me, None);
            forget(&mut lock(&self.state).entering, me);
        }
    }

    /// Leaves it once, or wholly. Returns how often the thread had entered, and how often the monitor was notified so
    /// far; None if the thread is not the owner.
    pub fn exit(&self, wholly: bool, turns: &Turns, me: Waiter) -> Option<(u32, u64)> {
        let mut state = lock(&self.state);
        if state.owner != Some(me.thread) {
            return None;
        }
        let before = (state.count, state.notifications);
        state.count = if wholly { 0 } else { state.count - 1 };
        if state.count == 0 {
            state.owner = None;
            state.entering.drain(..).for_each(|waiter| turns.wake(waiter));
        }
        Some(before)
    }

    /// Waits until the monitor is notified more often than `before`, or until `end`.
    pub fn wait(&self, before: u64, end: Option<Instant>, turns: &Turns, me: Waiter) {
        loop {
            let mut state = lock(&self.state);
            forget(&mut state.waiting, me);
            let is_over = end.is_some_and(|end| end <= Instant::now());
            if state.notifications > before || is_over {
                return;
            }
            state.waiting.push(me);
            drop(state);
            turns.block(me, end);
        }
    }

    /// RawMonitorNotifyAll.
    pub fn notify_all(&self, turns: &Turns, me: Waiter) {
        let mut state = lock(&self.state);
        if state.owner == Some(me.thread) {
            state.notifications += 1;
            state.waiting.drain(..).for_each(|waiter| turns.wake(waiter));
        }
    }
}
