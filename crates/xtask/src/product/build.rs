//! Compiles the product.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use compat_tests::build::{self, TOOLS};
use compat_tests::machine::Machine;
use compat_tests::tool::run;
use compat_tests::{cargo, target_dir, workspace_root};

use super::musl;

/// The version of the product.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The environment variable with the commit that the sources are from, which `jvmpi --version` prints.
pub const COMMIT: &str = "JVMPI_COMMIT";

/// The configuration of a build.
pub struct Build {
    /// Cargo's profile.
    pub profile: String,
    pub machine: &'static Machine,
    /// The settings for reproducible and portable binaries; `None` for a normal build.
    pub anywhere: Option<Anywhere>,
}

/// The settings that make binaries reproducible, and portable to older systems.
pub struct Anywhere {
    /// Flags for rustc, in addition to Cargo's.
    pub flags: Vec<String>,
    /// The linker.
    pub linker: PathBuf,
    /// The commit that the sources are from.
    pub commit: String,
}

/// The compiled files.
pub struct Binaries {
    pub libjvmpi: PathBuf,
    pub archive: PathBuf,
    pub libhprof: PathBuf,
    pub jvmpi: PathBuf,
}

impl Build {
    /// Compiles everything.
    pub fn run(&self) -> Result<Binaries, String> {
        self.machine.can_be_compiled_for()?;
        if self.target().is_none() && self.profile == "checked" {
            // The other tests have them already.
            build::command()?;
        } else {
            self.cargo(&["jvmpi-shim"])?;
            self.cargo(&TOOLS)?;
        }
        let made = |name| self.directory().join(name);
        Ok(Binaries {
            libjvmpi: made("libjvmpi.so"),
            archive: made("libjvmpi.a"),
            libhprof: made("libhprof.so"),
            jvmpi: made("jvmpi"),
        })
    }

    /// Compiles the libraries and the command for Windows. Returns their directory.
    pub fn for_windows(&self) -> Result<PathBuf, String> {
        self.machine.can_be_compiled_for()?;
        let packages = [&["jvmpi-shim"], &TOOLS[..]].concat();
        self.cargo(&packages)?;
        Ok(self.directory())
    }

    /// Returns the directory of the compiled files.
    pub fn directory(&self) -> PathBuf {
        let target = self.target().map(OsString::from);
        let target = target.or_else(|| env::var_os("CARGO_BUILD_TARGET")).unwrap_or_default();
        // Cargo's profile `dev` uses the directory `debug`.
        let profile = if self.profile == "dev" { "debug" } else { &self.profile };
        target_dir().join(target).join(profile)
    }

    /// Returns the target passed to Cargo. Every kind of build has its own directory, so that each is incremental.
    fn target(&self) -> Option<&'static str> {
        let is_usual = self.anywhere.is_none() && self.machine.is_this();
        (!is_usual).then_some(self.machine.target)
    }

    /// Returns a command for a program of the binutils.
    pub fn tool(&self, name: &str) -> Command {
        Command::new(self.machine.binutil(name))
    }

    /// Compiles the libraries and programs of these packages.
    fn cargo(&self, packages: &[&str]) -> Result<(), String> {
        let mut cargo = cargo();
        cargo.args(["build", "--quiet", "--locked", "--profile", &self.profile]);
        cargo.args(packages.iter().flat_map(|package| ["--package", package]));
        if let Some(target) = self.target() {
            cargo.args(["--target", target]);
        }
        let linker = self.machine.cargo_variable("LINKER");
        if let Some(Anywhere { flags, linker: path, commit }) = &self.anywhere {
            cargo.env(COMMIT, commit);
            let given = env::var("RUSTFLAGS").unwrap_or_default();
            let given = given.split_whitespace().map(String::from);
            let flags: Vec<_> = given.chain(flags.iter().cloned()).collect();
            cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")).env(linker, path);
        } else if self.target().is_some() && env::var_os(&linker).is_none() {
            cargo.env(linker, usual_linker(self.machine)?);
        }
        cargo.arg("--target-dir").arg(target_dir());
        run(&mut cargo).map(drop)
    }
}

/// Returns the linker for binaries that need not run on older systems.
///
/// # Errors
/// Fails if Rust's standard library for the machine is missing.
pub fn usual_linker(machine: &Machine) -> Result<PathBuf, String> {
    if machine.is_musl() {
        musl::linker(machine, &target_dir().join("linker"))
    } else {
        Ok(machine.compiler().into())
    }
}

/// Returns the time of the sources, in seconds since 1970: `SOURCE_DATE_EPOCH`, or the time of the last commit.
pub fn time() -> Result<String, String> {
    of_commit("SOURCE_DATE_EPOCH", "%ct")
}

/// Returns the commit that the sources are from.
pub fn commit() -> Result<String, String> {
    of_commit(COMMIT, "%H")
}

/// Returns the value of the variable, or else this property of the last commit.
fn of_commit(variable: &str, format: &str) -> Result<String, String> {
    if let Ok(value) = env::var(variable) {
        return Ok(value);
    }
    let mut git = Command::new("git");
    git.args(["log", "-1"]).arg(format!("--format={format}")).current_dir(workspace_root());
    let value = run(&mut git).map_err(|why| format!("{why}\nwithout git, set {variable}"))?;
    Ok(value.trim().to_owned())
}
