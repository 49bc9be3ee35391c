//! `cargo xtask fleet`: simulates the profiles of many machines, and measures what they cost in a store and as tables.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use compat_tests::sql::{self, Engine};
use compat_tests::{build, jdk, target_dir, workspace_root};

use crate::options::Options;

/// The start of the simulated time: the hour that the page's queries select, in milliseconds since 1970.
const START: u64 = 1_795_309_200_000;

/// The place of the start time in a binary file of HPROF: after `JAVA PROFILE 1.0.1`, a zero and the size of IDs.
const CREATED_AT: std::ops::Range<usize> = 23..31;

/// The recordings that are replayed: the options of `jvmpi record`.
const RECORDINGS: [&[&str]; 3] = [&["--cpu"], &["--cpu", "--alloc"], &["--wall"]];

/// Records a few programs. Pushes and converts their profiles as if many JVMs had been recorded for an hour, and runs
/// the queries of `docs/howto/many-machines.md`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut options = Options::with_flags(arguments, &["spark"])?;
    let mut number = |name: &str, default: u64| {
        let value = options.take(name).map(|value| value.parse());
        value.unwrap_or(Ok(default)).map_err(|e| format!("--{name}: {e}"))
    };
    let (jvms, minutes, every) =
        (number("jvms", 50)?, number("minutes", 60)?, number("every", 1)?.max(1));
    let with_spark = options.take("spark").is_some();
    options.finish()?;

    let folder = target_dir().join("fleet");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let fleet = Fleet { jvmpi: build::command()?, tables: folder.join("tables"), folder };
    let recordings = fleet.record()?;
    let bytes: usize = recordings.iter().map(Vec::len).sum();
    println!("{} recordings of {} KiB on average", recordings.len(), bytes / 1024 / 3);

    let store = Store::start()?;
    let (mut pushing, mut converting) = (Duration::ZERO, Duration::ZERO);
    let mut profiles = 0;
    for minute in (0..minutes).step_by(usize::try_from(every).unwrap_or(1)) {
        for jvm in 0..jvms {
            let recording = &recordings[jvm as usize % recordings.len()];
            let profile = fleet.replay(recording, jvm, minute)?;
            let start = Instant::now();
            fleet.push(&profile, jvm, &store)?;
            pushing += start.elapsed();
            let start = Instant::now();
            fleet.convert(&profile, jvm)?;
            converting += start.elapsed();
            profiles += 1;
        }
    }
    println!("{profiles} profiles of {jvms} JVMs in {minutes} minutes");
    let (files, size) = contents(&fleet.tables)?;
    let (requests, pushed) = store.counts();
    let many = 5000 * minutes.div_ceil(every);
    let print = |what: &str, number: u64, things: &str, bytes: u64, time: Duration| {
        let each = bytes / profiles.max(1);
        let milliseconds = time.as_secs_f64() * 1e3 / profiles.max(1) as f64;
        println!("{what}: {number} {things}, {each} bytes and {milliseconds:.1} ms per profile");
        println!("  5,000 JVMs for the same time, computed: {} MiB", (many * each) >> 20);
    };
    print("pushed by OTLP", requests, "requests", pushed, pushing);
    print("tables", files, "files", size, converting);
    fleet.query(Engine::DuckDb)?;
    if with_spark { fleet.query(Engine::Spark) } else { Ok(()) }
}

struct Fleet {
    jvmpi: PathBuf,
    folder: PathBuf,
    tables: PathBuf,
}

impl Fleet {
    /// Records the Java compiler, and returns the profiles.
    fn record(&self) -> Result<Vec<Vec<u8>>, String> {
        // HPROF is in the folder of the shim.
        build::hprof()?;
        let (shim, javac) = (build::shim()?, jdk::with_javac()?.home.join("bin/javac"));
        let sources = workspace_root().join("compat-tests/workloads");
        let sources = fs::read_dir(&sources).map_err(|e| format!("{}: {e}", sources.display()))?;
        let sources = sources.flatten().map(|entry| entry.path());
        let sources: Vec<_> = sources.filter(|path| path.extension().is_some()).collect();
        let mut recordings = Vec::new();
        for (number, what) in RECORDINGS.iter().enumerate() {
            let profile = self.folder.join(format!("recording-{number}.hprof"));
            let mut jvmpi = Command::new(&self.jvmpi);
            jvmpi.env("JVMPI_LIBRARY", &shim).arg("record").args(*what).arg("-o").arg(&profile);
            jvmpi.arg("--").arg(&javac).args(["--release", "8", "-nowarn", "-d"]);
            jvmpi.arg(self.folder.join("classes"));
            finish(jvmpi.args(&sources))?;
            recordings.push(fs::read(&profile).map_err(|e| format!("{}: {e}", profile.display()))?);
        }
        Ok(recordings)
    }

    /// Writes a recording as the profile of this JVM and minute.
    fn replay(&self, recording: &[u8], jvm: u64, minute: u64) -> Result<PathBuf, String> {
        let mut bytes = recording.to_vec();
        let created = (START + minute * 60_000).to_be_bytes();
        bytes.get_mut(CREATED_AT).ok_or("the recording is empty")?.copy_from_slice(&created);
        let path = self.folder.join(format!("{jvm}.hprof"));
        fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }

    /// Pushes a profile to the store, as a machine does.
    fn push(&self, profile: &Path, jvm: u64, store: &Store) -> Result<(), String> {
        let mut jvmpi = Command::new(&self.jvmpi);
        jvmpi.env("XDG_STATE_HOME", &self.folder).arg("push").arg(profile).arg(&store.url);
        finish(jvmpi.args(["--interval", "10", "--label", &format!("host.name=jvm-{jvm:04}")]))
    }

    /// Adds a profile to the tables, as a machine does.
    fn convert(&self, profile: &Path, jvm: u64) -> Result<(), String> {
        let mut jvmpi = Command::new(&self.jvmpi);
        jvmpi.arg("convert").arg(profile).args(["--to", "parquet", "--partition"]);
        let release = if jvm.is_multiple_of(2) { "release=1.0" } else { "release=1.1" };
        jvmpi.arg(&self.tables).args([
            "--label",
            release,
            "--label",
            &format!("host=jvm-{jvm:04}"),
        ]);
        finish(&mut jvmpi)
    }

    /// Runs the queries of the page that need no heap dump, and prints the seconds of each.
    fn query(&self, engine: Engine) -> Result<(), String> {
        let queries: Vec<_> = sql::queries()?
            .into_iter()
            .filter(|query| !["instances", "strings"].iter().any(|table| query.contains(table)))
            .collect();
        let start = Instant::now();
        let results = engine.run(&self.folder, &self.tables, &queries)?;
        let all = start.elapsed().as_secs_f64();
        println!(
            "{engine:?}: {all:.1} s with its start; seconds of each query: {}",
            results.seconds
        );
        Ok(())
    }
}

/// A server that takes every profile and only counts.
struct Store {
    url: String,
    /// The number of requests, and the bytes of their bodies.
    counts: Arc<[AtomicU64; 2]>,
}

impl Store {
    fn start() -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
        let address = listener.local_addr().map_err(|e| e.to_string())?;
        let store = Self { url: format!("otlp+http://{address}"), counts: Arc::default() };
        let counts = Arc::clone(&store.counts);
        thread::spawn(move || {
            for stream in listener.incoming() {
                // The command reports a request that fails.
                if let Ok(bytes) = stream.and_then(take) {
                    counts[0].fetch_add(1, Ordering::Relaxed);
                    counts[1].fetch_add(bytes, Ordering::Relaxed);
                }
            }
        });
        Ok(store)
    }

    fn counts(&self) -> (u64, u64) {
        (self.counts[0].load(Ordering::Relaxed), self.counts[1].load(Ordering::Relaxed))
    }
}

/// Takes the request of a connection. Returns the length of its body.
fn take(mut stream: TcpStream) -> io::Result<u64> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 0 && line != "\r\n" {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        line.clear();
    }
    io::copy(&mut reader.take(length), &mut io::sink())?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    Ok(length)
}

/// Returns the number of files below a directory, and their size in bytes.
fn contents(directory: &Path) -> Result<(u64, u64), String> {
    let failed = |e: io::Error| format!("{}: {e}", directory.display());
    let (mut files, mut size) = (0, 0);
    for entry in fs::read_dir(directory).map_err(failed)?.flatten() {
        let metadata = entry.metadata().map_err(failed)?;
        let (more, bytes) =
            if metadata.is_dir() { contents(&entry.path())? } else { (1, metadata.len()) };
        files += more;
        size += bytes;
    }
    Ok((files, size))
}

fn finish(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}
