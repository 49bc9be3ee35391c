//! Ranges of free numbers.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges of numbers that do not touch each other: their ends, by their beginnings.
pub struct Runs(BTreeMap<usize, usize>);

impl Runs {
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds a range of numbers. None of them may be contained already.
    pub fn put(&mut self, run: Range<usize>) {
        let Range { mut start, mut end } = run;
        if let Some((before, _)) = self.0.range(..start).next_back().filter(|(_, e)| **e == start) {
            start = *before;
        }
        if let Some(end_behind) = self.0.remove(&end) {
            end = end_behind;
        }
        self.0.insert(start, end);
    }

    /// Removes `count` consecutive numbers and returns the first.
    pub fn take(&mut self, count: usize) -> Option<usize> {
        let (start, end) = self.0.iter().find(|(start, end)| **end - **start >= count)?;
        let (start, end) = (*start, *end);
        self.0.remove(&start);
        if start + count < end {
            self.0.insert(start + count, end);
        }
        Some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returned_runs_are_merged_and_taken_again() {
        let mut runs = Runs::new();
        assert_eq!(runs.take(1), None);
        for run in [10..14, 0..4, 20..22, 4..10] {
            runs.put(run);
        }
        assert_eq!(runs.take(15), None);
        assert_eq!(runs.take(14), Some(0));
        assert_eq!((runs.take(1), runs.take(1), runs.take(1)), (Some(20), Some(21), None));
    }
}
