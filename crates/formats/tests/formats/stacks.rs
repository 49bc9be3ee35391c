//! Files made of stacks agree with the profile, according to readers that know nothing of this crate.

use crate::fixture::{self, binary_sections, tables, text_sections};
use jvmpi_formats::profile::{
    BinaryWriter, CpuSample, CpuSamples, Family, File, Format, Frame, Line, Profile, Section,
    TextWriter, ThreadSerial, Version, WallState, Weight, Writer, stacks, write_difference,
    write_family, write_stacks,
};
use prost::Message;
use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

fn profile() -> Profile {
    let mut profile = tables();
    let sections = text_sections(&mut profile);
    profile.sections = sections;
    profile
}

/// The weights of the fixture, which has no wall-clock samples.
fn weights() -> Vec<Weight> {
    Weight::ALL.into_iter().filter(|weight| *weight != Weight::WallSamples).collect()
}

fn written(profile: &Profile, format: Format, weight: Option<Weight>) -> Vec<u8> {
    let mut out = Vec::new();
    write_stacks(profile, format, weight, &mut out).unwrap();
    out
}

fn collapsed(profile: &Profile, weight: Weight) -> String {
    String::from_utf8(written(profile, Format::Collapsed, Some(weight))).unwrap()
}

#[test]
fn the_first_weight_of_which_there_is_anything_is_taken() {
    let mut profile = profile();
    assert_eq!(Weight::of(&profile), weights());
    let first = |profile: &Profile| written(profile, Format::Collapsed, None);
    assert_eq!(first(&profile), collapsed(&profile, Weight::CpuSamples).as_bytes());
    profile.sections.retain(|section| !matches!(section, Section::CpuSamples(_)));
    assert_eq!(first(&profile), collapsed(&profile, Weight::CpuTime).as_bytes());
    profile.sections.retain(|section| matches!(section, Section::MonitorTimes(_)));
    assert_eq!(Weight::of(&profile), [Weight::MonitorTime]);
    profile.sections.clear();
    assert_eq!(first(&profile), b"");
    assert_eq!("live-bytes".parse(), Ok(Weight::LiveBytes));
    let error = "bytes".parse::<Weight>().unwrap_err();
    assert!(error.contains("allocated-objects"), "{error}");
}

#[test]
fn collapsed_stacks_begin_with_the_outermost_frame() {
    let profile = profile();
    assert_eq!(
        collapsed(&profile, Weight::CpuSamples),
        "<empty trace> 10\n\
         Main.main;Main.fib;Main.fib 70\n\
         [say \"hi\"];Main$$Lambda/0x00007f3768000c38.run;java.lang.Object.wait 20\n"
    );
    // An allocated object is above the method that allocated it.
    assert_eq!(
        collapsed(&profile, Weight::AllocatedBytes),
        "<empty trace>;<Unknown> 100\n\
         Main.main;Main.fib;Main.fib;<Unknown>[] 700\n\
         Main.main;Main.fib;Main.fib;java.lang.String 7000\n\
         [say \"hi\"];Main$$Lambda/0x00007f3768000c38.run;java.lang.Object.wait;int[] 1200\n"
    );
    assert_eq!(
        collapsed(&profile, Weight::MonitorTime),
        "Main.main;Main.fib;Main.fib;_hprof_dump_lock 250000000\n\
         [say \"hi\"];Main$$Lambda/0x00007f3768000c38.run;java.lang.Object.wait;java.lang.Object 750000000\n"
    );
}

#[test]
fn samples_of_several_dumps_are_summed_up_and_sites_are_not() {
    let mut profile = profile();
    let again = binary_sections();
    profile.sections.extend(again);
    let samples = collapsed(&profile, Weight::CpuSamples);
    assert!(samples.contains("Main.main;Main.fib;Main.fib 140\n"), "{samples}");
    let sites = collapsed(&profile, Weight::LiveObjects);
    assert!(sites.contains("java.lang.String 24\n"), "{sites}");
}

/// The state survives both formats of HPROF, and is a frame and a label elsewhere.
#[test]
fn wall_clock_samples_have_the_state_of_the_thread() {
    let mut profile = Profile::default();
    let method = profile.intern_method(["Main", "read", "", ""]);
    let frame = profile.frames.intern(Frame { method, line: Line::Native });
    let mut row = |state, samples| {
        let state = profile.state_frame(state);
        let trace = profile.traces.intern(ThreadSerial(0), &[state, frame]);
        CpuSample::new(trace, samples)
    };
    let rows = vec![row(WallState::Native, 7), row(WallState::Parked, 3)];
    let section: Section = CpuSamples { total: 10, rows, ..CpuSamples::default() }.into();
    let expected = "Main.read;[native] 7\nMain.read;[parked] 3\n";
    let text = TextWriter::new(Vec::new(), &profile).unwrap();
    let binary = BinaryWriter::new(Vec::new(), &profile, Version::V1_0_2).unwrap();
    let (mut text, mut binary) = (text, binary);
    text.section(&profile, &section).unwrap();
    binary.section(&profile, &section).unwrap();
    for bytes in [text.into_inner(), binary.into_inner()] {
        let read = File::from_bytes(bytes).unwrap();
        assert_eq!(Weight::of(read.profile()), [Weight::WallSamples]);
        assert_eq!(collapsed(read.profile(), Weight::WallSamples), expected);
        let states = stacks(read.profile(), Weight::WallSamples);
        let states: Vec<_> = states.iter().map(|stack| stack.state).collect();
        assert_eq!(states, [Some(WallState::Native), Some(WallState::Parked)]);
    }
    profile.sections.push(section);
    let pprof = pprof(&profile, None);
    for name in ["wall_samples", "state", "parked", "[parked]"] {
        assert!(pprof.string_table.iter().any(|string| string == name), "{name}");
    }
}

#[test]
fn a_flame_graph_shows_each_method() {
    let profile = profile();
    let svg = String::from_utf8(written(&profile, Format::Svg, None)).unwrap();
    assert!(svg.starts_with("<?xml"));
    for text in [
        "<title>Main.fib (70 samples, 70.00%)</title>",
        "CPU samples",
        "[say &quot;hi&quot;]",
        "&lt;empty trace&gt;",
    ] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
    let svg = String::from_utf8(written(&profile, Format::Svg, Some(Weight::CpuTime))).unwrap();
    assert!(svg.contains("<title>Main.fib (543 ms, 92.66%)</title>"), "{svg}");
    let none = String::from_utf8(written(&tables(), Format::Svg, None)).unwrap();
    assert!(none.contains("no CPU samples"), "{none}");
}

/// A thread may be called anything, and whoever names it does not own the terminal or the browser.
#[test]
fn names_with_control_characters_do_nothing_in_any_format() {
    const NAME: &str = "a\u{1b}[2J<b>&\"'\u{0}\u{9b}]]>\n\u{202e}\u{ffff}c";
    let mut profile = profile();
    let name = profile.names.intern(NAME);
    for thread in profile.threads.values_mut() {
        thread.name = name;
    }
    let clean = r#"a\u{1b}[2J<b>&"'\u{0}\u{9b}]]>\n\u{202e}\u{ffff}c"#;
    let does_something =
        |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{ffff}');

    let collapsed = collapsed(&profile, Weight::CpuSamples);
    assert!(collapsed.contains(&format!("[{clean}];")), "{collapsed}");
    let svg = String::from_utf8(written(&profile, Format::Svg, None)).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let titles = document.descendants().filter(|node| node.has_tag_name("title"));
    let shown = titles
        .filter_map(|title| title.text())
        .any(|title| title.starts_with(&format!("[{clean}] (")));
    assert!(shown, "{svg}");
    let mut text = Vec::new();
    let mut writer = TextWriter::new(&mut text, &profile).unwrap();
    for thread in profile.threads.keys() {
        writer.thread_start(&profile, *thread).unwrap();
    }
    writer.flush().unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains(clean), "{text}");
    for written in [collapsed, svg, text] {
        assert!(!written.contains(does_something), "{written:?}");
    }
}

#[test]
fn a_difference_shows_both_numbers_and_matches_hidden_classes_of_two_runs() {
    let run = |class: &str, samples| {
        let mut profile = Profile::default();
        let method = profile.intern_method([class, "run", "", ""]);
        let frame = profile.frames.intern(Frame { method, line: Line::Unknown });
        let trace = profile.traces.intern(ThreadSerial(0), &[frame]);
        let rows = vec![CpuSample::new(trace, samples)];
        profile.sections =
            vec![CpuSamples { total: samples, rows, ..CpuSamples::default() }.into()];
        profile
    };
    let [before, after] = ["App$$Lambda/0x00007f63880d75f8", "App$$Lambda/0x00007f63880e0000"];
    let mut svg = Vec::new();
    write_difference(&run(before, 10), &run(after, 30), Weight::CpuSamples, &mut svg).unwrap();
    let svg = String::from_utf8(svg).unwrap();
    let title = "<title>App$$Lambda.run (30 samples, 100.00%; +66.67%)</title>";
    assert!(svg.contains(title), "{svg}");
}

/// The messages of pprof's `profile.proto` that are used, read by a library for protocol buffers.
mod proto {
    use prost::Message;

    #[derive(Clone, PartialEq, Message)]
    pub struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub sample: Vec<Sample>,
        #[prost(message, repeated, tag = "4")]
        pub location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        pub string_table: Vec<String>,
        #[prost(int64, tag = "9")]
        pub time_nanos: i64,
        #[prost(int64, tag = "10")]
        pub duration_nanos: i64,
        #[prost(message, optional, tag = "11")]
        pub period_type: Option<ValueType>,
        #[prost(int64, tag = "12")]
        pub period: i64,
        #[prost(int64, tag = "14")]
        pub default_sample_type: i64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct ValueType {
        #[prost(int64, tag = "1")]
        pub kind: i64,
        #[prost(int64, tag = "2")]
        pub unit: i64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Sample {
        #[prost(uint64, repeated, tag = "1")]
        pub location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub value: Vec<i64>,
        #[prost(message, repeated, tag = "3")]
        pub label: Vec<Label>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Label {
        #[prost(int64, tag = "1")]
        pub key: i64,
        #[prost(int64, tag = "2")]
        pub text: i64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Location {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(message, repeated, tag = "4")]
        pub line: Vec<Line>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Line {
        #[prost(uint64, tag = "1")]
        pub function_id: u64,
        #[prost(int64, tag = "2")]
        pub line: i64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Function {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(int64, tag = "2")]
        pub name: i64,
        #[prost(int64, tag = "3")]
        pub system_name: i64,
        #[prost(int64, tag = "4")]
        pub filename: i64,
    }
}

fn decoded(compressed: &[u8]) -> proto::Profile {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(compressed).read_to_end(&mut bytes).unwrap();
    proto::Profile::decode(&bytes[..]).unwrap()
}

fn pprof(profile: &Profile, weight: Option<Weight>) -> proto::Profile {
    decoded(&written(profile, Format::Pprof, weight))
}

#[test]
fn pprof_has_every_weight_of_every_stack() {
    let mut profile = profile();
    fixture::set_interval(&mut profile, Duration::from_millis(10));
    let decoded = pprof(&profile, Some(Weight::LiveBytes));
    let text = |index: i64| decoded.string_table[index as usize].as_str();
    assert_eq!(text(0), "");
    let types: Vec<_> =
        decoded.sample_type.iter().map(|value| (text(value.kind), text(value.unit))).collect();
    assert_eq!(
        types,
        [
            ("samples", "count"),
            ("cpu", "nanoseconds"),
            ("alloc_space", "bytes"),
            ("alloc_objects", "count"),
            ("inuse_space", "bytes"),
            ("inuse_objects", "count"),
            ("delay", "nanoseconds"),
        ]
    );
    assert_eq!(text(decoded.default_sample_type), "inuse_space");
    assert_eq!((decoded.period, decoded.duration_nanos), (10_000_000, 3_000_000_000));
    assert_eq!(decoded.time_nanos, fixture::CREATED.0 as i64 * 1_000_000);

    let functions: BTreeMap<_, _> = decoded.function.iter().map(|f| (f.id, f)).collect();
    let locations: BTreeMap<_, _> = decoded.location.iter().map(|l| (l.id, l)).collect();
    let mut stacks = BTreeMap::new();
    for sample in &decoded.sample {
        let frame = |id: &u64| {
            let [line] = &locations[id].line[..] else { panic!("one line") };
            let function = functions[&line.function_id];
            format!("{}:{}:{}", text(function.name), text(function.filename), line.line)
        };
        let mut stack: Vec<_> = sample.location_id.iter().map(frame).collect();
        for label in &sample.label {
            stack.push(format!("{}={}", text(label.key), text(label.text)));
        }
        assert!(stacks.insert(stack.join(" "), sample.value.clone()).is_none());
    }
    let fib = "Main.fib:Main.java:7 Main.fib:Main.java:7 Main.main:Main.java:12";
    assert_eq!(stacks[fib][0], 70);
    assert!(stacks[fib][1].abs_diff(543_000_000) < 58_600, "{stacks:?}");
    assert_eq!(stacks[fib][2..], [0; 5]);
    let string = stacks[&format!("java.lang.String::0 {fib}")].clone();
    assert_eq!(string, [0, 0, 7000, 70, 2400, 24, 0]);
    let wait = "java.lang.Object.wait::0 Main$$Lambda/0x00007f3768000c38.run::0 thread=say \"hi\"";
    assert_eq!(stacks[&format!("java.lang.Object::0 {wait}")][6], 750_000_000);
    assert_eq!(stacks["<empty trace>::0"][0], 10);
    assert_eq!(stacks["<Unknown>::0 <empty trace>::0"][2], 100);
    let fib = decoded.function.iter().find(|f| text(f.name) == "Main.fib").unwrap();
    assert_eq!(text(fib.system_name), "Main.fib(I)I");
}

#[test]
fn pprof_of_nothing_is_a_profile() {
    let decoded = pprof(&tables(), None);
    assert_eq!((decoded.sample_type.len(), decoded.sample.len()), (1, 0));
}

/// Returns the type of a period, or of a value.
fn kind(profile: &proto::Profile, kind: &proto::ValueType) -> [String; 2] {
    [kind.kind, kind.unit].map(|place| profile.string_table[place as usize].clone())
}

/// Pyroscope names a profile by its family of weights, and knows times in nanoseconds.
#[test]
fn pprof_of_a_family_has_its_weights_and_their_time() {
    let mut profile = profile();
    let family = |profile: &Profile, family| {
        let mut compressed = Vec::new();
        if !write_family(profile, family, &mut compressed).unwrap() {
            assert!(compressed.is_empty());
            return None;
        }
        let decoded = decoded(&compressed);
        let kinds: Vec<_> = decoded.sample_type.iter().map(|of| kind(&decoded, of)).collect();
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.join("/")).collect();
        let default = decoded.string_table[decoded.default_sample_type as usize].clone();
        Some((kinds.join(" "), default, decoded.period, decoded.sample[0].value.clone()))
    };
    profile.sections.retain(|section| !matches!(section, Section::CpuTimes(_)));
    fixture::set_interval(&mut profile, Duration::from_millis(10));
    let (kinds, default, period, values) = family(&profile, Family::Cpu).unwrap();
    assert_eq!((&*kinds, &*default), ("samples/count cpu/nanoseconds", "cpu"));
    assert_eq!((period, values), (10_000_000, vec![70, 700_000_000]));
    assert_eq!(family(&profile, Family::Wall), None);
    let (kinds, default, ..) = family(&profile, Family::Memory).unwrap();
    let expected = "alloc_space/bytes alloc_objects/count inuse_space/bytes inuse_objects/count";
    assert_eq!((&*kinds, &*default), (expected, "alloc_space"));
    let (kinds, ..) = family(&profile, Family::Monitors).unwrap();
    assert_eq!(kinds, "delay/nanoseconds");
}

#[test]
fn speedscope_has_every_weight_as_a_profile() {
    let mut profile = profile();
    let thread = profile.threads.get_mut(&fixture::WORKER).unwrap();
    thread.name = profile.names.intern("a\\b\"c\n\u{1}d");
    let json = written(&profile, Format::Speedscope, Some(Weight::LiveObjects));
    let file: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
    assert_eq!(
        file["profiles"][file["activeProfileIndex"].as_u64().unwrap() as usize]["name"],
        "Live objects"
    );
    let frames = file["shared"]["frames"].as_array().unwrap();
    let profiles = file["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 7);
    for (profile, weight) in profiles.iter().zip(weights()) {
        assert_eq!(profile["type"], "sampled");
        assert_eq!(profile["name"], weight.title());
        let samples = profile["samples"].as_array().unwrap();
        let weights = profile["weights"].as_array().unwrap();
        assert_eq!(samples.len(), weights.len());
        let sum: u64 = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
        assert_eq!(profile["endValue"], sum);
        for frame in samples.iter().flat_map(|sample| sample.as_array().unwrap()) {
            assert!(frames[frame.as_u64().unwrap() as usize]["name"].is_string());
        }
    }
    let names = |sample: &serde_json::Value| -> Vec<_> {
        let frame = |frame: &serde_json::Value| &frames[frame.as_u64().unwrap() as usize];
        sample.as_array().unwrap().iter().map(|id| frame(id)["name"].clone()).collect()
    };
    let samples = profiles[0]["samples"].as_array().unwrap();
    assert_eq!(names(&samples[0]), ["Main.main", "Main.fib", "Main.fib"]);
    assert_eq!(names(&samples[1])[0], "[a\\b\"c\n\u{1}d]");
    let fib = frames.iter().find(|frame| frame["name"] == "Main.fib").unwrap();
    assert_eq!((&fib["file"], &fib["line"]), (&"Main.java".into(), &7.into()));
}
