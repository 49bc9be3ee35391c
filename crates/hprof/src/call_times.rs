//! `cpu=times`: the cost of one thread's calls, by the innermost `depth` methods of its stack. The stacks are
//! those of the profile, a tree in which all threads meet; a thread keeps a cost for each that it has had.
//!
//! The thread that runs is the only one that changes its times, and takes no lock for it: whoever
//! writes a dump reads the numbers as they are at that moment.

use hashbrown::HashTable;
use jvmpi_formats::profile::{FrameId, StackId, Traces};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the calls with one stack have cost so far. It fills one line of the processor's cache: to wait
/// for such lines is most of what a call costs, so what is looked for at the entry lies beside what is
/// changed at the exit.
#[derive(Debug, Default)]
#[repr(align(64))]
struct CallCost {
    calls: AtomicU64,
    own_time: AtomicU64,
    total_time: AtomicU64,
    /// What was called last at this stack: the `jmethodID`s, 0 if there are fewer, and their stacks. Of use
    /// only to the thread itself.
    last_methods: [AtomicUsize; LAST],
    last_stacks: [AtomicU32; LAST],
    next_last: AtomicU32,
}

/// How many callees stand beside the cost of their caller.
const LAST: usize = 3;

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
    fn read(&self) -> Cost {
        Cost {
            calls: self.calls.load(Ordering::Relaxed),
            own_time: self.own_time.load(Ordering::Relaxed),
            total_time: self.total_time.load(Ordering::Relaxed),
        }
    }

    /// The stack of a method that is called at this one, if that was among the last.
    #[inline]
    fn last(&self, method: usize) -> Option<u32> {
        let is_it = |last: &AtomicUsize| last.load(Ordering::Relaxed) == method;
        let last = self.last_methods.iter().position(is_it)?;
        Some(self.last_stacks[last].load(Ordering::Relaxed))
    }

    fn set_last(&self, method: usize, stack: u32) {
        let next = self.next_last.load(Ordering::Relaxed) as usize;
        self.last_methods[next].store(method, Ordering::Relaxed);
        self.last_stacks[next].store(stack, Ordering::Relaxed);
        self.next_last.store(((next + 1) % LAST) as u32, Ordering::Relaxed);
    }

    fn forget_methods(&self) {
        self.last_methods.iter().for_each(|last| last.store(0, Ordering::Relaxed));
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

/// The costs of this many stacks lie together.
const CHUNK: usize = 512;

type Chunk = Arc<[CallCost]>;

/// Limit of the number of stacks that all threads of a session keep costs for.
#[derive(Debug)]
pub struct Limit {
    left: AtomicUsize,
    is_reached: AtomicBool,
}

impl Limit {
    /// Creates a limit of `most` stacks.
    pub fn new(most: usize) -> Self {
        Self { left: AtomicUsize::new(most), is_reached: AtomicBool::new(false) }
    }

    /// Takes one; false if there is none left.
    fn take(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        let is_taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        if !is_taken {
            self.is_reached.store(true, Ordering::Relaxed);
        }
        is_taken
    }

    /// Gives back some that were taken.
    pub fn give_back(&self, number: usize) {
        self.left.fetch_add(number, Ordering::Relaxed);
    }

    /// True if there were too few.
    pub fn is_reached(&self) -> bool {
        self.is_reached.load(Ordering::Relaxed)
    }
}

/// What a thread's calls cost, for those who write dumps.
#[derive(Debug, Default)]
pub struct CallCosts(Mutex<Stacks>);

/// The stacks that calls have had; each has a number.
#[derive(Debug, Default)]
struct Stacks {
    stacks: Vec<StackId>,
    costs: Vec<Chunk>,
    /// Numbers.
    by_stack: HashTable<u32>,
    /// The number of stacks that were taken from the limit.
    taken: usize,
}

impl CallCosts {
    /// Shows each stack and what its calls have cost.
    pub fn each(&self, mut visit: impl FnMut(StackId, Cost)) {
        let Stacks { stacks, costs, .. } = &*self.stacks();
        let costs = costs.iter().flat_map(|chunk| &chunk[..]);
        stacks.iter().zip(costs).for_each(|(stack, cost)| visit(*stack, cost.read()));
    }

    /// Returns the number of stacks that were taken from the limit.
    pub fn taken(&self) -> usize {
        self.stacks().taken
    }

    fn stacks(&self) -> MutexGuard<'_, Stacks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stacks {
    /// The number of a stack, and whether it is new.
    fn number(&mut self, stack: StackId) -> (u32, bool) {
        let Self { stacks, costs, by_stack, .. } = self;
        let is_it = |number: &u32| stacks[*number as usize] == stack;
        if let Some(known) = by_stack.find(hash_stack(stack), is_it) {
            return (*known, false);
        }
        let number = stacks.len();
        stacks.push(stack);
        if number.is_multiple_of(CHUNK) {
            costs.push(std::iter::repeat_with(CallCost::default).take(CHUNK).collect());
        }
        let hash_again = |number: &u32| hash_stack(stacks[*number as usize]);
        by_stack.insert_unique(hash_stack(stack), number as u32, hash_again);
        (number as u32, true)
    }
}

/// A call whose stack is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewCall {
    /// The stack of the caller.
    pub caller: StackId,
    /// The `jmethodID` of what it calls.
    pub method: usize,
    /// True if the stack has less than `depth` frames, so that one more needs no other to be left out.
    pub is_shallow: bool,
}

/// The calls that a thread is in, and what those that are over have cost.
#[derive(Debug)]
pub struct CallTimes {
    depth: usize,
    limit: Arc<Limit>,
    calls: Vec<Call>,
    /// All callees.
    callees: HashTable<Callee>,
    /// Those of the stacks in `shared`.
    costs: Vec<Chunk>,
    shared: Arc<CallCosts>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    method: usize,
    stack: u32,
    start: u64,
    callees_time: u64,
}

/// A method that is called at a stack, and the stack that it has there.
#[derive(Clone, Copy, Debug)]
struct Callee {
    caller: u32,
    method: usize,
    stack: u32,
}

/// The stack of a caller of which nothing is known.
const NOBODY: u32 = u32::MAX;

impl CallTimes {
    /// The times of a thread that has called nothing yet.
    pub fn new(depth: u16, limit: Arc<Limit>) -> Self {
        Self {
            depth: depth.into(),
            limit,
            calls: Vec::new(),
            callees: HashTable::new(),
            costs: Vec::new(),
            shared: Arc::default(),
        }
    }

    /// What its calls have cost.
    pub fn costs(&self) -> Arc<CallCosts> {
        Arc::clone(&self.shared)
    }

    /// A method is entered. `resolve` returns the stack of a call, for which it is asked the first time the
    /// method is called from here.
    #[inline]
    pub fn enter(
        &mut self,
        method: usize,
        now: impl FnOnce() -> u64,
        resolve: impl FnOnce(NewCall) -> StackId,
    ) {
        let caller = self.calls.last().map_or(NOBODY, |call| call.stack);
        let last = self.cost(caller).and_then(|cost| cost.last(method));
        let stack = last.unwrap_or_else(|| self.look_up(caller, method, resolve));
        self.calls.push(Call { method, stack, start: now(), callees_time: 0 });
    }

    /// A method is left. Calls inside it whose end was not told are over too; a method that was never
    /// entered is passed over.
    #[inline]
    pub fn leave(&mut self, method: usize, now: u64) {
        if self.calls.last().is_none_or(|call| call.method != method)
            && !self.calls.iter().any(|call| call.method == method)
        {
            return;
        }
        while let Some(call) = self.calls.pop() {
            let total_time = now.saturating_sub(call.start);
            let own_time = total_time.saturating_sub(call.callees_time);
            if let Some(cost) = self.cost(call.stack) {
                cost.add(own_time, total_time);
            }
            if let Some(caller) = self.calls.last_mut() {
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
        self.costs.iter().flat_map(|chunk| &chunk[..]).for_each(CallCost::forget_methods);
    }

    #[inline]
    fn cost(&self, stack: u32) -> Option<&CallCost> {
        self.costs.get(stack as usize / CHUNK)?.get(stack as usize % CHUNK)
    }

    fn look_up(
        &mut self,
        caller: u32,
        method: usize,
        resolve: impl FnOnce(NewCall) -> StackId,
    ) -> u32 {
        let is_it = |callee: &Callee| callee.caller == caller && callee.method == method;
        let found =
            self.callees.find(hash_callee(caller, method), is_it).map(|callee| callee.stack);
        let stack = found.unwrap_or_else(|| self.learn(caller, method, resolve));
        if let Some(cost) = self.cost(caller) {
            cost.set_last(method, stack);
        }
        stack
    }

    #[cold]
    fn learn(
        &mut self,
        caller: u32,
        method: usize,
        resolve: impl FnOnce(NewCall) -> StackId,
    ) -> u32 {
        let is_within = self.limit.take();
        let of_caller = self.shared.stacks().stacks.get(caller as usize).copied();
        // Beyond the limit stacks have no callers.
        let from = of_caller.filter(|_| is_within).unwrap_or_default();
        let is_shallow = self.calls.len() < self.depth;
        let resolved = resolve(NewCall { caller: from, method, is_shallow });
        let mut stacks = self.shared.stacks();
        let (stack, is_new) = stacks.number(resolved);
        if is_within && is_new {
            stacks.taken += 1;
        } else if is_within {
            self.limit.give_back(1);
        }
        self.costs.extend_from_slice(&stacks.costs[self.costs.len()..]);
        drop(stacks);
        self.callees.insert_unique(
            hash_callee(caller, method),
            Callee { caller, method, stack },
            |callee| hash_callee(callee.caller, callee.method),
        );
        stack
    }
}

/// Returns the stack of a call to `frame`, with the innermost `depth` frames.
pub fn stack_of_call(traces: &mut Traces, call: NewCall, frame: FrameId, depth: usize) -> StackId {
    if call.is_shallow {
        return traces.push(call.caller, frame);
    }
    let callers = traces.path(call.caller).iter();
    let frames: Vec<_> = std::iter::once(frame).chain(callers).take(depth).collect();
    traces.stack(&frames)
}

#[inline]
fn hash_callee(caller: u32, method: usize) -> u64 {
    let mut hasher = FxHasher::default();
    (caller, method).hash(&mut hasher);
    hasher.finish()
}

fn hash_stack(stack: StackId) -> u64 {
    let mut hasher = FxHasher::default();
    stack.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A thread whose methods are numbers, of which a hundred `jmethodID`s are one.
    struct Thread {
        times: CallTimes,
        traces: Traces,
        depth: usize,
    }

    impl Thread {
        fn new(depth: u16) -> Self {
            Self::within(depth, 1_000_000)
        }

        fn within(depth: u16, limit: usize) -> Self {
            let times = CallTimes::new(depth, Arc::new(Limit::new(limit)));
            Self { times, traces: Traces::default(), depth: depth.into() }
        }

        fn enter(&mut self, method: usize, now: u64) {
            self.enter_as(method, method as u32 / 100, now);
        }

        fn enter_as(&mut self, method: usize, is: u32, now: u64) {
            let Self { times, traces, depth } = self;
            let resolve = |call: NewCall| stack_of_call(traces, call, FrameId(is), *depth);
            times.enter(method, || now, resolve);
        }

        fn leave(&mut self, method: usize, now: u64) {
            self.times.leave(method, now);
        }
    }

    fn read(Thread { times, traces, .. }: &Thread) -> BTreeMap<Vec<u32>, (u64, u64, u64)> {
        let mut rows = BTreeMap::new();
        times.costs().each(|stack, Cost { calls, own_time, total_time }| {
            let methods: Vec<_> = traces.path(stack).iter().map(|method| method.0).collect();
            let before = rows.insert(methods, (calls, own_time, total_time));
            assert_eq!(before, None, "each stack once");
        });
        rows
    }

    #[test]
    fn a_cost_is_one_line_of_the_cache() {
        assert_eq!((size_of::<CallCost>(), align_of::<CallCost>()), (64, 64));
    }

    #[test]
    fn callees_are_found_however_many_there_are() {
        let mut times = Thread::new(2);
        let callees = |n: usize| (0..n).map(|i| usize::MAX / 2 - 0xefff + 8 * i);
        let enter = |times: &mut Thread, method: usize, now| {
            times.enter_as(method, (method % (1 << 20)) as u32, now);
        };
        for round in 1..4 {
            enter(&mut times, 8, 0);
            for method in callees(3000) {
                enter(&mut times, method, 5);
                times.leave(method, 5 + round);
            }
            times.leave(8, 10);
            assert_eq!(times.times.callees.len(), 3001);
        }
        let rows = read(&times);
        assert_eq!(rows.len(), 3001);
        let innermost = rows.iter().filter(|(methods, _)| methods.len() == 2);
        innermost.for_each(|(_, cost)| assert_eq!(*cost, (3, 6, 6)));
    }

    #[test]
    fn own_and_total_times_add_up() {
        let mut times = Thread::new(2);
        times.enter(100, 1_000);
        for start in [1_010, 1_100] {
            times.enter(200, start);
            times.enter(300, start + 5);
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
            let mut times = Thread::new(depth);
            let calls = [100, 200, 100, 200];
            for (now, method) in (0..).zip(calls) {
                times.enter(method, now);
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
        let mut times = Thread::new(1);
        times.leave(100, 5);
        times.enter(100, 10);
        times.enter(200, 20);
        times.leave(300, 25);
        times.leave(100, 30);
        assert_eq!(read(&times), BTreeMap::from([(vec![1], (1, 10, 20)), (vec![2], (1, 10, 10))]));
    }

    #[test]
    fn a_number_that_was_given_again_means_another_method() {
        let mut times = Thread::new(1);
        for (method, start) in [(1, 0), (2, 10), (1, 20)] {
            times.enter_as(100, method, start);
            times.leave(100, start + 1);
            times.times.forget_methods();
        }
        assert_eq!(read(&times), BTreeMap::from([(vec![1], (2, 2, 2)), (vec![2], (1, 1, 1))]));
    }

    #[test]
    fn beyond_the_limit_methods_are_told_without_their_callers() {
        let mut times = Thread::within(9, 2);
        for round in 0..2 {
            for method in [100, 200, 300, 400] {
                times.enter(method, round);
            }
            for method in [400, 300, 200, 100] {
                times.leave(method, round);
            }
        }
        let rows = read(&times);
        let expected = [vec![1], vec![2, 1], vec![3], vec![4]];
        assert_eq!(rows.keys().cloned().collect::<Vec<_>>(), expected);
        assert!(rows.values().all(|row| row.0 == 2));
        assert!(times.times.limit.is_reached());
        assert_eq!(times.times.costs().taken(), 2);
    }

    #[test]
    fn a_stack_is_taken_from_the_limit_once() {
        let mut times = Thread::within(9, 2);
        for _ in 0..5 {
            times.enter(100, 0);
            times.leave(100, 1);
            times.times.forget_methods();
        }
        assert!(!times.times.limit.is_reached());
        assert_eq!(times.times.costs().taken(), 1);
    }
}
