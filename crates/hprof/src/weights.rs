//! The weights of objects: the number of objects and bytes for which one reported object stands.
//!
//! If allocations are sampled, the VM reports the objects that contain a sample point. The distances between sample
//! points are geometrically distributed, with the interval `n` as their mean. So an object of `s` bytes is reported
//! with the probability `p = 1 - exp(-s / n)`. It counts as `1 / p` objects and `s / p` bytes, which makes the sums
//! unbiased for each size.

use jvmpi_formats::profile::Amount;
use std::num::NonZeroU32;

/// The parts that one object is counted in. Large objects have weights between 1 and 2.
const PARTS: u64 = 1 << 16;

/// A number of objects, as a fraction, and of bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    /// The number of objects, times [`PARTS`].
    pub parts: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl Tally {
    /// Adds a tally.
    pub fn add(&mut self, more: Self) {
        self.parts += more.parts;
        self.bytes += more.bytes;
    }

    /// Subtracts a tally. The result is at least 0: threads count during the summation, so `by` may briefly be
    /// larger.
    pub fn less(self, by: Self) -> Self {
        Self {
            parts: self.parts.saturating_sub(by.parts),
            bytes: self.bytes.saturating_sub(by.bytes),
        }
    }

    /// Returns whole numbers.
    pub fn amount(self) -> Amount {
        Amount { instances: (self.parts + PARTS / 2) / PARTS, bytes: self.bytes }
    }
}

/// The weights of all sizes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Weights {
    /// The mean number of bytes between two sample points; None if every object is reported.
    interval: Option<NonZeroU32>,
}

impl Weights {
    /// Returns the weights for a sampling interval.
    pub fn new(interval: Option<NonZeroU32>) -> Self {
        Self { interval }
    }

    /// Returns true if only samples are reported.
    pub fn are_estimates(self) -> bool {
        self.interval.is_some()
    }

    /// Returns the tally for which a reported object of this size stands.
    #[inline]
    pub fn of(self, size: u64) -> Tally {
        match self.interval {
            None => Tally { parts: PARTS, bytes: size },
            Some(interval) => estimate(size, interval),
        }
    }
}

fn estimate(size: u64, interval: NonZeroU32) -> Tally {
    let size = size.max(1) as f64;
    let probability = -(-size / f64::from(interval.get())).exp_m1();
    Tally {
        parts: (PARTS as f64 / probability).round() as u64,
        bytes: (size / probability).round() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: u32 = 512 << 10;

    fn weights(interval: u32) -> Weights {
        Weights::new(NonZeroU32::new(interval))
    }

    #[test]
    fn an_exact_object_counts_once() {
        let weight = Weights::default().of(24);
        assert_eq!((weight.parts, weight.bytes), (PARTS, 24));
        let mut sum = Tally::default();
        (0..7).for_each(|_| sum.add(weight));
        assert_eq!(sum.amount(), Amount { instances: 7, bytes: 168 });
        assert_eq!(weight.less(sum), Tally::default());
    }

    #[test]
    fn a_sample_counts_as_the_inverse_of_its_probability() {
        // From tables of the exponential function.
        for (size, objects, bytes) in [
            (16, 32768.5, 524_296),
            (u64::from(INTERVAL) / 2, 2.541_494, 666_237),
            (u64::from(INTERVAL), 1.581_977, 829_411),
            (u64::from(INTERVAL) * 40, 1.0, u64::from(INTERVAL) * 40),
        ] {
            let weight = weights(INTERVAL).of(size);
            let found = weight.parts as f64 / PARTS as f64;
            assert!((found - objects).abs() <= objects * 1e-5, "{size}: {found}");
            assert!(weight.bytes.abs_diff(bytes) <= 1, "{size}: {}", weight.bytes);
        }
    }
}
