//! Agents that take one lock in every event, hold it from `GC_START` to `GC_FINISH`, and make their
//! calls under it: no deadlock, which the harness would end as a hung run.

use crate::objects::keeps_rules;
use crate::prelude::*;

cases![
    everything.on_every_gc().on_every_jdk(),
    beside_another.under_load_on(&[11, 25]),
    everything_under_a_mutex.on(&[Gc::G1, Gc::Z]),
    held_during_dumps,
];

/// Runs four threads that allocate while the agent makes these calls. Returns the agent's counts.
fn churn(vm: &Vm<'_>, options: &str) -> Result<Line, String> {
    let java = vm.java("Churn")?.argument("1000").agent("big_lock", options)?;
    let outcome = java.run()?;
    let done = outcome.report().one("done")?;
    ensure!(done.int("events")? > 10_000, "{done}");
    ensure!(done.int("brackets")? >= 1, "{done}");
    // The agent requests only live objects.
    ensure!(done.int("served")? == done.int("requests")?, "{done}");
    Ok(done.clone())
}

/// Fails if one of these counts is 0.
fn did(done: &Line, what: &[&str]) -> Result<(), String> {
    for what in what {
        ensure!(done.int(what)? > 0, "{what}: {done}");
    }
    Ok(())
}

const EVERYTHING: &str = "calls=collections+requests+traces+disabling";

fn everything(vm: &Vm<'_>) -> Result<(), String> {
    did(&churn(vm, EVERYTHING)?, &["collections", "requests", "traces", "frames", "disabled"])
}

/// Another agent in the same JVM checks that all of its events keep the rules.
fn beside_another(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Churn")?.argument("2000").agent("checker", "mode=all")?;
    let outcome = java.another_agent("big_lock", EVERYTHING)?.run()?;
    keeps_rules(&outcome)?;
    did(outcome.other_reports()[0].one("done")?, &["requests", "frames", "disabled"])
}

fn everything_under_a_mutex(vm: &Vm<'_>) -> Result<(), String> {
    let done = churn(vm, &format!("lock=mutex,{EVERYTHING}"))?;
    did(&done, &["collections", "requests", "frames", "disabled"])
}

/// While the program is stopped for a dump, a thread that holds the agent's lock is stopped too. So the agent gets no
/// events of classes that the VM loads for the dump, and of objects that it makes.
fn held_during_dumps(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Deadlock")?.agent("keeper", "")?.run()?;
    let dumped = outcome.report().one("dumped")?;
    ensure!(dumped.int("monitors")? == 0 && dumped.int("heap")? == 0, "{dumped}");
    ensure!(dumped.int("events")? > 0, "{dumped}");
    Ok(())
}
