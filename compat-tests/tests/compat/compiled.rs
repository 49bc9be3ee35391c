//! Compiled methods.

use compat_tests::run::Vm;

use crate::assert::equal;
use crate::cases;

cases![line_tables, every_method_compiled, enabled_late, unload];

fn line_tables(vm: &Vm<'_>) -> Result<(), String> {
    for flags in [["-Xbatch", "-XX:+TieredCompilation"], ["-Xbatch", "-XX:-TieredCompilation"]] {
        let java = vm.java("Compiled")?.agent("compiled", "")?;
        let outcome = flags.iter().fold(java, |java, flag| java.flag(flag)).run()?;
        let report = outcome.report();
        let method = report.one("method")?;
        let (first, last) = (method.int("first")?, method.int("last")?);
        ensure!(report.count("line") > 0, "no lines");
        for line in report.lines("line") {
            let number = line.int("line")?;
            ensure!((first..=last).contains(&number), "not of the method {first}-{last}: {line}");
        }
        for code in report.lines("hot") {
            ensure!(code.int("size")? > 0 && code.id("address")? != 0, "{code}");
        }
    }
    Ok(())
}

fn every_method_compiled(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Hello")?.agent("compiled", "")?;
    let outcome = java.flag("-Xcomp").flag("-XX:TieredStopAtLevel=1").run()?;
    let line = outcome.report().one("compiled")?;
    ensure!(line.int("loads")? > 300, "{line}");
    for fault in ["unknown", "disordered", "beyond", "mismatched"] {
        equal(fault, line.int(fault)?, 0)?;
    }
    Ok(())
}

/// What was compiled before the agent asked is told then.
fn enabled_late(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Hello")?.agent("events", "events=42+46,late=7")?;
    let outcome = java.flag("-Xcomp").flag("-XX:TieredStopAtLevel=1").run()?;
    let report = outcome.report();
    let start = report.position(|line| line.text("name") == Ok("Hello"));
    let before = &report.all()[..start.ok_or("no CLASS_LOAD of Hello")?];
    let compiled = before.iter().filter(|line| line.word == "compiled_method_load").count();
    ensure!(compiled > 100, "{compiled} compiled methods before the program");
    Ok(())
}

fn unload(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Unload")?.agent("unload", "mode=compiled")?.argument("compiled");
    let outcome = java.flag("-Xcomp").flag("-XX:TieredStopAtLevel=1").run()?;
    let compiled = outcome.expects.lines("expect").find_map(|line| line.int("compiled").ok());
    ensure!(compiled >= Some(10), "compiled: {compiled:?}");
    Ok(())
}
