//! The instructions to the sampler.

use jvmpi_formats::hprof::options::Options;

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
    pub sampled: Sampled,
    /// True if the sampler is to end.
    pub end: bool,
}

impl Orders {
    /// Returns the instructions that follow from the options.
    pub fn of(options: &Options) -> Self {
        let sampled = if options.samples() { Sampled::ALL } else { Sampled::NONE };
        Self { sampled, end: false }
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
