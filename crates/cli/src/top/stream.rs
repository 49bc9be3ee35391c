//! What HPROF sends while somebody looks on, in its binary format.

use profile::{File, Profile};

/// What the beginning of a file consists of: the name of the format, with a NUL; the size of IDs; the
/// time.
const AFTER_NAME: usize = 4 + 8;
/// What a record begins with: its tag, the time, and the length of what follows.
const RECORD_HEAD: usize = 1 + 4 + 4;
const CPU_SAMPLES: u8 = 0x0d;

/// Keeps of all that was sent what the newest samples need: of the samples, which are told anew each
/// time, the newest.
#[derive(Debug, Default)]
pub struct Stream {
    /// The beginning and all records but those of samples.
    tables: Vec<u8>,
    /// What has come of the next record.
    rest: Vec<u8>,
}

impl Stream {
    /// Takes what has come; the profile with the newest samples if some have come.
    pub fn take(&mut self, bytes: &[u8]) -> Option<Profile> {
        self.rest.extend(bytes);
        let mut samples = None;
        let mut done = 0;
        while let Some(length) = self.next_length(done) {
            let next = &self.rest[done..][..length];
            if !self.tables.is_empty() && next[0] == CPU_SAMPLES {
                samples = Some(next.to_vec());
            } else {
                self.tables.extend_from_slice(next);
            }
            done += length;
        }
        self.rest.drain(..done);
        let content = [self.tables.as_slice(), &samples?].concat();
        File::from_bytes(content).ok().map(File::into_profile)
    }

    /// How long the next piece is, if it is whole: the beginning of the file, or a record.
    fn next_length(&self, from: usize) -> Option<usize> {
        let rest = &self.rest[from..];
        let length = if self.tables.is_empty() {
            rest.iter().position(|byte| *byte == 0)? + 1 + AFTER_NAME
        } else {
            let length = rest.get(RECORD_HEAD - 4..RECORD_HEAD)?.try_into().ok()?;
            RECORD_HEAD + usize::try_from(u32::from_be_bytes(length)).ok()?
        };
        (length <= rest.len()).then_some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profile::{
        BinaryWriter, CpuSample, CpuSamples, Frame, Line, Method, Section, ThreadSerial, Version,
        Writer,
    };

    #[test]
    fn the_newest_samples_are_told_whatever_pieces_they_come_in() {
        let mut profile = Profile::default();
        let mut sent = Vec::new();
        let mut pieces = Vec::new();
        let mut writer = BinaryWriter::new(&mut sent, &profile, Version::V1_0_1).unwrap();
        for round in 1..=3 {
            let class = profile.names.intern("Main");
            let name = profile.names.intern(&format!("method{round}"));
            let method = profile.methods.intern(Method { class, name, ..Method::default() });
            let frame = profile.frames.intern(Frame { method, line: Line::Number(round) });
            let trace = profile.traces.intern(ThreadSerial(0), &[frame]);
            let count = u64::from(round) * 10;
            let rows = vec![CpuSample { trace, samples: count, hits: count }];
            let section = CpuSamples { total: count, rows, ..CpuSamples::default() };
            writer.section(&profile, &Section::CpuSamples(section)).unwrap();
            writer.flush().unwrap();
        }
        drop(writer);
        for size in [1, 7, 4096] {
            let mut stream = Stream::default();
            pieces.clear();
            for piece in sent.chunks(size) {
                pieces.extend(stream.take(piece).map(|profile| {
                    let samples = profile.cpu_samples().map(|samples| samples.total);
                    (samples.collect::<Vec<_>>(), profile.traces.len())
                }));
            }
            assert_eq!(pieces.last(), Some(&(vec![30], 3)), "{size}");
            if size == 1 {
                assert_eq!(pieces.len(), 3);
                assert_eq!(pieces[0], (vec![10], 1));
            }
        }
    }
}
