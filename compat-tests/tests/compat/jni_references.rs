//! JNI's global references.

use crate::prelude::*;

cases![references_of_the_shim_are_not_reported, of_the_verifier];

fn references_of_the_shim_are_not_reported(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("References")?.agent("disabling", "events=38+39+40+41")?.run()?;
    equal("events", outcome.expects.one("expect")?.int("events")?, 0)
}

/// The VM verifies old classes with JNI functions; to name a class while it is being verified would make
/// it fail.
fn of_the_verifier(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("OldClass")?.agent("events", "events=38+39+42")?.run()?;
    equal("output", outcome.stdout.as_str(), "ab3\n")?;
    outcome.report().find("class_load", "name", "OldClass$Old").map(drop)
}
