//! Text is written in the shapes of HPROF.

mod fixture;

use fixture::{DUMPED, MAIN, WORKER, heap_dump, heap_records, tables, text_sections};
use profile::{TextWriter, ThreadSerial, Writer};

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
