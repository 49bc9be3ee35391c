//! The stream that a profiler sends to the command that started it: the model in a compact form.
//!
//! A stream is a row of [`Message`]s in the format of postcard. Entries of the tables of names, methods, frames and
//! stacks come once, before messages that refer to them by their numbers in the sender's profile; frames and stacks are
//! numbered in their order. Then follow sections, each with its rows behind it, and the end of a dump. The form is not
//! stable: both ends are of the same version.

mod read;
mod write;

pub use read::{StreamEvent, StreamReader};
pub use write::StreamWriter;

use crate::profile::model::{
    BucketSamples, Class, CpuSample, Frame, FrameId, Method, MethodId, MonitorStatus, MonitorTime,
    NameId, Section, Site, StackId, StackTime, Thread, ThreadSerial, ThreadStatus, Time,
    TraceSerial,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The number of the form, which a stream begins with.
const VERSION: u32 = 4;
/// The longest message that is read.
const MOST: usize = 1 << 20;

/// A part of a stream.
#[derive(Debug, Serialize, Deserialize)]
enum Message<'a> {
    /// The first message.
    Begin {
        version: u32,
        created: Time,
        process: u32,
    },
    Name(NameId, &'a str),
    Method(MethodId, Method),
    Frame(Frame),
    /// The innermost frame, and the stack of its caller.
    Stack(FrameId, StackId),
    Trace(TraceSerial, ThreadSerial, StackId),
    ThreadStart(Thread),
    ThreadEnd(ThreadSerial),
    Class(Class),
    /// A section without its rows.
    Section(Cow<'a, Section>),
    Row(Row),
    EndOfDump(DumpKind),
    Note(&'a str),
}

/// A row of the last section.
#[derive(Debug, Serialize, Deserialize)]
enum Row {
    Site(Site),
    CpuSample(CpuSample),
    Bucket(BucketSamples),
    StackTime(StackTime),
    MonitorTime(MonitorTime),
    Thread(ThreadStatus),
    Monitor(MonitorStatus),
}

/// The kind of a dump.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum DumpKind {
    /// A dump; the next one does not repeat its times and samples.
    Dump,
    /// A dump that the next one repeats.
    Snapshot,
    /// The last one; the program continues.
    Last,
    /// The last one, at the end of the program.
    AtExit,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::model::*;
    use crate::profile::writer::Writer;
    use std::time::Duration;

    fn profile() -> (Profile, Vec<Section>) {
        let preamble = crate::profile::text::PREAMBLE.to_owned();
        let mut profile = Profile { created: Time(77), preamble, ..Profile::default() };
        let names = ["A", "unused", "run", "()V", "A.java", "worker", "main", "system"];
        let [class, _, name, signature, source, worker, group, parent_group] =
            names.map(|name| profile.names.intern(name));
        profile.methods.intern(Method { class: group, ..Method::default() });
        let method = profile.methods.intern(Method { class, name, signature, source });
        let mut frame = |line| profile.frames.intern(Frame { method, line });
        let frames = [frame(Line::Number(7)), frame(Line::Native), frame(Line::Unknown)];
        let thread = ThreadSerial(3);
        let trace = profile.traces.intern(thread, &frames);
        let empty = profile.traces.intern(ThreadSerial(0), &[]);
        profile.threads.insert(
            thread,
            Thread {
                serial: thread,
                object: ObjectId(0x1_0000_0000),
                name: worker,
                group,
                parent_group,
                trace: TraceSerial(0),
                started: Some(Time(78)),
                ended: true,
            },
        );
        let serial = ClassSerial(9);
        let object = ObjectId(160);
        profile.classes.insert(Class { serial, object, name: class, trace, unloaded: false });
        let amount = |bytes| Amount { bytes, instances: 1 };
        let at = Some(Time(99));
        let java = Monitor::Java { object, class };
        let raw = Monitor::Raw { id: ObjectId(5), name: worker };
        let time = |monitor| MonitorTime { monitor, trace, hits: 2, time: Duration::from_nanos(7) };
        let state = ThreadState::MonitorWait;
        let sections = vec![
            MonitorDump {
                threads: vec![ThreadStatus {
                    thread,
                    trace,
                    state,
                    suspended: true,
                    interrupted: false,
                }],
                monitors: vec![MonitorStatus {
                    monitor: java,
                    owner: Some(thread),
                    entry_count: 2,
                    waiting_to_enter: vec![thread, ThreadSerial(0)],
                    waiting_to_be_notified: vec![],
                }],
            }
            .into(),
            MonitorTimes { at, total: Duration::from_secs(9), rows: vec![time(java), time(raw)] }
                .into(),
            HeapSummary { at, live: amount(5), allocated: amount(6) }.into(),
            Sites {
                at,
                cutoff: 0.5,
                by_allocation: true,
                live: amount(1 << 40),
                rows: vec![Site {
                    class: serial,
                    array_of: Some(Type::Reference),
                    trace,
                    live: amount(1),
                    allocated: amount(2),
                }],
                ..Sites::default()
            }
            .into(),
            CpuSamples {
                at: None,
                interval: Some(Duration::from_millis(10)),
                total: 5,
                rows: vec![CpuSample { trace, samples: 4, hits: 5 }],
                timeline: Timeline {
                    bucket: Duration::from_secs(2),
                    rows: vec![BucketSamples { bucket: 1, trace, samples: 4 }],
                },
            }
            .into(),
            CpuTimes {
                at,
                total: Duration::from_nanos(5),
                rows: vec![CpuTime { trace: empty, own: Duration::from_nanos(3), calls: 6 }],
            }
            .into(),
        ];
        (profile, sections)
    }

    fn stream(profile: &Profile, dumps: &[(&[Section], DumpKind)]) -> Vec<u8> {
        let mut writer = StreamWriter::new(Vec::new(), profile).unwrap();
        for thread in profile.threads.values() {
            writer.thread_start(profile, thread.serial).unwrap();
            writer.thread_end(profile, thread.serial).unwrap();
        }
        for (sections, kind) in dumps {
            for section in *sections {
                writer.section(profile, section).unwrap();
            }
            writer.end_dump(*kind).unwrap();
        }
        assert!(writer.note("careful").unwrap());
        writer.into_inner()
    }

    #[test]
    fn stream_in_pieces_of_any_size_is_read() {
        let (profile, sections) = profile();
        let dumps = [(&sections[..], DumpKind::Snapshot), (&sections[1..2], DumpKind::Last)];
        let bytes = stream(&profile, &dumps);
        for size in [1, 7, usize::MAX] {
            let mut reader = StreamReader::default();
            let mut told = Vec::new();
            for piece in bytes.chunks(size) {
                reader.take(piece, |one| told.push(one)).unwrap();
            }
            assert!(!reader.is_coming());
            let [
                StreamEvent::Dump(all, DumpKind::Snapshot),
                StreamEvent::Dump(one, DumpKind::Last),
                StreamEvent::Note(note),
            ] = &told[..]
            else {
                panic!("{told:?}");
            };
            assert_eq!((all.len(), one.len(), note.as_str()), (sections.len(), 1, "careful"));
            assert_eq!(reader.process(), Some(std::process::id()));
            let read = reader.into_profile();
            // Numbers of names are those of the reader; what they name is the same.
            let text = |profile: &Profile, sections: &[Section]| {
                let mut writer = crate::profile::TextWriter::new(Vec::new(), profile).unwrap();
                for thread in profile.threads.values() {
                    writer.thread_start(profile, thread.serial).unwrap();
                }
                let held = sections.iter().filter(|section| writer.holds(section));
                for section in held.collect::<Vec<_>>() {
                    writer.section(profile, section).unwrap();
                }
                String::from_utf8(writer.into_inner()).unwrap()
            };
            assert_eq!(text(&read, all), text(&profile, &sections));
            assert_eq!(all[2..6], sections[2..6]);
            assert_eq!((read.created, read.names.find("unused")), (profile.created, None));
            assert!(read.threads[&ThreadSerial(3)].ended);
        }
    }

    #[test]
    fn a_stream_that_is_cut_off_has_no_end() {
        let (profile, sections) = profile();
        let mut bytes = stream(&profile, &[(&sections, DumpKind::Last)]);
        // The note has 9 bytes, the end of the dump 2.
        bytes.truncate(bytes.len() - 11);
        for length in 0..bytes.len() {
            let mut reader = StreamReader::default();
            reader.take(&bytes[..length], |told| panic!("{told:?} of {length} bytes")).unwrap();
            drop(reader.into_profile());
        }
    }

    #[test]
    fn many_rows_are_many_records() {
        let mut profile = Profile::default();
        let rows: Vec<_> = (0..20_000)
            .map(|n| {
                let method = profile.methods.intern(Method {
                    name: profile.names.intern(&format!("method{n}")),
                    ..Method::default()
                });
                let frame = profile.frames.intern(Frame { method, line: Line::Number(n) });
                let trace = profile.traces.intern(ThreadSerial(0), &[frame]);
                CpuSample { trace, samples: n.into(), hits: u64::MAX }
            })
            .collect();
        let sections = [CpuSamples { rows, ..CpuSamples::default() }.into()];
        let bytes = stream(&profile, &[(&sections, DumpKind::Last)]);
        let mut reader = StreamReader::default();
        let mut read = Vec::new();
        reader
            .take(&bytes, |told| {
                if let StreamEvent::Dump(sections, _) = told {
                    read = sections;
                }
            })
            .unwrap();
        assert_eq!(read, sections);
    }

    #[test]
    fn contradictory_stream_is_an_error() {
        let bytes = |message: &Message<'_>| postcard::to_extend(message, Vec::new()).unwrap();
        let (created, process) = (Time(0), 9);
        let begin = |version| bytes(&Message::Begin { version, created, process });
        let method = Method { name: NameId(9), ..Method::default() };
        let frame = Frame { method: MethodId(9), line: Line::Unknown };
        let row = Row::CpuSample(CpuSample { trace: TraceSerial(0), samples: 1, hits: 1 });
        let mut long = bytes(&Message::Name(NameId(1), ""));
        long.pop();
        long.extend([0xff, 0xff, 0xff, 0x7f]);
        long.resize(MOST + 2, b'a');
        for (message, expected) in [
            (bytes(&Message::Method(MethodId(1), method)), "NameId(9)"),
            (bytes(&Message::Frame(frame)), "MethodId(9)"),
            (bytes(&Message::Stack(FrameId(0), StackId::EMPTY)), "FrameId(0)"),
            (bytes(&Message::Trace(TraceSerial(1), ThreadSerial(1), StackId(5))), "StackId(5)"),
            (long, "too long"),
            (bytes(&Message::Row(row)), "out of place"),
            (begin(VERSION), "twice"),
            (vec![200, 1, 0], "Serde"),
        ] {
            let mut reader = StreamReader::default();
            let read = reader.take(&[begin(VERSION), message].concat(), |_| {});
            let error = read.expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
        for stream in [bytes(&Message::Note("")), begin(99), b"JAVA PROFILE 1.0.1".to_vec()] {
            assert!(StreamReader::default().take(&stream, |_| {}).is_err());
        }
    }
}
