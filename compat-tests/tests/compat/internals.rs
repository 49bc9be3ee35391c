//! Removes the internals of docs/explanation/internals.md, one at a time and all together: the program continues, and
//! one line says what agents miss.

use std::time::Duration;

use compat_tests::soak::{End, Expected, Round};
use compat_tests::workspace_root;

use crate::prelude::*;

cases![each_taken_away.only(25).slow(), all_taken_away.slow(), transitions_stay_unknown.since(21)];

/// The program's running time: long enough for agents to ask for everything.
const LENGTH: Duration = Duration::from_millis(800);

/// A round in which agents enable all events, sample, request and dump.
const SEED: u64 = 0;

/// Returns the internals that are searched for in every such round. The others are needed only by the agents' random
/// requests, by virtual threads, or by a thread that waits.
fn always(feature: u32) -> Vec<&'static str> {
    let mut names = vec![
        "eetop",
        "Arguments",
        "JVM_Sleep",
        "JVM_MonitorWait",
        "collector",
        "LiveStackFrame",
        "enumConstants",
        "membarrier",
    ];
    if feature >= 17 {
        names.push("AsyncGetCallTrace");
    }
    names
}

/// Returns the names of the page.
pub fn names() -> Result<Vec<String>, String> {
    let page = contents(workspace_root().join("docs/explanation/internals.md"))?;
    let name = |line: &str| Some(line.strip_prefix("| **")?.split_once("**")?.0.to_owned());
    Ok(page.lines().filter_map(name).collect())
}

/// Runs everything without these things; the lines that say what is missing.
fn without(vm: &Vm<'_>, case: &str, names: &str) -> Result<Vec<String>, String> {
    let case = format!("{}/{case}", vm.case());
    let round =
        Round { jdk: vm.jdk, gc: vm.gc, program: None, length: LENGTH, seed: SEED, without: names };
    if let End::Missing(why) = round.run(&case, &mut Expected::default())? {
        return Err(why);
    }
    let stderr = contents(Vm::new(vm.jdk, vm.gc, &case).file("0/stderr"))?;
    let said = stderr.lines().filter_map(|line| Some(line.split_once(": cannot find ")?.1));
    Ok(said.map(|rest| rest.split(": ").next().unwrap_or_default().to_owned()).collect())
}

fn each_taken_away(vm: &Vm<'_>) -> Result<(), String> {
    let names = names()?;
    ensure!(names.len() > 10, "the page has {names:?}");
    let missing = without(vm, "nothing", "nothing")?;
    let expected: &[&str] = if vm.jdk.feature >= 28 { &["thread_state"] } else { &[] };
    equal("missing", &missing[..], expected)?;
    for name in names {
        let mut said = without(vm, &name, &name)?;
        said.retain(|said| *said == name || !missing.contains(said));
        let is_expected = always(vm.jdk.feature).contains(&name.as_str());
        ensure!(said.iter().all(|said| *said == name), "without {name}: {said:?}");
        ensure!(said.len() <= 1 && (said.len() == 1 || !is_expected), "without {name}: {said:?}");
    }
    Ok(())
}

fn all_taken_away(vm: &Vm<'_>) -> Result<(), String> {
    let mut said = without(vm, "all", "all")?;
    // Without the first of these, the second is never reached.
    let is_looked_for = |name: &&str| *name != "enumConstants";
    for name in always(vm.jdk.feature).into_iter().filter(is_looked_for) {
        equal(name, said.iter().filter(|said| *said == name).count(), 1)?;
    }
    said.sort();
    let times = said.len();
    said.dedup();
    equal("lines", said.len(), times)
}

/// A scheduler that does not report transitions need not report them when more is reported later. Actions of its
/// threads between virtual threads are reported.
fn transitions_stay_unknown(vm: &Vm<'_>) -> Result<(), String> {
    let java =
        vm.java_for(21, "OwnScheduler")?.agent("methods", "events=1,late=3,prefix=OwnScheduler")?;
    let java = java.flag("--add-opens=java.base/java.lang=ALL-UNNAMED");
    let java = java.variable("JVMPI_TEST_WITHOUT", "transitions");
    let outcome = java.settings("virtual=own,include=OwnScheduler*").run()?;
    equal("lines", outcome.stderr.matches("cannot find transitions: ").count(), 1)?;
    let steps = outcome.report().find("calls", "method", "OwnScheduler.step")?;
    let made = outcome.expects.one("expect")?.int("steps")?;
    ensure!(made > 10, "only {made} steps");
    equal("entries", steps.int("entries")?, made)?;
    equal("exits", steps.int("exits")?, made)
}
