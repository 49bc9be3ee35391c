//! Runs the queries of the page about many machines on tables with known contents, in DuckDB and in Spark.

mod harness;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use compat_tests::sql::{self, Engine};
use compat_tests::{build, changes, workspace_root};
use harness::{Result, run};
use jvmpi_formats::profile::heap::{
    Class as HeapClass, Elements, Field, FieldType, Instance, Objects, Primitives, Record, Root,
    RootKind,
};
use jvmpi_formats::profile::{
    BinaryWriter, Class, ClassSerial, EachRecord, HeapDump, ObjectId, Profile, Time, TraceSerial,
    Type, Value, Version, Writer,
};
use serde_json::{Value as Json, json};

/// Describes the tables.
const REFERENCE: &str = "docs/reference/parquet.md";

/// Spark takes a minute of CPU time, so its test runs once a day.
const SPARK: &str = "JVMPI_SPARK";

/// The files that decide which rows the queries return.
const QUERIES: [&str; 7] = [
    "docs/howto/many-machines.md",
    REFERENCE,
    "crates/cli/src",
    "crates/formats/src",
    "crates/parquet",
    "compat-tests/src/sql.rs",
    "crates/xtask/tests/sql.rs",
];

fn main() -> ExitCode {
    let spark = match std::env::var_os(SPARK) {
        Some(_) => Engine::Spark.hindrance(),
        None => Some(format!("the queries in Spark take a minute; set {SPARK}=1 to run them")),
    };
    let duckdb = changes::unchanged(&QUERIES).or_else(|| Engine::DuckDb.hindrance());
    harness::conclude(vec![
        harness::trial("duckdb", duckdb, || returns_known_rows(Engine::DuckDb)),
        harness::trial("spark", spark, || returns_known_rows(Engine::Spark)),
    ])
}

fn returns_known_rows(engine: Engine) -> Result {
    let folder = harness::scratch("sql", &format!("{engine:?}"))?;
    let results = engine.run(&folder, &planted(&folder)?)?;
    let json = |text: &str| serde_json::from_str::<Json>(text).map_err(|e| format!("{e}: {text}"));
    compare(&json(&results.rows)?)?;
    described(engine, &json(&results.columns)?)
}

/// Compares the rows of each query of the page with the expected ones.
fn compare(rows: &Json) -> Result {
    let queries = sql::queries()?;
    let expected = expected();
    if queries.len() != expected.len() {
        return Err(format!("{} queries and {} results", queries.len(), expected.len()));
    }
    for (number, (query, (title, expected))) in queries.iter().zip(expected).enumerate() {
        let first = query.lines().next().unwrap_or_default();
        if !first.contains(title) {
            return Err(format!("{first:?} is not the query {title:?}"));
        }
        if rows[number] != expected {
            return Err(format!("{first}\nreturned {}\nexpected {expected}", rows[number]));
        }
    }
    Ok(())
}

/// Checks that an engine sees the columns that the reference describes, with their types.
fn described(engine: Engine, tables: &Json) -> Result {
    let page = fs::read_to_string(workspace_root().join(REFERENCE)).map_err(|e| e.to_string())?;
    let mut checked = 0;
    for section in page.split("\n## `").skip(1) {
        let (table, rest) = section.split_once('`').ok_or("no name of a table")?;
        for row in rest.lines().filter_map(|line| line.strip_prefix("| `")) {
            let cells: Vec<_> = row.split(" | ").map(|cell| cell.trim_matches('`')).collect();
            let of_type = cells[1].split(',').next().unwrap_or_default();
            let of_type = match (engine, of_type) {
                (Engine::DuckDb, "INT") => "INTEGER",
                (Engine::DuckDb, "TIMESTAMP") => "TIMESTAMP WITH TIME ZONE",
                (Engine::Spark, "VARCHAR") => "string",
                (_, other) => other,
            };
            let columns = tables[table].as_array().ok_or_else(|| format!("no table {table}"))?;
            let found = columns.iter().find(|column| column[0] == cells[0]);
            let found = found.and_then(|column| column[1].as_str());
            if !found.is_some_and(|found| found.eq_ignore_ascii_case(of_type)) {
                return Err(format!("{table}.{} is {found:?}, not {of_type}", cells[0]));
            }
            checked += 1;
        }
    }
    if checked > 40 { Ok(()) } else { Err(format!("{REFERENCE} has only {checked} columns")) }
}

/// The rows of the page's queries, in their order, each with a part of its first line.
fn expected() -> Vec<(&'static str, Json)> {
    let hot = json!([
        ["app.Query", "scan", 500, 1],
        ["app.Json", "write", 100, 2],
        ["app.Orders", "price", 80, 2],
        ["app.Orders", "list", 20, 2],
    ]);
    vec![
        ("hottest methods, and how many JVMs", hot),
        (
            "what they call",
            json!([
                ["app.Main", "run", 700],
                ["app.Query", "scan", 500],
                ["app.Json", "write", 100],
                ["app.Orders", "list", 100],
                ["app.Orders", "price", 80],
            ]),
        ),
        ("by host and hour", json!([["web-1", 1, 100], ["web-2", 2, 100]])),
        (
            "share of the CPU",
            json!([
                ["app.Json", "write", 30.0, 70.0],
                ["app.Orders", "list", 10.0, 10.0],
                ["app.Orders", "price", 60.0, 20.0],
            ]),
        ),
        (
            "calls by release",
            json!([
                ["1.0", "app.Orders", "price", 131_304],
                ["1.0", "app.Orders", "list", 12],
                ["1.1", "app.Orders", "price", 7],
            ]),
        ),
        ("Allocated bytes", json!([["java.lang.String", 7000], ["int[]", 1200]])),
        ("states of threads", json!([["web-2", "waiting", 90], ["web-2", "running", 10]])),
        (
            "retain most",
            json!([
                ["java.lang.Object[]", 0x2000, 40, 148],
                ["app.Session", 0x3000, 8, 22],
                ["app.Session", 0x3010, 8, 22],
                ["app.Session", 0x3020, 8, 22],
                ["app.Session", 0x3030, 8, 22],
                ["app.Session", 0x3040, 8, 20],
                ["java.lang.String", 0x4000, 9, 14],
                ["java.lang.String", 0x4010, 9, 14],
                ["java.lang.String", 0x4020, 9, 14],
                ["java.lang.String", 0x4030, 9, 14],
            ]),
        ),
        (
            "grew between two dumps",
            json!([
                ["java.lang.String", 3, 27],
                ["app.Session", 3, 24],
                ["java.lang.Object[]", 0, 24],
                ["byte[]", 3, 13],
                ["java.lang.Class", 0, 0],
                ["java.lang.ref.WeakReference", 0, 0],
            ]),
        ),
        ("several times", json!([["guest", 3, 10]])),
        ("refer to the objects of a class", json!([["java.lang.Object[]", null, 7]])),
        (
            "roots that keep most alive",
            json!([
                ["JNI global reference", null, "java.lang.Object[]", 148],
                ["JNI global reference", null, "java.lang.ref.WeakReference", 8],
            ]),
        ),
    ]
}

/// Writes the files of all hosts, converts them into one directory, and returns this.
fn planted(folder: &Path) -> Result<PathBuf> {
    let night = folder.join("night");
    let jvmpi = build::command()?;
    for (name, bytes, labels) in files().map_err(|e| e.to_string())? {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut convert = Command::new(&jvmpi);
        convert.args(["convert", "--to", "parquet", "--partition"]).args([&path, &night]);
        convert.env("TZ", "UTC");
        run(convert.args(labels.iter().flat_map(|label| ["--label", label])))?;
    }
    Ok(night)
}

type Planted = (&'static str, Vec<u8>, &'static [&'static str]);

/// 2026-11-22 01:03:08 in UTC, an hour later, and the evening before.
const FIRST: Time = Time(1_795_309_388_000);
const NIGHT: &str = "Sun Nov 22 01:03:08 2026";
const LATER: &str = "Sun Nov 22 02:03:08 2026";
const EVENING: &str = "Sat Nov 21 23:03:08 2026";

const SAMPLES: &str = "CPU SAMPLES";
const TIMES: &str = "CPU TIME (ms)";

/// Stacks, the innermost frame first.
const PRICE: &str = "app.Orders.price:30 app.Orders.price:30 app.Orders.list:20 app.Main.run:10";
const LIST: &str = "app.Orders.list:20 app.Main.run:10";
const JSON: &str = "app.Json.write:70 app.Main.run:10";
const SCAN: &str = "app.Query.scan:5 app.Main.run:10";
const WAITING: &str = "[state].waiting:1 app.Main.run:10";
const RUNNING: &str = "[state].running:1 app.Main.run:10";

/// Of the objects that [`SCAN`] allocates.
const SITES: &str = "SITES BEGIN (ordered by allocated bytes) x
 1 0% 0% 0 0 7000 10 1 java.lang.String
 2 0% 0% 0 0 1200 10 1 int[]
SITES END
";

fn files() -> std::io::Result<Vec<Planted>> {
    let database = [profile(EVENING, SAMPLES, &[(SCAN, 500)]), SITES.into()].concat();
    Ok([
        (
            "one.hprof.txt",
            profile(NIGHT, SAMPLES, &[(PRICE, 60), (LIST, 10), (JSON, 30)]),
            &["host=web-1", "release=1.0"][..],
        ),
        (
            "two.hprof.txt",
            profile(LATER, SAMPLES, &[(PRICE, 20), (LIST, 10), (JSON, 70)]),
            &["host=web-2", "release=1.1"],
        ),
        ("three.txt", database, &["host=db-1"]),
        ("wall.txt", profile(LATER, SAMPLES, &[(WAITING, 90), (RUNNING, 10)]), &["host=web-2"]),
        (
            "one.txt",
            profile(NIGHT, TIMES, &[(PRICE, 131_304), (LIST, 12)]),
            &["host=web-1", "release=1.0"],
        ),
        ("two.txt", profile(NIGHT, TIMES, &[(PRICE, 7)]), &["host=web-2", "release=1.1"]),
    ]
    .map(|(name, text, labels)| (name, text.into_bytes(), labels))
    .into_iter()
    .chain([
        ("before.hprof", heap(&["guest", "admin"])?, &["host=web-1", "dump=before"][..]),
        (
            "after.hprof",
            heap(&["guest", "guest", "guest", "admin", "zoë"])?,
            &["host=web-1", "dump=after"],
        ),
    ])
    .collect())
}

/// Returns HPROF's text with a section of these stacks, each with its number of samples or calls.
fn profile(created: &str, section: &str, stacks: &[(&str, u64)]) -> String {
    let mut text = format!("JAVA PROFILE 1.0.1, created {created}\n\n--------\n");
    let mut rows = String::new();
    let total: u64 = stacks.iter().map(|(_, count)| count).sum();
    for (trace, (frames, count)) in (1..).zip(stacks) {
        text += &format!("TRACE {trace}:\n");
        for (method, line) in frames.split(' ').filter_map(|frame| frame.split_once(':')) {
            text += &format!("\t{method}(X.java:{line})\n");
        }
        let percent = 100.0 * *count as f64 / total as f64;
        rows += &format!("{trace} {percent}% 0% {count} {trace} x\n");
    }
    text + &format!("{section} BEGIN (total = {total}) {created}\nrank\n{rows}{section} END\n")
}

/// Returns a heap dump with a cache of sessions, each with the name of its user. A weak reference to the first session
/// keeps nothing alive.
fn heap(users: &[&str]) -> std::io::Result<Vec<u8>> {
    const CLASSES: [(u64, &str, &[FieldType<'_>]); 5] = [
        (
            0x100,
            "java.lang.String",
            &[
                FieldType { name: "value", of_type: Type::Reference },
                FieldType { name: "coder", of_type: Type::Byte },
            ],
        ),
        (0x110, "app.Session", &[FieldType { name: "user", of_type: Type::Reference }]),
        (0x120, "java.lang.Object", &[]),
        (0x130, "[Ljava.lang.Object;", &[]),
        (
            0x140,
            "java.lang.ref.WeakReference",
            &[FieldType { name: "referent", of_type: Type::Reference }],
        ),
    ];
    let mut profile = Profile { created: FIRST, ..Profile::default() };
    for (serial, (id, name, fields)) in (1..).zip(CLASSES) {
        let name = profile.names.intern(name);
        let (serial, object, trace) = (ClassSerial(serial), ObjectId(id), TraceSerial(0));
        profile.classes.insert(Class { serial, object, name, trace, unloaded: false });
        for field in fields {
            profile.names.intern(field.name);
        }
    }
    let latin: Vec<Vec<u8>> =
        users.iter().map(|user| user.chars().map(|c| c as u8).collect()).collect();
    let ids = |base: u64| (0..users.len() as u64).map(move |n| ObjectId(base + 16 * n));
    let sessions: Vec<_> = ids(0x3000).collect();
    let reference = |name, to| Field { name, value: Value::Reference(to) };
    let records = |each: &mut EachRecord<'_>| {
        for id in [0x2000, 0x6000] {
            let kind = RootKind::JniGlobal { reference: id, trace: TraceSerial(0) };
            each(&Record::Root(Root { object: ObjectId(id), kind }))?;
        }
        for (id, name, fields) in CLASSES {
            let id = ObjectId(id);
            each(&Record::Class(HeapClass { id, name, fields, ..HeapClass::default() }))?;
        }
        each(&Record::Objects(Objects {
            id: ObjectId(0x2000),
            trace: TraceSerial(0),
            class: ObjectId(0x120),
            class_name: "java.lang.Object",
            array_class: ObjectId(0x130),
            size: 8 * users.len() as u64,
            elements: Elements::All(&sessions),
        }))?;
        for (session, string) in ids(0x3000).zip(ids(0x4000)) {
            let fields = [reference("user", string)];
            each(&instance(session, (0x110, "app.Session"), 8, &fields))?;
        }
        for (string, array) in ids(0x4000).zip(ids(0x5000)) {
            let fields =
                [reference("value", array), Field { name: "coder", value: Value::Byte(0) }];
            each(&instance(string, (0x100, "java.lang.String"), 9, &fields))?;
        }
        for (id, values) in ids(0x5000).zip(&latin) {
            let (length, size) = (values.len() as u32, values.len() as u64);
            let (trace, of_type) = (TraceSerial(0), Type::Byte);
            each(&Record::Primitives(Primitives { id, trace, of_type, size, length, values }))?;
        }
        let referent = [reference("referent", sessions[0])];
        each(&instance(ObjectId(0x6000), (0x140, "java.lang.ref.WeakReference"), 8, &referent))
    };
    let mut writer = BinaryWriter::new(Vec::new(), &profile, Version::V1_0_2)?;
    writer.heap_dump(&profile, &HeapDump::default(), &mut |each| records(each))?;
    Ok(writer.into_inner())
}

fn instance<'a>(
    id: ObjectId,
    (class, class_name): (u64, &'a str),
    size: u64,
    fields: &'a [Field<'a>],
) -> Record<'a> {
    let class = ObjectId(class);
    Record::Instance(Instance { id, class, class_name, size, fields, ..Instance::default() })
}
