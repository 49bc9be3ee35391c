//! The models of arenas: what is announced, what moves, and that nothing is lost on the way.

use crate::objects::{checked, keeps_rules, objects};
use crate::prelude::*;

cases![models_under_churn, each_agent_hears_of_it_first, enabled_late];

fn arenas(outcome: &Outcome) -> Result<Vec<i64>, String> {
    outcome.report().lines("arena_new").map(|line| line.int("arena")).collect()
}

fn models_under_churn(vm: &Vm<'_>) -> Result<(), String> {
    for model in ["generational", "copying"] {
        let java = vm.java("Churn")?.argument("2000").settings(&format!("arenas={model}"));
        let outcome = checked(java, "")?;
        let kept = keeps_rules(&outcome)?;
        ensure!(kept.int("moved")? > 1_000 && kept.int("freed")? > 10_000, "{model}: {kept}");
    }
    Ok(())
}

/// A thread begins while the first agent gets the event of the arena; the second agent gets the
/// thread's event.
fn each_agent_hears_of_it_first(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Hello")?.agent("native_thread", "mode=arena")?;
    let outcome = java.another_agent("checker", "")?.run()?;
    outcome.report().one("detached")?;
    let [checker] = outcome.other_reports() else { return Err("no report of the checker".into()) };
    let violations: Vec<_> = checker.lines("violation").map(Line::to_string).collect();
    ensure!(violations.is_empty(), "{}", violations.join("\n"));
    equal("arenas", checker.lines("arena_new").count(), 1)
}

/// An agent that enables ARENA_NEW in a running VM gets the event of an arena when that is named next.
fn enabled_late(vm: &Vm<'_>) -> Result<(), String> {
    let java = objects(vm, "late")?.settings("arenas=generational");
    let outcome = java.agent("checker", "late=2")?.run()?;
    let is_of_arenas = |line: &&Line| line.to_string().contains("arena");
    let wrong: Vec<_> = outcome.report().lines("violation").filter(is_of_arenas).collect();
    ensure!(wrong.is_empty(), "{wrong:?}");
    ensure!(!arenas(&outcome)?.is_empty(), "no ARENA_NEW");
    Ok(())
}
