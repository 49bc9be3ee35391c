//! `cpu=samples`: a thread that samples the threads that have used the CPU, every few milliseconds.
//!
//! A thread counts if it is runnable for the VM and has run since the last sample. A thread that waits in
//! native code, usually for a socket, therefore does not count, although the VM considers it runnable.

use crate::orders::{Orders, Sampled};
use crate::shared::Shared;
use jvmpi::{Frame, Frames, GcDisabled, MultiThreaded, ThreadId};
use jvmpi_formats::profile::ThreadSerial;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Runs the sampler on the current thread.
pub fn run(shared: &Arc<Shared>, jvmpi: &mut MultiThreaded<'_>) {
    let session = shared.session();
    let mut sampler = Sampler {
        frames: Frames::with_depth(session.depth()),
        threads: Vec::new(),
        taken: Vec::new(),
        all_frames: Vec::new(),
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
            sampler.frames_for(session.depth());
            {
                let mut jvmpi = jvmpi.disable_gc();
                sampler.look(shared, &mut jvmpi, &sampled);
                shared.learn_methods(&mut jvmpi, &sampler.all_frames);
            }
            let mut known = shared.known.lock().unwrap_or_else(PoisonError::into_inner);
            session.add_samples(sampler.taken.iter().map(|taken| {
                let serial = if session.options.threads { taken.thread } else { ThreadSerial(0) };
                let frames = &sampler.all_frames[taken.start..taken.end];
                known.trace(serial, frames.iter().map(|f| shared.raw_frame(&session, f)))
            }));
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
}

/// The stack of a thread: a range of `all_frames`.
struct Taken {
    thread: ThreadSerial,
    start: usize,
    end: usize,
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
        let Self { frames, threads, taken, all_frames } = self;
        let _none_ends = shared.live_threads(sampled, threads);
        threads.retain(|(thread, _)| jvmpi.thread_has_run(*thread));
        taken.clear();
        all_frames.clear();
        for (thread, serial) in threads {
            let start = all_frames.len();
            all_frames.extend_from_slice(jvmpi.call_trace(*thread, frames));
            if all_frames.len() > start {
                taken.push(Taken { thread: *serial, start, end: all_frames.len() });
            }
        }
    }
}
