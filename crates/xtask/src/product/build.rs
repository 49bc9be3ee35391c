//! How the product is compiled.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use compat_tests::{target_dir, workspace_root};

/// What to compile for which machine, and how.
pub struct Build {
    /// The profile of Cargo.
    pub profile: String,
    /// The target triple, if it is not simply for this machine.
    pub target: Option<String>,
    /// Flags for rustc, besides those that Cargo gives.
    pub flags: Vec<String>,
}

/// What comes of it.
pub struct Binaries {
    pub libjvmpi: PathBuf,
    pub archive: PathBuf,
    pub libhprof: PathBuf,
    pub jvmpi: PathBuf,
}

/// HPROF is in the command too: compiled one after the other they would have libraries with other features
/// each time, and everything would be compiled anew.
const TOOLS: [&str; 2] = ["libhprof", "jvmpi-cli"];

impl Build {
    /// The target triple.
    pub fn target(&self) -> &str {
        self.target.as_deref().unwrap_or(this_machine())
    }

    /// Compiles everything.
    pub fn run(&self) -> Result<Binaries, String> {
        let shim = ["--lib", "--crate-type", "cdylib,staticlib"];
        self.cargo("rustc", &["libjvmpi"], &shim)?;
        self.cargo("build", &TOOLS, &[])?;
        let made = |name| self.directory().join(name);
        Ok(Binaries {
            libjvmpi: made("libjvmpi.so"),
            archive: made("libjvmpi.a"),
            libhprof: made("libhprof.so"),
            jvmpi: made("jvmpi"),
        })
    }

    /// Where it is made.
    pub fn directory(&self) -> PathBuf {
        let directory = target_dir().join(self.target.as_deref().unwrap_or_default());
        // What Cargo calls dev lies in debug.
        directory.join(if self.profile == "dev" { "debug" } else { &self.profile })
    }

    /// The command, compiled for the machine that this runs on.
    pub fn command_that_runs_here(&self) -> Result<PathBuf, String> {
        if self.target() == this_machine() {
            return Ok(self.directory().join("jvmpi"));
        }
        let here = Self { profile: self.profile.clone(), target: None, flags: Vec::new() };
        here.cargo("build", &TOOLS, &[])?;
        Ok(here.directory().join("jvmpi"))
    }

    fn cargo(&self, command: &str, packages: &[&str], arguments: &[&str]) -> Result<(), String> {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args([command, "--quiet", "--locked"]);
        cargo.args(packages.iter().flat_map(|package| ["--package", package]));
        cargo.args(["--profile", &self.profile]).args(arguments);
        if let Some(target) = &self.target {
            cargo.args(["--target", target]);
        }
        if !self.flags.is_empty() {
            let given = env::var("RUSTFLAGS").unwrap_or_default();
            let flags = given.split_whitespace().map(String::from);
            let flags: Vec<_> = flags.chain(self.flags.iter().cloned()).collect();
            cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        }
        cargo.arg("--target-dir").arg(target_dir()).current_dir(workspace_root());
        run(&mut cargo).map(drop)
    }
}

/// The target triple of this program.
pub fn this_machine() -> &'static str {
    if cfg!(target_arch = "aarch64") {
        "aarch64-unknown-linux-gnu"
    } else {
        "x86_64-unknown-linux-gnu"
    }
}

/// A program of the binutils for the target: `objcopy`, or `aarch64-linux-gnu-objcopy`.
pub fn tool(name: &str, target: Option<&str>) -> Command {
    match target {
        Some(target) if target != this_machine() => {
            Command::new(format!("{}-{name}", target.replace("-unknown-", "-")))
        }
        _ => Command::new(name),
    }
}

/// Runs a program to its end; returns what it prints.
pub fn run(command: &mut Command) -> Result<String, String> {
    let program = Path::new(command.get_program()).display().to_string();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        return Err(format!("{program} failed ({}):\n{said}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{program}: {error}"))
}
