//! The function table: results, bad arguments, IDs, the handler, and the way out.

use compat_tests::run::Vm;
use compat_tests::{build, text};

use crate::assert::equal;
use crate::cases;

cases![
    results_of_every_number,
    refused_event_is_not_enabled_later,
    switched_by_many_at_once,
    bad_arguments,
    ids_and_objects.on_every_gc(),
    handler_never_set,
    handler_replaced,
    exit_from_jvm_on_load,
    exit_from_jvm_init_done,
    exit_from_class_load,
    exit_from_jvm_shut_down,
    exit_from_system_thread,
    exit_from_java_thread,
    functions_called_in_each_event_do_not_allocate,
];

const SUCCESS: i64 = 0;
const NOT_AVAILABLE: i64 = 1;
const FAIL: i64 = -1;

/// Returns true if an event of this number can be enabled. Agents stop at the first that cannot.
fn can_be_enabled(event: i64) -> bool {
    matches!(event, 1..=9 | 33..=35 | 38..=49 | 51..=58 | 60 | 61)
}

/// The results of the functions that switch events, in `JVM_OnLoad` and later, and of requests for NULL and for an
/// unknown ID.
fn results_of_every_number(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Hello")?.agent("table", "")?.run()?;
    for phase in ["on_load", "live"] {
        let lines = outcome.report().lines("results");
        let lines: Vec<_> = lines.filter(|line| line.text("phase") == Ok(phase)).collect();
        equal("numbers tried", lines.len(), 71)?;
        for line in lines {
            let event = line.int("type")?;
            let expected = if can_be_enabled(event) { SUCCESS } else { NOT_AVAILABLE };
            for call in ["enable", "again", "disable", "disable_again"] {
                ensure!(line.int(call)? == expected, "{call} is not {expected}: {line}");
            }
        }
    }
    outcome.report().one("request_done")?;
    for line in outcome.report().lines("request") {
        let results = [line.int("null")?, line.int("unknown")?];
        let right = match line.int("type")? {
            // CLASS_LOAD and THREAD_START of an unknown ID.
            33 | 42 => results == [FAIL, FAIL],
            // OBJECT_ALLOC and OBJECT_DUMP.
            4 | 50 => !results.contains(&SUCCESS),
            _ => results == [NOT_AVAILABLE, NOT_AVAILABLE],
        };
        ensure!(right, "{line}");
    }
    Ok(())
}

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
    let outcome = vm.java("BadArguments")?.agent("bad_arguments", "")?.run()?;
    equal("kinds of environments", outcome.report().count("kind"), 6)?;
    outcome.expects.one("expect")?;
    outcome.checks(&["status", "trace", "monitors", "unknown id", "no frames", "pointers"])?;
    outcome.checks(&["small method", "wild method", "zeros as method", "other data as method"])
}

fn ids_and_objects(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Ids")?.agent("ids", "")?.run()?;
    outcome.checks(&["thread id", "and back", "fresh object", "class of a JDK method"])
}

fn handler_never_set(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Hello")?.agent("handler", "mode=never")?.run()?;
    equal("lines", outcome.report().all().len(), 0)?;
    equal("output", outcome.stdout.as_str(), "hello \n")
}

fn handler_replaced(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Hello")?.agent("handler", "mode=replaced")?.run()?;
    outcome.report().find("first", "type", "46")?;
    outcome.report().find("second", "type", "47")?;
    equal("lines", outcome.report().all().len(), 2)
}

/// The process ends with the agent's status, and nothing is sent after the call.
fn exit_from(vm: &Vm<'_>, place: &str) -> Result<(), String> {
    for code in [0, 3, 200] {
        let options = format!("mode={place},code={code}");
        let outcome = vm.java("Exit")?.agent("exit", &options)?.run_to(code)?;
        let lines = outcome.report().all();
        equal("the last line", lines.last().map(|line| line.word.as_str()), Some("leaving"))?;
        ensure!(!outcome.stdout.contains("hook"), "a shutdown hook ran");
    }
    Ok(())
}

fn exit_from_jvm_on_load(vm: &Vm<'_>) -> Result<(), String> {
    exit_from(vm, "on_load")
}

fn exit_from_jvm_init_done(vm: &Vm<'_>) -> Result<(), String> {
    exit_from(vm, "init_done")
}

fn exit_from_class_load(vm: &Vm<'_>) -> Result<(), String> {
    exit_from(vm, "class_load")
}

fn exit_from_jvm_shut_down(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Hello")?.agent("exit", "mode=shut_down,code=3")?.run_to(3)?;
    equal("output", outcome.stdout.as_str(), "hello \n")?;
    equal("lines after the call", outcome.report().count("came_back"), 0)
}

fn exit_from_system_thread(vm: &Vm<'_>) -> Result<(), String> {
    exit_from(vm, "system_thread")
}

fn exit_from_java_thread(vm: &Vm<'_>) -> Result<(), String> {
    exit_from(vm, "java_thread")
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
