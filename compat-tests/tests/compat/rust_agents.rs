//! Agents written with the crate `jvmpi`: its examples, and one that tries what the crate can do.

use crate::prelude::*;

cases![
    examples_count_beside_each_other.on(&[Gc::G1, Gc::Z]),
    slow_methods_counts_calls_of_the_given_time,
    agent_that_fails_to_load_says_why,
    requests,
    threads,
    collections.on(&[Gc::G1, Gc::Z]),
    a_panic_in_an_event,
];

/// Returns the workload with these agents, each with its options.
fn points(vm: &Vm<'_>, agents: &[(&str, &str)]) -> Result<Launch, String> {
    agents.iter().try_fold(vm.java("Points")?, |java, (agent, options)| {
        java.shim(&format!("{}:{options}", text(&build::rust_agent(agent)?)?))
    })
}

/// Returns the numbers in the line of a table on stderr that ends in this name.
fn row(outcome: &Outcome, name: &str) -> Result<Vec<i64>, String> {
    let row = outcome.stderr.lines().find_map(|line| line.strip_suffix(&format!("  {name}")));
    let row = row.ok_or_else(|| format!("no line of {name} in:\n{}", outcome.stderr))?;
    let words = row.split_whitespace().filter(|word| *word != "ms");
    words.map(|word| word.parse().map_err(|e| format!("{word}: {e} in {row:?}"))).collect()
}

fn allocations_are_counted(outcome: &Outcome) -> Result<(), String> {
    let expected = outcome.expects.one("expect")?;
    let [bytes, objects] = row(outcome, "Points$Point")?[..] else { return Err("no row".into()) };
    equal("points", objects, expected.int("made")?)?;
    ensure!(bytes % objects == 0 && bytes / objects >= 8 + 12, "{bytes} bytes");
    equal("arrays of points", row(outcome, "Points$Point[]")?[1], 1)
}

fn slow_calls_are_counted(outcome: &Outcome) -> Result<(), String> {
    let expected = outcome.expects.one("expect")?;
    for (method, calls) in [("slow", expected.int("slow")?), ("failing", expected.int("failing")?)]
    {
        let [longest, counted] = row(outcome, &format!("Points.{method}"))?[..] else {
            return Err("no row".into());
        };
        equal(&format!("calls of {method}"), counted, calls)?;
        ensure!(longest >= 30, "{method} took {longest} ms");
    }
    equal("calls of main", row(outcome, "Points.main")?[1], 1)
}

fn slow_methods_counts_calls_of_the_given_time(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = points(vm, &[("slow_methods", "ms=3600000")])?.run()?;
    let none = "slow_methods: 0 methods had calls of 3600000 ms and more";
    ensure!(outcome.stderr.lines().any(|line| line == none), "{}", outcome.stderr);
    let outcome = points(vm, &[("slow_methods", "ms=0")])?.run()?;
    let touches = outcome.expects.one("expect")?.int("touches")?;
    equal("calls of touch", row(&outcome, "Points.touch")?[1], touches)
}

/// Each with a table and data of its own, and one in C with them.
fn examples_count_beside_each_other(vm: &Vm<'_>) -> Result<(), String> {
    let both = [("allocations", "top=100000"), ("slow_methods", "ms=30")];
    let outcome = points(vm, &both)?.agent("methods", "events=1+3,prefix=Points")?.run()?;
    allocations_are_counted(&outcome)?;
    slow_calls_are_counted(&outcome)?;
    let touches = outcome.report().find("calls", "method", "Points.touch")?;
    let expected = outcome.expects.one("expect")?.int("touches")?;
    equal("entries that C counts", touches.int("entries")?, expected)?;
    equal("exits that C counts", touches.int("exits")?, expected)
}

fn agent_that_fails_to_load_says_why(vm: &Vm<'_>) -> Result<(), String> {
    let requests = ("probe", "requests");
    for (agents, line) in [
        (
            &[("allocations", "bottom=3")][..],
            r#"[allocations] error: unknown option "bottom=3"; use top=NUMBER"#,
        ),
        (
            &[("probe", "panic-in-load")],
            "[probe] error: JVM_OnLoad failed with the panic above; the agent is not loaded",
        ),
        (
            &[requests, requests],
            "[probe] error: the agent is already loaded and cannot be loaded twice",
        ),
    ] {
        let outcome = points(vm, agents)?.run_to(1)?;
        ensure!(outcome.stderr.lines().any(|found| found == line), "{}", outcome.stderr);
    }
    Ok(())
}

fn probe(vm: &Vm<'_>, what: &str) -> Result<Launch, String> {
    // Only what the workload does.
    Ok(points(vm, &[("probe", what)])?.settings("include=Points*"))
}

fn requests(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = probe(vm, "requests")?.run()?;
    outcome.checks(&[
        "class files were replaced",
        "an object is that of its dump",
        "all objects are listed",
        "points are what they were made",
        "a class is told",
        "its methods are told",
        "a method is of its class",
        "an object is dumped",
        "there is no such object",
        "a panic goes on in the caller",
        "a reference is of its object",
        "a raw monitor is dumped",
        "threads are dumped",
    ])?;
    let dumped = outcome.report().one("points")?.int("dumped")?;
    equal("points", dumped, outcome.expects.one("expect")?.int("kept")?)
}

/// Each thread has its own count, while another thread reads all counts. A thread's data is dropped when
/// the thread ends, but not while it is being read.
fn threads(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = probe(vm, "threads")?.run()?;
    outcome.checks(&["probe-0", "probe-1", "probe-2", "probe-3", "probe-4"])?;
    let (report, expected) = (outcome.report(), outcome.expects.one("expect")?);
    let mut touches = 0;
    for i in 0..expected.int("threads")? {
        let ended = report.find("ended", "thread", &format!("points-{i}"))?.int("touches")?;
        equal(&format!("touches of thread {i}"), ended, 100 * i)?;
        touches += ended;
    }
    equal("touches", touches, expected.int("touches")?)?;
    let sampled = report.one("sampled")?;
    // The first of the threads does not touch.
    equal("threads with data", sampled.int("made")?, expected.int("threads")? - 1)?;
    equal("dead data seen", sampled.int("dead")?, 0)?;
    ensure!(sampled.int("looks")? > 0 && sampled.int("frames")? > 0, "{sampled}");
    let dropped = sampled.int("dropped")?;
    ensure!((1..=sampled.int("made")?).contains(&dropped), "{sampled}");
    Ok(())
}

fn collections(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = probe(vm, "collections")?.run()?;
    let (report, expected) = (outcome.report(), outcome.expects.one("expect")?);
    equal("frees outside of the bracket", report.one("frees")?.int("unlocked")?, 0)?;
    let heaps: Vec<_> = report.lines("heap").collect();
    equal("collections asked for", heaps.len() as i64, expected.int("slow")?)?;
    let (made, kept) = (expected.int("made")?, expected.int("kept")?);
    for (i, heap) in heaps.iter().enumerate() {
        equal("points left", heap.int("left")?, kept)?;
        equal("points freed", heap.int("freed")?, made - kept)?;
        ensure!(heap.int("collections")? > i as i64, "{heap}");
    }
    Ok(())
}

fn a_panic_in_an_event(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = probe(vm, "panic")?.run()?;
    let slow = outcome.report().one("slow")?;
    equal("entries", slow.int("entries")?, 1)?;
    equal("exits", slow.int("exits")?, outcome.expects.one("expect")?.int("slow")?)?;
    let line =
        "[probe] error: METHOD_ENTRY is disabled after the panic above; the program continues";
    equal("lines", outcome.stderr.lines().filter(|found| *found == line).count(), 1)
}
