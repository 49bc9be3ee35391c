//! Compiled methods.

use crate::prelude::*;

cases![every_method_compiled.on_every_jdk(), requested_code_is_not_reported_again];

/// By each compiler. C2 takes longer, so it has fewer methods. An agent can pair the ends of code with its beginnings, by
/// the address too.
fn every_method_compiled(vm: &Vm<'_>) -> Result<(), String> {
    for (compiler, program, only, least) in [
        ("-XX:TieredStopAtLevel=1", "Unload", "*::*", 300),
        ("-XX:-TieredCompilation", "Hello", "java.util.*::*", 30),
    ] {
        let java = vm.java(program)?.agent("compiled", "")?.flag("-Xcomp").flag(compiler);
        let java = java.flag("-XX:CompileCommand=quiet");
        let outcome = java.flag(&format!("-XX:CompileCommand=compileonly,{only}")).run()?;
        let line = outcome.report().one("compiled")?;
        ensure!(line.int("loads")? > least, "{compiler}: {line}");
        for fault in ["unknown", "disordered", "beyond", "foreign", "mismatched"] {
            equal(&format!("{compiler}: {fault}"), line.int(fault)?, 0)?;
        }
        let line = outcome.report().one("unloaded")?;
        ensure!(line.int("unloads")? > 0 || program != "Unload", "{compiler}: {line}");
        for fault in ["never_loaded", "again"] {
            equal(&format!("{compiler}: {fault}"), line.int(fault)?, 0)?;
        }
    }
    Ok(())
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
