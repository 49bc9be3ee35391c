//! The data that a JVM has sent so far; only the newest snapshot is kept.
//!
//! A dump is a row of sections. The next dump repeats everything in a snapshot, so only the newest
//! snapshot is kept. All other dumps are kept; SIGQUIT requests one.

use jvmpi_formats::profile::{
    self, DumpKind, File, Increments, Profile, Section, StreamReader, Time, preamble,
};
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
    /// The time when the last snapshot arrived.
    pub taken: Option<Instant>,
    /// The kind of the final dump, once it has arrived.
    pub last: Option<DumpKind>,
    /// The number of dumps that have arrived, with snapshots.
    pub dumps: usize,
    /// The data that was passed on by [`Self::next_part`], and the end of its last part.
    passed_on: Increments,
    passed_until: Option<Time>,
    /// Lines for the user.
    pub notes: Vec<String>,
}

impl Received {
    /// Takes the bytes that have arrived.
    ///
    /// # Errors
    /// Returns the reason if the data is malformed. The caller must not pass more data then.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        let Self { reader, kept, snapshot, taken, last, dumps, notes, .. } = self;
        reader.take(bytes, |told| match told {
            profile::StreamEvent::Note(note) => notes.push(note),
            profile::StreamEvent::Dump(sections, DumpKind::Snapshot) => {
                *dumps += 1;
                *snapshot = sections;
                *taken = Some(Instant::now());
            }
            profile::StreamEvent::Dump(sections, kind) => {
                *dumps += 1;
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

    /// Passes the data since the last call to `read`, as a profile of its own. None if there is none. `sample` is the
    /// sampling interval of allocations, if any.
    pub fn next_part<T>(
        &mut self,
        sample: Option<NonZeroU32>,
        read: impl FnOnce(&Profile) -> T,
    ) -> Option<T> {
        let sections = self.passed_on.next(self.kept.iter().chain(&self.snapshot));
        if sections.is_empty() {
            return None;
        }
        let since = self.passed_until.unwrap_or(self.reader.profile().created);
        self.passed_until = sections.iter().filter_map(Section::at).max().or(self.passed_until);
        Some(self.reader.part(since, sample, sections, |part| read(part.profile())))
    }

    /// Passes all data so far to `read`, as a file. None if there is none.
    pub fn read<T>(
        &mut self,
        sample: Option<NonZeroU32>,
        read: impl FnOnce(&File) -> T,
    ) -> Option<T> {
        let sections: Vec<_> = self.kept.iter().chain(&self.snapshot).cloned().collect();
        let since = self.reader.profile().created;
        (!sections.is_empty()).then(|| self.reader.part(since, sample, sections, read))
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
    use jvmpi_formats::profile::{
        CpuSample, CpuSamples, StreamWriter, ThreadSerial, TraceSerial, Weight, Writer, stacks,
    };

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
    /// Each part begins where the one before ended, and they add up to the whole.
    #[test]
    fn parts_have_what_is_new() {
        let mut profile = Profile { created: Time(1000), ..Profile::default() };
        profile.traces.intern(ThreadSerial(0), &[]);
        let dumps = [
            (5, 1500, DumpKind::Snapshot),
            (5, 2000, DumpKind::Snapshot),
            (9, 2500, DumpKind::Dump),
            (2, 3000, DumpKind::Snapshot),
            (7, 3500, DumpKind::Last),
        ];
        let stream = |dumps: &[(u64, u64, DumpKind)]| {
            let mut writer = StreamWriter::new(Vec::new(), &profile).unwrap();
            for (samples, at, kind) in dumps {
                let samples = *samples;
                let row = CpuSample { trace: TraceSerial(1), samples, hits: samples };
                let (at, rows) = (Some(Time(*at)), vec![row]);
                let section = CpuSamples { at, rows, ..CpuSamples::default() };
                writer.section(&profile, &section.into()).unwrap();
                writer.end_dump(*kind).unwrap();
            }
            writer.into_inner()
        };
        let sum = |profile: &Profile| -> u64 {
            stacks(profile, Weight::CpuSamples).iter().map(|stack| stack.value).sum()
        };
        let (mut received, mut sent) = (Received::default(), 0);
        let mut parts = Vec::new();
        for number in 1..=dumps.len() {
            let bytes = stream(&dumps[..number]);
            received.take(&bytes[sent..]).unwrap();
            sent = bytes.len();
            assert_eq!(received.dumps, number);
            let part = received.next_part(None, |part| {
                let ends = part.sections.iter().filter_map(Section::at);
                (part.created.0, ends.max().unwrap().0, sum(part))
            });
            parts.extend(part);
        }
        assert_eq!(parts, [(1000, 1500, 5), (1500, 2500, 4), (2500, 3000, 2), (3000, 3500, 5)]);
        let (file, _) = received.into_file(None).unwrap();
        let all: u64 = parts.iter().map(|(_, _, samples)| samples).sum();
        assert_eq!(sum(file.profile()), all);
    }
}
