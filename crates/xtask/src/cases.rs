//! `cargo xtask case` runs one case of `compat-tests`. `cargo xtask flaky` runs cases many times under load.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use compat_tests::spinning::Spinning;
use compat_tests::{MANIFEST_DIR, cargo, echo, workspace_root};

/// The default JVM of `cargo xtask case`.
const USUAL_JDK: &str = "17";
const USUAL_GC: &str = "g1";
/// The default number of runs of each case in `cargo xtask flaky`.
const USUAL_ROUNDS: u32 = 20;
/// The end of the name of a case that runs under load.
const UNDER_LOAD: &str = "_under_load";

/// A case on one JVM: `jdk17/g1/topic/case`.
#[derive(Clone, Debug, PartialEq)]
struct Case {
    name: String,
}

impl Case {
    fn parts(&self) -> [&str; 4] {
        let mut parts = self.name.splitn(4, '/');
        [(); 4].map(|()| parts.next().unwrap_or_default())
    }

    /// Returns true if `name` is a name of the case: `case`, `topic/case` or the whole name.
    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.name.ends_with(&format!("/{name}"))
    }

    /// Returns `topic/case`, which is the same on every JVM.
    fn everywhere(&self) -> String {
        let [_, _, topic, case] = self.parts();
        format!("{topic}/{case}")
    }
}

/// Runs `cargo xtask case NAME [JDK] [GC]`: runs one case and shows the output of its JVMs.
pub fn case(arguments: &[String]) -> Result<(), String> {
    let (name, jvm) =
        arguments.split_first().ok_or("no NAME given: cargo xtask case NAME [JDK] [GC]")?;
    let program = Program::build()?;
    let case = choose(&program.cases()?, name, jvm)?;
    println!("{}", case.name);
    if program.run(&case).env(echo::ECHO, "1").status().is_ok_and(|status| status.success()) {
        Ok(())
    } else {
        Err(format!("{} failed", case.name))
    }
}

/// Returns the case of this name on the JVM that the arguments name. Otherwise prefers the default JVM, then the first
/// that has the case.
fn choose(cases: &[Case], name: &str, jvm: &[String]) -> Result<Case, String> {
    let named: Vec<&Case> = cases.iter().filter(|case| case.is_named(name)).collect();
    if named.is_empty() {
        return Err(format!(
            "there is no case {name}; list all with cargo test -p compat-tests --profile checked -- --list"
        ));
    }
    let topics: BTreeSet<String> = named.iter().map(|case| case.everywhere()).collect();
    if topics.len() > 1 {
        let topics: Vec<String> = topics.into_iter().collect();
        return Err(format!("{name} is the name of several cases: {}", topics.join(", ")));
    }
    let is_jdk = |word: &&String| word.trim_start_matches("jdk").parse::<u32>().is_ok();
    let jdk = jvm.iter().find(is_jdk).map(|word| format!("jdk{}", word.trim_start_matches("jdk")));
    let gc = jvm.iter().find(|word| !is_jdk(word));
    let fits = |case: &&&Case| {
        let [on, with, ..] = case.parts();
        jdk.as_ref().is_none_or(|jdk| jdk == on) && gc.is_none_or(|gc| gc == with)
    };
    let is_usual = |case: &&&Case| {
        let [on, with, ..] = case.parts();
        (jdk.is_some() || on == format!("jdk{USUAL_JDK}")) && (gc.is_some() || with == USUAL_GC)
    };
    let fitting: Vec<&Case> = named.iter().filter(fits).copied().collect();
    let chosen = fitting.iter().find(is_usual).or_else(|| fitting.first());
    chosen.map(|case| (*case).clone()).ok_or_else(|| {
        let names: Vec<&str> = named.iter().map(|case| case.name.as_str()).collect();
        format!("{name} does not run on {}; it runs as {}", jvm.join(" "), names.join(", "))
    })
}

/// Runs `cargo xtask flaky [N] NAME...`: runs cases, or all cases of topics, N times beside spinning processes, each
/// time on the next of their JVMs, and prints how often they passed.
pub fn flaky(arguments: &[String]) -> Result<(), String> {
    let (mut rounds, mut names) = (USUAL_ROUNDS, BTreeSet::new());
    for argument in arguments {
        match argument.parse() {
            Ok(number) => rounds = number,
            Err(_) => _ = names.insert(argument.as_str()),
        }
    }
    let program = Program::build()?;
    let all = program.cases()?;
    let named =
        |case: &&Case| names.iter().any(|name| case.is_named(name) || case.parts()[2] == *name);
    let topics: BTreeSet<String> = all.iter().filter(named).map(Case::everywhere).collect();
    if topics.is_empty() {
        return Err("no case and no topic is named: cargo xtask flaky [N] NAME...".to_owned());
    }
    let _spinning = Spinning::start()?;
    let mut failed = 0;
    for topic in topics {
        let places: Vec<&Case> = all.iter().filter(|case| case.everywhere() == topic).collect();
        let runs = places.iter().cycle().take(rounds as usize);
        let failures: Vec<&str> =
            runs.filter(|case| !program.passes(case)).map(|case| case.name.as_str()).collect();
        println!("{topic}: {} of {rounds} passed", rounds as usize - failures.len());
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
        let package = workspace_root().join("compat-tests");
        let mut command = Command::new(&self.0);
        command.current_dir(&package).env(MANIFEST_DIR, &package);
        command
    }

    /// Returns all cases, except those that run under load.
    fn cases(&self) -> Result<Vec<Case>, String> {
        let output = self.command().arg("--list").output().map_err(|e| e.to_string())?;
        let list = String::from_utf8_lossy(&output.stdout).into_owned();
        let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
        // A case that cannot run here has the reason before its name.
        let names = names.filter(|name| name.starts_with("jdk") && !name.ends_with(UNDER_LOAD));
        Ok(names.map(|name| Case { name: name.to_owned() }).collect())
    }

    fn run(&self, case: &Case) -> Command {
        let mut command = self.command();
        command.args(["--exact", &case.name]);
        command
    }

    fn passes(&self, case: &Case) -> bool {
        let output = self.run(case).output();
        let passes = output.as_ref().is_ok_and(|output| output.status.success());
        if let Some(output) = output.ok().filter(|_| !passes) {
            println!("{}", String::from_utf8_lossy(&output.stdout).trim());
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(names: &[&str]) -> Vec<Case> {
        names.iter().map(|name| Case { name: (*name).to_owned() }).collect()
    }

    fn chosen(all: &[Case], name: &str, jvm: &[&str]) -> Result<String, String> {
        let jvm: Vec<String> = jvm.iter().map(|word| (*word).to_owned()).collect();
        choose(all, name, &jvm).map(|case| case.name)
    }

    #[test]
    fn one_case_is_chosen_on_the_named_jvm_or_the_usual_one() {
        let all = cases(&[
            "jdk11/serial/a/new",
            "jdk17/serial/a/new",
            "jdk17/g1/a/new",
            "jdk21/z/a/new",
            "jdk21/z/a/only",
            "jdk17/g1/b/both",
            "jdk17/g1/c/both",
        ]);
        let name = |case: &str| Ok(case.to_owned());
        assert_eq!(chosen(&all, "new", &[]), name("jdk17/g1/a/new"));
        assert_eq!(chosen(&all, "a/new", &["11"]), name("jdk11/serial/a/new"));
        assert_eq!(chosen(&all, "new", &["serial", "jdk17"]), name("jdk17/serial/a/new"));
        assert_eq!(chosen(&all, "only", &[]), name("jdk21/z/a/only"));
        assert_eq!(chosen(&all, "jdk21/z/a/new", &[]), name("jdk21/z/a/new"));
        assert!(chosen(&all, "only", &["17"]).unwrap_err().contains("jdk21/z/a/only"));
        assert!(chosen(&all, "both", &[]).unwrap_err().contains("b/both, c/both"));
        assert!(chosen(&all, "ew", &[]).is_err());
    }
}
