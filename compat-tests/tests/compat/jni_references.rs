//! JNI's global references.

use compat_tests::run::Vm;

use crate::assert::equal;
use crate::cases;

cases![on_a_thread_that_runs, of_the_verifier];

/// Each event alone reports its references, on a thread that is older than it. The table has the VM's own functions
/// while none is enabled. The shim's own references are not reported.
fn on_a_thread_that_runs(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("References")?.agent("references", "")?.run()?;
    // The types of the events for a strong and a weak reference.
    let expected = [
        ("before", 0, 0, 0),
        ("enabled_38", 4, 38_0000, 0),
        ("enabled_41", 4, 38_0000, 41),
        ("enabled_39", 4, 38_0039, 41),
        ("enabled_40", 4, 38_0039, 40_0041),
        ("disabled_38", 4, 39, 40_0041),
        ("disabled_41", 4, 39, 40_0000),
        ("disabled_39", 4, 0, 40_0000),
        ("disabled_40", 0, 0, 0),
        ("again", 4, 39, 0),
        ("after", 0, 0, 0),
    ];
    for (when, replaced, strong, weak) in expected {
        let line = outcome.expects.find("expect", "when", when)?;
        let found = ["replaced", "on_worker", "strong", "weak", "pending"].map(|key| line.int(key));
        equal(when, found, [replaced, replaced, strong, weak, strong].map(Ok))?;
    }
    // A dump names the reference if it was reported to the agent, else the object.
    let roots = outcome.expects.find("expect", "roots", "in dumps")?;
    equal("roots", (roots.int("unknown")?, roots.int("known")?), (1, 2))?;
    for word in ["alloc", "free"] {
        equal(word, outcome.report().count(word), 0)?;
    }
    Ok(())
}

/// The VM verifies old classes with JNI functions; to name a class while it is being verified would make
/// it fail.
fn of_the_verifier(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("OldClass")?.agent("events", "events=38+39+42")?.run()?;
    equal("output", outcome.stdout.as_str(), "ab3\n")?;
    outcome.report().find("class_load", "name", "OldClass$Old").map(drop)
}
