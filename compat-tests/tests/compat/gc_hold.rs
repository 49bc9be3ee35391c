//! `disablegc=hold`: the VM itself does not collect while agents have disabled that.

use compat_tests::jdk::Gc;
use compat_tests::machine::Machine;
use compat_tests::report::Line;
use compat_tests::run::{Launch, Outcome, Vm};
use compat_tests::{build, text};

use crate::assert::equal;
use crate::cases;

cases![
    keeps_collections_away.on_every_gc(),
    keeps_collections_away.under_load(),
    keeps_collections_away_for_a_virtual_thread.on(&[Gc::Serial, Gc::Z]).only(21),
    without_owners_of_mutexes.on(&[Gc::Serial, Gc::Parallel]).only(25),
    when_attached.on(&[Gc::Serial]),
    gives_way_to_who_disabled_them.on_every_gc(),
    is_not_there_unless_asked_for.on(&[Gc::Serial]),
];

fn holding(vm: &Vm<'_>, what: &str) -> Result<Launch, String> {
    let java = vm.java("Holding")?.flag("-Xmx64m").argument(what);
    Ok(java.settings("disablegc=hold"))
}

/// Whether the collector works on while JNI holds an object in its place.
fn collects_anyway(vm: &Vm<'_>) -> bool {
    vm.gc == Gc::Shenandoah || vm.gc == Gc::G1 && vm.jdk.feature >= 22
}

/// What the shim says, each of these once.
fn says(outcome: &Outcome, expected: &[&str]) -> Result<(), String> {
    let lines: Vec<_> = outcome.stderr.lines().filter(|l| l.starts_with("[jvmpi]")).collect();
    equal("lines", lines.len(), expected.len())?;
    for text in expected {
        ensure!(lines.iter().any(|line| line.contains(text)), "{lines:?}");
    }
    Ok(())
}

const NO_EFFECT: &str = "warning: disablegc=hold has no effect with this collector";
const GIVES_WAY: &str = "warning: disablegc=hold: the JVM collects, as who has disabled that waits";

/// Another thread needs more memory than there is, and asks for a collection. None is told.
fn disabled(outcome: &Outcome) -> Result<(&Line, &Line), String> {
    outcome.checks(&["EnableGC of another thread", "collections come again", "and are told"])?;
    let line = outcome.report().one("held")?;
    equal("told while disabled", line.int("brackets")?, 0)?;
    let end = outcome.expects.one("expect")?;
    equal("hidden threads that are shown", end.int("shown")?, 0)?;
    Ok((line, end))
}

/// As above, and there is none from the first `DisableGC` to the last `EnableGC`, and objects stay where they are.
fn held(vm: &Vm<'_>, outcome: &Outcome) -> Result<(), String> {
    let (line, end) = disabled(outcome)?;
    if collects_anyway(vm) {
        return says(outcome, &[NO_EFFECT]);
    }
    // An emulator hides who owns which mutex.
    if vm.jdk.feature >= 25 && Machine::this().emulator().is_some() {
        return knows_no_owners(outcome, line);
    }
    equal("collections while disabled", line.int("collections")?, 0)?;
    equal("churned", line.int("churned")?, 0)?;
    equal("the element that was written by its address", end.int("element")?, 7)?;
    says(outcome, &[])
}

/// Who computes in Java may then be the one that wants to collect, which computes too: it gives way.
fn knows_no_owners(outcome: &Outcome, line: &Line) -> Result<(), String> {
    says(outcome, if line.int("collections")? == 0 { &[] } else { &[GIVES_WAY] })
}

fn keeps_collections_away(vm: &Vm<'_>) -> Result<(), String> {
    held(vm, &holding(vm, "hold")?.agent("hold", "")?.run()?)
}

/// JVMTI does not say of a carrier that it is in native code.
fn keeps_collections_away_for_a_virtual_thread(vm: &Vm<'_>) -> Result<(), String> {
    held(vm, &holding(vm, "virtual")?.agent("hold", "")?.run()?)
}

fn without_owners_of_mutexes(vm: &Vm<'_>) -> Result<(), String> {
    let java = holding(vm, "hold")?.variable("JVMPI_TEST_WITHOUT", "mutex");
    let outcome = java.agent("hold", "")?.run()?;
    let (line, _) = disabled(&outcome)?;
    knows_no_owners(&outcome, line)
}

fn when_attached(vm: &Vm<'_>) -> Result<(), String> {
    let (shim, agent) = (build::shim()?, build::agent("hold")?);
    let java = holding(vm, "attached")?.property("agent.path", text(&agent)?);
    let mut java = java.start()?;
    java.wait_for("ready")?;
    java.jcmd(vm.jdk, &["JVMTI.agent_load", text(&shim)?, text(&agent)?])?;
    held(vm, &java.finish(0)?)
}

/// The thread that has disabled collections makes more garbage than there is memory, in native code and in Java;
/// begins a critical section of its own while another thread needs memory; waits for the raw monitor of such a
/// thread; returns to the program; ends. Nothing hangs, and nobody runs out of memory.
fn gives_way_to_who_disabled_them(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = holding(vm, "need")?.agent("hold", "")?.run()?;
    let expect = |key: &str, value| {
        let line = outcome.expects.all().iter().find(|line| line.int(key).is_ok());
        equal(key, line.ok_or_else(|| format!("no {key}"))?.int(key)?, value)
    };
    for (key, value) in
        [("native", 2_000), ("java", 2_000), ("critical", 1), ("monitor", 1), ("owned", 2_000)]
    {
        expect(key, value)?;
    }
    says(&outcome, &[if collects_anyway(vm) { NO_EFFECT } else { GIVES_WAY }])
}

/// Without the setting there are collections, and of the shim's threads there is one.
fn is_not_there_unless_asked_for(vm: &Vm<'_>) -> Result<(), String> {
    for (settings, threads) in [("", 1), ("disablegc=hold", 3)] {
        let outcome =
            vm.java("Holding")?.argument("threads").settings(settings).agent("hold", "")?.run()?;
        equal("threads", outcome.expects.one("expect")?.int("threads")?, threads)?;
    }
    Ok(())
}
