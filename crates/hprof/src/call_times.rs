//! `cpu=times`: the cost of one thread's calls, by the innermost `depth` methods of its stack. The stacks are those of
//! the profile, a tree shared by all threads. A thread has a node with a cost for each of its stacks.
//!
//! Only the running thread changes its nodes, without a lock. A thread that writes a dump reads the current values.
//!
//! Programs have hundreds of thousands of stacks, so a node has only the data that a call needs. Nodes share a callee if
//! `depth` cuts off their difference.

use crate::mutex::lock;
use hashbrown::HashTable;
use jvmpi_formats::profile::{FrameId, StackId, Traces};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The calls of a stack. A node fills a line of the cache: most of the cost of a call is the wait for such lines.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Node {
    calls: AtomicU64,
    /// Nanoseconds.
    time: AtomicU64,
    /// The `jmethodID`, or 0 if it may mean another method by now. Only the thread itself reads it, and what follows.
    method: AtomicUsize,
    /// The tags of the methods of `callees`, a byte each, and the state of `callees` in the highest byte. Up to
    /// [`CACHED`], it is their number. Above, more were called: these are a cache, and the table has all of them.
    tags: AtomicU64,
    /// The nodes of methods that were called from this one.
    callees: [AtomicU32; CACHED],
    /// The stack, which only new callees and dumps need.
    stack: AtomicU32,
}

const _: () = assert!(size_of::<Node>() == 64);

/// The number of callees in a node.
const CACHED: usize = 7;

/// Times a byte, the number that has it in each of its bytes.
const EACH_BYTE: u64 = 0x0101_0101_0101_0101;

/// A chunk of nodes.
type Chunk = [Node; CHUNK];

/// The number of nodes in a chunk. A thread with few calls needs little memory, and one with many has a list of chunks
/// that stays in the cache.
const CHUNK: usize = 256;

/// The counters of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// The number of returned calls.
    pub calls: u64,
    /// Their time in nanoseconds, as selected by [`Timed`].
    pub time: u64,
}

/// The part of a call's time that counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timed {
    /// The time in the method itself.
    Own,
    /// The time including called methods. A call inside a call of the same stack counts by itself too.
    WithCallees,
}

impl Node {
    fn read(&self) -> Cost {
        Cost { calls: self.calls.load(Ordering::Relaxed), time: self.time.load(Ordering::Relaxed) }
    }

    fn is(&self, method: usize) -> bool {
        self.method.load(Ordering::Relaxed) == method
    }

    fn state(&self) -> usize {
        (self.tags.load(Ordering::Relaxed) >> 56) as usize
    }

    /// Puts a callee in the next place.
    fn set_callee(&self, node: u32, method: usize) {
        let state = self.state();
        let place = state % CACHED;
        let next = if state == 2 * CACHED { CACHED + 1 } else { state + 1 };
        let others = self.tags.load(Ordering::Relaxed) & !(0xff << 56 | 0xff << (8 * place));
        let tags = others | (next as u64) << 56 | tag(method) << (8 * place);
        self.tags.store(tags, Ordering::Relaxed);
        self.callees[place].store(node, Ordering::Relaxed);
    }

    fn forget_methods(&self) {
        self.method.store(0, Ordering::Relaxed);
        self.tags.store(0, Ordering::Relaxed);
    }

    fn add(&self, time: u64) {
        // Only the thread itself writes, so no update is lost.
        let add = |to: &AtomicU64, more| {
            to.store(to.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
        };
        add(&self.calls, 1);
        add(&self.time, time);
    }
}

/// Returns a byte that is never 0, as a number.
#[inline]
fn tag(method: usize) -> u64 {
    (method as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56 | 1
}

/// The limit of the number of stacks with costs, for all threads of a session.
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

    /// Takes one stack. Returns false if none is left.
    fn take(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        let is_taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        if !is_taken {
            self.is_reached.store(true, Ordering::Relaxed);
        }
        is_taken
    }

    /// Returns stacks to the limit.
    pub fn give_back(&self, number: usize) {
        self.left.fetch_add(number, Ordering::Relaxed);
    }

    /// Returns true if the limit was exceeded.
    pub fn is_reached(&self) -> bool {
        self.is_reached.load(Ordering::Relaxed)
    }
}

/// A thread's nodes, for the threads that write dumps.
#[derive(Debug, Default)]
pub struct CallCosts {
    chunks: Mutex<Vec<Arc<Chunk>>>,
    /// The number of nodes. The thread increases it when the next node is complete.
    nodes: AtomicUsize,
    /// The number of stacks that were taken from the limit.
    taken: AtomicUsize,
}

impl CallCosts {
    /// Passes each stack and the costs of its calls.
    pub fn each(&self, mut visit: impl FnMut(StackId, Cost)) {
        let nodes = self.nodes.load(Ordering::Acquire);
        let chunks = lock(&self.chunks);
        for node in chunks.iter().flat_map(|chunk| chunk.iter()).take(nodes).skip(CALLERS) {
            visit(StackId(node.stack.load(Ordering::Relaxed)), node.read());
        }
    }

    /// Returns the number of stacks that were taken from the limit.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

/// A call whose stack is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewCall {
    /// The stack of the caller.
    pub caller: StackId,
    /// The `jmethodID` of the callee.
    pub method: usize,
    /// True if the stack has less than `depth` frames, so that another frame fits.
    pub is_shallow: bool,
}

/// The current calls of a thread, and the costs of its ended calls.
#[derive(Debug)]
pub struct CallTimes {
    depth: usize,
    timed: Timed,
    /// The nanoseconds that a call must take to count.
    over: u64,
    limit: Arc<Limit>,
    calls: Vec<Call>,
    /// The chunks of `shared`, which this thread reads without a lock.
    chunks: Vec<Arc<Chunk>>,
    nodes: u32,
    /// The callees of nodes that do not have all of theirs.
    callees: HashTable<Callee>,
    /// The first nodes by their stacks. Most threads look none up.
    by_stack: FxHashMap<StackId, u32>,
    shared: Arc<CallCosts>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    method: usize,
    node: u32,
    start: u64,
    callees_time: u64,
}

/// A method that is called from a node, and the node of the call.
#[derive(Clone, Copy, Debug)]
struct Callee {
    caller: u32,
    node: u32,
    method: usize,
}

impl Callee {
    fn hash(&self) -> u64 {
        FxBuildHasher.hash_one((self.caller, self.method))
    }
}

/// The number of nodes that are no calls.
const CALLERS: usize = 2;

/// The caller of a thread's first call.
const NOBODY: u32 = 0;

/// The common caller beyond the limit.
const ANYBODY: u32 = 1;

impl CallTimes {
    /// Creates the times of a thread without calls. Only calls count that take at least the time `over`; the time of
    /// others counts as their caller's own.
    pub fn new(depth: u16, timed: Timed, over: Option<Duration>, limit: Arc<Limit>) -> Self {
        let over = over.unwrap_or_default().as_nanos();
        Self {
            depth: depth.into(),
            timed,
            over: u64::try_from(over).unwrap_or(u64::MAX),
            limit,
            calls: Vec::new(),
            chunks: Vec::new(),
            nodes: 0,
            callees: HashTable::new(),
            by_stack: FxHashMap::default(),
            shared: Arc::default(),
        }
    }

    /// Returns the costs of its calls.
    pub fn costs(&self) -> Arc<CallCosts> {
        Arc::clone(&self.shared)
    }

    /// Handles METHOD_ENTRY. `resolve` is called for the first call of the method from here, and returns the stack of
    /// the call, and if no thread has called it before.
    #[inline]
    pub fn enter(
        &mut self,
        method: usize,
        now: impl FnOnce() -> u64,
        resolve: impl FnOnce(NewCall) -> (StackId, bool),
    ) {
        let caller = self.calls.last().map_or(NOBODY, |call| call.node);
        let cached = self.cached(caller, method);
        let node = cached.unwrap_or_else(|| self.look_up(caller, method, resolve));
        self.calls.push(Call { method, node, start: now(), callees_time: 0 });
    }

    /// Handles METHOD_EXIT. Inner calls without a reported exit end too. A method without an entry is ignored.
    #[inline]
    pub fn leave(&mut self, method: usize, now: u64) {
        if self.calls.last().is_none_or(|call| call.method != method)
            && !self.calls.iter().any(|call| call.method == method)
        {
            return;
        }
        while let Some(call) = self.calls.pop() {
            let with_callees = now.saturating_sub(call.start);
            if with_callees >= self.over {
                if let Some(node) = self.node(call.node) {
                    node.add(match self.timed {
                        Timed::Own => with_callees.saturating_sub(call.callees_time),
                        Timed::WithCallees => with_callees,
                    });
                }
                if let Some(caller) = self.calls.last_mut() {
                    caller.callees_time += with_callees;
                }
            }
            if call.method == method {
                break;
            }
        }
    }

    /// Forgets the methods of `jmethodID`s: a class was unloaded, and the VM may reuse its IDs.
    pub fn forget_methods(&mut self) {
        self.callees.clear();
        self.chunks.iter().flat_map(|chunk| chunk.iter()).for_each(Node::forget_methods);
    }

    #[inline]
    fn node(&self, node: u32) -> Option<&Node> {
        Some(&self.chunks.get(node as usize / CHUNK)?[node as usize % CHUNK])
    }

    fn stack(&self, node: u32) -> StackId {
        StackId(self.node(node).map_or(0, |node| node.stack.load(Ordering::Relaxed)))
    }

    /// Returns the node of a method called from this node, if this node has it.
    #[inline]
    fn cached(&self, caller: u32, method: usize) -> Option<u32> {
        let caller = self.node(caller)?;
        // Bytes with an equal tag are 0 here, and have their highest bit set below. Others may have it set, too.
        let others = caller.tags.load(Ordering::Relaxed) ^ (tag(method) * EACH_BYTE);
        let mut equal = others.wrapping_sub(EACH_BYTE) & !others & ((0x80 * EACH_BYTE) >> 8);
        while equal != 0 {
            let node = caller.callees.get(equal.trailing_zeros() as usize / 8)?;
            let node = node.load(Ordering::Relaxed);
            if self.node(node)?.is(method) {
                return Some(node);
            }
            equal &= equal - 1;
        }
        None
    }

    fn look_up(
        &mut self,
        caller: u32,
        method: usize,
        resolve: impl FnOnce(NewCall) -> (StackId, bool),
    ) -> u32 {
        match self.in_table(caller, method) {
            Some(node) => {
                self.cache(Callee { caller, node, method });
                node
            }
            None => self.learn(caller, method, resolve),
        }
    }

    fn in_table(&self, caller: u32, method: usize) -> Option<u32> {
        let hash = Callee { caller, node: 0, method }.hash();
        let is_it = |callee: &Callee| callee.caller == caller && callee.method == method;
        self.callees.find(hash, is_it).map(|callee| callee.node)
    }

    #[cold]
    fn learn(
        &mut self,
        caller: u32,
        method: usize,
        resolve: impl FnOnce(NewCall) -> (StackId, bool),
    ) -> u32 {
        while (self.nodes as usize) < CALLERS {
            self.add(StackId::EMPTY);
        }
        let is_within = self.limit.take();
        // Beyond the limit, stacks have no callers.
        let from = if is_within { caller } else { ANYBODY };
        let known = self.cached(from, method).or_else(|| self.in_table(from, method));
        if let Some(node) = known {
            self.cache(Callee { caller, node, method });
            return node;
        }
        let is_shallow = self.calls.len() < self.depth;
        let (stack, is_new) = resolve(NewCall { caller: self.stack(from), method, is_shallow });
        // Several `jmethodID`s are one method if they have the same name in several classes of the same name.
        let known = if is_new { None } else { self.of_stack(stack) };
        let node = known.unwrap_or_else(|| self.add(stack));
        if is_within && known.is_some() {
            self.limit.give_back(1);
        } else if is_within {
            self.shared.taken.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(node) = self.node(node).filter(|node| node.is(0)) {
            node.method.store(method, Ordering::Relaxed);
        }
        let callee = Callee { caller: from, node, method };
        if self.node(from).is_none_or(|from| from.state() >= CACHED)
            || self.node(node).is_none_or(|node| !node.is(method))
        {
            self.insert(callee);
        }
        self.cache(callee);
        if !is_within {
            self.cache(Callee { caller, ..callee });
        }
        node
    }

    /// Lets the caller find a callee in itself. If it has no place left, others give way.
    fn cache(&mut self, Callee { caller, node, method }: Callee) {
        if !self.node(node).is_some_and(|node| node.is(method)) {
            return;
        }
        let Some(from) = self.node(caller) else { return };
        if from.state() == CACHED {
            let nodes = from.callees.each_ref().map(|node| node.load(Ordering::Relaxed));
            for node in nodes {
                let method = self.node(node).map_or(0, |node| node.method.load(Ordering::Relaxed));
                self.insert(Callee { caller, node, method });
            }
        }
        if let Some(from) = self.node(caller) {
            from.set_callee(node, method);
        }
    }

    fn insert(&mut self, callee: Callee) {
        self.callees.insert_unique(callee.hash(), callee, Callee::hash);
    }

    /// Returns the node of a stack.
    fn of_stack(&mut self, stack: StackId) -> Option<u32> {
        for node in (CALLERS + self.by_stack.len()) as u32..self.nodes {
            self.by_stack.insert(self.stack(node), node);
        }
        self.by_stack.get(&stack).copied()
    }

    /// Creates the node of a stack.
    fn add(&mut self, stack: StackId) -> u32 {
        let node = self.nodes;
        let place = node as usize % CHUNK;
        if place == 0 {
            let chunk: Arc<Chunk> = Arc::new(std::array::from_fn(|_| Node::default()));
            lock(&self.shared.chunks).push(Arc::clone(&chunk));
            self.chunks.push(chunk);
        }
        self.chunks[node as usize / CHUNK][place].stack.store(stack.0, Ordering::Relaxed);
        self.nodes += 1;
        self.shared.nodes.store(self.nodes as usize, Ordering::Release);
        node
    }
}

/// Returns the stack of a call to `frame`, with the innermost `depth` frames, and if it is new.
pub fn stack_of_call(
    traces: &mut Traces,
    call: NewCall,
    frame: FrameId,
    depth: usize,
) -> (StackId, bool) {
    let before = traces.stacks();
    let stack = if call.is_shallow {
        traces.push(call.caller, frame)
    } else {
        let callers = traces.path(call.caller).iter();
        let frames: Vec<_> = std::iter::once(frame).chain(callers).take(depth).collect();
        traces.stack(&frames)
    };
    (stack, stack.0 as usize >= before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A thread with numbers as methods, in which a hundred `jmethodID`s mean one method.
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
            let times = CallTimes::new(depth, Timed::Own, None, Arc::new(Limit::new(limit)));
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

    /// Returns the calls and the time of each stack.
    fn read(Thread { times, traces, .. }: &Thread) -> BTreeMap<Vec<u32>, (u64, u64)> {
        let mut rows = BTreeMap::new();
        times.costs().each(|stack, cost| {
            let methods: Vec<_> = traces.path(stack).iter().map(|method| method.0).collect();
            let (calls, time) = rows.entry(methods).or_default();
            *calls += cost.calls;
            *time += cost.time;
        });
        rows
    }

    #[test]
    fn methods_of_several_numbers_share_nodes_after_an_unloading() {
        let mut times = Thread::new(9);
        times.times.forget_methods();
        for round in 0..100 {
            for method in [100, 101, 102] {
                times.enter(method, round);
                times.enter(200, round);
                times.leave(200, round + 1);
                times.leave(method, round + 1);
            }
        }
        assert_eq!(read(&times), BTreeMap::from([(vec![1], (300, 0)), (vec![2, 1], (300, 300))]));
        // A node has one of its numbers, and the table the others.
        let CallTimes { nodes, callees, .. } = &times.times;
        assert_eq!((*nodes as usize - CALLERS, callees.len()), (2, 2));
    }

    #[test]
    fn time_with_callees_is_counted_if_wanted() {
        let mut times = Thread::new(2);
        times.times.timed = Timed::WithCallees;
        times.enter(100, 10);
        times.enter(200, 20);
        times.leave(200, 50);
        times.leave(100, 60);
        assert_eq!(read(&times), BTreeMap::from([(vec![1], (1, 50)), (vec![2, 1], (1, 30))]));
    }

    #[test]
    fn short_calls_count_as_time_of_their_callers() {
        let mut times = Thread::new(9);
        times.times.over = 10;
        for (begin, method, length) in [(0, 200, 9), (100, 300, 10), (200, 200, 8)] {
            times.enter(100, begin);
            times.enter(method, begin);
            times.leave(method, begin + length);
            times.leave(100, begin + length + 1);
        }
        let expected = [(vec![1], (2, 10 + 1)), (vec![2, 1], (0, 0)), (vec![3, 1], (1, 10))];
        assert_eq!(read(&times), BTreeMap::from(expected));
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
            assert_eq!(times.times.callees.len(), 3000);
        }
        let rows = read(&times);
        assert_eq!(rows.len(), 3001);
        let innermost = rows.iter().filter(|(methods, _)| methods.len() == 2);
        innermost.for_each(|(_, cost)| assert_eq!(*cost, (3, 6)));
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
        let expected =
            BTreeMap::from([(vec![1], (1, 140)), (vec![2, 1], (2, 20)), (vec![3, 2], (2, 40))]);
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
    fn calls_without_an_exit_end_with_their_caller() {
        let mut times = Thread::new(1);
        times.leave(100, 5);
        times.enter(100, 10);
        times.enter(200, 20);
        times.leave(300, 25);
        times.leave(100, 30);
        assert_eq!(read(&times), BTreeMap::from([(vec![1], (1, 10)), (vec![2], (1, 10))]));
    }

    #[test]
    fn a_number_that_was_given_again_means_another_method() {
        let mut times = Thread::new(1);
        for (method, start) in [(1, 0), (2, 10), (1, 20)] {
            times.enter_as(100, method, start);
            times.leave(100, start + 1);
            times.times.forget_methods();
        }
        assert_eq!(read(&times), BTreeMap::from([(vec![1], (2, 2)), (vec![2], (1, 1))]));
    }

    #[test]
    fn methods_beyond_the_limit_have_no_callers() {
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
