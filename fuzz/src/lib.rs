//! The bodies of the fuzz targets: each reads bytes that a stranger may have made. A target may refuse its input, but
//! must not panic, hang, or take much more memory than the input has.
//!
//! `JVMPI_FUZZ=NAME cargo fuzz run any` searches for inputs that break these rules. The test `seeds` of xtask includes
//! this file too, and calls the targets with the files of `seeds` on every run.

use jvmpi_classfile::ClassFile;
use jvmpi_formats::dump::{
    Buffer, Classes, HeapWriter, Id, Level, Shape, Type, read_list, read_monitors, read_records,
};
use jvmpi_formats::hprof::control::Command;
use jvmpi_formats::hprof::options::Options as HprofOptions;
use jvmpi_formats::profile::{
    BinaryWriter, Error, File, Format, Profile, TextWriter, Version, Weight, stacks, write_jfr,
    write_stacks,
};
use jvmpi_layers::trace::{Trace, for_tests, statistics};
use jvmpi_settings::Options;
use jvmpi_settings::library::{elf, pe};
use std::io;
use std::path::Path;

#[path = "../../crates/cli/src/answer.rs"]
mod answer;
#[path = "../../crates/classfile/tests/classfile/support/exercise.rs"]
mod exercise;
#[allow(dead_code, reason = "`record` also asks what is still coming")]
#[path = "../../crates/cli/src/record/received.rs"]
mod received;
#[allow(dead_code, reason = "the program of the target has its counters copied")]
pub mod replay;

use received::Received;
pub use replay::replay;

/// A fuzz target.
pub type Target = fn(&[u8]);

/// All targets with their names.
pub const ALL: [(&str, Target); 13] = [
    ("attach", attach),
    ("dump", dump),
    ("hprof_binary", hprof_binary),
    ("hprof_control", hprof_control),
    ("hprof_text", hprof_text),
    ("jfr", jfr),
    ("library", library),
    ("options", options),
    ("page", page),
    ("replay", replay),
    ("rewrite", rewrite),
    ("stream", stream),
    ("trace", trace),
];

/// The answer of a JVM that is attached to, or of whatever listens in its place.
pub fn attach(bytes: &[u8]) {
    let answer = String::from_utf8_lossy(bytes);
    let _ = (answer::is_starting(&answer), answer::understand_threads(&answer));
    for understood in [answer::understand(&answer), answer::understand_dump(&answer)] {
        if let Err(why) = understood {
            assert!(!why.contains('\n'));
        }
    }
}

/// Describes every class; the number of interfaces and the types depend on the ID.
struct AllClasses;

impl Classes for AllClasses {
    fn shape(&self, class: Id) -> Option<Shape<'_>> {
        Some(Shape { interfaces: class % 4, statics: &Type::ALL[class % 9..] })
    }
}

/// Dumps of the heap, of objects and of monitors. The writer returns the bytes that were read.
pub fn dump(bytes: &[u8]) {
    for level in [Level::References, Level::Values] {
        let mut writer = HeapWriter::new(Buffer::new().unwrap(), level);
        for record in read_records(bytes, level, &AllClasses).map_while(Result::ok) {
            writer.record(&record).unwrap();
        }
        assert!(writer.finish().len() <= bytes.len());
    }
    let _ = read_list(bytes).count();
    let _ = read_monitors(bytes).count();
}

/// Returns the number of records in the heap dumps of a file, up to the first that cannot be read.
fn heap_records(file: &File) -> usize {
    let mut count = 0;
    for dump in file.profile().heap_dumps() {
        let _ = file.heap(dump).records(|_| {
            count += 1;
            Ok::<(), Error>(())
        });
    }
    count
}

/// HPROF's binary files. The writer makes a file that can be read again.
///
/// The first byte selects the size of IDs: a file with another size is refused at once.
pub fn hprof_binary(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let id_size = if first % 2 == 0 { 4 } else { 8 };
    let header = [&b"JAVA PROFILE 1.0.2\0\0\0\0"[..], &[id_size], &[0; 8]].concat();
    let file = File::from_bytes([&header[..], rest].concat()).unwrap();
    let mut writer = BinaryWriter::new(Vec::new(), file.profile(), Version::V1_0_2).unwrap();
    file.write(&mut writer).unwrap();
    let again = File::from_bytes(writer.into_inner()).unwrap();
    assert_eq!(again.problem(), None);
    assert_eq!(heap_records(&again), heap_records(&file));
}

/// The commands of a front end, which the writer returns as they were, and the options of HPROF.
pub fn hprof_control(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some(command)) = Command::read(&mut rest) {
        let mut written = Vec::new();
        command.write(&mut written, 0).unwrap();
        let again = Command::read(&mut written.as_slice()).unwrap().unwrap();
        let mut twice = Vec::new();
        again.write(&mut twice, 0).unwrap();
        assert_eq!(written, twice);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = HprofOptions::parse(text, 1);
    }
}

/// HPROF's text files, behind the lines that a mutation would only break.
pub fn hprof_text(bytes: &[u8]) {
    let text = [b"JAVA PROFILE 1.0.1, created x\n\n--------\n\n", bytes].concat();
    let file = File::from_bytes(text).unwrap();
    let _ = heap_records(&file);
    let mut writer = TextWriter::new(io::sink(), file.profile()).unwrap();
    file.write(&mut writer).unwrap();
}

/// A chunk of JFR, behind its header. The writer makes a file that has the same sums.
pub fn jfr(bytes: &[u8]) {
    let mut header = [0; 68];
    header[..6].copy_from_slice(b"FLR\0\0\x02");
    header[56..64].copy_from_slice(&1_000_000_000_u64.to_be_bytes());
    header[67] = 1;
    let file = File::from_bytes([&header[..], bytes].concat()).unwrap();
    let mut written = Vec::new();
    write_jfr(file.profile(), None, &mut written).unwrap();
    let again = File::from_bytes(written).unwrap();
    assert_eq!(again.problem(), None);
    for weight in Weight::ALL {
        // Nothing else is left of the number of objects.
        if !matches!(weight, Weight::AllocatedObjects | Weight::LiveObjects) {
            let sum = |file: &File| {
                let stacks = stacks(file.profile(), weight);
                stacks.iter().map(|stack| stack.value).fold(0, u64::saturating_add)
            };
            assert_eq!(sum(&again), sum(&file), "{weight}");
        }
    }
}

/// Libraries that `jvmpi check` and the shim examine.
pub fn library(bytes: &[u8]) {
    // The head of a library for this machine, or whatever the bytes are.
    let mut library = bytes.to_vec();
    if let [first, ..] = bytes
        && first % 4 != 0
        && library.len() > 64
    {
        library[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0");
    }
    let path = Path::new("libfuzz.so");
    let _ = elf::contents_of(path, &library);
    let _ = elf::linkage_of(path, &library);
    let _ = pe::examine(path, bytes);
}

/// `JVMPI_OPTIONS`, a configuration file and the options of an agent, with a zero between them. A refusal has one
/// line. Settings that are printed mean the same when they are read again.
pub fn options(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut parts = text.splitn(3, '\0');
    let [environment, config, agent_options] = [(); 3].map(|()| parts.next().unwrap_or_default());
    if let Ok(options) = Options::parse(environment, None) {
        let again = Options::parse(&options.describe(), None).unwrap();
        assert_eq!(again.describe(), options.describe());
    }
    match Options::parse(environment, Some((Path::new("/etc/jvmpi.toml"), config))) {
        Ok(options) => {
            let _ = options.describe();
            let _ = options.agent("/opt/libfoo.so", agent_options);
            let _ = options.describe_quirks("/opt/libhprof.so", agent_options);
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control)),
    }
}

/// The page, the flame graph and the list of stacks of a profile. Nothing in them does anything to a terminal or a
/// browser.
pub fn page(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let head: &[u8] = match first % 3 {
        0 => b"JAVA PROFILE 1.0.2\0\0\0\0\x04\0\0\0\0\0\0\0\0",
        1 => b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0",
        _ => b"JAVA PROFILE 1.0.1, created x\n\n--------\n",
    };
    let file = File::from_bytes([head, rest].concat()).unwrap();
    // Heaps that are too large are refused.
    let _ = jvmpi_report::write_files(&[("<x>", &file, None)], None, &mut io::sink());
    for format in [Format::Collapsed, Format::Svg, Format::Pprof, Format::Speedscope] {
        let mut out = Vec::new();
        write_stacks(file.profile(), format, None, &mut out).unwrap();
        if matches!(format, Format::Collapsed | Format::Svg) {
            let text = String::from_utf8(out).unwrap();
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        }
    }
}

/// Class files, which the shim reads and rewrites.
pub fn rewrite(bytes: &[u8]) {
    if exercise::exercise(bytes) {
        assert!(ClassFile::parse(bytes).is_ok());
    }
}

/// Reads the stream from an agent to `record` and `top`, and the file that `record` writes from it. The result does not
/// depend on the pieces in which the stream arrives.
pub fn stream(bytes: &[u8]) {
    let read = |size: usize| {
        let mut told = Received::default();
        let is_read = bytes.chunks(size).try_for_each(|piece| told.take(piece)).is_ok();
        let notes = told.notes.len();
        let mut text = TextWriter::new(Vec::new(), &Profile::default()).unwrap();
        if let Some((file, _)) = told.into_file(None) {
            text = TextWriter::new(Vec::new(), file.profile()).unwrap();
            file.write(&mut text).unwrap();
            let _ = jvmpi_report::write_files(&[("<x>", &file, None)], None, &mut io::sink());
        }
        (is_read, notes, text.into_inner())
    };
    assert_eq!(read(1), read(bytes.len().max(1)));
}

/// Recordings: a file, which the bytes hardly ever are, and the records of two threads in a file that is right.
pub fn trace(bytes: &[u8]) {
    let _ = Trace::from_bytes(bytes.to_vec());
    let Some((first, records)) = bytes.split_first() else { return };
    let (one, other) = records.split_at(records.len().min(usize::from(*first)));
    let trace = Trace::from_bytes(for_tests::file(&[one, other])).unwrap();
    assert_eq!(trace.problem(), None);
    let count: usize = (0..2).map(|thread| trace.records(thread).count()).sum();
    let statistics = statistics(&trace);
    let counted: u64 = statistics.events.values().chain(statistics.calls.values()).sum();
    assert!(counted <= count as u64);
}
