//! The examples of the documentation. The listings of `docs/howto/port-to-jvmti.md` run as agents of JVMTI and are
//! compared with agents of JVMPI that do the same on the shim.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use compat_tests::{jdk, workspace_root};

use crate::prelude::*;

cases![
    allocations_through_both_entry_points.since(17),
    moved_agent_prints_what_the_jvmpi_agent_prints,
    inserted_calls_are_those_that_jvmpi_reports,
    inserted_bytecode_is_that_of_the_page,
    sampler_of_the_tutorial_finds_the_hottest_method,
];

const PAGE: &str = include_str!("../../../docs/howto/port-to-jvmti.md");

/// Compiles an agent of `examples/jvmti`.
fn example(name: &str) -> Result<PathBuf, String> {
    example_of("jvmti", name)
}

fn example_of(folder: &str, name: &str) -> Result<PathBuf, String> {
    let source = workspace_root().join("examples").join(folder).join(name).with_extension("c");
    let output = build::output_dir().join("examples").join(format!("lib{name}.so"));
    let flags = ["-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-D_GNU_SOURCE"];
    let include = [workspace_root().to_owned()];
    build::c(&source, &output, &include, &flags, &["-shared", "-fPIC", "-pthread"])
}

fn with_example(java: Launch, name: &str, options: &str) -> Result<Launch, String> {
    Ok(java.flag(&format!("-agentpath:{}={options}", text(&example(name)?)?)))
}

/// Returns the code blocks of the page with this info string.
fn blocks(info: &str) -> Vec<&'static str> {
    let blocks = PAGE.split("```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix(info)?.strip_prefix('\n')).collect()
}

/// Returns the numbers of objects that `both.c` has counted, by class.
fn counts(outcome: &Outcome) -> BTreeMap<String, i64> {
    let lines = outcome.stderr.lines().filter_map(|line| line.trim().split_once(' '));
    let counts = lines.filter_map(|(count, class)| Some((class.to_owned(), count.parse().ok()?)));
    counts.filter(|(class, _)| class.starts_with("Points") && !class.contains('/')).collect()
}

fn allocations_through_both_entry_points(vm: &Vm<'_>) -> Result<(), String> {
    let library = example("both")?;
    let jvmpi = vm.java("Points")?.shim_alone()?.library_path(&library)?.flag("-Xrunboth").run()?;
    let jvmti = with_example(vm.java("Points")?, "both", "")?.run()?;
    let points = counts(&jvmpi).get("Points$Point").copied();
    equal("points", points, Some(jvmpi.expects.one("expect")?.int("made")?))?;
    let with_jvmti = counts(&jvmti);
    equal("points", with_jvmti.get("Points$Point"), points.as_ref())?;
    equal("thread names", with_jvmti.get("Points"), counts(&jvmpi).get("Points"))
}

/// Returns the entries of the output that concern the program. An entry is a line with the indented lines after it,
/// reduced to the program's frames. The entries are sorted, because threads run at different speeds.
fn entries(outcome: &Outcome) -> Result<Vec<String>, String> {
    let mut entries: Vec<String> = Vec::new();
    for line in outcome.stdout.lines() {
        match entries.last_mut() {
            Some(entry) if line.starts_with("  ") => {
                if line.starts_with("  Ported") {
                    *entry += line;
                }
            }
            _ => entries.push(line.to_owned()),
        }
    }
    entries.retain(|entry| {
        ["Ported", "ported", "collections"].iter().any(|about| entry.contains(about))
    });
    entries.sort();
    for expected in ["class Ported$Unloaded is unloaded", "most samples:  Ported.compute:-1"] {
        ensure!(entries.iter().any(|entry| entry == expected), "no {expected:?} in {entries:?}");
    }
    Ok(entries)
}

fn moved_agent_prints_what_the_jvmpi_agent_prints(vm: &Vm<'_>) -> Result<(), String> {
    let jvmti = entries(&with_example(vm.java("Ported")?, "moved", "")?.run()?)?;
    let jvmpi = entries(&vm.java("Ported")?.agent("ported", "")?.run()?)?;
    ensure!(jvmti.len() >= 14, "{jvmti:?}");
    equal("entries", jvmti, jvmpi)
}

/// Compiles `Tracker.java` and returns the options of `methods.c`.
fn tracker(prefix: &str) -> Result<String, String> {
    let sources = workspace_root().join("examples/jvmti");
    let classes = build::java(&sources, &build::output_dir().join("classes/tracker"), 8, &[])?;
    Ok(format!("{classes},{prefix}"))
}

/// Returns what was called and left on the main thread, in order.
fn calls(outcome: &Outcome) -> Vec<(&str, &str)> {
    let lines =
        outcome.stderr.lines().filter_map(|line| line.strip_prefix("main ")?.split_once(' '));
    lines.filter(|(_, method)| !method.contains("$$Lambda")).collect()
}

fn inserted_calls_are_those_that_jvmpi_reports(vm: &Vm<'_>) -> Result<(), String> {
    let java = || Ok::<_, String>(vm.java("Calls")?.argument("alone").flag("-Xverify:all"));
    let jvmti = with_example(java()?, "methods", &tracker("Calls")?)?.run()?;
    let jvmpi = java()?.agent("ported", "methods=1,prefix=Calls")?.run()?;
    equal("the program's output", &jvmti.stdout, &java()?.run()?.stdout)?;
    let (inserted, reported) = (calls(&jvmti), calls(&jvmpi));
    let known: BTreeSet<_> = inserted.iter().map(|(_, method)| *method).collect();
    ensure!(known.len() > 30 && inserted.len() > 3000, "{} calls of {known:?}", inserted.len());
    // Native methods have no code to insert calls into, and constructors that throw do not report that they are left.
    let comparable = |calls: &[(&str, &str)]| -> Vec<String> {
        let calls = calls.iter().filter(|(what, method)| {
            known.contains(method) && !(*what == "leaves" && method.ends_with(".<init>"))
        });
        calls.map(|(what, method)| format!("{what} {method}")).collect()
    };
    let (inserted, reported) = (comparable(&inserted), comparable(&reported));
    let differ = inserted.iter().zip(&reported).position(|(a, b)| a != b);
    if let Some(at) = differ {
        let around = at.saturating_sub(3)..at + 4;
        return Err(format!(
            "{:?} instead of {:?}",
            inserted.get(around.clone()),
            reported.get(around)
        ));
    }
    equal("calls", inserted.len(), reported.len())
}

/// Disassembles `Account.add`. Constants are numbered differently by each compiler.
fn disassembled(directory: &str) -> Result<String, String> {
    let javap = jdk::with_javac()?.home.join("bin/javap");
    let output = Command::new(javap).args(["-c", "-p", "-cp", directory, "Account"]).output();
    let output = String::from_utf8(output.map_err(|e| e.to_string())?.stdout);
    let output = output.map_err(|e| e.to_string())?;
    let method = output.split_once("  static int add(int);").ok_or_else(|| output.clone())?.1;
    let method = method.split("\n\n").next().unwrap_or(method);
    Ok(words(&format!("static int add(int); {method}")))
}

/// Returns the words of a disassembled method, without the numbers of constants.
fn words(listing: &str) -> String {
    let words = listing.split_whitespace().filter(|word| !word.starts_with('#'));
    words.collect::<Vec<_>>().join(" ")
}

fn inserted_bytecode_is_that_of_the_page(vm: &Vm<'_>) -> Result<(), String> {
    let source = fs::read_to_string(workspace_root().join("compat-tests/workloads/Account.java"));
    let [shown] = blocks("java")[..] else { return Err("not one Java listing".into()) };
    ensure!(words(&source.map_err(|e| e.to_string())?).contains(&words(shown)), "other source");
    let java = vm.java("Account")?;
    let saved = text(java.directory())?.to_owned();
    let java = with_example(java, "methods", &tracker("Account")?)?;
    let outcome = java.variable("METHODS_SAVE", &saved).run()?;
    equal("the program's output", outcome.stdout.as_str(), "42\n")?;
    let expected = ["calls", "leaves", "calls", "leaves", "calls", "leaves"];
    let add = calls(&outcome).into_iter().filter(|(_, method)| *method == "Account.add");
    equal("events", add.map(|(what, _)| what).collect::<Vec<_>>(), expected)?;
    for (info, directory) in [("text before", build::classes(8)?), ("text after", saved)] {
        let [listing] = blocks(info)[..] else { return Err(format!("not one {info}")) };
        equal(info, disassembled(&directory)?, words(listing))?;
    }
    Ok(())
}

fn sampler_of_the_tutorial_finds_the_hottest_method(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Ported")?.shim(text(&example_of("agent", "sampler")?)?)?;
    let outcome = java.settings("check=on").run()?;
    let is_row = |line: &&str| !line.starts_with("[jvmpi] check: libsampler.so has broken no rule");
    let rows = outcome.stderr.lines().filter(is_row).map(|line| {
        let (samples, method) = line.trim().split_once(' ').ok_or_else(|| line.to_owned())?;
        Ok((samples.parse::<u32>().map_err(|_| line.to_owned())?, method))
    });
    let hottest = rows.collect::<Result<Vec<_>, String>>()?.into_iter().max();
    equal("hottest method", hottest.map(|(_, method)| method), Some("Ported.compute"))
}
