//! The JDK's own parser finds the same in files of JFR as this crate, in those that JVMs write and in those that this
//! crate writes.
#![cfg(feature = "jfr")]

use crate::fixture::{CREATED, DUMPED, MAIN, WORKER, binary_sections, tables, text_sections};
use jvmpi_formats::profile::heap::type_name;
use jvmpi_formats::profile::{
    BucketSamples, CpuSample, CpuSamples, CpuTime, CpuTimes, Encoding, File, Jvm, Label, Line,
    Profile, Section, ThreadSerial, Time, Timeline, TraceSerial, WallState, write_jfr,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Samples of each kind, thread, class and stack: their number, and the sum of their amounts.
type Sums = BTreeMap<String, [u64; 2]>;

/// Returns the samples of a profile.
fn of_profile(profile: &Profile) -> Sums {
    let mut sums = Sums::new();
    let mut add = |kind: &str, trace: TraceSerial, class: &str, count, amount| {
        let state = profile.state_of(trace);
        let stack =
            state.map_or(profile.traces.frames_of(trace), |(_, stack)| profile.traces.path(stack));
        let thread = profile.traces.get(trace).map_or(ThreadSerial(0), |trace| trace.thread);
        let thread = profile.threads.get(&thread).map_or("", |it| profile.names.get(it.name));
        let mut line = format!("{kind}|{thread}|{class}|");
        for frame in stack.iter() {
            if profile.has_label(frame, Label::Truncated) {
                line.push_str("[truncated]");
                continue;
            }
            let (frame, method) = profile.frame(frame).unwrap();
            let [class, name] = [method.class, method.name].map(|name| profile.names.get(name));
            let number = match frame.line {
                Line::Number(line) => line.to_string(),
                Line::Native => "native".to_owned(),
                _ => "0".to_owned(),
            };
            line.push_str(&format!("{class}.{name}:{number};"));
        }
        let sum: &mut [u64; 2] = sums.entry(line).or_default();
        *sum = [sum[0] + count, sum[1] + amount];
    };
    for section in &profile.sections {
        match section {
            Section::CpuSamples(section) => section.rows.iter().for_each(|row| {
                let kind = if profile.state_of(row.trace).is_some() { "wall" } else { "cpu" };
                add(kind, row.trace, "", row.samples, 0);
            }),
            Section::Sites(section) => section.rows.iter().for_each(|row| {
                let name = profile.site_type(row);
                for (kind, amount) in [("allocated", row.allocated), ("live", row.live)] {
                    if amount.bytes > 0 {
                        add(kind, row.trace, &name, amount.instances, amount.bytes);
                    }
                }
            }),
            Section::MonitorTimes(section) => section.rows.iter().for_each(|row| {
                let time = row.time.as_nanos() as u64;
                add("monitor", row.trace, profile.names.get(row.monitor.name()), row.hits, time);
            }),
            _ => {}
        }
    }
    sums
}

/// Runs the program that reads recordings with the JDK's parser, and makes them.
fn java(arguments: &[&str]) -> String {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jfr/Stacks.java");
    let output = Command::new("java").arg("-Xshare:auto").arg(program).args(arguments).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the samples as the JDK's parser finds them.
fn of_jdk(path: &Path) -> Sums {
    let mut sums = Sums::new();
    for line in java(&[path.to_str().unwrap()]).lines() {
        let parts: Vec<_> = line.rsplitn(3, '|').collect();
        let [amount, count, line] = parts[..] else { panic!("{line}") };
        let [amount, count] = [amount, count].map(|number| number.parse().unwrap());
        let is_count = ["cpu|", "native", "wall"].iter().any(|kind| line.starts_with(kind));
        let line = line.replacen("native|", "wall|", 1);
        let parts: Vec<_> = line.splitn(4, '|').collect();
        let line = [parts[0], parts[1], &type_name(parts[2]), parts[3]].join("|");
        let line = match line.strip_prefix("park|") {
            Some(rest) if !rest.contains("|java.util.concurrent.locks.Reentrant") => continue,
            Some(rest) => format!("monitor|{rest}"),
            None => line,
        };
        let amount = if is_count { 0 } else { amount };
        let sum = sums.entry(line).or_default();
        *sum = [sum[0] + count, sum[1] + amount];
    }
    sums
}

/// Returns a new file in the directory for tests.
fn file(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("jfr");
    fs::create_dir_all(&directory).unwrap();
    directory.join(name)
}

fn read(path: &Path) -> File {
    let file = File::open(path).unwrap();
    assert_eq!(file.encoding(), Encoding::Jfr);
    file
}

/// Returns a profile with each kind of sample.
fn profile() -> Profile {
    let mut profile = tables();
    let frames = [WallState::Parked, WallState::Native].map(|state| profile.state_frame(state));
    let cut = profile.label_frame(Label::Truncated);
    let frame = profile.traces.frames_of(TraceSerial(1)).first().unwrap();
    let [parked, native] = frames.map(|state| profile.traces.intern(WORKER, &[state, frame]));
    let cut = profile.traces.intern(MAIN, &[frame, cut]);
    let of = CpuSample::new;
    let timed = |bucket, samples| BucketSamples { bucket, trace: TraceSerial(2), samples };
    let samples = |rows: &[CpuSample], timeline| CpuSamples {
        at: Some(DUMPED),
        interval: Some(Duration::from_millis(10)),
        total: rows.iter().map(|row| row.samples).sum(),
        rows: rows.to_vec(),
        timeline,
    };
    let timeline =
        Timeline { bucket: Duration::from_secs(1), rows: vec![timed(0, 3), timed(2, 4)] };
    profile.sections = binary_sections();
    let text = text_sections(&mut profile);
    profile.sections.extend(text.into_iter().filter(|it| matches!(it, Section::MonitorTimes(_))));
    profile.sections.extend([
        samples(&[of(TraceSerial(2), 7)], timeline).into(),
        samples(&[of(parked, 5), of(native, 6), of(cut, 8)], Timeline::default()).into(),
    ]);
    profile
}

#[test]
fn jdk_reads_what_is_written() {
    let profile = profile();
    let mut expected = of_profile(&profile);
    for (line, sum) in &mut expected {
        // The events of the JDK have no number of objects.
        if line.starts_with("allocated") || line.starts_with("live") {
            sum[0] = 1;
        }
    }
    let path = file("written.jfr");
    let started = Some(Time(1_600_000_000_123));
    let jvm = Jvm { version: "17.0.9", command: "java Main", process: 4711, started };
    write_jfr(&profile, Some(jvm), &mut fs::File::create(&path).unwrap()).unwrap();
    let with_dots = |(line, sum): (String, _)| (line.replace('/', "."), sum);
    let expected: Sums = expected.into_iter().map(with_dots).collect();
    assert_eq!(of_jdk(&path), expected);
    assert_eq!(java(&[path.to_str().unwrap(), "start"]).trim(), "1600000000123");
    let again = read(&path);
    assert_eq!(again.problem(), None);
    assert_eq!(of_profile(again.profile()), expected);
    let again = again.profile();
    assert_eq!(again.created, CREATED);
    assert!(again.sections.iter().all(|section| section.at() == Some(DUMPED)));
    let samples = again.cpu_samples().next().unwrap();
    assert_eq!(samples.interval, Some(Duration::from_millis(10)));
    let mut seconds = [0; 4];
    samples.timeline.rows.iter().for_each(|row| seconds[row.bucket as usize] += row.samples);
    // 108 samples over three seconds, and those of which the time is known.
    assert_eq!(seconds, [36 + 3, 36, 36 + 4, 0]);
}

#[test]
fn recordings_of_a_jvm_are_read_as_by_the_jdk() {
    let path = file("recorded.jfr");
    java(&[path.to_str().unwrap(), "record"]);
    let jdk = of_jdk(&path);
    for kind in ["cpu", "allocated", "monitor"] {
        assert!(jdk.keys().any(|line| line.starts_with(kind)), "{kind}");
    }
    let whole = read(&path);
    assert_eq!(whole.problem(), None);
    assert_eq!(of_profile(whole.profile()), jdk);

    // A file of two chunks, and one that was cut off.
    let bytes = fs::read(&path).unwrap();
    let twice = File::from_bytes([&bytes[..], &bytes].concat()).unwrap();
    assert_eq!(twice.problem(), None);
    let doubled: Sums =
        jdk.iter().map(|(line, sum)| (line.clone(), sum.map(|it| it * 2))).collect();
    assert_eq!(of_profile(twice.profile()), doubled);
    let cut = [&bytes[..], &bytes[..bytes.len() - 1]].concat();
    let cut = File::from_bytes(cut).unwrap();
    assert!(cut.problem().unwrap().what.contains("cut off"), "{:?}", cut.problem());
    assert_eq!(of_profile(cut.profile()), doubled);
}

/// Writes the sections, and returns what is read.
fn written(section: Section) -> (Vec<u64>, Option<Duration>) {
    let profile = Profile { sections: vec![section], ..tables() };
    let mut bytes = Vec::new();
    write_jfr(&profile, None, &mut bytes).unwrap();
    let file = File::from_bytes(bytes).unwrap();
    assert_eq!(file.problem(), None);
    let samples = file.profile().cpu_samples().next().unwrap();
    (samples.rows.iter().map(|row| row.samples).collect(), samples.interval)
}

#[test]
fn events_are_few_and_stand_for_the_same_time() {
    let of = |trace, samples| CpuSample::new(TraceSerial(trace), samples);
    let rows = vec![of(1, 6_000_000), of(2, 3_999_990), of(3, 10)];
    let interval = Some(Duration::from_millis(10));
    let samples = CpuSamples { interval, total: 10_000_000, rows, ..CpuSamples::default() };
    let tenth = Duration::from_millis(100);
    assert_eq!(written(samples.into()), (vec![600_000, 399_999, 1], Some(tenth)));

    let of = |trace, own| CpuTime {
        trace: TraceSerial(trace),
        own: Duration::from_micros(own),
        calls: 1,
    };
    let rows = vec![of(1, 5_700), of(2, 300)];
    let times = CpuTimes { total: Duration::from_millis(6), rows, ..CpuTimes::default() };
    assert_eq!(written(times.into()), (vec![5, 1], Some(Duration::from_millis(1))));
}

#[test]
fn unreadable_recordings_name_the_fault() {
    let fault =
        |bytes: &[u8]| File::from_bytes(bytes.to_vec()).unwrap().problem().unwrap().to_string();
    let mut bytes = Vec::new();
    write_jfr(&profile(), None, &mut bytes).unwrap();
    assert_eq!(fault(&bytes[..40]), "byte 0: no chunk of JFR begins here");
    let more = bytes.len();
    assert_eq!(
        fault(&[&bytes[..], b"more"].concat()),
        format!("byte {more}: no chunk of JFR begins here")
    );
    assert_eq!(fault(&bytes[..more - 1]), "byte 0: the recording is cut off in the last chunk");
    assert!(fault(&bytes[..70]).contains("its metadata is missing"));
    bytes[5] = 1;
    let version = "byte 0: version 1.0 of JFR is not supported: record with JDK 11 or newer";
    assert_eq!(fault(&bytes), version);
}
