//! The stream of a JVM is read as it was written, and the profiles of consecutive parts of a run add up to the run.

use crate::fixture::{self, WORKER, binary_sections, tables, text_sections};
use jvmpi_formats::profile::{
    BucketSamples, CpuSample, CpuSamples, DumpKind, Increments, Profile, Section, StreamEvent,
    StreamReader, StreamWriter, Time, Timeline, TraceSerial, Weight, Writer, preamble, stacks,
};
use std::num::NonZeroU32;
use std::time::Duration;

/// Returns a profile with sections of each kind that a stream has.
fn profile() -> (Profile, Vec<Section>) {
    let mut profile = Profile { preamble: preamble(None), ..tables() };
    profile.names.intern("unused");
    let mut sections = text_sections(&mut profile);
    sections.retain(|section| !matches!(section, Section::CpuOld(_)));
    sections.extend(binary_sections().into_iter().take(1));
    for section in &mut sections {
        if let Section::CpuSamples(samples) = section {
            samples.interval = Some(Duration::from_millis(10));
            let rows = vec![BucketSamples { bucket: 1, trace: TraceSerial(2), samples: 20 }];
            samples.timeline = Timeline { bucket: Duration::from_secs(2), rows };
        }
    }
    (profile, sections)
}

fn stream(profile: &Profile, dumps: &[(&[Section], DumpKind)]) -> Vec<u8> {
    let mut writer = StreamWriter::new(Vec::new(), profile).unwrap();
    for thread in profile.threads.values() {
        writer.thread_start(profile, thread.serial).unwrap();
        if thread.ended {
            writer.thread_end(profile, thread.serial).unwrap();
        }
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
        let (mut reader, mut told) = (StreamReader::default(), Vec::new());
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
        let text = |profile: &Profile, sections: &[Section]| {
            fixture::text(&Profile { sections: sections.to_vec(), ..profile.clone() })
        };
        assert_eq!(text(&read, all), text(&profile, &sections));
        assert_eq!(all[2..], sections[2..]);
        assert_eq!((read.created, read.names.find("unused")), (profile.created, None));
        assert!(read.threads[&WORKER].ended);
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

fn samples(rows: &[(u32, u64)], at: u64) -> Section {
    let interval = Some(Duration::from_millis(10));
    let row = |row: &(u32, u64)| CpuSample::new(TraceSerial(row.0), row.1);
    let rows: Vec<_> = rows.iter().map(row).collect();
    CpuSamples { at: Some(Time(at)), interval, rows, ..CpuSamples::default() }.into()
}

fn rows(sections: &[Section]) -> Vec<(u32, u64)> {
    let Some(Section::CpuSamples(section)) = sections.first() else { return Vec::new() };
    assert_eq!(section.total, section.rows.iter().map(|row| row.samples).sum::<u64>());
    section.rows.iter().map(|row| (row.trace.0, row.samples)).collect()
}

fn next(increments: &mut Increments, sections: &[Section]) -> Vec<Section> {
    increments.next(sections.iter())
}

#[test]
fn samples_count_from_the_time_before() {
    let mut increments = Increments::default();
    let first = next(&mut increments, &[samples(&[(1, 5), (2, 3)], 10)]);
    assert_eq!(rows(&first), [(1, 5), (2, 3)]);
    // Nothing but a time has changed.
    assert!(next(&mut increments, &[samples(&[(1, 5), (2, 3)], 20)]).is_empty());
    let second = next(&mut increments, &[samples(&[(2, 9), (1, 5), (3, 1)], 30)]);
    assert_eq!(rows(&second), [(2, 6), (3, 1)]);
    let Section::CpuSamples(section) = &second[0] else { panic!("samples") };
    assert_eq!((section.at, section.interval), (Some(Time(30)), Some(Duration::from_millis(10))));
    // A dump that the user requested starts the counts anew.
    let kept = samples(&[(1, 6), (2, 9), (3, 1)], 40);
    let third = next(&mut increments, &[kept.clone(), samples(&[(3, 4)], 50)]);
    assert_eq!(rows(&third), [(3, 4), (1, 1)]);
    // Numbers that shrink are no new samples.
    assert!(next(&mut increments, &[kept]).is_empty());
}

/// All kinds of weights, through the stream that a JVM sends.
#[test]
fn parts_of_a_stream_add_up_to_the_whole() {
    let mut profile = tables();
    let sections = text_sections(&mut profile);
    let mut writer = StreamWriter::new(Vec::new(), &profile).unwrap();
    for section in &sections {
        if writer.holds(section) {
            writer.section(&profile, section).unwrap();
        }
    }
    writer.traces(&profile).unwrap();
    let mut reader = StreamReader::default();
    reader.take(&writer.into_inner(), |_| ()).unwrap();
    let whole = reader.take_cut_off();
    let mut increments = Increments::default();
    let sums = |profile: &Profile| -> Vec<(Weight, u64)> {
        let sum = |weight| stacks(profile, weight).iter().map(|stack| stack.value).sum();
        Weight::ALL.map(|weight| (weight, sum(weight))).to_vec()
    };
    let sample = NonZeroU32::new(1000);
    let expected = reader.part(Time(5), sample, whole.clone(), |part| {
        assert_eq!(part.profile().created, Time(5));
        assert!(part.profile().preamble.contains("every 1000 allocated bytes"));
        sums(part.profile())
    });
    assert!(expected.iter().filter(|(_, sum)| *sum > 0).count() >= 6, "{expected:?}");
    let first = next(&mut increments, &whole);
    assert_eq!(reader.part(Time(5), sample, first, |part| sums(part.profile())), expected);
    let second = next(&mut increments, &whole);
    for (weight, sum) in reader.part(Time(6), sample, second, |part| sums(part.profile())) {
        let is_present = matches!(weight, Weight::LiveBytes | Weight::LiveObjects);
        let expected = expected.iter().find(|(of, _)| *of == weight).unwrap().1;
        assert_eq!(sum, if is_present { expected } else { 0 }, "{weight}");
    }
    // The tables are as before.
    assert_eq!(reader.profile().created, fixture::CREATED);
    assert!(reader.profile().sections.is_empty());
}
