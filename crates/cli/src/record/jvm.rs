//! A JVM of a recording: its connection, its snapshots, and the profile that it has sent.

use super::received::Received;
use crate::channel::Connection;
use crate::heap::DumpFile;
use jvmpi_formats::hprof::control::Command;
use jvmpi_formats::profile::File;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// A JVM that is recorded, or was.
pub struct Jvm {
    pub connection: Connection,
    pub received: Received,
    /// The time when a snapshot was requested that has not arrived yet.
    pub asked: Option<Instant>,
    /// The time when the next one is requested; None for never.
    pub due: Option<Instant>,
    /// The time when it was closed.
    pub closed: Option<Instant>,
    /// True if the JVM has closed it.
    pub has_ended: bool,
    /// The reason why the data that it has sent is invalid.
    pub problem: Option<String>,
    /// Its heap dump, or the reason why there is none.
    pub heap: Result<DumpFile, String>,
}

/// The least time between two snapshots, as a multiple of the time that a snapshot takes.
pub const REST: u32 = 20;

impl Jvm {
    pub fn new(connection: Connection, every: Duration) -> Self {
        Self {
            connection,
            received: Received::default(),
            asked: None,
            due: if every.is_zero() { None } else { Instant::now().checked_add(every) },
            closed: None,
            has_ended: false,
            problem: None,
            heap: Err("the JVM did not answer".into()),
        }
    }

    pub fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    /// Takes the bytes that have come. Returns true if a requested snapshot has come with them.
    pub fn take(&mut self, bytes: &[u8], every: Duration) -> bool {
        if self.problem.is_some() {
            return false;
        }
        let is_first = self.received.taken.is_none();
        if let Err(problem) = self.received.take(bytes) {
            self.problem = Some(problem);
            self.connection.close();
        }
        if let Some(asked) = self.asked
            && let Some(came) = self.received.taken.filter(|came| *came > asked)
        {
            self.asked = None;
            // The first one came when the JVM had started.
            let took = if is_first { Duration::ZERO } else { came - asked };
            self.due = came.checked_add(every.max(took * REST));
            return true;
        }
        false
    }

    /// Returns the time to request a snapshot. None while a dump is arriving: it may be the last one, and an
    /// unread command in the connection would cut it off.
    pub fn due(&self) -> Option<Instant> {
        self.due.filter(|_| self.is_open() && self.asked.is_none() && !self.received.is_coming())
    }

    pub fn keep_up(&mut self, now: Instant) {
        if self.due().is_some_and(|due| due <= now) {
            self.asked = Some(now);
            self.connection.send(Command::Snapshot);
        }
    }

    /// Returns the profile that it has sent, if there is any data.
    pub fn recorded(self, sample: Option<NonZeroU32>, cutoff: f32) -> Option<Recorded> {
        let (taken, closed) = (self.received.taken, self.closed);
        let mut warnings = self.received.notes.clone();
        let (file, has_told_all) = self.received.into_file(sample)?;
        let mut profile = file.into_profile();
        if cutoff > 0.0 {
            profile.join_small_times(cutoff);
        }
        let file = File::of_profile(profile);
        let warning = match taken {
            _ if has_told_all => None,
            _ if self.problem.is_some() => {
                self.problem.map(|why| format!("the JVM sent malformed data: {why}"))
            }
            Some(taken) => {
                let closed = closed.unwrap_or_else(Instant::now);
                let age = closed.saturating_duration_since(taken).as_secs_f64();
                let (what, end) = if self.has_ended {
                    ("the JVM exited without a final dump", "before exit")
                } else {
                    ("the JVM has not sent a final dump", "before the recording was ended")
                };
                Some(format!("{what}; the file holds the last snapshot, taken {age:.1} s {end}"))
            }
            None if self.has_ended => {
                Some("the JVM exited before it had sent its whole profile".into())
            }
            None => Some("the JVM has not sent its whole profile".into()),
        };
        let is_whole = has_told_all || taken.is_some();
        warnings.extend(warning);
        Some(Recorded { file, is_whole, warnings, heap: self.heap })
    }
}

/// The profile that a JVM has sent.
pub struct Recorded {
    pub file: File,
    /// True if it is everything that the JVM had recorded at that time.
    pub is_whole: bool,
    /// The warnings about it.
    pub warnings: Vec<String>,
    /// The JVM's heap dump, or the reason why there is none.
    pub heap: Result<DumpFile, String>,
}
