//! The current activity of the thread, as far as an agent can see it.

use crate::trace::event_name;
use jni_sys::{JNIEnv, jint};
use jvmpi_sys::{EventType, JVMPI_REQUESTED_EVENT, Mode};
use std::array;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of nested events for which the mode is kept.
const NESTED: usize = 16;

/// One thread, for one agent.
#[derive(Default)]
pub struct Thread {
    /// Its number, never 0.
    pub number: usize,
    /// The thread as events name it; NULL until one has come.
    pub env: Cell<*mut JNIEnv>,
    events: [Cell<jint>; NESTED],
    depth: Cell<usize>,
    /// The raw monitors that it owns, in the order in which it has entered them.
    pub owned: RefCell<Vec<usize>>,
    /// Changes with each change of `owned`, and is the same for the same monitors.
    pub owned_sum: Cell<usize>,
    /// `owned_sum` when GC_START came, until GC_FINISH.
    pub bracket: Cell<Option<usize>>,
    /// DisableGC minus EnableGC.
    pub disabled: Cell<i32>,
    /// The number of its entries into the monitor that it waits on.
    pub waits_with: Cell<usize>,
    /// Threads that it has suspended minus those that it has resumed.
    pub suspended: Cell<i32>,
    /// Orders of monitors that it has been seen to keep, as sums.
    pub orders: [Cell<usize>; 16],
}

impl Thread {
    pub fn new() -> Self {
        static NUMBERS: AtomicUsize = AtomicUsize::new(1);
        Self { number: NUMBERS.fetch_add(1, Ordering::Relaxed), ..Self::default() }
    }

    /// Records that the handler of an event begins.
    pub fn begin(&self, event_type: jint) {
        if let Some(place) = self.events.get(self.depth.get()) {
            place.set(event_type);
        }
        self.depth.set(self.depth.get() + 1);
    }

    /// Records that the handler of an event has returned.
    pub fn end(&self) {
        self.depth.set(self.depth.get() - 1);
    }

    /// Returns the events that are being handled, the innermost last.
    fn events(&self) -> impl DoubleEndedIterator<Item = jint> {
        self.events[..self.depth.get().min(NESTED)].iter().map(Cell::get)
    }

    /// Returns the mode of the thread without the effect of DisableGC.
    pub fn mode(&self) -> Mode {
        if self.suspended.get() > 0 {
            return Mode::STOPPED;
        }
        self.events().map(mode_of).max().unwrap_or(Mode::MT)
    }

    /// Returns true if an event is being handled during which GC is disabled.
    pub fn is_in_gc_off_event(&self) -> bool {
        self.events().any(|event_type| mode_of(event_type) == Mode::GC_OFF)
    }

    /// Records that the thread has entered a monitor.
    pub fn take(&self, monitor: usize) {
        self.owned.borrow_mut().push(monitor);
        self.owned_sum.set(self.owned_sum.get().wrapping_add(monitor));
    }

    /// Records that the thread has exited a monitor.
    pub fn give(&self, monitor: usize) {
        let mut owned = self.owned.borrow_mut();
        if let Some(i) = owned.iter().rposition(|owned| *owned == monitor) {
            owned.remove(i);
            self.owned_sum.set(self.owned_sum.get().wrapping_sub(monitor));
        }
    }
}

/// Returns the mode of an event.
fn mode_of(event_type: jint) -> Mode {
    EventType::of(event_type & !JVMPI_REQUESTED_EVENT).map_or(Mode::MT, |event| event.mode)
}

/// The current events of the thread, such as ` in METHOD_ENTRY`, and its number of suspended threads.
impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, event_type) in self.events().rev().enumerate() {
            f.write_str(if i == 0 { " in " } else { ", in " })?;
            f.write_str(&event_name(event_type))?;
        }
        if self.suspended.get() > 0 {
            write!(f, ", with {} threads suspended", self.suspended.get())?;
        }
        Ok(())
    }
}

thread_local! {
    /// The current thread as each agent knows it.
    static SLOTS: Box<[Thread; crate::layer::SLOTS]> =
        Box::new(array::from_fn(|_| Thread::new()));
}

/// Runs `look` with the current thread as the agent in this slot knows it; `None` if the thread is
/// ending.
#[inline]
pub fn with<R>(slot: usize, look: impl FnOnce(&Thread) -> R) -> Option<R> {
    SLOTS.try_with(|threads| look(&threads[slot])).ok()
}
