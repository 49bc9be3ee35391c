//! JDKs on this machine, their classes, and Java programs that check rewritten classes.

pub mod exercise;
pub mod machine;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::{env, fs};

/// An installed JDK with the tools that the tests need.
#[derive(Clone, Debug)]
pub struct Jdk {
    pub home: PathBuf,
    /// 17, 25, ...
    pub feature: u32,
}

impl Jdk {
    /// Returns the JDKs at `JAVA_HOME` and in `/usr/lib/jvm`, oldest first, one of each feature
    /// release.
    pub fn all() -> Vec<Self> {
        let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
        let homes = env::var_os("JAVA_HOME").map(PathBuf::from).into_iter();
        let mut jdks: Vec<_> =
            homes.chain(installed.map(|entry| entry.path())).filter_map(Self::at).collect();
        jdks.sort_by_key(|jdk| jdk.feature);
        jdks.dedup_by_key(|jdk| jdk.feature);
        jdks
    }

    /// Returns the newest JDK, if it has at least this feature release.
    pub fn at_least(feature: u32) -> Option<Self> {
        Self::all().pop().filter(|jdk| jdk.feature >= feature)
    }

    fn at(home: PathBuf) -> Option<Self> {
        let release = fs::read_to_string(home.join("release")).ok()?;
        let version = release.split("JAVA_VERSION=\"").nth(1)?;
        let feature = version.split(['.', '"', '-', '+']).next()?.parse().ok()?;
        let home = fs::canonicalize(home).ok()?;
        let has = |tool: &str| home.join("bin").join(tool).exists();
        (has("javac") && has("jimage")).then_some(Self { home, feature })
    }

    pub fn tool(&self, name: &str) -> Command {
        Command::new(self.home.join("bin").join(name))
    }

    /// Returns a directory with all the JDK's classes, unpacked at the first call.
    pub fn corpus(&self) -> PathBuf {
        static UNPACKING: Mutex<()> = Mutex::new(());
        let _guard = UNPACKING.lock();
        let corpus = scratch().join(format!("corpus-{}", self.feature));
        if !corpus.exists() {
            let unpacking = scratch().join(format!("unpacking-{}", self.feature));
            let mut jimage = self.tool("jimage");
            jimage.args(["extract", "--include", "regex:.*\\.class", "--dir"]).arg(&unpacking);
            succeed(jimage.arg(self.home.join("lib/modules")));
            fs::rename(&unpacking, &corpus).unwrap();
        }
        corpus
    }

    /// Runs one of the programs in `tests/java`, compiled by this JDK.
    pub fn judge(&self, program: &str, options: &[&str], arguments: &[&OsStr]) -> String {
        static COMPILED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        let classes = scratch().join(format!("judges-{}", self.feature)).join(program);
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
        {
            // Once: other tests may be running it.
            let mut compiled = COMPILED.lock().unwrap();
            if compiled.insert(classes.clone()) {
                let mut javac = self.tool("javac");
                javac.arg("-d").arg(&classes).arg("-sourcepath").arg(&sources);
                succeed(javac.arg(sources.join(program).with_extension("java")));
            }
        }
        let mut java = self.tool("java");
        succeed(java.args(options).arg("-cp").arg(classes).arg(program).args(arguments))
    }
}

/// Writes classes to a file for the programs in `tests/java`: names and bytes.
pub fn write_classes(file: &Path, classes: &[(String, Vec<u8>)]) {
    let mut out = BufWriter::new(fs::File::create(file).unwrap());
    out.write_all(&(classes.len() as u32).to_be_bytes()).unwrap();
    for (name, bytes) in classes {
        out.write_all(&(name.len() as u16).to_be_bytes()).unwrap();
        out.write_all(name.as_bytes()).unwrap();
        out.write_all(&(bytes.len() as u32).to_be_bytes()).unwrap();
        out.write_all(bytes).unwrap();
    }
    out.flush().unwrap();
}

/// Returns the directory for the tests' files.
pub fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// Runs a command and returns its output. Panics with the output if it fails.
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let written = [output.stdout, output.stderr].concat();
    let written = String::from_utf8_lossy(&written).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{written}", output.status);
    written
}

/// Returns the class files below a directory, in a fixed order.
pub fn class_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "class") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Removes the stack map frames of a class, as the JVM does with classes that it trusts: they get an
/// unknown name.
pub fn hide_frames(class: &mut [u8]) {
    let name = b"\x01\0\x0dStackMapTable";
    if let Some(at) = class.windows(name.len()).position(|bytes| bytes == name) {
        class[at + 3] = b'_';
    }
}
