//! `cargo xtask fleet`: simulates the profiles of many machines, and measures what they cost as tables.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use compat_tests::sql::{self, Engine};
use compat_tests::{build, jdk, target_dir, text, workspace_root};

use crate::options::Options;

/// The start of the simulated time: the hour that the page's queries select, in milliseconds since 1970.
const START: u64 = 1_795_309_200_000;

/// The place of the start time in a binary file of HPROF: after `JAVA PROFILE 1.0.1`, a zero and the size of IDs.
const CREATED_AT: std::ops::Range<usize> = 23..31;

/// The recordings that are replayed: the options of `jvmpi record`.
const RECORDINGS: [&[&str]; 3] = [&["--cpu"], &["--cpu", "--alloc"], &["--wall"]];

/// Records a few programs, and converts their profiles as if many JVMs had been recorded for an hour. Then runs the
/// queries of `docs/howto/many-machines.md`.
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

    let start = Instant::now();
    let mut profiles = 0;
    for minute in (0..minutes).step_by(usize::try_from(every).unwrap_or(1)) {
        for jvm in 0..jvms {
            let recording = &recordings[jvm as usize % recordings.len()];
            let profile = fleet.replay(recording, jvm, minute)?;
            fleet.convert(&profile, jvm)?;
            profiles += 1;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let (files, size) = contents(&fleet.tables)?;
    let each = size / profiles.max(1);
    println!(
        "{profiles} profiles of {jvms} JVMs in {minutes} minutes: {files} files, {size} bytes"
    );
    println!("{each} bytes and {:.1} ms per profile", seconds * 1e3 / profiles as f64);
    let many = 5000 * minutes.div_ceil(every) * each;
    println!("5,000 JVMs for the same time, computed: {} MiB", many >> 20);
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
            jvmpi.arg("--").arg(&javac).args([
                "-nowarn",
                "-d",
                text(&self.folder.join("classes"))?,
            ]);
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

    /// Adds a profile to the tables, as a machine does.
    fn convert(&self, profile: &Path, jvm: u64) -> Result<(), String> {
        let mut jvmpi = Command::new(&self.jvmpi);
        jvmpi.arg("convert").arg(profile).args(["--to", "parquet", "--partition"]);
        let release = if jvm % 2 == 0 { "release=1.0" } else { "release=1.1" };
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

/// Returns the number of files below a directory, and their size in bytes.
fn contents(directory: &Path) -> Result<(u64, u64), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", directory.display());
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
