//! Agents written with the crate `jvmpi`: its examples, and one that tries what the crate can do.

use compat_tests::build::{self, RustAgent};
use compat_tests::run::{Launch, Outcome, Vm};
use compat_tests::text;

use crate::assert::equal;
use crate::cases;

cases![
    allocations_of_each_class.on_every_gc(),
    slow_calls,
    beside_each_other,
    options_that_there_are_not,
];

/// The workload with these agents, each with its options.
fn points(vm: &Vm<'_>, agents: &[(RustAgent, &str)]) -> Result<Launch, String> {
    agents.iter().try_fold(vm.java("Points")?, |java, (agent, options)| {
        java.shim(&format!("{}:{options}", text(&build::rust_agent(*agent)?)?))
    })
}

/// The line of a table on stderr that ends in this name, without the name: its numbers.
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
    equal("calls of main", row(outcome, "Points.main")?[1], 1)?;
    ensure!(row(outcome, "Points.touch").is_err(), "touch is slow");
    Ok(())
}

fn allocations_of_each_class(vm: &Vm<'_>) -> Result<(), String> {
    allocations_are_counted(&points(vm, &[(RustAgent::Allocations, "top=100000")])?.run()?)
}

fn slow_calls(vm: &Vm<'_>) -> Result<(), String> {
    slow_calls_are_counted(&points(vm, &[(RustAgent::SlowMethods, "ms=30")])?.run()?)
}

/// Each with a table and data of its own, and one in C with them.
fn beside_each_other(vm: &Vm<'_>) -> Result<(), String> {
    let both = [(RustAgent::Allocations, "top=100000"), (RustAgent::SlowMethods, "ms=30")];
    let outcome = points(vm, &both)?.agent("methods", "events=1+3,prefix=Points")?.run()?;
    allocations_are_counted(&outcome)?;
    slow_calls_are_counted(&outcome)?;
    let touches = outcome.report().find("calls", "method", "Points.touch")?;
    let expected = outcome.expects.one("expect")?.int("touches")?;
    equal("entries that C counts", touches.int("entries")?, expected)?;
    equal("exits that C counts", touches.int("exits")?, expected)
}

fn options_that_there_are_not(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = points(vm, &[(RustAgent::Allocations, "bottom=3")])?.run_to(1)?;
    let line = r#"[allocations] error: no such option: "bottom=3"; there is top=NUMBER"#;
    ensure!(outcome.stderr.lines().any(|found| found == line), "{}", outcome.stderr);
    Ok(())
}
