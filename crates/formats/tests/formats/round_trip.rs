//! Files of both formats preserve names, frames and types, whatever they are.

use crate::fixture::{CREATED, text};
use jvmpi_formats::profile::{
    BinaryWriter, CpuSample, CpuSamples, File, Frame, Line, Monitor, MonitorTime, MonitorTimes,
    ObjectId, Profile, Site, Sites, Thread, ThreadSerial, TraceSerial, Type, Version,
};
use std::time::Duration;

/// Names as some languages have them: anything but the characters that class files forbid.
const NAMES: [&str; 9] =
    ["A", "<init>", "$_é😀", " a b ", "x(y): z", "\"-\"", ")(:1", "\"(1)", "\", group=\"-"];
const LINES: [Line; 4] = [Line::Number(99_999), Line::Unknown, Line::Compiled, Line::Native];

/// Returns a profile with each name as that of a thread, and a sample of each trace: a class with methods of all names.
fn profile() -> Profile {
    let mut profile = Profile { created: CREATED, ..Profile::default() };
    let mut rows = vec![CpuSample::new(profile.traces.intern(ThreadSerial(0), &[]), 1)];
    for (serial, class) in (0..).map(ThreadSerial).zip(NAMES) {
        let sources = ["", "A.java", class.trim_matches(['(', ')'])];
        let methods = NAMES.into_iter().zip(LINES.into_iter().cycle()).zip(sources.iter().cycle());
        let mut frame = |((name, line), source): ((&str, Line), &&str)| {
            let method = profile.intern_method([class, name, "", source]);
            profile.frames.intern(Frame { method, line })
        };
        let frames: Vec<_> = methods.map(&mut frame).collect();
        rows.push(CpuSample::new(profile.traces.intern(serial, &frames), 1));
        let (name, group) = (profile.names.intern(class), profile.names.intern("main"));
        let thread =
            Thread { serial, name, group, ended: serial.0.is_multiple_of(2), ..Thread::default() };
        profile.threads.insert(serial, thread);
    }
    let (at, total) = (Some(CREATED), rows.len() as u64);
    profile.sections.push(CpuSamples { at, total, rows, ..CpuSamples::default() }.into());
    let of_type = |array_of| Site { array_of: Some(array_of), ..Site::default() };
    let rows = Type::ALL.map(of_type).to_vec();
    profile.sections.push(Sites { at, rows, ..Sites::default() }.into());
    profile
}

/// Returns the text of a file, which must be whole.
fn text_of(bytes: Vec<u8>) -> String {
    let file = File::from_bytes(bytes).unwrap();
    assert_eq!(file.problem(), None);
    text(file.profile())
}

#[test]
fn profile_is_read_back_from_each_format() {
    let mut profile = profile();
    let mut writer = BinaryWriter::new(Vec::new(), &profile, Version::V1_0_1).unwrap();
    File::of_profile(profile.clone()).write(&mut writer).unwrap();
    assert_eq!(text_of(writer.into_inner()), text(&profile));

    let name = profile.names.intern("_\"lock\"(1)");
    let (monitor, trace) = (Monitor::Raw { id: ObjectId(16), name }, TraceSerial(1));
    let time = Duration::from_secs(1);
    let (at, rows) = (None, vec![MonitorTime { monitor, trace, hits: 3, time }]);
    profile.sections.push(MonitorTimes { at, total: time, rows }.into());
    assert_eq!(text_of(text(&profile).into_bytes()), text(&profile));
}
