//! Raw monitors: their owners, and the order in which threads enter them.

use crate::check::table::Table;
use crate::check::thread::Thread;
use jvmpi_sys::JVMPI_RawMonitor;
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// The known state of a raw monitor.
#[derive(Default)]
pub struct Monitor {
    pub is_destroyed: AtomicBool,
    /// The number of the thread that owns it, or 0, and how often it has entered.
    pub owner: AtomicUsize,
    pub entered: AtomicUsize,
    pub waiting: AtomicUsize,
    /// True if it is entered in GC_START, and true if a thread has called DisableGC while it owned it.
    pub taken_in_gc_start: AtomicBool,
    pub owned_at_disable_gc: AtomicBool,
    /// Its name, never freed.
    pub name: AtomicPtr<c_char>,
}

/// A raw monitor in a message: `"_lock" 0x7f10c8001230`.
pub struct Named<'a>(pub JVMPI_RawMonitor, pub Option<&'a Monitor>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.1.map_or(ptr::null_mut(), |monitor| monitor.name.load(Ordering::Acquire));
        if !name.is_null() {
            // SAFETY: what is stored is a string that is never freed.
            write!(f, "\"{}\" ", unsafe { CStr::from_ptr(name) }.to_string_lossy())?;
        }
        write!(f, "{:?}", self.0)
    }
}

/// All raw monitors of an agent.
pub struct Monitors {
    pub all: Table<Monitor>,
    pub orders: Mutex<Orders>,
}

impl Monitors {
    pub fn new() -> Self {
        Self { all: Table::new(1 << 15), orders: Mutex::default() }
    }
}

/// The pairs of monitors where one was entered while the other was owned.
#[derive(Default)]
pub struct Orders {
    /// Edges by the monitor that was entered, then by the one that was owned.
    edges: HashMap<usize, HashMap<usize, Edge>>,
}

struct Edge {
    /// The thread that was seen to enter them in this order; 0 if there were several.
    thread: usize,
    /// The other monitors it owned each time: a thread that needs one of these too cannot interfere.
    guards: Vec<usize>,
}

impl Orders {
    /// Notes that a thread that owns these monitors enters one more. True if another thread may do it
    /// the other way round at the same time.
    pub fn note(&mut self, thread: &Thread, owned: &[usize], entered: usize) -> bool {
        for first in owned {
            let guards: Vec<_> = owned.iter().copied().filter(|other| other != first).collect();
            let edge = self
                .edges
                .entry(entered)
                .or_default()
                .entry(*first)
                .or_insert_with(|| Edge { thread: thread.number, guards: guards.clone() });
            edge.guards.retain(|guard| guards.contains(guard));
            if edge.thread != thread.number {
                edge.thread = 0;
            }
        }
        owned.iter().any(|first| {
            let edge = &self.edges[&entered][first];
            self.leads(entered, *first, edge.thread, &edge.guards, &mut vec![entered])
        })
    }

    /// Returns true if a chain of edges leads from owning `from` to entering `to`, by threads other than
    /// `thread`, and without any of the guards.
    fn leads(
        &self,
        from: usize,
        to: usize,
        thread: usize,
        guards: &[usize],
        seen: &mut Vec<usize>,
    ) -> bool {
        let fits = |edge: &Edge| {
            (edge.thread == 0 || edge.thread != thread)
                && !edge.guards.iter().any(|guard| guards.contains(guard))
        };
        let from_here = |(entered, owned): (&usize, &HashMap<usize, Edge>)| {
            owned.get(&from).filter(|edge| fits(edge)).map(|_| *entered)
        };
        let next: Vec<usize> = self.edges.iter().filter_map(from_here).collect();
        next.into_iter().any(|entered| {
            entered == to
                || !seen.contains(&entered) && {
                    seen.push(entered);
                    self.leads(entered, to, thread, guards, seen)
                }
        })
    }

    pub fn forget(&mut self, monitor: usize) {
        self.edges.remove(&monitor);
        self.edges.values_mut().for_each(|owned| drop(owned.remove(&monitor)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: usize = 16;
    const B: usize = 32;
    const C: usize = 48;
    const GATE: usize = 64;

    #[test]
    fn threads_that_enter_in_different_orders_are_found() {
        let (one, two, three) = (Thread::new(), Thread::new(), Thread::new());
        let mut orders = Orders::default();
        assert!(!orders.note(&one, &[A], B));
        assert!(!orders.note(&two, &[A], B));
        assert!(orders.note(&two, &[B], A));

        let mut orders = Orders::default();
        assert!(!orders.note(&one, &[A], B));
        assert!(!orders.note(&two, &[B], C));
        assert!(orders.note(&three, &[C], A), "a circle of three");

        orders.forget(B);
        let mut orders = Orders::default();
        assert!(!orders.note(&one, &[A], B));
        orders.forget(B);
        assert!(!orders.note(&two, &[B], A), "another monitor of the same ID");
    }

    #[test]
    fn orders_that_exclude_each_other_are_no_inversion() {
        let (one, two) = (Thread::new(), Thread::new());
        let mut orders = Orders::default();
        assert!(!orders.note(&one, &[A], B));
        assert!(!orders.note(&one, &[B], A), "one thread");

        let mut orders = Orders::default();
        assert!(!orders.note(&one, &[GATE, A], B));
        assert!(!orders.note(&two, &[GATE, B], A), "both own a third");
        assert!(orders.note(&one, &[A], B), "once without it is enough");
    }
}
