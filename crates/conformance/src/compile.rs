//! Prepares the agents and the programs of the suite for a run.
//!
//! The agents are distributed as sources and compiled on the machine that runs them, for any `jvmpi.h`. The programs
//! are distributed compiled, because a machine with a JVM need not have `javac`.

#![expect(
    clippy::disallowed_methods,
    reason = "the directory of the run is one of its own, or that which the user names"
)]

use std::env::consts::OS;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

macro_rules! sources {
    ($($file:literal),* $(,)?) => {
        [$(($file, include_str!(concat!("../suite/agents/", $file)))),*]
    };
}

/// The sources of the agents and their shared headers.
const SOURCES: &[(&str, &str)] = &sources![
    "conform.h",
    "start.c",
    "events.c",
    "requests.c",
    "threads.c",
    "suspension.c",
    "methods.h",
    "traces.c",
    "raw_monitors.c",
    "gc.c",
    "classes.c",
    "objects.c",
    "arenas.c",
    "methods.c",
    "monitors.c",
    "references.c",
    "compiled.c",
    "endings.c",
    "dumps.c"
];

/// The programs: the compiled classes of `suite/workloads`.
const WORKLOADS: &[u8] = include_bytes!("../suite/workloads.jar");

/// The `jvmpi.h` that comes with the suite.
const HEADER: &str = include_str!("../suite/jvmpi.h");

/// The compiler flags for all agents: C89 with the POSIX functions, and warnings as errors.
const FLAGS: [&str; 10] = [
    "-std=c89",
    "-pedantic-errors",
    "-Wall",
    "-Wextra",
    "-Wno-unused-function",
    "-Wno-unused-parameter",
    "-Werror",
    "-D_XOPEN_SOURCE=600",
    "-O1",
    "-g",
];

/// The suite, compiled into a directory.
#[derive(Clone, Debug)]
pub struct Compiled {
    directory: PathBuf,
}

impl Compiled {
    /// Compiles the agents with these names into `directory`. `include` contains `jni.h`; `header` contains the
    /// `jvmpi.h` to use in place of the suite's own.
    pub fn new<'a>(
        directory: &Path,
        agents: impl IntoIterator<Item = &'a str>,
        include: &[PathBuf],
        header: Option<&Path>,
    ) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
        let sources = directory.join("agents");
        fs::create_dir_all(&sources).map_err(failed)?;
        for (name, text) in SOURCES {
            fs::write(sources.join(name), text).map_err(failed)?;
        }
        let header = match header {
            Some(directory) => directory.to_owned(),
            None => {
                let own = directory.join("include");
                fs::create_dir_all(&own).map_err(failed)?;
                fs::write(own.join("jvmpi.h"), HEADER).map_err(failed)?;
                own
            }
        };
        fs::write(directory.join("workloads.jar"), WORKLOADS).map_err(failed)?;
        let compiled = Self { directory: directory.to_owned() };
        for agent in agents {
            compiled.compile(agent, include, &header)?;
        }
        Ok(compiled)
    }

    fn compile(&self, agent: &str, include: &[PathBuf], header: &Path) -> Result<(), String> {
        let usual = if OS == "windows" { "gcc" } else { "cc" };
        let name = std::env::var_os("CC").unwrap_or_else(|| usual.into());
        let mut cc = Command::new(&name);
        cc.args(FLAGS).args(["-shared", "-fPIC", "-pthread"]);
        for directory in include {
            cc.arg("-isystem").arg(directory);
        }
        cc.arg("-I").arg(header).arg("-o").arg(self.agent(agent));
        cc.arg(self.directory.join("agents").join(agent).with_extension("c"));
        let output = cc.output().map_err(|error| {
            let (name, which) = (name.display(), if OS == "windows" { "MinGW-w64" } else { "gcc" });
            format!("cannot run the C compiler {name} ({error}): install {which}, or name a compiler in CC")
        })?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!(
            "the agent {agent}.c does not compile:\n{}",
            String::from_utf8_lossy(&output.stderr)
        ))
    }

    /// Returns the same suite under another path.
    pub fn at(&self, directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// Returns the path of an agent's library.
    pub fn agent(&self, name: &str) -> PathBuf {
        self.directory.join(format!("lib{name}.so"))
    }

    /// Returns the class path of the programs.
    pub fn workloads(&self) -> PathBuf {
        self.directory.join("workloads.jar")
    }

    /// Returns the directory for the files of all runs.
    pub fn runs(&self) -> PathBuf {
        self.directory.join("runs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn list_of_sources_is_complete() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("suite/agents");
        let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let files: BTreeSet<_> = files.map(|name| name.into_string().unwrap()).collect();
        assert_eq!(files, SOURCES.iter().map(|(name, _)| (*name).to_owned()).collect());
    }
}
