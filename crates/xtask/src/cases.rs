//! `cargo xtask case` runs one case of `compat-tests`. `cargo xtask flaky` runs cases many times under load.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use compat_tests::machine::Machine;
use compat_tests::spinning::Spinning;
use compat_tests::{MANIFEST_DIR, cargo, echo, workspace_root};

use crate::{cross, skips};

/// The default number of runs of each case in `cargo xtask flaky`.
const USUAL_ROUNDS: usize = 20;
/// The end of the name of a case that runs under load.
const UNDER_LOAD: &str = "_under_load";

/// Runs `cargo xtask case NAME [JDK [GC]]`: runs one case, on JDK 17 with G1 by default, and shows the output of its
/// JVMs.
pub fn case(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.iter().map(String::as_str);
    let name = arguments.next().ok_or("no NAME given: cargo xtask case NAME [JDK [GC]]")?;
    let (jdk, gc) = (arguments.next().unwrap_or("17"), arguments.next().unwrap_or("g1"));
    let program = Program::build()?;
    let all = program.cases()?;
    let named: Vec<_> = all.iter().filter(|case| is_named(case, name)).collect();
    let place = format!("jdk{}/{gc}/", jdk.trim_start_matches("jdk"));
    let chosen: Vec<_> = named.iter().filter(|case| case.starts_with(&place)).collect();
    let [case] = chosen[..] else {
        return Err(format!(
            "{} cases on {place} have the name {name}; the cases of that name are {named:?}",
            chosen.len()
        ));
    };
    println!("{case}");
    let passes = program.run(case).env(echo::ECHO, "1").status().is_ok_and(|it| it.success());
    if passes { Ok(()) } else { Err(format!("{case} failed")) }
}

/// Runs the cases on the JVMs of a machine whose programs an emulator of its system runs: the test program, with these
/// arguments, is one of this machine.
pub fn run_for(machine: &Machine, arguments: &[String]) -> Result<(), String> {
    let program = Program::build()?;
    let mut command = program.in_its_package(cross::tester(machine, program.0.as_os_str())?);
    skips::run(command.args(arguments))
}

/// Returns true if this is a name of a case: `jdk17/g1/topic/case`, `topic/case` or `case`.
fn is_named(case: &str, name: &str) -> bool {
    case.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Returns `topic/case`, which is the same on every JVM.
fn everywhere(case: &str) -> &str {
    case.splitn(3, '/').last().unwrap_or(case)
}

/// Runs `cargo xtask flaky [N] NAME...`: runs cases, or all cases of topics, N times beside spinning processes, each
/// time on the next of their JVMs, and prints how often they passed.
pub fn flaky(arguments: &[String]) -> Result<(), String> {
    let (rounds, names): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|argument| argument.parse::<usize>().is_ok());
    let rounds = rounds.last().and_then(|last| last.parse().ok()).unwrap_or(USUAL_ROUNDS);
    let program = Program::build()?;
    let all = program.cases()?;
    // The places of each case.
    let mut chosen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in &all {
        let topic = everywhere(case);
        let is_chosen =
            |name: &&String| is_named(case, name) || topic.starts_with(&format!("{name}/"));
        if names.iter().any(is_chosen) {
            chosen.entry(topic).or_default().push(case);
        }
    }
    if chosen.is_empty() {
        return Err("no case and no topic is named: cargo xtask flaky [N] NAME...".to_owned());
    }
    let _spinning = Spinning::start()?;
    let mut failed = 0;
    for (topic, places) in chosen {
        let runs = places.iter().cycle().take(rounds);
        let failures: Vec<_> = runs.filter(|case| !program.passes(case)).collect();
        println!("{topic}: {} of {rounds} passed", rounds - failures.len());
        failures.iter().for_each(|name| println!("    {name} failed"));
        failed += failures.len();
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} runs failed")) }
}

/// Compiles the test program with this main file as `cargo xtask test` does, and returns its path. The output of Cargo is
/// shown. Without `--workspace`, Cargo would resolve other features and compile dependencies again.
pub fn test_program(source: &str, arguments: &[&str]) -> Result<PathBuf, String> {
    let mut cargo = cargo();
    cargo.args(["test", "--no-run", "--profile", "checked", "--workspace"]);
    cargo.args(arguments).arg("--message-format=json-render-diagnostics");
    let output = cargo.stderr(Stdio::inherit()).output().map_err(|e| format!("cargo: {e}"))?;
    if !output.status.success() {
        return Err(format!("{source} does not compile"));
    }
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut executables = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_target = message["target"]["src_path"].as_str()?.ends_with(source);
        is_target.then(|| message["executable"].as_str().map(PathBuf::from))?
    });
    executables.next_back().ok_or_else(|| format!("cargo built no test program of {source}"))
}

/// The path of the compiled test program `compat`.
struct Program(PathBuf);

impl Program {
    fn build() -> Result<Self, String> {
        test_program("compat-tests/tests/compat/main.rs", &["--test", "compat"]).map(Self)
    }

    fn command(&self) -> Command {
        self.in_its_package(Command::new(&self.0))
    }

    fn in_its_package(&self, mut command: Command) -> Command {
        let package = workspace_root().join("compat-tests");
        command.current_dir(&package).env(MANIFEST_DIR, &package);
        command
    }

    /// Returns the names of all cases, except those that run under load.
    fn cases(&self) -> Result<Vec<String>, String> {
        let output = self.command().arg("--list").output().map_err(|e| e.to_string())?;
        let list = String::from_utf8_lossy(&output.stdout).into_owned();
        let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
        // A case that cannot run here has the reason before its name.
        let names = names.filter(|name| name.starts_with("jdk") && !name.ends_with(UNDER_LOAD));
        Ok(names.map(str::to_owned).collect())
    }

    fn run(&self, case: &str) -> Command {
        let mut command = self.command();
        command.args(["--exact", case]);
        command
    }

    fn passes(&self, case: &str) -> bool {
        let output = self.run(case).output();
        let passes = output.as_ref().is_ok_and(|output| output.status.success());
        if let Some(output) = output.ok().filter(|_| !passes) {
            println!("{}", String::from_utf8_lossy(&output.stdout).trim());
        }
        passes
    }
}
