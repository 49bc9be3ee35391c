//! Compiled methods.

use crate::prelude::*;

cases![
    every_method_compiled.on_every_jdk(),
    unloaded_is_what_was_loaded,
    requested_code_is_not_reported_again,
];

/// By each compiler. C2 takes longer, so it has fewer methods.
fn every_method_compiled(vm: &Vm<'_>) -> Result<(), String> {
    for (compiler, only, least) in
        [("-XX:TieredStopAtLevel=1", "*::*", 300), ("-XX:-TieredCompilation", "java.util.*::*", 30)]
    {
        let java = vm.java("Hello")?.agent("compiled", "")?.flag("-Xcomp").flag(compiler);
        let java = java.flag("-XX:CompileCommand=quiet");
        let outcome = java.flag(&format!("-XX:CompileCommand=compileonly,{only}")).run()?;
        let line = outcome.report().one("compiled")?;
        ensure!(line.int("loads")? > least, "{compiler}: {line}");
        for fault in ["unknown", "disordered", "beyond", "foreign", "mismatched"] {
            equal(&format!("{compiler}: {fault}"), line.int(fault)?, 0)?;
        }
    }
    Ok(())
}

/// An agent can pair the ends of code with its beginnings, by the address too.
fn unloaded_is_what_was_loaded(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Unload")?.agent("compiled", "")?;
    let outcome = java.flags(["-Xcomp", "-XX:TieredStopAtLevel=1"]).run()?;
    let line = outcome.report().one("unloaded")?;
    ensure!(line.int("unloads")? > 0, "{line}");
    equal("never loaded", line.int("never_loaded")?, 0)?;
    equal("loaded again", line.int("again")?, 0)
}

/// The VM reports code some time after it exists. Code that an agent got on request is not reported again
/// then.
fn requested_code_is_not_reported_again(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Rounds")?.agent("compiled", "when=behind")?;
    let java = java.another_agent("compiled", "when=late")?;
    let outcome = java.flags(["-Xcomp", "-XX:TieredStopAtLevel=1"]).run()?;
    let [late] = outcome.other_reports() else { return Err("not one report".into()) };
    for report in [outcome.report(), late] {
        equal("had again", report.one("unloaded")?.int("again")?, 0)?;
        ensure!(report.one("compiled")?.int("loads")? > 100, "{}", report.one("compiled")?);
    }
    Ok(())
}
