//! Trying a JVM.

use super::jvms::Jvm;
use crate::installation;
use crate::temporary::temporary;
use jvm::platform::names::SHIM;
use jvmpi_formats::profile::{self, Amount, Profile, TraceSerial};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A garbage collector: how it is called here, and the flag that selects it.
pub const COLLECTORS: [(&str, &str); 6] = [
    ("g1", "-XX:+UseG1GC"),
    ("serial", "-XX:+UseSerialGC"),
    ("parallel", "-XX:+UseParallelGC"),
    ("zgc", "-XX:+UseZGC"),
    ("shenandoah", "-XX:+UseShenandoahGC"),
    ("epsilon", "-XX:+UseEpsilonGC"),
];

/// Checks that the JVM starts at all, with its defaults.
///
/// # Errors
/// Returns the message of the JVM.
pub fn starts(jvm: &Jvm) -> Result<(), String> {
    run(jvm, &["-version"], "").map(drop)
}

/// Returns the collectors with which the JVM was built, each with name and flag.
pub fn collectors(jvm: &Jvm) -> Vec<(&'static str, &'static str)> {
    let has = |(_, flag): &(&str, &str)| run(jvm, &[flag, "-version"], "").is_ok();
    COLLECTORS.into_iter().filter(has).collect()
}

/// A small program that counts what it does, and a folder for it.
pub struct Program(TempDir);

impl Program {
    /// Writes the class file of the program into a temporary directory.
    ///
    /// # Errors
    /// Returns one line if the file cannot be written.
    #[expect(clippy::disallowed_methods, reason = "the directory is a new one of its own")]
    pub fn new() -> Result<Self, String> {
        let directory = temporary("jvmpi-doctor-")?;
        let path = directory.path().join("Probe.class");
        fs::write(&path, include_bytes!("Probe.class"))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(Self(directory))
    }

    /// Runs the program with HPROF, which writes to `file`, and with these settings besides those that are needed.
    fn run(
        &self,
        jvm: &Jvm,
        libjvmpi: &Path,
        collector: &str,
        file: &Path,
        settings: &str,
    ) -> Result<Said, String> {
        let directory = self.0.path();
        let mut option = OsString::from("-agentpath:");
        option.push(libjvmpi);
        option.push("=");
        option.push(installation::libhprof()?);
        option.push(":cpu=times,heap=sites,cutoff=0,depth=1,verbose=n,file=");
        option.push(file);
        let arguments =
            [collector.as_ref(), &*option, "-cp".as_ref(), directory.as_ref(), "Probe".as_ref()];
        run(jvm, &arguments, &format!("log=info include=Probe {settings}"))
    }

    /// Tests the internals of the JVM that jvmpi relies on, with this collector. Returns each with its name.
    ///
    /// # Errors
    /// Returns the message of the JVM or jvmpi, or that the library does not report internals.
    pub fn internals(
        &self,
        jvm: &Jvm,
        libjvmpi: &Path,
        collector: &str,
    ) -> Result<Vec<Internal>, String> {
        let file = self.0.path().join("internals.txt");
        let said = self.run(jvm, libjvmpi, collector, &file, "selftest=on")?;
        let internals: Vec<_> = said.stderr.lines().filter_map(Internal::of).collect();
        if internals.is_empty() {
            return Err(format!("{SHIM} reports no internals: use the library of this version"));
        }
        Ok(internals)
    }

    /// Checks that jvmpi works in the JVM with this collector: HPROF reports exactly what the program does.
    ///
    /// # Errors
    /// Returns the message of the JVM or jvmpi, or the figure that is missing.
    pub fn works(&self, jvm: &Jvm, libjvmpi: &Path, collector: &str) -> Result<(), String> {
        let file = self.0.path().join("probe.txt");
        let Said { stdout, stderr } = self.run(jvm, libjvmpi, collector, &file, "")?;
        if !stderr.lines().any(|line| line.starts_with("[jvmpi] info: jvmpi ")) {
            return Err(format!("the JVM did not load {SHIM}"));
        }
        let reported =
            profile::File::open(&file).map_err(|error| format!("no profile: {error}"))?;
        let reported = Counts::told(reported.profile());
        let expected =
            Counts::said(&stdout).ok_or_else(|| format!("the program printed {stdout:?}"))?;
        let compare = |what, reported: u64, expected: u64| {
            if reported == expected {
                Ok(())
            } else {
                Err(format!("{reported} of {expected} {what} were reported"))
            }
        };
        compare("calls", reported.calls, expected.calls)?;
        compare("objects", reported.objects, expected.objects)?;
        compare("arrays", reported.arrays, expected.arrays)
    }
}

/// An internal of the JVM that jvmpi relies on.
pub struct Internal {
    /// Its name in `docs/explanation/internals.md`.
    pub name: String,
    /// `works`, or what agents would miss.
    pub result: String,
}

impl Internal {
    /// Parses a line of the log with `selftest=on`.
    fn of(line: &str) -> Option<Self> {
        let (name, result) = line.strip_prefix("[jvmpi] info: internal ")?.split_once(": ")?;
        Some(Self { name: name.to_owned(), result: result.to_owned() })
    }

    /// Returns true if the internal works.
    pub fn works(&self) -> bool {
        self.result == "works"
    }
}

/// The program's own counts.
struct Counts {
    calls: u64,
    objects: u64,
    arrays: u64,
}

impl Counts {
    /// Parses the line that the program prints: `calls=… objects=… arrays=…`.
    fn said(line: &str) -> Option<Self> {
        let count = |name: &str| {
            let mut words = line.split_ascii_whitespace();
            words.find_map(|word| word.strip_prefix(name))?.parse().ok()
        };
        Some(Self {
            calls: count("calls=")?,
            objects: count("objects=")?,
            arrays: count("arrays=")?,
        })
    }

    /// Returns the counts of HPROF's profile.
    fn told(profile: &Profile) -> Self {
        let is_in = |trace: TraceSerial, method: &str| {
            let innermost = profile.traces.frames_of(trace).first();
            innermost.and_then(|id| profile.frame(id)).is_some_and(|(_, found)| {
                [found.class, found.name].map(|name| profile.names.get(name)) == ["Probe", method]
            })
        };
        let calls = profile.cpu_times().flat_map(|times| &times.rows);
        let calls = calls.filter(|row| is_in(row.trace, "call")).map(|row| row.calls).sum();
        let of_class = |class: &str| {
            let sites = profile.sites().flat_map(|sites| &sites.rows);
            let sites =
                sites.filter(|row| is_in(row.trace, "main") && profile.site_type(row) == class);
            sites.map(|row| row.allocated).fold(0, |sum, Amount { instances, .. }| sum + instances)
        };
        Self { calls, objects: of_class("Probe"), arrays: of_class("int[]") }
    }
}

/// The output of a JVM.
struct Said {
    stdout: String,
    stderr: String,
}

/// Runs the JVM to its end; returns what it says, or the line that says why it failed.
fn run(jvm: &Jvm, arguments: &[impl AsRef<OsStr>], settings: &str) -> Result<Said, String> {
    let mut java = Command::new(jvm.java());
    for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "JVMPI_CONFIG"] {
        java.env_remove(variable);
    }
    // ZGC and Shenandoah are experimental in some versions.
    java.args(["-XX:+UnlockExperimentalVMOptions", "-Xmx64m"]).args(arguments);
    let output = java.env("JVMPI_OPTIONS", settings).output().map_err(|error| error.to_string())?;
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    if output.status.success() {
        return Ok(Said { stdout, stderr });
    }
    // The JVM reports some failures on standard output.
    let lines = [stderr, stdout].concat();
    let ours = lines.lines().find_map(|line| {
        line.strip_prefix("[jvmpi] error: ").or_else(|| line.strip_prefix("HPROF ERROR: "))
    });
    let line = ours.or_else(|| lines.lines().find(|line| !line.is_empty()));
    Err(line.map_or_else(|| output.status.to_string(), str::to_owned))
}
