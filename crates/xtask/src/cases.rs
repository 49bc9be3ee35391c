//! `cargo xtask case` runs one case of `compat-tests`. `cargo xtask flaky` runs cases many times under load.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
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

/// Runs `cargo xtask flaky [N] [NAME...] [since=COMMIT]`: runs cases N times beside spinning processes, each time on
/// the next of their JVMs, and prints how often they passed. The default cases are those that have changed since the
/// commit, or since the last commit.
pub fn flaky(arguments: &[String]) -> Result<(), String> {
    let (mut rounds, mut names, mut since) = (USUAL_ROUNDS, BTreeSet::new(), "HEAD");
    for argument in arguments {
        if let Ok(number) = argument.parse() {
            rounds = number;
        } else if let Some(commit) = argument.strip_prefix("since=") {
            since = commit;
        } else {
            names.insert(argument.clone());
        }
    }
    let program = Program::build()?;
    let all = program.cases()?;
    if arguments.iter().all(|argument| argument.parse::<u32>().is_ok() || argument.contains('=')) {
        names = changed(since)?;
    }
    let named = |case: &&Case| names.iter().any(|name| case.is_named(name));
    let topics: BTreeSet<String> = all.iter().filter(named).map(Case::everywhere).collect();
    if topics.is_empty() {
        return Err(format!("no case has changed since {since}, and none is named"));
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

/// Returns the names of functions that have changed since the commit, or that name an agent or a workload that has
/// changed.
fn changed(since: &str) -> Result<BTreeSet<String>, String> {
    let files = git(&["diff", "--name-only", since, "--", "compat-tests"])?;
    let sources = ["compat-tests/agents/", "compat-tests/workloads/"];
    let is_source = |file: &&str| sources.iter().any(|folder| file.starts_with(folder));
    let stems = files.lines().filter(is_source).filter_map(|file| Path::new(file).file_stem());
    let quoted: Vec<String> = stems.map(|stem| format!("\"{}\"", stem.display())).collect();
    let mut names = BTreeSet::new();
    let folder = workspace_root().join("compat-tests/tests/compat");
    for entry in fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let text = fs::read_to_string(&path).unwrap_or_default();
        let path = path.to_string_lossy();
        let lines = changed_lines(&git(&["diff", "--unified=0", since, "--", &path])?);
        for function in functions(&text) {
            let has_changed = lines.iter().any(|line| function.lines.contains(line));
            if has_changed || quoted.iter().any(|name| function.text.contains(name.as_str())) {
                names.insert(function.name.to_owned());
            }
        }
    }
    Ok(names)
}

/// Returns the numbers of the lines that a diff without context adds.
fn changed_lines(diff: &str) -> BTreeSet<usize> {
    let hunks = diff.lines().filter_map(|line| line.strip_prefix("@@ ")?.split_once('+'));
    let ranges = hunks.filter_map(|(_, added)| {
        let added = added.split(' ').next()?;
        let (start, count) = added.split_once(',').unwrap_or((added, "1"));
        let start: usize = start.parse().ok()?;
        // If lines are only removed, the line before them counts as changed.
        Some(start..start + count.parse::<usize>().ok()?.max(1))
    });
    ranges.flatten().collect()
}

/// A function at the outermost level of a file.
struct Function<'a> {
    name: &'a str,
    lines: std::ops::RangeInclusive<usize>,
    text: String,
}

fn functions(text: &str) -> Vec<Function<'_>> {
    let mut functions: Vec<Function<'_>> = Vec::new();
    let mut is_inside = false;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        let declared = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("fn ");
        if let Some(name) = declared.and_then(|rest| rest.split(['(', '<']).next()) {
            functions.push(Function { name, lines: number..=number, text: String::new() });
            is_inside = true;
        }
        if let Some(function) = functions.last_mut().filter(|_| is_inside) {
            function.lines = *function.lines.start()..=number;
            function.text.push_str(line);
        }
        is_inside &= line != "}";
    }
    functions
}

fn git(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").current_dir(workspace_root()).args(arguments).output();
    let output = output.map_err(|e| format!("git: {e}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("git: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// The path of the compiled test program `compat`.
struct Program(PathBuf);

impl Program {
    /// Compiles the program. The output of Cargo is shown.
    fn build() -> Result<Self, String> {
        let mut cargo = cargo();
        cargo.args(["test", "--no-run", "--profile", "checked", "-p", "compat-tests"]);
        cargo.args(["--test", "compat", "--message-format=json-render-diagnostics"]);
        let output = cargo.stderr(Stdio::inherit()).output().map_err(|e| format!("cargo: {e}"))?;
        if !output.status.success() {
            return Err("the cases do not compile".to_owned());
        }
        let messages = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut executables = messages.lines().filter_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            let is_compat = message["target"]["name"] == "compat";
            is_compat.then(|| message["executable"].as_str().map(PathBuf::from))?
        });
        executables
            .next_back()
            .map(Self)
            .ok_or_else(|| "cargo built no test program with the name compat".to_owned())
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

    #[test]
    fn changed_lines_belong_to_the_functions_around_them() {
        let diff = "@@ -1,2 +2,3 @@ fn one()\n+x\n@@ -9 +9 @@\n@@ -20,2 +18,0 @@\n";
        let lines: Vec<usize> = changed_lines(diff).into_iter().collect();
        assert_eq!(lines, [2, 3, 4, 9, 18]);
        let text = "cases![one];\n\nfn one() {\n    java(\"A\")\n}\n\npub fn two<T>() {\n}\n";
        let functions = functions(text);
        let found: Vec<_> = functions.iter().map(|f| (f.name, f.lines.clone())).collect();
        assert_eq!(found, [("one", 3..=5), ("two", 7..=8)]);
        assert!(functions[0].text.contains("\"A\"") && !functions[1].text.contains("\"A\""));
    }
}
