//! METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT.

use compat_tests::run::{Outcome, Vm};

use crate::assert::equal;
use crate::cases;

cases![every_kind_of_method, several_threads, switched_on_and_off];

/// With this the VM trusts no class file, rewritten or not.
const VERIFY: &str = "-Xverify:all";

fn calls(vm: &Vm<'_>, options: &str, argument: &str) -> Result<Outcome, String> {
    let java = vm.java("Calls")?.agent("methods", options)?.argument(argument);
    let outcome = java.flag(VERIFY).run()?;
    ensure!(outcome.stdout.ends_with("done\n"), "{}", outcome.stdout);
    Ok(outcome)
}

/// What the program counted is what the agent was told, in each of these fields.
fn counted(outcome: &Outcome, fields: &[&str]) -> Result<(), String> {
    let calls = |method: &str, field: &str| -> Result<i64, String> {
        // The compiler numbers the bodies of lambdas; those of a name count together.
        let is_it = |name: &str| match method {
            "Calls.lambda" => name.starts_with("Calls.lambda$counting"),
            _ => name == method,
        };
        let lines = outcome.report().lines("calls");
        lines.filter(|line| line.text("method").is_ok_and(is_it)).map(|l| l.int(field)).sum()
    };
    for expected in outcome.expects.all() {
        let (method, expected) = (expected.text("method")?, expected.int("calls")?);
        for field in fields {
            equal(&format!("{field} of {method}"), calls(method, field)?, expected)?;
        }
    }
    Ok(())
}

fn well_nested(outcome: &Outcome) -> Result<(), String> {
    equal("events on a wrong thread", outcome.report().count("wrong_thread"), 0)?;
    let total = outcome.report().one("total")?;
    for fault in ["not_nested", "unknown"] {
        equal(fault, total.int(fault)?, 0)?;
    }
    Ok(())
}

fn every_kind_of_method(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = calls(vm, "events=1+2+3,prefix=Calls", "rounds")?;
    well_nested(&outcome)?;
    counted(&outcome, &["entries", "entries2", "exits"])
}

fn several_threads(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = calls(vm, "events=1+3,prefix=Calls", "threads")?;
    well_nested(&outcome)?;
    let fib = outcome.report().find("calls", "method", "Calls.fib")?;
    equal("exits", fib.int("exits")?, fib.int("entries")?)?;
    let total = outcome.report().one("total")?;
    equal("methods entered when their thread ended", total.int("open")?, 0)
}

fn switched_on_and_off(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = calls(vm, "late=1+3,prefix=Calls", "late")?;
    let fib = outcome.report().find("calls", "method", "Calls.fib")?;
    let expected = outcome.expects.find("expect", "method", "Calls.fib")?.int("calls")?;
    equal("entries", fib.int("entries")?, expected)?;
    equal("exits", fib.int("exits")?, expected)
}
