//! Checked mode: each broken rule is reported at the call that breaks it, and correct calls are not reported.

use compat_tests::machine::Machine;
use jvmpi_layers::check::rules::RULES;

use crate::prelude::*;

cases![
    broken_rules_are_found,
    first_broken_rule_aborts.only(17),
    agents_that_keep_the_rules_are_not_reported.only(17),
    careless_agent_is_not_taken_for_a_library_of_the_jdk,
];

/// Returns the file name of an agent's library.
fn file_of(agent: &str) -> String {
    Machine::this().library(agent)
}

/// The agent says which rule it breaks next, so that standard error has steps and findings in turn. In between it makes
/// correct calls, which are not reported.
fn broken_rules_are_found(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Rules")?.agent("breaker", "")?.settings("check=on").run()?;
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
        Some(&*format!("[jvmpi] check: {} breaks rules in {places} places", file_of("breaker"))),
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
    outcome.checks(&["a trace", "its class", "kept name", "hooked", "status"])
}

/// Agents without events are checked too.
fn first_broken_rule_aborts(vm: &Vm<'_>) -> Result<(), String> {
    let abort = |launch: Launch| {
        let Err(why) = launch.settings("check=abort").run() else {
            return Err("it went on".into());
        };
        // Windows has an exit status for it.
        let end = if Machine::this().is_windows() { "exit status: 3" } else { "SIGABRT" };
        ensure!(why.contains(end), "{why}");
        equal("findings", why.matches("[jvmpi] check: ").count(), 1)?;
        Ok::<_, String>(why)
    };
    abort(vm.java("Rules")?.agent("breaker", "")?)?;
    let java = vm.java("Control")?.argument("agent").agent("faulty", "mode=suspends")?;
    let report = java.directory().join("report");
    let why = abort(java)?;
    ensure!(why.contains("[jvmpi] check: suspend/self: "), "{why}");
    let report = contents(report)?;
    let requested = 33 | 0x1000_0000;
    equal("report", report, format!("event type={requested}\nrequested result=0\n"))
}

/// HPROF and agents that keep the rules, in their usual work.
fn agents_that_keep_the_rules_are_not_reported(vm: &Vm<'_>) -> Result<(), String> {
    let profile = format!("file={}", text(&vm.file("profile.txt"))?);
    let [samples, times, old] =
        ["cpu=samples,interval=1,heap=all,monitor=y", "cpu=times", "cpu=old,thread=y"]
            .map(|options| format!("{options},{profile}"));
    let all = ["calls", "objects", "contention"];
    let library = |name: &str| if name == "hprof" { build::hprof() } else { build::agent(name) };
    for (agent, options, workload, arguments) in [
        ("idle", "", "Hello", &[][..]),
        ("big_lock", "calls=requests+traces+disabling", "Churn", &["500"]),
        ("class_hook", "mode=replaced", "Hook", &[]),
        ("sampler", "", "Sampled", &[]),
        ("hprof", &samples, "Profiled", &all),
        ("hprof", &times, "Profiled", &all),
        ("hprof", &old, "Profiled", &all),
    ] {
        let library = library(agent)?;
        let java = vm.java(workload)?.shim(&format!("{}:{options}", text(&library)?))?;
        let java = java.arguments(arguments.iter().copied());
        let java = java.property("agent.path", text(&library)?).settings("check=on");
        let outcome = java.run().map_err(|e| format!("{agent} {options}: {e}"))?;
        let last = format!("[jvmpi] check: {} has broken no rule", file_of(agent));
        let is_right = outcome.stderr.lines().any(|line| line == last);
        ensure!(is_right, "{agent} {options}: {}", outcome.stderr);
    }
    Ok(())
}

/// The harness finds the library that a warning of `-Xcheck:jni` is about.
fn careless_agent_is_not_taken_for_a_library_of_the_jdk(vm: &Vm<'_>) -> Result<(), String> {
    let why = vm.java("Hello")?.agent("faulty", "mode=careless")?.run().err().unwrap_or_default();
    ensure!(why.contains("libfaulty.so] WARNING in native method"), "{why}");
    Ok(())
}
