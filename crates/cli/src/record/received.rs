//! The data that a JVM has sent so far; only the newest snapshot is kept.
//!
//! A dump is a row of sections. The next dump repeats everything in a snapshot, so only the newest
//! snapshot is kept. All other dumps are kept; SIGQUIT requests one.

use jvmpi_formats::profile::{self, DumpKind, File, Section, StreamReader, preamble};
use std::num::NonZeroU32;
use std::time::Instant;

/// The dumps that have arrived over one connection.
#[derive(Debug, Default)]
pub struct Received {
    reader: StreamReader,
    /// The sections of the dumps that are no snapshots.
    kept: Vec<Section>,
    /// The sections of the newest snapshot.
    snapshot: Vec<Section>,
    taken: Option<Instant>,
    last: Option<DumpKind>,
    /// Lines for the user.
    pub notes: Vec<String>,
}

impl Received {
    /// Takes the bytes that have arrived.
    ///
    /// # Errors
    /// Returns the reason if the data is malformed. The caller must not pass more data then.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        let Self { reader, kept, snapshot, taken, last, notes } = self;
        reader.take(bytes, |told| match told {
            profile::StreamEvent::Note(note) => notes.push(note),
            profile::StreamEvent::Dump(sections, DumpKind::Snapshot) => {
                *snapshot = sections;
                *taken = Some(Instant::now());
            }
            profile::StreamEvent::Dump(sections, kind) => {
                snapshot.clear();
                kept.extend(sections);
                *last = Some(kind).filter(|kind| *kind != DumpKind::Dump).or(*last);
            }
        })
    }

    /// Returns true if a dump has begun and is not complete.
    pub fn is_coming(&self) -> bool {
        self.reader.is_coming()
    }

    /// Returns the process that sends the data, by its number in its own namespace.
    pub fn process(&self) -> Option<u32> {
        self.reader.process()
    }

    /// Returns the kind of the final dump, once it has arrived.
    pub fn last(&self) -> Option<DumpKind> {
        self.last
    }

    /// Returns the time when the last snapshot arrived.
    pub fn taken(&self) -> Option<Instant> {
        self.taken
    }

    /// Returns the whole profile at the end of the data. The flag is true if it ends with the final dump, which a JVM
    /// sends when it exits. None if there is no data. `sample` is the sampling interval of allocations, if any.
    pub fn into_file(mut self, sample: Option<NonZeroU32>) -> Option<(File, bool)> {
        let mut sections = self.kept;
        if self.snapshot.is_empty() {
            sections.extend(self.reader.take_cut_off());
        }
        sections.extend(self.snapshot);
        let mut profile = self.reader.into_profile();
        // The beginning has not come.
        if profile.preamble.is_empty() {
            return None;
        }
        profile.preamble = preamble(sample);
        profile.sections = sections;
        Some((File::of_profile(profile), self.last.is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvmpi_formats::profile::{CpuSamples, Profile, StreamWriter, Writer};

    /// Returns the totals that are kept of these dumps and of the beginning of one more.
    fn kept(dumps: &[(u64, DumpKind)], more: Option<u64>) -> (Vec<u64>, bool) {
        let profile = Profile::default();
        let mut writer = StreamWriter::new(Vec::new(), &profile).unwrap();
        let section = |writer: &mut StreamWriter<Vec<u8>>, total| {
            let samples = CpuSamples { total, ..CpuSamples::default() };
            writer.section(&profile, &samples.into()).unwrap();
        };
        for (total, kind) in dumps {
            section(&mut writer, *total);
            writer.end_dump(*kind).unwrap();
        }
        if let Some(total) = more {
            section(&mut writer, total);
        }
        let mut received = Received::default();
        received.take(&writer.into_inner()).unwrap();
        assert_eq!(received.is_coming(), more.is_some());
        let (file, is_whole) = received.into_file(None).unwrap();
        (file.profile().cpu_samples().map(|samples| samples.total).collect(), is_whole)
    }

    #[test]
    fn the_newest_snapshot_is_kept_until_the_last_dump() {
        use DumpKind::{AtExit, Dump, Last, Snapshot};
        for (dumps, more, expected) in [
            (&[(1, Snapshot), (2, Snapshot), (3, Last)][..], None, (vec![3], true)),
            (&[(1, Last)], None, (vec![1], true)),
            (&[(1, Snapshot), (2, AtExit)], None, (vec![2], true)),
            (&[(1, Snapshot), (2, Dump), (3, Snapshot)], None, (vec![2, 3], false)),
            (&[(1, Snapshot), (2, Dump), (3, Last)], None, (vec![2, 3], true)),
            (&[(1, Snapshot), (2, Snapshot)], Some(3), (vec![2], false)),
            (&[], Some(3), (vec![3], false)),
            (&[(1, Dump)], Some(3), (vec![1, 3], false)),
        ] {
            assert_eq!(kept(dumps, more), expected, "{dumps:?}");
        }
    }

    #[test]
    fn nothing_is_no_profile() {
        assert!(Received::default().into_file(None).is_none());
        assert!(Received::default().take(b"JAVA PROFILE 1.0.1").is_err());
    }
}
