//! `cpu=samples`: a thread that samples the threads that have used the CPU, every few milliseconds.
//!
//! A thread counts if it is runnable for the VM and has run since the last sample. A thread that waits in
//! native code, usually for a socket, therefore does not count, although the VM considers it runnable.

use crate::agent::Shared;
use jvmpi::{Frame, Frames, GcDisabled, MultiThreaded, ThreadId};
use jvmpi_formats::hprof::options::{Cpu, Options};
use jvmpi_formats::profile::ThreadSerial;
use std::cell::{Cell, RefCell};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// A set of threads to be sampled, by their Thread objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sampled {
    /// All threads except these.
    AllBut(Vec<u64>),
    /// Only these threads.
    Only(Vec<u64>),
}

impl Sampled {
    /// No thread.
    pub const NONE: Self = Self::Only(Vec::new());
    /// All threads.
    pub const ALL: Self = Self::AllBut(Vec::new());

    /// Returns true if this thread is in the set.
    pub fn has(&self, thread: u64) -> bool {
        match self {
            Self::AllBut(threads) => !threads.contains(&thread),
            Self::Only(threads) => threads.contains(&thread),
        }
    }

    /// Adds or removes this thread, or all threads if it is 0.
    pub fn change(&mut self, thread: u64, sampled: bool) {
        if thread == 0 {
            *self = if sampled { Self::ALL } else { Self::NONE };
            return;
        }
        match self {
            Self::AllBut(threads) | Self::Only(threads) => threads.retain(|other| *other != thread),
        }
        match (self, sampled) {
            (Self::AllBut(threads), false) | (Self::Only(threads), true) => threads.push(thread),
            _ => {}
        }
    }
}

/// The instructions to the sampler. A change under its monitor notifies it.
#[derive(Debug)]
pub struct Orders {
    /// The threads to be sampled.
    pub sampled: RefCell<Sampled>,
    /// True if the sampler is to end.
    pub end: Cell<bool>,
}

impl Orders {
    /// Returns the instructions that follow from the options.
    pub fn of(options: &Options) -> Self {
        let sampled = if options.cpu == Some(Cpu::Samples) { Sampled::ALL } else { Sampled::NONE };
        Self { sampled: RefCell::new(sampled), end: Cell::new(false) }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_chosen_one_by_one_or_all() {
        let mut sampled = Sampled::ALL;
        assert!(sampled.has(16));
        sampled.change(16, false);
        assert!(!sampled.has(16) && sampled.has(32));
        sampled.change(16, true);
        assert_eq!(sampled, Sampled::ALL);
        sampled.change(0, false);
        assert_eq!(sampled, Sampled::NONE);
        sampled.change(32, true);
        sampled.change(32, true);
        assert!(sampled.has(32) && !sampled.has(16));
        sampled.change(32, false);
        assert_eq!(sampled, Sampled::NONE);
        sampled.change(0, true);
        assert_eq!(sampled, Sampled::ALL);
    }
}
