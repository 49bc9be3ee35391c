//! `cpu=times`: what one thread's calls cost, by the innermost `depth` methods of its stack.
//!
//! The thread that runs is the only one that changes its times, and takes no lock for it: whoever
//! writes a dump reads the numbers as they are at that moment.

use hashbrown::HashTable;
use profile::MethodId;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What the calls with one stack have cost so far.
#[derive(Debug)]
pub struct CallCost {
    /// The methods, innermost first.
    pub methods: Box<[MethodId]>,
    calls: AtomicU64,
    own_time: AtomicU64,
    total_time: AtomicU64,
}

/// The numbers of a [`CallCost`]; times are nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// How many calls have returned.
    pub calls: u64,
    /// The time in the method itself.
    pub own_time: u64,
    /// The time with what it has called. A call inside one of the same stack counts for itself too.
    pub total_time: u64,
}

impl CallCost {
    /// What it is now.
    pub fn read(&self) -> Cost {
        Cost {
            calls: self.calls.load(Ordering::Relaxed),
            own_time: self.own_time.load(Ordering::Relaxed),
            total_time: self.total_time.load(Ordering::Relaxed),
        }
    }

    fn add(&self, own_time: u64, total_time: u64) {
        // Only the thread itself writes, so that nothing is lost in between.
        let add = |to: &AtomicU64, more| {
            to.store(to.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
        };
        add(&self.calls, 1);
        add(&self.own_time, own_time);
        add(&self.total_time, total_time);
    }
}

/// What a thread's calls cost, for those who write dumps.
pub type CallCosts = Mutex<Vec<Arc<CallCost>>>;

/// The calls that a thread is in, and what those that are over have cost.
#[derive(Debug)]
pub struct CallTimes {
    depth: usize,
    stack: Vec<Call>,
    costs: Vec<Arc<CallCost>>,
    /// What each place in `costs` has called last: it calls the same again as a rule.
    last: Vec<Callee>,
    /// Places in `costs`.
    by_methods: HashTable<u32>,
    /// Which place in `costs` a method has that is called at another one.
    callees: HashTable<Callee>,
    shared: Arc<CallCosts>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    method: usize,
    cost: u32,
    start: u64,
    callees_time: u64,
}

#[derive(Clone, Copy, Debug)]
struct Callee {
    caller: u32,
    method: usize,
    cost: u32,
}

/// The caller of a method that nobody is known to have called.
const NOBODY: u32 = u32::MAX;

/// A call of nothing: 0 is no `jmethodID`.
const NO_CALLEE: Callee = Callee { caller: NOBODY, method: 0, cost: 0 };

impl CallTimes {
    /// The times of a thread that has called nothing yet.
    pub fn new(depth: u16) -> Self {
        Self {
            depth: depth.into(),
            stack: Vec::new(),
            costs: Vec::new(),
            last: Vec::new(),
            by_methods: HashTable::new(),
            callees: HashTable::new(),
            shared: Arc::default(),
        }
    }

    /// What its calls have cost.
    pub fn costs(&self) -> Arc<CallCosts> {
        Arc::clone(&self.shared)
    }

    /// A method is entered. `resolve` names the method of a `jmethodID`, which is asked for the first
    /// time the method is called from here.
    #[inline]
    pub fn enter(
        &mut self,
        method: usize,
        now: impl FnOnce() -> u64,
        resolve: impl FnOnce(usize) -> MethodId,
    ) {
        let caller = self.stack.last().map_or(NOBODY, |call| call.cost);
        let cost = match self.last.get(caller as usize) {
            Some(last) if last.method == method => last.cost,
            _ => self.look_up(caller, method, resolve),
        };
        self.stack.push(Call { method, cost, start: now(), callees_time: 0 });
    }

    /// A method is left. Calls inside it whose end was not told are over too; a method that was never
    /// entered is passed over.
    #[inline]
    pub fn leave(&mut self, method: usize, now: u64) {
        if self.stack.last().is_none_or(|call| call.method != method)
            && !self.stack.iter().any(|call| call.method == method)
        {
            return;
        }
        while let Some(call) = self.stack.pop() {
            let total_time = now.saturating_sub(call.start);
            let own_time = total_time.saturating_sub(call.callees_time);
            self.costs[call.cost as usize].add(own_time, total_time);
            if let Some(caller) = self.stack.last_mut() {
                caller.callees_time += total_time;
            }
            if call.method == method {
                break;
            }
        }
    }

    /// Forgets which method a `jmethodID` is: a class was unloaded, and its numbers may be given to
    /// others.
    pub fn forget_methods(&mut self) {
        self.callees.clear();
        self.last.fill(NO_CALLEE);
    }

    fn look_up(
        &mut self,
        caller: u32,
        method: usize,
        resolve: impl FnOnce(usize) -> MethodId,
    ) -> u32 {
        let is_it = |callee: &Callee| callee.caller == caller && callee.method == method;
        let found = self.callees.find(hash_callee(caller, method), is_it).map(|callee| callee.cost);
        let cost = found.unwrap_or_else(|| self.learn(caller, method, resolve(method)));
        if let Some(last) = self.last.get_mut(caller as usize) {
            *last = Callee { caller, method, cost };
        }
        cost
    }

    #[cold]
    fn learn(&mut self, caller: u32, method: usize, resolved: MethodId) -> u32 {
        let outer = self.costs.get(caller as usize).map_or(&[][..], |cost| &cost.methods);
        let methods: Box<[_]> =
            std::iter::once(&resolved).chain(outer).take(self.depth).copied().collect();
        let Self { by_methods, costs, .. } = self;
        let hash = hash_methods(&methods);
        let known = by_methods.find(hash, |&cost| costs[cost as usize].methods == methods).copied();
        let cost = known.unwrap_or_else(|| {
            let cost = costs.len() as u32;
            by_methods
                .insert_unique(hash, cost, |&cost| hash_methods(&costs[cost as usize].methods));
            let fresh = Arc::new(CallCost {
                methods,
                calls: AtomicU64::new(0),
                own_time: AtomicU64::new(0),
                total_time: AtomicU64::new(0),
            });
            costs.push(Arc::clone(&fresh));
            self.last.push(NO_CALLEE);
            self.shared.lock().unwrap_or_else(PoisonError::into_inner).push(fresh);
            cost
        });
        self.callees.insert_unique(
            hash_callee(caller, method),
            Callee { caller, method, cost },
            |callee| hash_callee(callee.caller, callee.method),
        );
        cost
    }
}

#[inline]
fn hash_callee(caller: u32, method: usize) -> u64 {
    let mut hasher = FxHasher::default();
    (caller, method).hash(&mut hasher);
    hasher.finish()
}

fn hash_methods(methods: &[MethodId]) -> u64 {
    let mut hasher = FxHasher::default();
    methods.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn resolve(method: usize) -> MethodId {
        MethodId(method as u32 / 100)
    }

    fn read(times: &CallTimes) -> BTreeMap<Vec<u32>, (u64, u64, u64)> {
        let costs = times.costs();
        let costs = costs.lock().unwrap();
        let row = |cost: &Arc<CallCost>| {
            let Cost { calls, own_time, total_time } = cost.read();
            let methods = cost.methods.iter().map(|method| method.0).collect();
            (methods, (calls, own_time, total_time))
        };
        let rows: BTreeMap<_, _> = costs.iter().map(row).collect();
        assert_eq!(rows.len(), costs.len(), "each stack once");
        rows
    }

    #[test]
    fn own_and_total_times_add_up() {
        let mut times = CallTimes::new(2);
        times.enter(100, || 1_000, resolve);
        for start in [1_010, 1_100] {
            times.enter(200, || start, resolve);
            times.enter(300, || start + 5, resolve);
            times.leave(300, start + 25);
            times.leave(200, start + 30);
        }
        times.leave(100, 1_200);
        let expected = BTreeMap::from([
            (vec![1], (1, 140, 200)),
            (vec![2, 1], (2, 20, 60)),
            (vec![3, 2], (2, 40, 40)),
        ]);
        assert_eq!(read(&times), expected);
        let own: u64 = expected.values().map(|row| row.1).sum();
        assert_eq!(own, 200, "all of the outermost call");
    }

    #[test]
    fn a_trace_has_the_innermost_methods() {
        for (depth, expected) in [
            (0, vec![vec![]]),
            (1, vec![vec![1], vec![2]]),
            (3, vec![vec![1], vec![1, 2, 1], vec![2, 1], vec![2, 1, 2]]),
        ] {
            let mut times = CallTimes::new(depth);
            let calls = [100, 200, 100, 200];
            for (now, method) in (0..).zip(calls) {
                times.enter(method, || now, resolve);
            }
            for (now, method) in (10..).zip(calls.iter().rev()) {
                times.leave(*method, now);
            }
            let rows = read(&times);
            assert_eq!(rows.keys().cloned().collect::<Vec<_>>(), expected);
            assert_eq!(rows.values().map(|row| row.0).sum::<u64>(), 4);
        }
    }

    #[test]
    fn calls_of_which_no_end_was_told_end_with_their_caller() {
        let mut times = CallTimes::new(1);
        times.leave(100, 5);
        times.enter(100, || 10, resolve);
        times.enter(200, || 20, resolve);
        times.leave(300, 25);
        times.leave(100, 30);
        assert_eq!(read(&times), BTreeMap::from([(vec![1], (1, 10, 20)), (vec![2], (1, 10, 10))]));
    }

    #[test]
    fn a_number_that_was_given_again_means_another_method() {
        let mut times = CallTimes::new(1);
        for (method, start) in [(MethodId(1), 0), (MethodId(2), 10), (MethodId(1), 20)] {
            times.enter(100, || start, |_| method);
            times.leave(100, start + 1);
            times.forget_methods();
        }
        assert_eq!(read(&times), BTreeMap::from([(vec![1], (2, 2, 2)), (vec![2], (1, 1, 1))]));
    }
}
