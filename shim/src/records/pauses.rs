//! The time for which collectors have stopped the program.

use std::time::{Duration, Instant};

/// Pauses of collectors that are reported together.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Pauses {
    /// The sum of their durations.
    pub took: Duration,
    /// The end of the last one, None if there was none.
    pub until: Option<Instant>,
    /// The beginning of the pause in progress.
    since: Option<Instant>,
}

impl Pauses {
    pub const NONE: Self = Self { took: Duration::ZERO, until: None, since: None };

    /// Records that a pause begins.
    pub fn begin(&mut self, now: Instant) {
        self.since = Some(now);
    }

    /// Records that a pause ends. A pause whose beginning was not seen does not count.
    pub fn end(&mut self, now: Instant) {
        if let Some(since) = self.since.take() {
            self.took += now.saturating_duration_since(since);
            self.until = Some(now);
        }
    }

    /// Takes the first of `parts` equal parts.
    pub fn take_part(&mut self, parts: u32) -> Self {
        let took = self.took / parts.max(1);
        self.took -= took;
        let until = self.until.and_then(|until| until.checked_sub(self.took));
        Self { took, until, since: None }
    }

    /// Adds a part again that [`Self::take_part`] has taken.
    pub fn give_back(&mut self, part: Self) {
        self.took += part.took;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn pauses_are_summed_up_and_divided() {
        let start = Instant::now();
        let mut pauses = Pauses::NONE;
        // The beginning of this pause was not seen.
        pauses.end(start);
        assert_eq!(pauses, Pauses::NONE);
        for at in [0, 10] {
            pauses.begin(start + at * MS);
            pauses.end(start + (at + 3) * MS);
        }
        let part = pauses.take_part(2);
        assert_eq!((part.took, part.until), (3 * MS, Some(start + 10 * MS)));
        pauses.give_back(part);
        let all = pauses.take_part(1);
        assert_eq!((all.took, all.until), (6 * MS, Some(start + 13 * MS)));
        assert_eq!(pauses.take_part(1).took, Duration::ZERO);
    }
}
