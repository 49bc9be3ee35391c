//! The thread that collects samples. For `cpu=samples` it takes those that the threads have left ([`cpu`](crate::cpu)).
//! For `cpu=wall` it samples all threads itself, in turn ([`wall`](crate::wall)).

use crate::mutex::lock;
use crate::orders::{Orders, Sampled};
use crate::session::Session;
use crate::shared::Shared;
use crate::symbols::Symbols;
use crate::wall::{self, Chosen, Innermost, Turns};
use jvmpi::{Frame, Frames, GcDisabled, Line, MultiThreaded, ThreadId, ThreadState};
use jvmpi_formats::hprof::options::Cpu;
use jvmpi_formats::profile::{ThreadSerial, TraceSerial};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs the sampler on the current thread.
pub fn run(shared: &Arc<Shared>, jvmpi: &mut MultiThreaded<'_>) {
    let session = shared.session();
    let mut wall = (session.options.cpu == Some(Cpu::Wall)).then(|| Sampler::new(session.depth()));
    loop {
        let sampled = shared.sampler.enter(jvmpi).borrow().sampled.clone();
        let pause = match &mut wall {
            Some(wall) if sampled == Sampled::NONE => {
                wall.turns.restart();
                None
            }
            Some(wall) => Some(wall.sample(shared, &session, jvmpi, &sampled)),
            None if sampled == Sampled::NONE => {
                lock(&shared.cpu).pause();
                None
            }
            None => Some(lock(&shared.cpu).collect(shared, &session, jvmpi, &sampled)),
        };
        let mut orders = shared.sampler.enter(jvmpi);
        let has_ended = |orders: &RefCell<Orders>| {
            orders.borrow().end || !Arc::ptr_eq(&session, &shared.session())
        };
        if has_ended(&orders) {
            return;
        }
        if orders.borrow().sampled == sampled {
            orders.wait(jvmpi, pause);
        }
        if has_ended(&orders) {
            return;
        }
    }
}

/// The sampler of elapsed time, whose buffers are reused for each sample.
struct Sampler {
    frames: Frames,
    threads: Vec<(ThreadId, ThreadSerial)>,
    taken: Vec<Taken>,
    /// The frames of all stacks in `taken`.
    all_frames: Vec<Frame>,
    /// The order of the threads.
    turns: Turns<ThreadId>,
    chosen: Vec<Chosen<ThreadId>>,
    /// The mean time that a tick takes.
    cost: Duration,
}

/// The stack of a thread: a range of `all_frames`.
struct Taken {
    thread: ThreadSerial,
    start: usize,
    end: usize,
    status: ThreadState,
    /// The time for which the sample stands.
    time: Duration,
}

impl Sampler {
    fn new(depth: usize) -> Self {
        Self {
            frames: Frames::with_depth(depth + 1),
            threads: Vec::new(),
            taken: Vec::new(),
            all_frames: Vec::new(),
            turns: Turns::new(),
            chosen: Vec::new(),
            cost: Duration::ZERO,
        }
    }

    /// Samples the threads whose turn it is. Returns the time until the next tick.
    fn sample(
        &mut self,
        shared: &Shared,
        session: &Session,
        jvmpi: &mut MultiThreaded<'_>,
        sampled: &Sampled,
    ) -> Duration {
        let start = Instant::now();
        // One frame more shows whether the stack is deeper, and the state if traces have no frames.
        let depth = session.depth() + 1;
        if self.frames.depth() != depth {
            self.frames = Frames::with_depth(depth);
        }
        {
            let mut jvmpi = jvmpi.disable_gc();
            self.take_in_turn(shared, &mut jvmpi, sampled);
            shared.learn_methods(&mut jvmpi, &self.all_frames);
        }
        session.add_samples(self.samples(shared, session, &mut lock(&shared.known)));
        self.cost = (self.cost * 9 + start.elapsed()) / 10;
        // Sampling takes at most half of the time, however long one sample takes.
        session.options.interval.saturating_sub(self.cost).max(self.cost)
    }

    /// Takes the stacks of the threads whose turn it is, whether they have run or not. No thread is suspended.
    fn take_in_turn(&mut self, shared: &Shared, jvmpi: &mut GcDisabled<'_>, sampled: &Sampled) {
        let Self { frames, threads, taken, all_frames, turns, chosen, .. } = self;
        let _none_ends = shared.live_threads(sampled, threads);
        {
            let own = lock(&shared.own);
            threads.retain(|(thread, _)| !own.contains(thread));
        }
        turns.choose(threads, chosen);
        taken.clear();
        all_frames.clear();
        // Threads that run Java code take their own stacks, all at the same time.
        let have_run: Vec<bool> =
            chosen.iter().map(|one| jvmpi.thread_has_run(one.thread)).collect();
        for (one, has_run) in chosen.iter().zip(have_run) {
            // The stack is of the moment when the thread was runnable, so its status does not matter.
            let status = if has_run {
                Some(ThreadState::Runnable)
            } else {
                jvmpi.thread_status(one.thread).map(|status| status.state)
            };
            let Some(status) = status else { continue };
            let start = all_frames.len();
            all_frames.extend_from_slice(jvmpi.call_trace(one.thread, frames));
            let end = all_frames.len();
            if has_run && start == end {
                // The thread waits for a processor, and takes its stack when it gets one.
                turns.ask_again(*one);
            } else {
                taken.push(Taken { thread: one.serial, start, end, status, time: one.time });
            }
        }
    }

    /// Returns the traces of the taken stacks, each with its number of samples.
    fn samples<'a>(
        &'a mut self,
        shared: &'a Shared,
        session: &'a Session,
        known: &'a mut Symbols,
    ) -> impl Iterator<Item = (TraceSerial, u64)> + 'a {
        let Self { taken, all_frames, turns, .. } = self;
        taken.iter().map(move |taken| {
            let serial = if session.options.threads { taken.thread } else { ThreadSerial(0) };
            let frames = &all_frames[taken.start..taken.end];
            let innermost = frames.first().map(|frame| {
                let (class, method) = known.name_of(frame.method().as_usize());
                Innermost { class, method, is_native: frame.line() == Line::Native }
            });
            let state = Some(wall::state(taken.status, innermost));
            let samples = turns.samples(taken.time, session.options.interval);
            let is_cut = frames.len() > session.depth() && session.options.shows_timeline();
            let frames = frames.iter().take(session.depth());
            let frames = frames.map(|frame| shared.raw_frame(session, frame));
            (known.trace(serial, state, frames, is_cut), samples)
        })
    }
}
