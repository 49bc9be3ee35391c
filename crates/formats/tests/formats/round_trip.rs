//! Files of both formats preserve names, frames and types, whatever they are.

use jvmpi_formats::profile::{
    BinaryWriter, CpuSample, CpuSamples, File, Frame, Line, Monitor, MonitorTime, MonitorTimes,
    ObjectId, Profile, Site, Sites, TextWriter, Thread, ThreadSerial, Time, TraceSerial, Type,
    Version,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::time::Duration;

const TRACES: u32 = 6;

/// Names as Java has them: anything but the characters that class files forbid.
fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z_$<>(): é😀\"-]{1,12}"
}

fn line() -> impl Strategy<Value = Line> {
    prop_oneof![
        (1..100_000u32).prop_map(Line::Number),
        Just(Line::Unknown),
        Just(Line::Compiled),
        Just(Line::Native),
    ]
}

type Frames = Vec<((String, String, String), Line)>;

fn traces() -> impl Strategy<Value = Vec<(u32, Frames)>> {
    // A source file's name has no parentheses, by which text ends that of the method.
    let method = (name(), name(), "[a-zA-Z.]{0,8}");
    vec((0..4u32, vec((method, line()), 0..5)), TRACES as usize)
}

/// Returns a profile with these traces and threads, and a sample of each trace.
fn profile(traces: &[(u32, Frames)], threads: &[String]) -> Profile {
    let mut profile = Profile { created: Time(1_795_309_388_000), ..Profile::default() };
    for (serial, (thread, frames)) in (1..).zip(traces) {
        let frames: Vec<_> = frames
            .iter()
            .map(|((class, name, source), line)| {
                let method = profile.intern_method([class, name, "", source]);
                profile.frames.intern(Frame { method, line: *line })
            })
            .collect();
        profile.traces.insert(TraceSerial(serial), ThreadSerial(*thread), &frames);
    }
    for (serial, name) in (1..).zip(threads) {
        let serial = ThreadSerial(serial);
        let name = profile.names.intern(name);
        let (group, ended) = (profile.names.intern("main"), serial.0.is_multiple_of(2));
        let thread = Thread { serial, name, group, ended, ..Thread::default() };
        profile.threads.insert(serial, thread);
    }
    let of_type = |array_of| Site { array_of: Some(array_of), ..Site::default() };
    let rows = Type::ALL.map(of_type).to_vec();
    let at = Some(profile.created);
    profile.sections.push(Sites { at, rows, ..Sites::default() }.into());
    let rows = (1..=TRACES).map(|trace| CpuSample::new(TraceSerial(trace), 1)).collect();
    profile.sections.push(CpuSamples { at, total: 6, rows, ..CpuSamples::default() }.into());
    profile
}

fn text(file: &File) -> String {
    let mut writer = TextWriter::new(Vec::new(), file.profile()).unwrap();
    file.write(&mut writer).unwrap();
    String::from_utf8(writer.into_inner()).unwrap()
}

/// Returns what is read of a file, which must be whole.
fn read(bytes: Vec<u8>) -> File {
    let file = File::from_bytes(bytes).unwrap();
    assert_eq!(file.problem(), None);
    file
}

proptest! {
    #[test]
    fn profile_is_read_back_from_each_format(traces in traces(), threads in vec(name(), 0..4)) {
        let mut profile = profile(&traces, &threads);
        let file = File::of_profile(profile.clone());
        let expected = text(&file);
        let mut writer = BinaryWriter::new(Vec::new(), &profile, Version::V1_0_1).unwrap();
        file.write(&mut writer).unwrap();
        prop_assert_eq!(text(&read(writer.into_inner())), expected);

        let name = profile.names.intern("_\"lock\"(1)");
        let (monitor, trace) = (Monitor::Raw { id: ObjectId(16), name }, TraceSerial(1));
        let time = Duration::from_secs(1);
        let (at, rows) = (None, vec![MonitorTime { monitor, trace, hits: 3, time }]);
        profile.sections.push(MonitorTimes { at, total: time, rows }.into());
        let expected = text(&File::of_profile(profile));
        prop_assert_eq!(text(&read(expected.clone().into_bytes())), expected);
    }
}
