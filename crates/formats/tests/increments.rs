//! The profiles of consecutive parts of a run add up to the run.

mod fixture;

use fixture::{tables, text_sections};
use jvmpi_formats::profile::{
    Amount, CpuSample, CpuSamples, Increments, Profile, Section, Sites, StreamReader, StreamWriter,
    Time, TraceSerial, Weight, Writer, stacks,
};
use std::num::NonZeroU32;
use std::time::Duration;

fn samples(rows: &[(u32, u64)], at: u64) -> Section {
    let row = |&(trace, samples): &(u32, u64)| {
        let trace = TraceSerial(trace);
        CpuSample { trace, samples, hits: samples }
    };
    let interval = Some(Duration::from_millis(10));
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

#[test]
fn allocated_objects_are_differences_and_live_objects_are_not() {
    let mut profile = tables();
    let all = text_sections(&mut profile);
    let sites = |all: &[Section]| {
        all.iter()
            .find_map(|section| match section {
                Section::Sites(sites) => Some(sites.clone()),
                _ => None,
            })
            .unwrap()
    };
    let mut later: Sites = sites(&all);
    later.rows[0].allocated = Amount { bytes: 7500, instances: 75 };
    later.rows[0].live = Amount { bytes: 100, instances: 1 };
    later.rows[1].live = Amount::default();
    let mut increments = Increments::default();
    next(&mut increments, &all);
    let new = next(&mut increments, &[Section::from(later)]);
    let of = |weight| -> Vec<u64> {
        let mut profile: Profile = profile.clone();
        profile.sections = new.clone();
        stacks(&profile, weight).iter().map(|stack| stack.value).collect()
    };
    assert_eq!(of(Weight::AllocatedBytes), [500]);
    assert_eq!(of(Weight::AllocatedObjects), [5]);
    let mut live = of(Weight::LiveBytes);
    live.sort_unstable();
    assert_eq!(live, [40, 100, 360]);
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
