//! Compiled methods.

use compat_tests::run::Vm;

use crate::assert::equal;
use crate::cases;

cases![
    line_tables.on_every_jdk(),
    every_method_compiled.on_every_jdk(),
    enabled_late,
    unload,
    unloaded_is_what_was_loaded,
    enabled_late_by_another_agent,
    requested_code_is_not_reported_again,
];

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

/// Methods compiled before the agent's request are reported on request.
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

/// An agent can pair the ends of code with its beginnings, by the address too.
fn unloaded_is_what_was_loaded(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Unload")?.agent("compiled", "")?;
    let outcome = java.flag("-Xcomp").run()?;
    let line = outcome.report().one("unloaded")?;
    ensure!(line.int("unloads")? > 0, "{line}");
    equal("never loaded", line.int("never_loaded")?, 0)?;
    equal("loaded again", line.int("again")?, 0)
}

/// One agent requests late the events that the other already had.
fn enabled_late_by_another_agent(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Hello")?.another_agent("compiled", "")?;
    let java = java.another_agent("events", "events=42+46,late=7")?;
    let outcome = java.flag("-Xcomp").flag("-XX:TieredStopAtLevel=1").run()?;
    let [early, late] = outcome.other_reports() else { return Err("not two reports".into()) };
    let line = early.one("unloaded")?;
    equal("had again", line.int("again")?, 0)?;
    ensure!(late.count("compiled_method_load") > 100, "{}", late.count("compiled_method_load"));
    Ok(())
}

/// The VM reports code some time after it exists. Code that an agent got on request is not reported again
/// then.
fn requested_code_is_not_reported_again(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Compiled")?.agent("compiled", "when=behind")?;
    let java = java.another_agent("compiled", "when=late")?;
    let outcome = java.flag("-Xcomp").flag("-XX:TieredStopAtLevel=1").run()?;
    let [late] = outcome.other_reports() else { return Err("not one report".into()) };
    for report in [outcome.report(), late] {
        equal("had again", report.one("unloaded")?.int("again")?, 0)?;
        ensure!(report.one("compiled")?.int("loads")? > 100, "{}", report.one("compiled")?);
    }
    Ok(())
}

fn unload(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Unload")?.agent("unload", "mode=compiled")?.argument("compiled");
    let outcome = java.flag("-Xcomp").flag("-XX:TieredStopAtLevel=1").run()?;
    let compiled = outcome.expects.lines("expect").find_map(|line| line.int("compiled").ok());
    ensure!(compiled >= Some(10), "compiled: {compiled:?}");
    Ok(())
}
