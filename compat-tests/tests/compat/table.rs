//! The function table: events that are switched, bad arguments, and costs.

use crate::prelude::*;

cases![
    refused_event_is_not_enabled_later,
    switched_by_many_at_once,
    bad_arguments,
    functions_called_in_each_event_do_not_allocate,
];

const SUCCESS: i64 = 0;
const FAIL: i64 = -1;

/// The VM refuses an unknown thread; the event behaves as if it were not requested.
fn refused_event_is_not_enabled_later(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Switching")?.agent("switching", "")?.settings("include=Switching*");
    let outcome = java.argument("outside").run()?;
    equal("result outside", outcome.report().one("outside")?.int("result")?, FAIL)?;
    let entered = |when| outcome.expects.find("expect", "when", when)?.int("entered");
    equal("result", outcome.expects.find("expect", "when", "enabled")?.int("result")?, SUCCESS)?;
    equal("entered", [entered("refused")?, entered("enabled")?], [0, 1])
}

fn switched_by_many_at_once(vm: &Vm<'_>) -> Result<(), String> {
    // To rewrite all classes so often would take too long.
    let settings = "include=Switching* alloc=sampled";
    let java = vm.java("Switching")?.agent("switching", "")?.settings(settings);
    let outcome = java.argument("random").run()?;
    for line in outcome.report().lines("event") {
        equal(&line.to_string(), line.int("come")?, line.int("wanted")?)?;
    }
    equal("events looked at", outcome.report().count("event"), 150 * 12)?;
    for line in outcome.report().lines("failures") {
        equal("failures", line.int("count")?, 0)?;
    }
    Ok(())
}

fn bad_arguments(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Hello")?.agent("bad_arguments", "")?.run()?;
    equal("kinds of environments", outcome.report().count("kind"), 4)?;
    outcome.checks(&["status", "trace", "monitors", "huge id", "no frames", "pointers"])?;
    outcome.checks(&["small method", "wild method", "zeros as method", "other data as method"])
}

/// The functions that agents call in every event.
fn functions_called_in_each_event_do_not_allocate(vm: &Vm<'_>) -> Result<(), String> {
    let agent = build::agent("table_cost")?;
    // The `malloc` of a preloaded library is used by every library, and counts.
    let java = vm.java("Hello")?.variable("LD_PRELOAD", text(&agent)?);
    let outcome = java.agent("table_cost", "times=1000")?.run()?;
    let costs: Vec<_> = outcome.report().lines("cost").collect();
    for cost in &costs {
        let expected = if cost.text("what") == Ok("malloc") { 1000 } else { 0 };
        equal(cost.text("what")?, cost.int("allocations")?, expected)?;
    }
    equal("functions", costs.len(), 8)
}
