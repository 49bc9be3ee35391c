//! `cpu=samples`: a thread that looks every few milliseconds what those do that have used the CPU.
//!
//! A thread counts if it is runnable, as far as the VM knows, and has run since the last look. So one that
//! waits in native code, for a socket as a rule, does not count, though the VM takes it for runnable.

use crate::agent::Shared;
use jvmpi::{Frame, Frames, GcDisabled, MultiThreaded, ThreadId};
use jvmpi_formats::hprof::options::{Cpu, Options};
use jvmpi_formats::profile::ThreadSerial;
use std::cell::{Cell, RefCell};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Which threads are sampled, by their Thread objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sampled {
    /// All but these.
    AllBut(Vec<u64>),
    /// None but these.
    Only(Vec<u64>),
}

impl Sampled {
    /// None.
    pub const NONE: Self = Self::Only(Vec::new());
    /// All.
    pub const ALL: Self = Self::AllBut(Vec::new());

    /// Whether this thread is.
    pub fn has(&self, thread: u64) -> bool {
        match self {
            Self::AllBut(threads) => !threads.contains(&thread),
            Self::Only(threads) => threads.contains(&thread),
        }
    }

    /// This thread, or all if it is 0, shall be sampled, or shall not.
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

/// What the sampler is to do; it is told by a change under its monitor.
#[derive(Debug)]
pub struct Orders {
    /// Which threads it samples.
    pub sampled: RefCell<Sampled>,
    /// Whether it is to end.
    pub end: Cell<bool>,
}

impl Orders {
    /// What the options ask for.
    pub fn of(options: &Options) -> Self {
        let sampled = if options.cpu == Some(Cpu::Samples) { Sampled::ALL } else { Sampled::NONE };
        Self { sampled: RefCell::new(sampled), end: Cell::new(false) }
    }
}

/// The sampler's thread.
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
            // Looking takes at most half of the time, however long it takes.
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

/// What the sampler needs again and again, so that it need not be allocated each time.
struct Sampler {
    frames: Frames,
    threads: Vec<(ThreadId, ThreadSerial)>,
    taken: Vec<Taken>,
    /// The frames of all that was taken.
    all_frames: Vec<Frame>,
}

/// The stack of a thread: frames of `all_frames`.
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

    /// Takes the stacks of the threads that have run. None is suspended: those that are asked whether they
    /// have run take their own, all at the same time.
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
