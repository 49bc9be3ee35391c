//! Raw monitors.

use compat_tests::run::Vm;

use crate::assert::equal;
use crate::cases;

cases![in_jvm_on_load_and_later.on_every_gc(), contention_is_reported, waiting_leaves_and_enters,];

/// Raw monitors work in `JVM_OnLoad` and later. A thread that waits for one does not stop collections.
fn in_jvm_on_load_and_later(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("RawMonitors")?.agent("raw_monitors", "")?.run()?;
    outcome.checks(&["not owned at all", "all were notified", "many of one name"])?;
    for place in ["on_load", "java"] {
        outcome.report().find("passed", "where", place)?;
    }
    let alive: Vec<_> =
        outcome.expects.all().iter().map(|line| line.text("alive")).collect::<Result<_, _>>()?;
    equal("alive while it waits, and after", alive, ["true", "false"])
}

fn contention_is_reported(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Contention")?.agent("contention", "")?.run()?;
    outcome.checks(&["blocked", "through"])?;
    let report = outcome.report();
    let contender = report.one("contender")?.id("env")?;
    let holder = report.one("holder")?.id("env")?;
    for (word, env) in [("enter", contender), ("entered", contender), ("exit", holder)] {
        let event = report.one(word)?;
        ensure!(event.text("name")? == "plain" && event.int("same")? == 1, "{event}");
        ensure!(event.id("env")? == env && event.id("self")? == env, "wrong thread: {event}");
    }
    let at = |word: &str| report.position(|line| line.word == word);
    ensure!(at("enter") < at("exit"), "the exit came before the other thread was blocked");
    ensure!(at("enter") < at("entered") && at("entered") < at("inside"), "wrong order");
    Ok(())
}

fn waiting_leaves_and_enters(vm: &Vm<'_>) -> Result<(), String> {
    for mode in ["leave", "return"] {
        let outcome = vm.java("Contention")?.agent("contention", &format!("mode={mode}"))?.run()?;
        outcome.checks(&["blocked", "through"])?;
        let report = outcome.report();
        let (contender, holder) = (report.one("contender")?, report.one("holder")?);
        let (contender, holder) = (contender.id("env")?, holder.id("env")?);
        let first = |word: &str, env| {
            report.position(|line| line.word == word && line.id("env") == Ok(env))
        };
        let (enter, exit) = (first("enter", contender), first("exit", holder));
        let entered = first("entered", contender);
        ensure!(enter.is_some() && exit.is_some(), "{mode}: no enter or exit");
        ensure!(enter < exit && enter < entered, "{mode}: wrong order");
        equal("pairs", report.count("entered"), report.count("enter"))?;
    }
    Ok(())
}
