//! Reads binary files, all but the records of heap dumps.

use super::cursor::Cursor;
use super::{settings_flag, sites_flag, tag};
use crate::modified_utf8::decode;
use crate::profile::error::Error;
use crate::profile::model::{
    Amount, Class, ClassSerial, CpuSample, CpuSamples, Frame, FrameId, HeapDump, HeapSummary, Line,
    Method, NameId, ObjectId, Profile, Section, Settings, Site, Sites, Thread, ThreadSerial, Time,
    TraceSerial, Type,
};
use rustc_hash::FxHashMap;

/// The head of a binary file.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// The size of an ID in bytes: 4 or 8.
    pub id_size: usize,
    created: Time,
    /// The length of the head in bytes.
    length: usize,
}

impl Header {
    /// Reads it; none if this is no binary file.
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, Error> {
        // The versions are 1.0, 1.0.1 and 1.0.2; text files have no NUL there.
        let Some(rest) = bytes.strip_prefix(b"JAVA PROFILE 1.0") else { return Ok(None) };
        let version = match rest {
            [0, ..] => 1,
            [b'.', b'1' | b'2', 0, ..] => 3,
            _ => return Ok(None),
        };
        let start = bytes.len() - rest.len() + version;
        let mut cursor = Cursor::new(bytes, 8).part(start, bytes.len());
        let before = cursor;
        let id_size = match cursor.u4()? {
            size @ (4 | 8) => size as usize,
            size => return Err(before.error(format!("IDs have {size} bytes, not 4 or 8"))),
        };
        let created = Time(cursor.u8()?);
        Ok(Some(Self { id_size, created, length: cursor.at() }))
    }
}

/// The names by their IDs in the file.
pub type NamesById = FxHashMap<u64, NameId>;

/// Reads the rest of the file, and fills the two tables with what there is up to an error.
pub fn read(
    bytes: &[u8],
    header: Header,
    profile: &mut Profile,
    names: &mut NamesById,
) -> Result<(), Error> {
    profile.created = header.created;
    let mut cursor = Cursor::new(bytes, header.id_size).part(header.length, bytes.len());
    let mut reader =
        Reader { profile, names, frames: FxHashMap::default(), elapsed: 0, in_segments: false };
    while !cursor.is_at_end() {
        reader.record(&mut cursor)?;
    }
    Ok(())
}

struct Reader<'a> {
    profile: &'a mut Profile,
    names: &'a mut NamesById,
    /// The frames by their IDs in the file.
    frames: FxHashMap<u64, FrameId>,
    /// Microseconds from the beginning to the last record.
    elapsed: u64,
    /// True if the last section is a heap dump that may have more segments.
    in_segments: bool,
}

impl Reader<'_> {
    fn record(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let before = *cursor;
        let tag = cursor.u1()?;
        let microseconds = cursor.u4()?;
        // The original sets its clock only after it has written its settings.
        let at = if tag == tag::CONTROL_SETTINGS { Time(0) } else { self.time(microseconds) };
        let length = cursor.u4()? as usize;
        let start = cursor.at();
        if tag == tag::HEAP_DUMP || tag == tag::HEAP_DUMP_SEGMENT {
            // The existing part of a dump that is cut off can be read.
            let there = length.min(cursor.left());
            self.heap_dump(tag, at, start as u64..(start + there) as u64);
        }
        let left = cursor.left();
        if left < length {
            return Err(before.error(format!(
                "the file is cut off: {left} of {length} bytes of a record {tag:#04x}"
            )));
        }
        let mut body = cursor.part(start, start + length);
        cursor.take(length)?;
        match tag {
            tag::UTF8 => {
                let id = body.raw_id()?;
                let text = decode(body.take(body.left())?);
                self.names.insert(id, self.profile.names.intern(&text));
            }
            tag::LOAD_CLASS => self.load_class(&mut body)?,
            tag::UNLOAD_CLASS => {
                if let Some(class) = self.profile.classes.get_mut(ClassSerial(body.u4()?)) {
                    class.unloaded = true;
                }
            }
            tag::FRAME => self.frame(&mut body)?,
            tag::TRACE => self.trace(&mut body)?,
            tag::ALLOC_SITES => self.sites(&mut body, at)?,
            tag::HEAP_SUMMARY => {
                let live = amount(body.u4()?, body.u4()?);
                let allocated = Amount { bytes: body.u8()?, instances: body.u8()? };
                self.section(HeapSummary { at: Some(at), live, allocated });
            }
            tag::START_THREAD => self.start_thread(&mut body, at)?,
            tag::END_THREAD => {
                if let Some(thread) = self.profile.threads.get_mut(&ThreadSerial(body.u4()?)) {
                    thread.ended = true;
                }
            }
            tag::CPU_SAMPLES => self.cpu_samples(&mut body, at)?,
            tag::CONTROL_SETTINGS => {
                let (flags, depth) = (body.u4()?, body.u2()?);
                self.profile.settings = Some(Settings {
                    alloc_traces: flags & settings_flag::ALLOC_TRACES != 0,
                    cpu_sampling: flags & settings_flag::CPU_SAMPLING != 0,
                    depth,
                });
            }
            tag::HEAP_DUMP_END => self.in_segments = false,
            // Unknown records have a length, by which they are skipped.
            _ => {}
        }
        Ok(())
    }

    /// Returns the time of a record. Its microseconds wrap around after 71 minutes.
    fn time(&mut self, microseconds: u32) -> Time {
        let wrap = 1 << 32;
        let mut elapsed = self.elapsed / wrap * wrap + u64::from(microseconds);
        // Records are in the order of their times.
        if elapsed < self.elapsed {
            elapsed += wrap;
        }
        self.elapsed = elapsed;
        Time(self.profile.created.0.saturating_add(elapsed / 1000))
    }

    fn section(&mut self, section: impl Into<Section>) {
        self.in_segments = false;
        self.profile.sections.push(section.into());
    }

    fn heap_dump(&mut self, tag: u8, at: Time, part: std::ops::Range<u64>) {
        let segment = tag == tag::HEAP_DUMP_SEGMENT;
        match self.profile.sections.last_mut() {
            Some(Section::HeapDump(dump)) if segment && self.in_segments => dump.parts.push(part),
            _ => self.section(HeapDump { at: Some(at), live: None, parts: vec![part] }),
        }
        self.in_segments = segment;
    }

    fn name(&self, body: &mut Cursor<'_>) -> Result<NameId, Error> {
        Ok(self.names.get(&body.raw_id()?).copied().unwrap_or(NameId::EMPTY))
    }

    fn load_class(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let serial = ClassSerial(body.u4()?);
        let object = body.id()?;
        let trace = TraceSerial(body.u4()?);
        let mut name = self.name(body)?;
        if let Some(dotted) = dotted(self.profile.names.get(name)) {
            name = self.profile.names.intern(&dotted);
        }
        self.profile.classes.insert(Class { serial, object, name, trace, unloaded: false });
        Ok(())
    }

    fn frame(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let id = body.raw_id()?;
        let name = self.name(body)?;
        let signature = self.name(body)?;
        let source = self.name(body)?;
        let class = self.profile.classes.get(ClassSerial(body.u4()?));
        let class = class.map_or(NameId::EMPTY, |class| class.name);
        let line = Line::from_code(body.u4()? as i32);
        let method = self.profile.methods.intern(Method { class, name, signature, source });
        self.frames.insert(id, self.profile.frames.intern(Frame { method, line }));
        Ok(())
    }

    fn trace(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let serial = TraceSerial(body.u4()?);
        let thread = ThreadSerial(body.u4()?);
        let count = body.u4()?;
        let mut frames = Vec::new();
        for _ in 0..count {
            let before = *body;
            let id = body.raw_id()?;
            let frame = self.frames.get(&id);
            frames.push(*frame.ok_or_else(|| before.error(format!("there is no frame {id:#x}")))?);
        }
        self.profile.traces.insert(serial, thread, &frames);
        Ok(())
    }

    fn sites(&mut self, body: &mut Cursor<'_>, at: Time) -> Result<(), Error> {
        let flags = body.u2()?;
        let cutoff = f32::from_bits(body.u4()?);
        let live = amount(body.u4()?, body.u4()?);
        let allocated = Amount { bytes: body.u8()?, instances: body.u8()? };
        let count = body.u4()?;
        let mut rows = Vec::new();
        for _ in 0..count {
            rows.push(Site {
                // 0 means no array; any other unknown type is reported as none.
                array_of: Type::from_code(body.u1()?),
                class: ClassSerial(body.u4()?),
                trace: TraceSerial(body.u4()?),
                live: amount(body.u4()?, body.u4()?),
                allocated: amount(body.u4()?, body.u4()?),
            });
        }
        self.section(Sites {
            at: Some(at),
            by_allocation: flags & sites_flag::BY_ALLOCATION != 0,
            incremental: flags & sites_flag::INCREMENTAL != 0,
            after_gc: flags & sites_flag::AFTER_GC != 0,
            cutoff,
            live,
            allocated,
            rows,
        });
        Ok(())
    }

    fn start_thread(&mut self, body: &mut Cursor<'_>, at: Time) -> Result<(), Error> {
        let serial = ThreadSerial(body.u4()?);
        let object: ObjectId = body.id()?;
        let trace = TraceSerial(body.u4()?);
        let name = self.name(body)?;
        let group = self.name(body)?;
        let parent_group = self.name(body)?;
        let thread = Thread {
            serial,
            object,
            name,
            group,
            parent_group,
            trace,
            started: Some(at),
            ended: false,
        };
        self.profile.threads.insert(serial, thread);
        Ok(())
    }

    fn cpu_samples(&mut self, body: &mut Cursor<'_>, at: Time) -> Result<(), Error> {
        let total = body.u4()?.into();
        let count = body.u4()?;
        let mut rows = Vec::new();
        for _ in 0..count {
            let samples = body.u4()?.into();
            let trace = TraceSerial(body.u4()?);
            rows.push(CpuSample::new(trace, samples));
        }
        self.section(CpuSamples { at: Some(at), total, rows, ..CpuSamples::default() });
        Ok(())
    }
}

/// Returns the name with dots if it has slashes, as HotSpot's own dumps have them. The slash before the
/// address of a hidden class is kept: `Main$$Lambda/0x00007f3768000c38`.
fn dotted(name: &str) -> Option<String> {
    let (package, address) = name.split_at(name.find("/0x").unwrap_or(name.len()));
    (package.contains('/') && !package.contains('.'))
        .then(|| format!("{}{address}", package.replace('/', ".")))
}

fn amount(bytes: u32, instances: u32) -> Amount {
    Amount { bytes: bytes.into(), instances: instances.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_classes_get_dots() {
        for (name, expected) in [
            ("java/lang/Object", Some("java.lang.Object")),
            ("[Ljava/lang/Object;", Some("[Ljava.lang.Object;")),
            ("a/B$$Lambda/0x00007f3768000c38", Some("a.B$$Lambda/0x00007f3768000c38")),
            ("Main$$Lambda/0x00007f3768000c38", None),
            ("a.B$$Lambda/0x00007f3768000c38", None),
            ("Main", None),
        ] {
            assert_eq!(dotted(name).as_deref(), expected);
        }
    }
}
