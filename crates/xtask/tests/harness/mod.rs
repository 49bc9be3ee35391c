//! Helpers for the tests of the product: cases with required tools, a runner, and an installation.
#![allow(dead_code, reason = "not each of the tests takes everything")]

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use compat_tests::jdk::{self, Jdk};
use compat_tests::machine::Machine;
pub use compat_tests::tool::output as run;
use compat_tests::{build, workspace_root};
use libtest_mimic::{Arguments, Failed, Trial};

pub type Result<T = (), E = String> = std::result::Result<T, E>;

/// The environment variable with a folder of archives from `cargo xtask dist`, to be tested in place of new ones.
pub const GIVEN: &str = "JVMPI_ARCHIVES";

/// A case: its name, the tools that it needs, and its function.
pub type Case = (&'static str, &'static [&'static str], fn() -> Result);

/// Runs the cases. A case is skipped, with the reason, if a tool or a Java compiler is missing. All are if there is
/// another hindrance.
pub fn run_all(cases: &[Case], hindrance: Option<&str>) -> ExitCode {
    let trials = cases.iter().map(|&(name, tools, case)| {
        trial(name, missing(tools).or_else(|| hindrance.map(str::to_owned)), case)
    });
    conclude(trials.collect())
}

/// Returns a test for a case, which is skipped if there is a hindrance.
pub fn trial(
    name: impl Into<String>,
    hindrance: Option<String>,
    case: impl FnOnce() -> Result + Send + 'static,
) -> Trial {
    match hindrance {
        None => Trial::test(name, move || case().map_err(Failed::from)),
        Some(why) => Trial::test(name, || Ok(()))
            .with_kind(format!("skipped: {why}"))
            .with_ignored_flag(true),
    }
}

/// Runs the cases that the program's arguments select.
pub fn conclude(trials: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Returns the missing tool, if one is missing, or that there is no Java compiler.
pub fn missing(tools: &[&str]) -> Option<String> {
    let missing = tools.iter().find(|tool| !is_installed(tool)).map(|tool| format!("no {tool}"));
    missing.or_else(|| jdk::with_javac().err())
}

/// Returns true if a folder of `PATH` has this program.
pub fn is_installed(tool: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(tool).is_file())
}

/// Creates an empty directory for the files of one case.
pub fn scratch(tests: &str, name: &str) -> Result<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(tests).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    Ok(directory)
}

/// Returns a command for `cargo xtask`.
pub fn xtask(arguments: &[&str]) -> Command {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask.args(arguments);
    xtask
}

/// Installs the product for these tests, with the libraries that the other tests use too. The prefix is `/opt/jvmpi`,
/// under a separate root.
pub fn install(tests: &str) -> Result<PathBuf> {
    let root = scratch(tests, "root")?;
    let mut install = xtask(&["install", "--prefix", "/opt/jvmpi", "--profile", "checked"]);
    run(install.env("DESTDIR", &root))?;
    Ok(root.join("opt/jvmpi"))
}

/// Compiles an agent against the installed header.
pub fn compile_agent(prefix: &Path, jdk: &Jdk, source: &Path, library: &Path) -> Result {
    let include = jdk.home.join("include");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O2", "-I"]).arg(prefix.join("include"));
    cc.arg("-I").arg(&include).arg("-I").arg(include.join("linux"));
    run(cc.arg("-o").arg(library).arg(source)).map(drop)
}

/// Compiles the classes of `examples/` and returns their folder.
pub fn example_classes() -> Result<String> {
    let classes = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples-classes");
    build::java(&workspace_root().join("examples"), &classes, 8, &[])
}

/// Returns the newest JDK found.
pub fn newest_jdk() -> Result<Jdk> {
    newest_jdk_for(Machine::this())
}

/// Returns the JDKs found for the given machine that need no C library of their own, oldest first.
pub fn jdks_for(machine: &Machine) -> Vec<Jdk> {
    let mut found = jdk::found_for(machine);
    machine.jdks.iter().filter_map(|(feature, _)| found.remove(feature)).collect()
}

/// Returns the newest JDK of [`jdks_for`].
pub fn newest_jdk_for(machine: &Machine) -> Result<Jdk> {
    jdks_for(machine).pop().ok_or_else(|| {
        let name = machine.name;
        format!("no JDK for {name} (cargo xtask jdk --machine {name} fetches one)")
    })
}

/// The output of the program `Tasks`.
pub const TASKS_SAY: &str = "4000 tasks are done\n";

/// Checks that this HPROF text profile contains every object that the program `Tasks` creates.
pub fn shows_all_tasks(profile: &Path) -> Result {
    let text = fs::read_to_string(profile).map_err(|e| format!("{}: {e}", profile.display()))?;
    let is_exact = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        words.last() == Some(&"Tasks$Task") && words.contains(&"4000")
    };
    if text.lines().any(is_exact) { Ok(()) } else { Err(format!("no 4000 tasks:\n{text}")) }
}

/// Checks that a library, or with other flags for `nm` an archive, exports exactly the symbols in this list of the
/// workspace.
pub fn exports(file: &Path, flags: &[&str], list: &str) -> Result {
    let list = workspace_root().join(list);
    let list = fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let [names, _] = run(Command::new("nm").args(["-g", "--defined-only"]).args(flags).arg(file))?;
    let names: BTreeSet<_> = names.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    if names == list.lines().collect() {
        return Ok(());
    }
    Err(format!("{} defines {names:?}", file.display()))
}
