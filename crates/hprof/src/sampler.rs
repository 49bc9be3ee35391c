//! `cpu=samples` and `cpu=wall`: a thread that samples the other threads every few milliseconds.
//!
//! For `cpu=samples` a thread counts if it is runnable for the VM and has run since the last sample. A thread that
//! waits in native code, usually for a socket, therefore does not count, although the VM considers it runnable. For
//! `cpu=wall` all threads count, in turn ([`wall`](crate::wall)).

use crate::orders::{Orders, Sampled};
use crate::session::Session;
use crate::shared::{Shared, lock};
use crate::symbols::Symbols;
use crate::wall::{self, Chosen, Innermost, Turns};
use jvmpi::{Frame, Frames, GcDisabled, Line, MultiThreaded, ThreadId, ThreadState};
use jvmpi_formats::hprof::options::Cpu;
use jvmpi_formats::profile::{ThreadSerial, TraceSerial};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs the sampler on the current thread.
pub fn run(shared: &Arc<Shared>, jvmpi: &mut MultiThreaded<'_>) {
    let session = shared.session();
    let mut sampler = Sampler {
        frames: Frames::with_depth(session.depth()),
        threads: Vec::new(),
        taken: Vec::new(),
        all_frames: Vec::new(),
        turns: (session.options.cpu == Some(Cpu::Wall)).then(Turns::new),
        chosen: Vec::new(),
    };
    let interval = session.options.interval;
    let mut cost = Duration::ZERO;
    loop {
        let sampled = {
            let mut orders = shared.sampler.enter(jvmpi);
            let has_ended =
                |orders: &Orders| orders.end.get() || !Arc::ptr_eq(&session, &shared.session());
            if has_ended(&orders) {
                return;
            }
            let is_off = *orders.sampled.borrow() == Sampled::NONE;
            // Sampling takes at most half of the time, however long one sample takes.
            let pause = interval.saturating_sub(cost).max(cost);
            orders.wait(jvmpi, (!is_off).then_some(pause));
            if has_ended(&orders) {
                return;
            }
            orders.sampled.borrow().clone()
        };
        let start = Instant::now();
        if sampled != Sampled::NONE {
            // The innermost frame shows the state, also if traces have no frames.
            sampler.frames_for(session.depth().max(usize::from(sampler.turns.is_some())));
            {
                let mut jvmpi = jvmpi.disable_gc();
                if sampler.turns.is_some() {
                    sampler.take_in_turn(shared, &mut jvmpi, &sampled);
                } else {
                    sampler.look(shared, &mut jvmpi, &sampled);
                }
                shared.learn_methods(&mut jvmpi, &sampler.all_frames);
            }
            let mut known = lock(&shared.known);
            session.add_samples(sampler.samples(shared, &session, &mut known));
        } else if let Some(turns) = &mut sampler.turns {
            turns.restart();
        }
        cost = (cost * 9 + start.elapsed()) / 10;
    }
}

/// The buffers of the sampler, which are reused for each sample.
struct Sampler {
    frames: Frames,
    threads: Vec<(ThreadId, ThreadSerial)>,
    taken: Vec<Taken>,
    /// The frames of all stacks in `taken`.
    all_frames: Vec<Frame>,
    /// The order of the threads for `cpu=wall`.
    turns: Option<Turns<ThreadId>>,
    chosen: Vec<Chosen<ThreadId>>,
}

/// The stack of a thread: a range of `all_frames`.
struct Taken {
    thread: ThreadSerial,
    start: usize,
    end: usize,
    /// For `cpu=wall`, the status of the thread and the time for which the sample stands.
    wall: Option<(ThreadState, Duration)>,
}

impl Sampler {
    fn frames_for(&mut self, depth: usize) {
        if self.frames.depth() != depth {
            self.frames = Frames::with_depth(depth);
        }
    }

    /// Takes the stacks of the threads that have run. No thread is suspended: the check whether a thread
    /// has run makes the thread record its own stack, all threads at the same time.
    fn look(&mut self, shared: &Shared, jvmpi: &mut GcDisabled<'_>, sampled: &Sampled) {
        let Self { frames, threads, taken, all_frames, .. } = self;
        let _none_ends = shared.live_threads(sampled, threads);
        threads.retain(|(thread, _)| jvmpi.thread_has_run(*thread));
        taken.clear();
        all_frames.clear();
        for (thread, serial) in threads {
            let start = all_frames.len();
            all_frames.extend_from_slice(jvmpi.call_trace(*thread, frames));
            if all_frames.len() > start {
                taken.push(Taken { thread: *serial, start, end: all_frames.len(), wall: None });
            }
        }
    }

    /// Takes the stacks of the threads whose turn it is, whether they have run or not. No thread is suspended.
    fn take_in_turn(&mut self, shared: &Shared, jvmpi: &mut GcDisabled<'_>, sampled: &Sampled) {
        let Self { frames, threads, taken, all_frames, turns, chosen } = self;
        let Some(turns) = turns else { return };
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
                let wall = Some((status, one.time));
                taken.push(Taken { thread: one.serial, start, end, wall });
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
            let mut frames = &all_frames[taken.start..taken.end];
            let (mut state, mut samples) = (None, 1);
            if let (Some((status, time)), Some(turns)) = (taken.wall, &mut *turns) {
                let innermost = frames.first().map(|frame| {
                    let (class, method) = known.name_of(frame.method().as_usize());
                    Innermost { class, method, is_native: frame.line() == Line::Native }
                });
                state = Some(wall::state(status, innermost));
                samples = turns.samples(time, session.options.interval);
                frames = &frames[..frames.len().min(session.depth())];
            }
            let frames = frames.iter().map(|frame| shared.raw_frame(session, frame));
            (known.trace(serial, state, frames), samples)
        })
    }
}
