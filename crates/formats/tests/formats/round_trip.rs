//! Files preserve every part of a profile.

use jvmpi_formats::profile::{
    self, Amount, BinaryWriter, Class, ClassSerial, CpuSample, CpuSamples, CpuTime, CpuTimes, File,
    Frame, Line, Monitor, MonitorTime, MonitorTimes, ObjectId, Profile, Section, Site, Sites,
    TextWriter, Thread, ThreadSerial, Time, TraceSerial, Type, Version, Writer,
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

/// Returns the rows of a section: amounts of traces.
fn rows() -> impl Strategy<Value = Vec<(u32, u32)>> {
    vec((1..=TRACES, 1..1_000_000u32), 1..8)
}

fn sites() -> impl Strategy<Value = Vec<(u32, Option<usize>, [u32; 4], u32)>> {
    vec((0..4u32, prop::option::of(0..9usize), any::<[u32; 4]>(), 0..=TRACES), 0..8)
}

/// Returns a profile with the tables that sections refer to.
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
        let thread = Thread {
            serial,
            object: ObjectId(serial.0.into()),
            name: profile.names.intern(name),
            group: profile.names.intern("main"),
            started: Some(profile.created),
            ended: serial.0.is_multiple_of(2),
            ..Thread::default()
        };
        profile.threads.insert(serial, thread);
    }
    for serial in 1..4 {
        profile.classes.insert(Class {
            serial: ClassSerial(serial),
            object: ObjectId(u64::from(serial) * 16),
            name: profile.names.intern(&format!("a.Class{serial}")),
            ..Class::default()
        });
    }
    profile
}

fn sites_section(rows: &[(u32, Option<usize>, [u32; 4], u32)]) -> Sites {
    let mut sites = Sites { at: Some(Time(1_795_309_391_000)), ..Sites::default() };
    for (class, array_of, [a, b, c, d], trace) in rows {
        let amount = |bytes: u32, instances: &u32| Amount {
            bytes: (bytes / 16).into(),
            instances: (*instances).into(),
        };
        // Text has the array type only if the class is unknown.
        let array_of = array_of.filter(|_| *class == 0).map(|index| Type::ALL[index]);
        sites.rows.push(Site {
            class: ClassSerial(*class),
            array_of,
            trace: TraceSerial(*trace),
            live: amount(*a, b),
            allocated: amount(*c, d),
        });
    }
    for row in &sites.rows {
        sites.live.bytes += row.live.bytes;
        sites.allocated.bytes += row.allocated.bytes;
    }
    sites.rank(0.0);
    sites
}

fn shown_trace(profile: &Profile, serial: u32) -> (ThreadSerial, Vec<String>) {
    let trace = profile.traces.get(TraceSerial(serial)).unwrap();
    let frame = |id: profile::FrameId| {
        let (frame, method) = profile.frame(id).unwrap();
        let names = [method.class, method.name, method.source].map(|id| profile.names.get(id));
        // Text does not tell native methods.
        let line = if frame.line == Line::Native { Line::Unknown } else { frame.line };
        format!("{names:?} {line:?}")
    };
    (trace.thread, trace.frames.iter().map(frame).collect())
}

fn shown_site(profile: &Profile, site: &Site) -> String {
    format!("{} {:?} {:?} {:?}", profile.site_type(site), site.trace, site.live, site.allocated)
}

/// That `read` has the threads, traces and sites of `profile`.
fn assert_same_tables(read: &Profile, profile: &Profile) {
    for serial in 1..=TRACES {
        assert_eq!(shown_trace(read, serial), shown_trace(profile, serial));
    }
    let threads = |profile: &Profile| -> Vec<_> {
        let shown = |thread: &Thread| {
            (thread.serial, thread.object, profile.names.get(thread.name).to_owned(), thread.ended)
        };
        profile.threads.values().map(shown).collect()
    };
    assert_eq!(threads(read), threads(profile));
    let sites = |profile: &Profile| -> Vec<_> {
        let rows = profile.sites().flat_map(|section| &section.rows);
        rows.map(|site| shown_site(profile, site)).collect()
    };
    assert_eq!(sites(read), sites(profile));
}

fn write(writer: &mut dyn Writer, profile: &Profile) {
    File::of_profile(profile.clone()).write(writer).unwrap();
}

proptest! {
    #[test]
    fn profile_is_read_back_from_each_format(
        traces in traces(),
        threads in vec(name(), 0..4),
        samples in rows(),
        times in rows(),
        monitors in rows(),
        sites in sites(),
    ) {
        let mut profile = profile(&traces, &threads);
        let at = Some(Time(1_795_309_391_000));
        let total = samples.iter().map(|(_, n)| u64::from(*n)).sum();
        let row = |(trace, n): &(u32, u32)| CpuSample::new(TraceSerial(*trace), u64::from(*n));
        let rows = samples.iter().map(row);
        let mut samples = CpuSamples { at, total, rows: rows.collect(), ..CpuSamples::default() };
        samples.rank(0.0);
        let ms = |n: u32| Duration::from_millis(n.into());
        let total: Duration = times.iter().map(|(_, n)| ms(*n)).sum();
        let rows = times.iter().map(|(trace, n)| CpuTime {
            trace: TraceSerial(*trace),
            own: ms(*n),
            calls: u64::from(*n) * 3,
        });
        let mut times = CpuTimes { at, total, over: None, rows: rows.collect() };
        times.rank(0.0);
        let monitor = Monitor::Raw { id: ObjectId(16), name: profile.names.intern("_\"lock\"(1)") };
        let total: Duration = monitors.iter().map(|(_, n)| ms(*n)).sum();
        let rows = monitors.iter().map(|(trace, n)| MonitorTime {
            monitor,
            trace: TraceSerial(*trace),
            hits: u64::from(*n),
            time: ms(*n),
        });
        let mut monitors = MonitorTimes { at, total, rows: rows.collect() };
        monitors.rank(0.0);
        profile.sections = vec![
            monitors.clone().into(),
            sites_section(&sites).into(),
            samples.clone().into(),
            times.clone().into(),
        ];

        let mut writer = TextWriter::new(Vec::new(), &profile).unwrap();
        write(&mut writer, &profile);
        let text = File::from_bytes(writer.into_inner()).unwrap();
        prop_assert_eq!(text.problem(), None);
        let read = text.profile();
        assert_same_tables(read, &profile);
        let read_samples = read.cpu_samples().next().unwrap();
        prop_assert_eq!(read_samples, &samples);
        // Percentages have two digits.
        let near = |a: Duration, b: Duration, total: Duration| {
            a.abs_diff(b).as_secs_f64() <= total.as_secs_f64() * 0.000_050_1
        };
        let read_times = read.cpu_times().next().unwrap();
        prop_assert_eq!(read_times.total, times.total);
        for (read, row) in read_times.rows.iter().zip(&times.rows) {
            prop_assert_eq!((read.trace, read.calls), (row.trace, row.calls));
            prop_assert!(near(read.own, row.own, times.total), "{:?} {:?}", read, row);
        }
        let read_monitors = read.monitor_times().next().unwrap();
        for (read, row) in read_monitors.rows.iter().zip(&monitors.rows) {
            prop_assert_eq!((read.trace, read.hits), (row.trace, row.hits));
            prop_assert!(near(read.time, row.time, monitors.total));
            let Monitor::Raw { id, name } = read.monitor else { panic!("{read:?}") };
            prop_assert_eq!((id.0, text.profile().names.get(name)), (16, "_\"lock\"(1)"));
        }

        let mut writer = BinaryWriter::new(Vec::new(), &profile, Version::V1_0_1).unwrap();
        write(&mut writer, &profile);
        let binary = File::from_bytes(writer.into_inner()).unwrap();
        prop_assert_eq!(binary.problem(), None);
        assert_same_tables(binary.profile(), &profile);
        profile.sections.retain(|section| matches!(section, Section::CpuSamples(_)));
        prop_assert_eq!(&binary.profile().sections[1..], &profile.sections[..]);
    }
}
