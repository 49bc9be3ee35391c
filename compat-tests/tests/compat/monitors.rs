//! Java monitors: contention, waiting and sleep.

use std::collections::BTreeSet;

use compat_tests::report::{Line, Report};
use compat_tests::run::{Outcome, Vm};

use crate::assert::equal;
use crate::cases;

cases![contention, ways_out, waiting];

/// The lines about the watched monitor.
fn watched<'a>(report: &'a Report, monitor: &'a str) -> impl Iterator<Item = &'a Line> {
    report.all().iter().filter(move |line| line.text("monitor") == Ok(monitor))
}

fn count(report: &Report, word: &str) -> usize {
    watched(report, "contended").filter(|line| line.word == word).count()
}

fn staged(
    vm: &Vm<'_>,
    way: &str,
    waiters: usize,
    events: &str,
) -> Result<(Outcome, usize), String> {
    let java = vm.java("Contended")?.agent("monitors", &format!("events={events}"))?;
    let outcome = java.argument(way).argument(&waiters.to_string()).run()?;
    let rounds = outcome.expects.one("expect")?.int("rounds")? as usize;
    Ok((outcome, rounds))
}

/// Every thread that waits is reported, and reported as the owner later. Whoever leaves the monitor
/// while others wait is reported before the next one gets it.
fn contention(vm: &Vm<'_>) -> Result<(), String> {
    for waiters in [2, 8, 32] {
        handed_on(vm, "BLOCK", waiters)?;
    }
    Ok(())
}

/// However a monitor is left: only leaving it for good counts.
fn ways_out(vm: &Vm<'_>) -> Result<(), String> {
    for way in ["METHOD", "STATIC", "RECURSIVE", "BESIDE", "THROWN", "METHOD_THROWN"] {
        handed_on(vm, way, 3).map_err(|error| format!("{way}: {error}"))?;
    }
    Ok(())
}

fn handed_on(vm: &Vm<'_>, way: &str, waiters: usize) -> Result<(), String> {
    let (outcome, rounds) = staged(vm, way, waiters, "54+55+56")?;
    let report = outcome.report();
    for word in ["enter", "entered", "exit"] {
        equal(word, count(report, word), rounds * waiters)?;
    }
    let mut waiting = BTreeSet::new();
    let mut owner = "main".to_owned();
    let mut left = false;
    for line in watched(report, "contended") {
        let thread = line.text("thread")?;
        match line.word.as_str() {
            "enter" => ensure!(waiting.insert(thread.to_owned()), "waits twice: {line}"),
            "entered" => {
                ensure!(waiting.remove(thread), "has not waited: {line}");
                ensure!(left, "the owner has not left: {line}");
                (owner, left) = (thread.to_owned(), false);
            }
            _ => {
                ensure!(thread == owner && !left, "not the owner, {owner}: {line}");
                ensure!(!waiting.is_empty(), "nobody waits: {line}");
                left = true;
            }
        }
        if waiting.is_empty() {
            owner = "main".to_owned();
        }
    }
    Ok(())
}

/// `wait` and its end, with the timeout and the time that has passed.
fn waiting(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Waits")?.agent("monitors", "events=57+58")?.run()?;
    let report = outcome.report();
    let of = |name: &str| -> Vec<&Line> {
        report.all().iter().filter(|line| line.text("thread") == Ok(name)).collect()
    };
    for (name, monitor, timeout) in [
        ("timed", "monitor", 60),
        ("notified", "monitor", 0),
        ("interrupted", "monitor", 100_000),
        ("sleep", "-", 70),
        ("sleep_nanos", "-", 41),
        ("sleeper", "-", 100_000),
    ] {
        let lines = of(name);
        let words: Vec<_> = lines.iter().map(|line| line.word.as_str()).collect();
        equal(name, words, vec!["wait", "waited"])?;
        for line in &lines {
            equal("monitor", line.text("monitor")?, monitor)?;
        }
        equal("timeout", lines[0].int("timeout")?, timeout)?;
        let waited = lines[1].int("timeout")?;
        match outcome.expects.find("expect", "thread", name).and_then(|line| line.int("millis")) {
            // What is rounded up as a timeout is not rounded up as time that passes.
            Ok(millis) => {
                ensure!((timeout - 1..=millis).contains(&waited), "{name}: {waited} ms");
            }
            Err(_) => ensure!(waited < 20_000, "{name}: {waited} ms"),
        }
    }
    ensure!(of("park").is_empty() && of("sleep_zero").is_empty(), "more is reported than waits");
    Ok(())
}
