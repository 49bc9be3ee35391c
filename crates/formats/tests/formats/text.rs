//! Text is written in the shapes of HPROF.

use crate::fixture::{self, DUMPED, MAIN, WORKER, heap_dump, heap_records, tables, text_sections};
use jvmpi_formats::profile::{
    self, Encoding, File, Monitor, ObjectId, TextWriter, ThreadSerial, Writer,
};

/// Returns the whole fixture as text.
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
    let expected = include_str!("../expected.txt")
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
    let frames: Vec<_> = profile.traces.frames_of(profile::TraceSerial(1)).iter().collect();
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
    // The samples have no such trace.
    assert!(place("CPU SAMPLES BEGIN") < place("TRACE 5:"));
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
fn written_data_is_read_back() {
    let text = written();
    let file = File::from_bytes(text.clone().into_bytes()).unwrap();
    assert_eq!(file.problem(), None);
    assert_eq!(file.encoding(), Encoding::Text);
    let (read, expected) = (file.profile(), tables());
    assert_eq!((read.created, &read.preamble), (expected.created, &expected.preamble));
    let dump = read.heap_dumps().next().unwrap();
    let (records, end) = fixture::shown_records(&file, dump);
    assert_eq!(end, Ok(()));
    assert_eq!(records.len(), 16);

    // The contents of a text file survive: the writer repeats what was read.
    let mut writer = TextWriter::new(Vec::new(), read).unwrap();
    let left_out = file.write(&mut writer).unwrap();
    assert_eq!((left_out.sections.len(), left_out.problem), (0, None));
    assert_eq!(String::from_utf8(writer.into_inner()).unwrap(), text);
}

#[test]
fn samples_since_a_dump_follow_from_the_percentage() {
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

/// From the documentation of HPROF in JDK 5 to 8, which was made on JVMTI.
#[test]
fn files_of_later_jdks_are_read() {
    let text = "JAVA PROFILE 1.0.1, created Wed Oct  4 13:13:42 2006\n\n\n--------\n\n\
        THREAD START (obj=50000114, id = 200002, name=\"main\", group=\"main\")\n\
        WAIT: MONITOR Ljava/lang/Thread;, timeout=0, thread 200002\n\
        WAITED: MONITOR Ljava/lang/Thread;, time_waited=72, thread 200002\n\
        TRACE 300001: (thread=200002)\n\
        \tsun.misc.Launcher$AppClassLoader.loadClass(<Unknown Source>:Unknown line)\n\
        HEAP DUMP BEGIN (39793 objects, 2628264 bytes) Wed Oct  4 13:54:03 2006\n\
        ROOT 50000114 (kind=<thread>, id=200002, trace=300000)\n\
        ROOT 50000006 (kind=<JNI global ref>, id=8, trace=300000)\n\
        CLS 50000006 (name=java.lang.annotation.Annotation, trace=300000)\n\
        \tloader\t\t90000001\n\
        OBJ 50000114 (sz=96, trace=300001, class=java.lang.Thread@50000106)\n\
        \tcontextClassLoader\t50008c53\n\
        \tthreads\t50008c7c\n\
        ARR 50008c6f (sz=16, trace=300000, nelems=1, elem type=java.lang.String[]@5000008e)\n\
        \t[0]\t\t500007a5\n\
        HEAP DUMP END\n\
        SITES BEGIN (ordered by live bytes) Wed Oct  4 13:13:42 2006\n\
        \x20         percent          live          alloc'ed  stack class\n\
        \x20rank   self  accum     bytes objs     bytes  objs trace name\n\
        \x20   1 44.13% 44.13%   1117360 13967  1117360 13967 301926 java.util.zip.ZipEntry\n\
        SITES END\n\
        MONITOR DUMP BEGIN\n\
        \x20   THREAD 200002, trace 300001, status: CW\n\
        \x20   THREAD 200003, trace 300001, status: ZO\n\
        \x20   THREAD 200004, trace 300001, status: SL\n\
        \x20   MONITOR java.lang.ref.ReferenceQueue$Lock unowned\n\
        \twaiting to be notified: thread 200002, \n\
        \x20   MONITOR Ljava/lang/Object;\n\
        \towner: thread 200003, entry count: 1\n\
        \twaiting to enter: thread 200004\n\
        \twaiting to be notified:\n\
        MONITOR DUMP END\n\
        MONITOR TIME BEGIN (total = 12 ms) Wed Oct  4 13:13:42 2006\n\
        rank   self  accum   count trace monitor\n\
        \x20  1 100.00% 100.00%       1 300001 java.lang.Object (Java)\n\
        MONITOR TIME END\n";
    let file = File::from_bytes(text.into()).unwrap();
    assert_eq!(file.problem(), None);
    let read = file.profile();
    assert_eq!(read.sites().next().unwrap().rows[0].allocated.instances, 13_967);
    let dump = read.monitor_dumps().next().unwrap();
    assert_eq!(dump.monitors[0].waiting_to_be_notified, [ThreadSerial(200_002)]);
    let Monitor::Java { class, .. } = dump.monitors[1].monitor else { panic!("it is raw") };
    assert_eq!(read.names.get(class), "java.lang.Object");
    assert_eq!(dump.monitors[1].waiting_to_be_notified, []);
    let time = &read.monitor_times().next().unwrap().rows[0];
    let class = read.names.find("java.lang.Object").unwrap();
    assert_eq!(time.monitor, Monitor::Java { object: ObjectId(0), class });
    let (records, end) = fixture::shown_records(&file, read.heap_dumps().next().unwrap());
    assert_eq!((records.len(), end), (5, Ok(())));
    assert!(
        records[4].contains("class_name: \"java.lang.String\", array_class: ObjectId(1342177422)")
    );
}
