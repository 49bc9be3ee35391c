//! Java monitors: contention, waiting and sleep.

use compat_tests::report::{Line, Report};
use compat_tests::run::{Outcome, Vm};

use crate::assert::equal;
use crate::cases;

cases![contention, waiting];

/// The lines about the watched monitor.
fn watched<'a>(report: &'a Report, monitor: &'a str) -> impl Iterator<Item = &'a Line> {
    report.all().iter().filter(move |line| line.text("monitor") == Ok(monitor))
}

fn count(report: &Report, word: &str) -> usize {
    watched(report, "contended").filter(|line| line.word == word).count()
}

fn staged(vm: &Vm<'_>, way: &str, waiters: usize, events: &str) -> Result<(Outcome, usize), String> {
    let java = vm.java("Contended")?.agent("monitors", &format!("events={events}"))?;
    let outcome = java.argument(way).argument(&waiters.to_string()).run()?;
    let rounds = outcome.expects.one("expect")?.int("rounds")? as usize;
    Ok((outcome, rounds))
}

/// Each thread that waits is reported, and reported as the owner later.
fn contention(vm: &Vm<'_>) -> Result<(), String> {
    for waiters in [2, 8] {
        let (outcome, rounds) = staged(vm, "BLOCK", waiters, "54+55")?;
        let report = outcome.report();
        for i in 0..waiters {
            let name = format!("waiter-{i}");
            let of_thread = watched(report, "contended").filter(|l| l.text("thread") == Ok(&name));
            let words: Vec<_> = of_thread.map(|line| line.word.as_str()).collect();
            equal(&name, words, ["enter", "entered"].repeat(rounds))?;
        }
        equal("enter", count(report, "enter"), rounds * waiters)?;
        equal("entered", count(report, "entered"), rounds * waiters)?;
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
            Ok(millis) => ensure!((timeout..=millis).contains(&waited), "{name}: {waited} ms"),
            Err(_) => ensure!(waited < 20_000, "{name}: {waited} ms"),
        }
    }
    ensure!(of("park").is_empty() && of("sleep_zero").is_empty(), "more is reported than waits");
    Ok(())
}
