//! Checked mode: each broken rule is reported at the call that breaks it, and correct calls are not reported.

use compat_tests::run::{Outcome, Vm};
use compat_tests::{build, text};
use jvmpi_layers::check::rules::RULES;

use crate::assert::equal;
use crate::cases;

cases![
    broken_rules_are_found,
    kept_rules_are_not,
    check_off_prints_nothing.only(17),
    the_first_one_aborts.only(17),
    agents_without_events_are_checked.only(17),
    agents_that_are_right.only(17),
    hprof_is_right.only(17),
    careless_agent_is_not_taken_for_a_library_of_the_jdk,
];

fn breaker(vm: &Vm<'_>, options: &str, settings: &str) -> Result<Outcome, String> {
    let java = vm.java("Rules")?.agent("breaker", options)?;
    java.settings(settings).run()
}

/// The agent says which rule it breaks next, so that standard error has steps and findings in turn.
fn broken_rules_are_found(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = breaker(vm, "mode=break", "check=on")?;
    let mut steps: Vec<(&str, Vec<&str>)> = Vec::new();
    let (mut places, mut late) = (0, Vec::new());
    for line in outcome.stderr.lines() {
        if let Some(step) = line.strip_prefix("step ") {
            steps.push((step, Vec::new()));
        } else if let Some(found) = line.strip_prefix("[jvmpi] check: ")
            && let Some((id, _)) = found.split_once(": ")
        {
            places += 1;
            steps.last_mut().ok_or("a finding before the first step")?.1.push(id);
        } else if line.starts_with("[jvmpi] check: ") {
            late.push(line);
        }
    }
    for (step, found) in &steps {
        ensure!(
            !found.is_empty() && found.iter().all(|id| id == step),
            "{step}: found {found:?}\n{}",
            outcome.stderr
        );
    }
    let mut broken: Vec<&str> = steps.iter().map(|(step, _)| *step).collect();
    broken.sort_unstable();
    let mut rules: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    rules.sort_unstable();
    equal("rules that were broken", broken, rules)?;
    equal(
        "the last word",
        late.first().copied(),
        Some(&*format!("[jvmpi] check: libbreaker.so breaks rules in {places} places")),
    )?;
    let again: Vec<_> =
        late.iter().filter_map(|l| l.strip_prefix("[jvmpi] check: 3 times ")).collect();
    ensure!(
        again.len() == 1 && again[0].starts_with("thread/null at "),
        "what came thrice: {late:?}"
    );
    // Static functions are named too, in the order of their calls.
    let block = outcome
        .stderr
        .split("[jvmpi] check: ")
        .find(|b| b.starts_with("raw-monitor/exit-not-owner"));
    let block = block.ok_or("no such finding")?;
    let names: Vec<_> = ["#0 break_monitors+", "#1 "].map(|name| block.find(name)).into();
    ensure!(names.iter().all(Option::is_some) && names.is_sorted(), "the stack: {block}");
    ensure!(block.contains("RawMonitorExit(\"_lock\" 0x"), "what was done: {block}");
    ensure!(
        block.contains("docs/reference/checks.md#raw-monitorexit-not-owner"),
        "where it stands: {block}"
    );
    outcome.checks(&["a trace", "its class", "kept name"])
}

fn kept_rules_are_not(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = breaker(vm, "mode=keep", "check=abort")?;
    let lines: Vec<_> = outcome.stderr.lines().filter(|l| l.contains("check:")).collect();
    equal("standard error", lines, ["[jvmpi] check: libbreaker.so has broken no rule"])?;
    outcome.checks(&["a trace", "its class", "hooked", "status"])
}

fn check_off_prints_nothing(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = breaker(vm, "mode=keep", "")?;
    ensure!(!outcome.stderr.contains("check:"), "{}", outcome.stderr);
    Ok(())
}

fn the_first_one_aborts(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Rules")?.agent("breaker", "mode=break")?.settings("check=abort");
    let Err(why) = java.run() else { return Err("it went on".to_owned()) };
    ensure!(why.contains("SIGABRT"), "{why}");
    equal("findings", why.matches("[jvmpi] check: ").count(), 1)
}

fn agents_without_events_are_checked(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Hello")?.agent("idle", "")?.settings("check=on").run()?;
    let last = "[jvmpi] check: libidle.so has broken no rule";
    ensure!(outcome.stderr.lines().any(|line| line == last), "{}", outcome.stderr);

    let java = vm.java("MainObjects")?.agent("self_suspend", "")?.settings("check=abort");
    let report = java.directory().join("report");
    let Err(why) = java.run() else { return Err("it went on".to_owned()) };
    ensure!(why.contains("[jvmpi] check: suspend/self: "), "{why}");
    let report = std::fs::read_to_string(report).map_err(|error| error.to_string())?;
    let requested = 33 | 0x1000_0000;
    equal("report", report, format!("event type={requested}\nrequested result=0\n"))
}

/// Nothing is reported for agents that keep the rules, in their usual work.
fn agents_that_are_right(vm: &Vm<'_>) -> Result<(), String> {
    let report = vm.file("samples.txt");
    let sampling = format!("interval=1,depth=8,top=4,out={}", text(&report)?);
    for (agent, options, workload, argument) in [
        ("big_lock", "calls=requests+traces+disabling", "Churn", "500"),
        ("class_hook", "mode=replaced", "Hook", ""),
        ("sampler", &*sampling, "Sampled", ""),
    ] {
        let java =
            vm.java(workload)?.agent(agent, options)?.argument(argument).settings("check=on");
        let outcome = java.run().map_err(|e| format!("{agent}: {e}"))?;
        let last = format!("[jvmpi] check: lib{agent}.so has broken no rule");
        ensure!(outcome.stderr.contains(&last), "{agent}: {}", outcome.stderr);
    }
    Ok(())
}

fn hprof_is_right(vm: &Vm<'_>) -> Result<(), String> {
    for options in
        ["cpu=samples,interval=1", "cpu=times", "cpu=old,thread=y", "heap=all", "monitor=y"]
    {
        let file = vm.file("profile.txt");
        let hprof = format!("{}:{options},file={}", text(&build::hprof()?)?, text(&file)?);
        let java = ["calls", "objects", "contention"]
            .into_iter()
            .fold(vm.java("Profiled")?, |java, argument| java.argument(argument));
        let outcome = java.shim(&hprof)?.settings("check=on").run()?;
        let last = "[jvmpi] check: libhprof.so has broken no rule";
        ensure!(outcome.stderr.contains(last), "{options}: {}", outcome.stderr);
    }
    Ok(())
}

/// The harness finds the library that a warning of `-Xcheck:jni` is about.
fn careless_agent_is_not_taken_for_a_library_of_the_jdk(vm: &Vm<'_>) -> Result<(), String> {
    let why = vm.java("Hello")?.agent("careless", "")?.run().err().unwrap_or_default();
    ensure!(why.contains("libcareless.so] WARNING in native method"), "{why}");
    Ok(())
}
