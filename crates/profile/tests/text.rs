//! Text is written in the shapes of HPROF.

mod fixture;

use fixture::{DUMPED, MAIN, WORKER, heap_dump, heap_records, tables, text_sections};
use profile::{Amount, EachRecord, Encoding, File, Section, TextWriter, ThreadSerial, Writer};
use std::time::Duration;

/// The whole fixture as text.
fn written() -> String {
    let mut profile = tables();
    let sections = text_sections(&mut profile);
    let mut writer = TextWriter::new(Vec::new(), &profile).unwrap();
    writer.thread_start(&profile, MAIN).unwrap();
    writer.thread_start(&profile, WORKER).unwrap();
    writer.thread_end(&profile, WORKER).unwrap();
    for section in &sections[..3] {
        writer.section(&profile, section).unwrap();
    }
    writer.heap_dump(&profile, &heap_dump(), &mut |each| heap_records(each)).unwrap();
    for section in &sections[3..] {
        writer.section(&profile, section).unwrap();
    }
    String::from_utf8(writer.into_inner()).unwrap()
}

#[test]
fn every_record_has_the_shape_of_hprof() {
    let expected = include_str!("expected.txt")
        .replace("@CREATED@", &fixture::CREATED.to_text())
        .replace("@DUMPED@", &DUMPED.to_text());
    let written = written();
    for (line, (expected, written)) in (1..).zip(expected.lines().zip(written.lines())) {
        assert_eq!(written, expected, "line {line}");
    }
    assert_eq!(written.len(), expected.len());
}

#[test]
fn a_trace_is_written_once_and_before_what_refers_to_it() {
    let mut profile = tables();
    let sections = text_sections(&mut profile);
    let mut writer = TextWriter::new(Vec::new(), &profile).unwrap();
    writer.section(&profile, &sections[3]).unwrap();
    let frames = profile.traces.get(profile::TraceSerial(1)).unwrap().frames.to_vec();
    profile.traces.intern(ThreadSerial(9), &frames);
    writer.section(&profile, &sections[4]).unwrap();
    writer.traces(&profile).unwrap();
    let text = String::from_utf8(writer.into_inner()).unwrap();
    let place = |what: &str| text.find(what).unwrap();
    for trace in ["TRACE 1:", "TRACE 2:", "TRACE 3:", "TRACE 4:", "TRACE 5:"] {
        assert_eq!(text.matches(trace).count(), 1);
    }
    assert!(place("TRACE 4:") < place("SITES BEGIN"));
    assert!(place("SITES END") < place("TRACE 5: (thread=9)"));
    assert!(place("TRACE 5:") < place("CPU SAMPLES BEGIN"));
}

#[test]
fn the_format_of_cpu_old_has_nothing_but_sections() {
    let mut profile = tables();
    let sections = text_sections(&mut profile);
    let mut writer = TextWriter::old(Vec::new());
    writer.thread_start(&profile, MAIN).unwrap();
    writer.thread_end(&profile, MAIN).unwrap();
    writer.section(&profile, sections.last().unwrap()).unwrap();
    assert_eq!(
        String::from_utf8(writer.into_inner()).unwrap(),
        "count callee caller time\n\
         41800 Main.fib(I)I Main.main([Ljava/lang/String;)V 204\n\
         1 <unknown callee> <unknown caller> 0\n"
    );
}

#[test]
fn a_name_with_an_end_of_line_stays_on_its_line() {
    let mut profile = tables();
    let mut thread = profile.threads[&MAIN];
    thread.name = profile.names.intern("a\nTHREAD END (id = 1)\r");
    profile.threads.insert(MAIN, thread);
    let mut writer = TextWriter::old(Vec::new());
    writer.thread_start(&profile, MAIN).unwrap();
    assert_eq!(writer.into_inner(), b"");
    let mut writer = TextWriter::new(Vec::new(), &profile).unwrap();
    writer.thread_start(&profile, MAIN).unwrap();
    let text = String::from_utf8(writer.into_inner()).unwrap();
    assert_eq!(
        text.lines().last().unwrap(),
        "THREAD START (obj=10, id = 1, name=\"a THREAD END (id = 1) \", group=\"main\")"
    );
}

#[test]
fn what_was_written_is_read() {
    let text = written();
    let file = File::from_bytes(text.clone().into_bytes()).unwrap();
    assert_eq!(file.problem(), None);
    assert_eq!(file.encoding(), Encoding::Text);
    let (read, expected) = (file.profile(), tables());
    assert_eq!((read.created, &read.preamble), (expected.created, &expected.preamble));
    let dump = read.heap_dumps().next().unwrap();
    let (records, end) = fixture::shown_records(&file, dump);
    assert_eq!(end, Ok(()));
    assert_eq!(records.len(), 15);

    // What text has is all there: what is read is written as it was.
    let mut writer = TextWriter::new(Vec::new(), read).unwrap();
    writer.thread_start(read, MAIN).unwrap();
    writer.thread_start(read, WORKER).unwrap();
    writer.thread_end(read, WORKER).unwrap();
    for section in &read.sections {
        match section {
            Section::HeapDump(dump) => {
                let mut pass =
                    |each: &mut EachRecord<'_>| file.heap(dump).records(|record| each(record));
                writer.heap_dump(read, dump, &mut pass).unwrap();
            }
            _ => writer.section(read, section).unwrap(),
        }
    }
    assert_eq!(String::from_utf8(writer.into_inner()).unwrap(), text);
}

#[test]
fn the_numbers_of_sections_are_read() {
    let file = File::from_bytes(written().into_bytes()).unwrap();
    let read = file.profile();
    let mut expected = tables();
    let sections = text_sections(&mut expected);
    assert_eq!(read.monitor_dumps().count(), 1);
    let times = read.cpu_times().next().unwrap();
    assert_eq!((times.total.as_millis(), times.rows[0].calls), (586, 131_304));
    // Two digits after the point of a percentage.
    assert!(times.rows[0].own.abs_diff(Duration::from_millis(543)).as_secs_f64() < 586e-7);
    assert_eq!(Section::from(read.cpu_samples().next().unwrap().clone()), sections[4]);
    let sites = read.sites().next_back().unwrap();
    let names: Vec<_> = sites.rows.iter().map(|site| read.site_name(site)).collect();
    assert_eq!(names, ["java.lang.String", "[I", "[L<Unknown>;", "<Unknown>"]);
    assert_eq!(sites.rows[1].live, Amount { bytes: 1200, instances: 12 });
    let old = read.cpu_old().next().unwrap();
    assert_eq!((old.rows[0].count, old.rows[0].time.as_millis()), (41_800, 204));
    assert_eq!((old.rows[1].callee, old.rows[1].caller), (None, None));
    let monitors = read.monitor_times().next().unwrap();
    assert_eq!(monitors.rows[1].time, Duration::from_millis(250));
}

#[test]
fn samples_since_a_dump_are_told_by_the_percentage() {
    let text = "JAVA PROFILE 1.0.1, created x\n\n\n--------\n\n\
        CPU SAMPLES BEGIN (total = 40) Sun Nov 22 01:03:08 2026\n\
        rank   self  accum   count trace method\n\
        \x20  1 75.00% 75.00%     130     1 A.b\n\
        \x20  2 25.00% 100.00%      10     2 A.c\n\
        CPU SAMPLES END\n";
    let file = File::from_bytes(text.into()).unwrap();
    assert_eq!(file.problem(), None);
    let samples = file.profile().cpu_samples().next().unwrap();
    let rows: Vec<_> = samples.rows.iter().map(|row| (row.samples, row.hits)).collect();
    assert_eq!(rows, [(30, 130), (10, 10)]);
    // The original divides by a total of 0.
    let text = text.replace("= 40", "= 0").replace("75.00% 75.00%", " -nan%  -nan%");
    let file = File::from_bytes(text.into()).unwrap();
    assert_eq!(file.problem(), None);
    let samples = file.profile().cpu_samples().next().unwrap();
    assert_eq!((samples.rows[0].samples, samples.rows[0].hits), (0, 130));
}

#[test]
fn a_file_that_is_cut_off_is_read_up_to_there() {
    let text = written();
    let start = text.find("--------").unwrap() + 10;
    let whole = File::from_bytes(text.clone().into_bytes()).unwrap();
    let mut problems = 0;
    for length in start..text.len() {
        let file = File::from_bytes(text.as_bytes()[..length].to_vec()).unwrap();
        let profile = file.profile();
        assert!(profile.sections.len() <= whole.profile().sections.len());
        assert_eq!(profile.created, whole.profile().created);
        problems += usize::from(file.problem().is_some());
        for dump in profile.heap_dumps() {
            let _ = fixture::shown_records(&file, dump);
        }
    }
    assert!(problems > text.len() / 2);
    let cut =
        File::from_bytes(text.as_bytes()[..text.find("SITES END").unwrap()].to_vec()).unwrap();
    let problem = cut.problem().unwrap();
    assert_eq!(problem.what, "the file is cut off in SITES");
    assert_eq!(cut.profile().sites().next().unwrap().rows.len(), 4);
    let line = text[..text.find("SITES END").unwrap()].lines().count();
    assert_eq!(problem.line, Some(line as u64));
}

#[test]
fn a_line_that_makes_no_sense_is_named() {
    let text = written().replace("TRACE 4:", "TRACE four:");
    let file = File::from_bytes(text.into_bytes()).unwrap();
    let problem = file.problem().unwrap().to_string();
    assert_eq!(problem, "line 21: this is no line of HPROF: \"TRACE four:\"");
    let text = written().replace("nelems=3", "nelems=2");
    let file = File::from_bytes(text.into_bytes()).unwrap();
    let dump = file.profile().heap_dumps().next().unwrap();
    let (records, end) = fixture::shown_records(&file, dump);
    let problem = end.unwrap_err();
    assert_eq!(records.len(), 12);
    assert!(problem.to_string().contains("ARR 210 (sz=24"), "{problem}");
    let error = File::from_bytes(b"PK\x03\x04".to_vec()).unwrap_err();
    assert!(error.to_string().contains("JAVA PROFILE"), "{error}");
}
