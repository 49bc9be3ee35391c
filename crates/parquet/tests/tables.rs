//! The tables, read with the crate that writes them.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use jvmpi_formats::profile::heap::{Elements, Objects, Record, Root, RootKind};
use jvmpi_formats::profile::{
    BinaryWriter, Class, ClassSerial, CpuSample, CpuSamples, EachRecord, File, Frame, HeapDump,
    Line, Method, ObjectId, Profile, ThreadSerial, Time, TraceSerial, Version, Writer,
};
use jvmpi_parquet::schema::TABLES;
use jvmpi_parquet::{Options, write};
use parquet::basic::Compression;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use tempfile::TempDir;

const ALONE: Options<'_> = Options { host: "web-1", labels: &[], partition: false };

/// Returns a file with samples in a hidden class, and with arrays of `length` elements that all refer to the first array.
fn file(arrays: u64, length: usize) -> Vec<u8> {
    let mut profile = Profile { created: Time(1_795_309_388_000), ..Profile::default() };
    let [class, name] =
        ["app.Main$$Lambda/0x00007f63880d75f8", "run"].map(|name| profile.names.intern(name));
    let method = profile.methods.intern(Method { class, name, ..Method::default() });
    let frame = profile.frames.intern(Frame { method, line: Line::Native });
    let trace = profile.traces.intern(ThreadSerial(0), &[frame, frame]);
    let rows = vec![CpuSample { trace, samples: 7, hits: 7 }];
    let samples = CpuSamples { total: 7, rows, ..CpuSamples::default() };
    for (serial, name) in [(1, "java.lang.Object"), (2, "[Ljava.lang.Object;")] {
        let name = profile.names.intern(name);
        let (object, trace) = (ObjectId(serial.into()), TraceSerial(0));
        let serial = ClassSerial(serial);
        profile.classes.insert(Class { serial, object, name, trace, unloaded: false });
    }
    let elements = vec![ObjectId(0x100); length];
    let mut writer = BinaryWriter::new(Vec::new(), &profile, Version::V1_0_2).unwrap();
    writer.section(&profile, &samples.into()).unwrap();
    let dump = HeapDump { at: Some(Time(1_795_309_390_000)), ..HeapDump::default() };
    let records = |each: &mut EachRecord<'_>| {
        each(&Record::Root(Root { object: ObjectId(0x100), kind: RootKind::MonitorUsed }))?;
        (0..arrays).try_for_each(|number| {
            each(&Record::Objects(Objects {
                id: ObjectId(0x100 + number),
                trace,
                class: ObjectId(1),
                class_name: "java.lang.Object",
                array_class: ObjectId(2),
                size: 8 * length as u64,
                elements: Elements::All(&elements),
            }))
        })
    };
    writer.heap_dump(&profile, &dump, &mut |each| records(each)).unwrap();
    writer.into_inner()
}

fn read(path: &Path) -> SerializedFileReader<fs::File> {
    SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap()
}

/// Returns the rows as texts.
fn rows(path: &Path) -> Vec<String> {
    let reader = read(path);
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

fn written(bytes: Vec<u8>, options: &Options<'_>) -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let out = directory.path().join("out");
    let file = File::from_bytes(bytes).unwrap();
    assert_eq!(write(Path::new("/x/java.hprof"), &file, &out, options, |_| {}).unwrap(), None);
    (directory, out)
}

/// Returns the files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn reference_page_describes_every_column() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/parquet.md");
    let page = fs::read_to_string(page).unwrap();
    let sections = page.split("\n## `").skip(1);
    let described: Vec<(String, Vec<[String; 2]>)> = sections
        .map(|section| {
            let rows = section.lines().filter(|line| line.starts_with("| `"));
            let cells = rows.map(|row| {
                let cells: Vec<_> = row.split('|').map(str::trim).collect();
                [cells[1].trim_matches('`').to_owned(), cells[2].to_owned()]
            });
            (section.split('`').next().unwrap().to_owned(), cells.collect())
        })
        .collect();
    let tables = TABLES.map(|table| {
        let columns = table.columns.iter().map(|column| {
            let nullable = if column.nullable { ", nullable" } else { "" };
            [column.name.to_owned(), format!("{}{nullable}", column.kind.sql())]
        });
        (table.name.to_owned(), columns.collect::<Vec<_>>())
    });
    assert_eq!(described, tables);
}

#[test]
fn tables_have_the_contents_of_the_file() {
    let labels = [("release".to_owned(), "1=1".to_owned())];
    let (_directory, out) = written(file(2, 3), &Options { labels: &labels, ..ALONE });
    for table in TABLES {
        let reader = read(&out.join(format!("{}.parquet", table.name)));
        let schema = reader.metadata().file_metadata().schema_descr();
        let names: Vec<_> = schema.columns().iter().map(|column| column.name()).collect();
        let columns = table.columns.iter().map(|column| column.name);
        assert_eq!(names, ["profile_id"].into_iter().chain(columns).collect::<Vec<_>>());
        for group in reader.metadata().row_groups() {
            assert!(
                group.columns().iter().all(|it| matches!(it.compression(), Compression::GZIP(_)))
            );
        }
    }
    let without_id = |table: &str| -> Vec<String> {
        let rows = rows(&out.join(format!("{table}.parquet")));
        rows.iter().map(|row| relative(row)).collect()
    };
    assert_eq!(without_id("label"), [r#"key: "release", value: "1=1"}"#]);
    let sample = r#"weight: "cpu-samples", stack_id: 2, thread: null, subject: null, state: null, value: 7}"#;
    assert_eq!(without_id("sample"), [sample]);
    assert_eq!(
        without_id("stack"),
        [
            "stack_id: 1, parent_id: null, frame_id: 0, depth: 1, preorder: 0, preorder_last: 1, \
             is_recursive: false}",
            "stack_id: 2, parent_id: 1, frame_id: 0, depth: 2, preorder: 1, preorder_last: 1, \
             is_recursive: true}"
        ]
    );
    let frame = r#"frame_id: 0, class: "app.Main$$Lambda", method: "run", signature: null, source: null, line: null}"#;
    assert_eq!(without_id("frame"), [frame]);
    let array = |id: u32, retained: &str| {
        format!(
            "id: {id}, kind: \"array\", class_id: 2, class: \"java.lang.Object[]\", shallow: 24, \
             retained: {retained}, dominator_id: null, stack_id: 2}}"
        )
    };
    assert_eq!(without_id("instances"), [array(256, "24"), array(257, "null")]);
    assert_eq!(
        without_id("refs")[4],
        "from_id: 257, field: null, index: 1, to_id: 256, weak: false}"
    );
    let root = r#"object_id: 256, reason: "monitor in use", thread_number: null, thread: null}"#;
    assert_eq!(without_id("roots"), [root]);
    assert_eq!(without_id("arrays")[0], r#"id: 256, element_type: "java.lang.Object", length: 3}"#);
    let profile = &without_id("profile")[0];
    assert!(
        profile.starts_with(r#"file: "java.hprof", started: 2026-11-22 01:03:08"#),
        "{profile}"
    );
    assert!(profile.ends_with(r#"problem: null, host: "web-1"}"#), "{profile}");
}

#[test]
fn row_groups_are_bounded_by_bytes() {
    let (_directory, out) = written(file(1500, 1000), &ALONE);
    let reader = read(&out.join("refs.parquet"));
    let groups = reader.metadata().row_groups();
    let rows: Vec<_> = groups.iter().map(|group| group.num_rows()).collect();
    assert_eq!(rows.iter().sum::<i64>(), 1_500_000);
    assert!(rows.len() > 1 && rows.iter().all(|rows| rows * 20 < 32 << 20), "{rows:?}");
    let mut iterator = reader.get_row_iter(None).unwrap();
    assert_eq!(iterator.nth(1_499_999).unwrap().unwrap().get_int(3).unwrap(), 999);
}

#[test]
fn truncated_dump_is_written_up_to_there_and_says_so() {
    let whole = file(100, 10);
    let bytes = whole[..whole.len() - 200].to_vec();
    let directory = TempDir::new().unwrap();
    let file = File::from_bytes(bytes).unwrap();
    let cut = write(Path::new("java.hprof"), &file, directory.path(), &ALONE, |_| {}).unwrap();
    let problem = file.problem().or(cut.as_ref()).expect("the file is cut off").to_string();
    let path = |table: &str| directory.path().join(format!("{table}.parquet"));
    assert!(rows(&path("profile"))[0].contains(&problem));
    let objects = rows(&path("instances")).len();
    assert!((90..100).contains(&objects), "{objects}");
    assert_eq!(rows(&path("arrays")).len(), objects);
}

#[test]
fn partitions_are_shared_and_conversion_can_be_repeated() {
    let options = Options { host: "web/1", partition: true, ..ALONE };
    let (_directory, out) = written(file(2, 3), &options);
    let first = files(&out);
    assert_eq!(first.len(), TABLES.len());
    let folder = out.join("sample/host=web%2F1/date=2026-11-22/hour=1");
    assert_eq!(first.iter().filter(|path| path.starts_with(&folder)).count(), 1);
    assert!(!rows(&files(&out.join("profile"))[0])[0].contains("host"));
    let file = File::from_bytes(file(3, 3)).unwrap();
    write(Path::new("/x/java.hprof"), &file, &out, &options, |_| {}).unwrap();
    assert_eq!(files(&out), first);
    assert_eq!(rows(&files(&out.join("instances"))[0]).len(), 3);
    write(Path::new("/y/java.hprof"), &file, &out, &options, |_| {}).unwrap();
    write(Path::new("/x/java.hprof"), &file, &out, &Options { host: "web-2", ..options }, |_| {})
        .unwrap();
    assert_eq!(files(&out).len(), 3 * first.len());
    assert!(files(&out).iter().all(|file| fs::metadata(file).unwrap().mode() & 0o777 == 0o600));
}

#[test]
fn directory_with_files_is_refused_and_stays_as_it_is() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("mine"), "precious").unwrap();
    let file = File::from_bytes(file(2, 3)).unwrap();
    let path = Path::new("java.hprof");
    let error = write(path, &file, directory.path(), &ALONE, |_| {}).unwrap_err();
    assert!(error.to_string().contains("is not empty"), "{error}");
    assert_eq!(files(directory.path()), [directory.path().join("mine")]);

    // A table that cannot get its name leaves no other file behind under a temporary name.
    let options = Options { partition: true, ..ALONE };
    symlink("/nonexistent/x", directory.path().join("sample")).unwrap();
    assert!(write(path, &file, directory.path(), &options, |_| {}).is_err());
    let left = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().ends_with(".part")));
}

/// Returns a row without the ID of the profile, and with IDs of stacks and frames that begin at 0.
fn relative(row: &str) -> String {
    let (profile, rest) = row.split_once(", ").unwrap();
    let first: i64 = profile.rsplit(' ').next().unwrap().parse().unwrap();
    (0..3).fold(rest.to_owned(), |row, id| row.replace(&(first + id).to_string(), &id.to_string()))
}
