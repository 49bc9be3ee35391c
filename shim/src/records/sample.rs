//! The place for a thread's asynchronous call trace, which its signal handler fills ([`crate::suspension::sampling`]).

use super::agents::Agent;
use jni_sys::{JNIEnv, jint};
use jvm::async_call_trace::{self, RawFrame};
use jvm::platform::anonymous_memory;
use std::ffi::c_void;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU64, AtomicUsize, Ordering,
};
use std::{ptr, slice};

/// The states of a [`Sample`], in the lower bits of its word.
const STATE: u64 = 3;
/// The handler has nothing to do.
const IDLE: u64 = 0;
/// The handler must take the trace.
const REQUESTED: u64 = 1;
/// The handler has taken the trace, which no agent has seen yet.
const TAKEN: u64 = 2;
/// The bit of the word that selects the buffer for the handler to write.
const BUFFER: u64 = 4;
/// The requests are numbered from this bit on: a handler that comes too late for its request must not
/// answer the next one.
const NUMBER: u64 = 8;

/// The value of [`Sample::shown`] while there is no trace.
const NONE: usize = usize::MAX;

/// The asynchronous trace of one thread. All but the handler's part ([`Sample::take`]) is done under the
/// lock that [`for_resuming`](crate::sync::vm_locks::for_resuming) takes.
pub struct Sample {
    /// The number of the request, [`BUFFER`], and the state.
    word: AtomicU64,
    /// The agent for which the trace was last requested. No other agent gets it.
    agent: AtomicUsize,
    /// The buffer with the trace that `GetCallTrace` returns next, or [`NONE`]. The handler fills the other.
    shown: AtomicUsize,
    /// The thread's CPU time when the trace was requested.
    pub requested_at: AtomicI64,
    /// The thread's CPU time up to which agents know that it has run.
    pub accounted: AtomicI64,
    /// True if the thread blocks the signal.
    pub blocks_signal: AtomicBool,
    trace: Trace,
}

impl Default for Sample {
    fn default() -> Self {
        Self {
            word: AtomicU64::new(IDLE),
            agent: AtomicUsize::new(NONE),
            shown: AtomicUsize::new(NONE),
            requested_at: AtomicI64::new(0),
            accounted: AtomicI64::new(0),
            blocks_signal: AtomicBool::new(false),
            trace: Trace::default(),
        }
    }
}

impl Sample {
    fn state(&self) -> u64 {
        self.word.load(Ordering::SeqCst) & STATE
    }

    /// Returns true if a trace is requested that the thread has not taken.
    pub fn is_requested(&self) -> bool {
        self.state() == REQUESTED
    }

    /// Requests a trace for the agent. Cancels an earlier request.
    pub fn request(&self, agent: &Agent, cpu: i64) {
        self.trace.allocate();
        if self.agent.swap(agent.index, Ordering::SeqCst) != agent.index {
            self.discard();
        }
        self.requested_at.store(cpu, Ordering::SeqCst);
        let buffer = if self.shown.load(Ordering::SeqCst) == 0 { BUFFER } else { 0 };
        let number = self.word.load(Ordering::SeqCst) / NUMBER + 1;
        self.word.store((number * NUMBER) | buffer | REQUESTED, Ordering::SeqCst);
    }

    /// Called in the handler: takes the trace if one is requested. `cpu` reads the thread's CPU time.
    ///
    /// # Safety
    /// The requirements of [`Trace::take`] hold.
    pub unsafe fn take(&self, env: *mut JNIEnv, context: *mut c_void, cpu: impl FnOnce() -> i64) {
        let word = self.word.load(Ordering::SeqCst);
        if word & STATE == REQUESTED {
            // SAFETY: as the caller promises. No other code reads this buffer before the word says TAKEN. Of two
            // handlers on this thread the second begins after the first has ended.
            unsafe { self.trace.take(buffer_of(word), env, context) };
            self.accounted.store(cpu(), Ordering::SeqCst);
            let taken = word & !STATE | TAKEN;
            let _ = self.word.compare_exchange(word, taken, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// Ends the request. [`Self::peek`] and [`Self::give`] now show the trace if it has been taken. Otherwise the
    /// request is cancelled.
    pub fn settle(&self) {
        self.end_in(&[REQUESTED, TAKEN]);
    }

    /// Cancels a requested trace that has not been taken. Called when a virtual thread leaves its carrier.
    pub fn abandon(&self) {
        self.end_in(&[REQUESTED]);
    }

    /// Shows a trace that has been taken. Does not end a pending request.
    pub fn show(&self) {
        self.end_in(&[TAKEN]);
    }

    /// Ends the request if it is in one of these states, and shows its trace if that was taken.
    fn end_in(&self, states: &[u64]) {
        let end = |word: u64| states.contains(&(word & STATE)).then_some(word & !STATE | IDLE);
        let order = Ordering::SeqCst;
        if let Ok(word) = self.word.fetch_update(order, order, end)
            && word & STATE == TAKEN
        {
            self.shown.store(buffer_of(word), Ordering::SeqCst);
        }
    }

    /// Drops the trace that would be shown.
    pub fn discard(&self) {
        self.shown.store(NONE, Ordering::SeqCst);
    }

    /// Returns the innermost `depth` frames of the shown trace. If they are not known, the trace is dropped, so that
    /// `GetCallTrace` returns JVMTI's trace as long as the thread is suspended.
    pub fn peek(&self, depth: usize) -> Option<&[RawFrame]> {
        let buffer = self.shown.load(Ordering::SeqCst);
        let frames = (buffer != NONE).then(|| self.trace.get(buffer, depth)).flatten();
        if frames.is_none() {
            self.discard();
        }
        frames
    }

    /// Returns the same as [`Self::peek`], and drops the trace.
    pub fn give(&self, depth: usize) -> Option<&[RawFrame]> {
        let frames = self.peek(depth);
        self.discard();
        frames
    }

    pub fn is_for(&self, agent: &Agent) -> bool {
        self.agent.load(Ordering::SeqCst) == agent.index
    }

    pub fn is_shown(&self) -> bool {
        self.shown.load(Ordering::SeqCst) != NONE
    }

    /// Returns true if the thread, which has used `cpu` nanoseconds, has run since agents last saw that it had.
    pub fn has_run(&self, cpu: i64) -> bool {
        cpu > self.accounted.load(Ordering::SeqCst)
    }
}

fn buffer_of(word: u64) -> usize {
    usize::from(word & BUFFER != 0)
}

/// The largest number of frames of a trace.
const MAX_DEPTH: usize = 1024;

/// The number of frames that a trace gets at present: the most that agents have asked for. Walking a deep stack
/// is slow, and few agents want all of it.
static DEPTH: AtomicUsize = AtomicUsize::new(1);

/// Two call traces of one thread. The handler fills one while the other is read.
#[derive(Default)]
pub struct Trace {
    /// The memory of both buffers, NULL until the first request.
    memory: AtomicPtr<RawFrame>,
    buffers: [Buffer; 2],
}

#[derive(Default)]
struct Buffer {
    /// The number of frames; negative if the stack could not be walked.
    count: AtomicI32,
    /// The number of frames requested.
    depth: AtomicUsize,
}

impl Trace {
    /// Maps the memory before the signal is sent. It does not use `malloc`, because other threads may be
    /// suspended.
    pub fn allocate(&self) {
        if !self.memory.load(Ordering::Acquire).is_null() {
            return;
        }
        // If there is no memory, JVMTI takes the traces.
        if let Some(memory) = anonymous_memory::map(FRAMES) {
            self.memory.store(memory, Ordering::Release);
        }
    }

    /// Takes the call trace of the current thread. Called only in the signal handler of the trace's thread.
    ///
    /// # Safety
    /// The caller fulfills the requirements of [`async_call_trace::walk`], except those on the frames. No other
    /// code reads this buffer meanwhile.
    pub unsafe fn take(&self, buffer: usize, env: *mut JNIEnv, context: *mut c_void) {
        let memory = self.memory.load(Ordering::Acquire);
        if memory.is_null() {
            return;
        }
        let depth = DEPTH.load(Ordering::Relaxed);
        // SAFETY: each buffer has room for MAX_DEPTH frames, and no other code reads this one; a frame of zero
        // bytes is valid.
        let room = unsafe { slice::from_raw_parts_mut(memory.add(buffer * MAX_DEPTH), depth) };
        // SAFETY: as the caller promises.
        let walked = unsafe { async_call_trace::walk(env, room, context) };
        let count = walked.map_or_else(|reason| reason, |count| count as jint);
        self.buffers[buffer].count.store(count, Ordering::Relaxed);
        self.buffers[buffer].depth.store(depth, Ordering::Relaxed);
    }

    /// Returns the innermost `depth` frames in a buffer. None if the stack could not be walked, or has more
    /// frames than were taken. The handler must not write the buffer meanwhile.
    pub fn get(&self, buffer: usize, depth: usize) -> Option<&[RawFrame]> {
        let memory = self.memory.load(Ordering::Acquire);
        let count = usize::try_from(self.buffers[buffer].count.load(Ordering::Relaxed)).ok()?;
        let taken = self.buffers[buffer].depth.load(Ordering::Relaxed);
        if count == 0 {
            // The VM's own threads have no frames. JVMTI finds those of other threads.
            return None;
        }
        if memory.is_null() || count == taken && taken < depth {
            DEPTH.fetch_max(depth.min(MAX_DEPTH), Ordering::Relaxed);
            return None;
        }
        // SAFETY: `take` has filled this buffer.
        let frames = unsafe { slice::from_raw_parts(memory.add(buffer * MAX_DEPTH), count) };
        let frames = &frames[..count.min(depth)];
        frames.iter().all(|frame| !frame.method.is_null()).then_some(frames)
    }
}

/// The number of frames of both buffers.
const FRAMES: usize = 2 * MAX_DEPTH;

impl Drop for Trace {
    fn drop(&mut self) {
        let memory = std::mem::replace(self.memory.get_mut(), ptr::null_mut());
        if !memory.is_null() {
            // SAFETY: `allocate` has mapped it, and no other code uses it any more.
            unsafe { anonymous_memory::unmap(memory, FRAMES) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::agents;

    /// Answers the request like the handler, with a trace that could not be walked.
    fn answer(sample: &Sample, word: u64) -> bool {
        let taken = word & !STATE | TAKEN;
        sample.word.compare_exchange(word, taken, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    #[test]
    fn handler_that_comes_too_late_does_not_answer_the_next_request() {
        let (sample, agent) = (Sample::default(), agents::get(0));
        sample.request(agent, 0);
        let first = sample.word.load(Ordering::SeqCst);
        sample.settle();
        assert!(!sample.is_shown() && !answer(&sample, first));
        sample.request(agent, 0);
        assert!(!answer(&sample, first));
        assert!(answer(&sample, sample.word.load(Ordering::SeqCst)));
        sample.settle();
        assert!(sample.is_shown() && sample.state() == IDLE);
    }

    #[test]
    fn handler_never_writes_the_buffer_that_is_shown() {
        let (sample, agent) = (Sample::default(), agents::get(0));
        for _ in 0..5 {
            sample.request(agent, 0);
            let word = sample.word.load(Ordering::SeqCst);
            assert_ne!(buffer_of(word), sample.shown.load(Ordering::SeqCst));
            assert!(answer(&sample, word));
            sample.show();
            assert_eq!(buffer_of(word), sample.shown.load(Ordering::SeqCst));
        }
    }

    #[test]
    fn trace_is_given_only_to_the_agent_it_was_requested_for() {
        let (sample, one, other) = (Sample::default(), agents::get(0), agents::get(1));
        sample.request(one, 0);
        assert!(answer(&sample, sample.word.load(Ordering::SeqCst)));
        sample.settle();
        assert!(sample.is_for(one) && !sample.is_for(other) && sample.is_shown());
        sample.request(other, 0);
        assert!(sample.is_for(other) && !sample.is_shown());
    }
}
