//! Objects: the time and the fields of their events, and requests for them.

use std::collections::HashSet;

use crate::prelude::*;

cases![
    every_way_to_allocate.on_every_gc().on_every_jdk(),
    every_way_to_allocate.under_load_on(&[11]),
    strings_by_invokedynamic.on(&[Gc::G1, Gc::Z]).since(21),
    enabled_late.on_every_gc(),
    enabled_in_a_running_vm.on(&[Gc::G1, Gc::Serial, Gc::Z]).on_every_jdk(),
    beside_another_profiler,
    reports_are_left_to_others.since(17),
    many_requests,
    ids_of_the_dead.on_every_gc(),
    ids_that_threads_leave,
    no_ids_are_left,
    survivors_without_ids,
];

/// Runs `java` under the agent that checks the rules of all events and counts the events.
pub fn checked(java: Launch, options: &str) -> Result<Outcome, String> {
    let outcome = java.agent("checker", options)?.run()?;
    keeps_rules(&outcome)?;
    Ok(outcome)
}

/// Fails if the checking agent did not finish or found a violation. Returns its counts.
pub fn keeps_rules(outcome: &Outcome) -> Result<&Line, String> {
    let violations: Vec<_> = outcome.report().lines("violation").map(Line::to_string).collect();
    ensure!(violations.is_empty(), "{}", violations.join("\n"));
    let kept = outcome.report().one("kept")?;
    equal("violations", kept.int("violations")?, 0)?;
    Ok(kept)
}

/// The reported number of objects of each kind equals the number made, and all have one size. It is the size of
/// their contents, a header of 8 to 24 bytes, and padding.
fn exact(outcome: &Outcome) -> Result<(), String> {
    let mut wrong = Vec::new();
    for line in outcome.expects.all() {
        let (size, payload) = (line.int("size")?, line.int("payload")?);
        let most = if payload == 0 { i64::MAX } else { payload + 31 };
        let fits = (payload + 8..=most).contains(&size) && size % 8 == 0;
        if line.int("reported")? != line.int("counted")? || line.int("sizes")? != 1 || !fits {
            wrong.push(line.to_string());
        }
    }
    ensure!(!outcome.expects.all().is_empty(), "nothing was counted");
    ensure!(wrong.is_empty(), "not exact:\n{}", wrong.join("\n"));
    Ok(())
}

pub fn objects(vm: &Vm<'_>, what: &str) -> Result<Launch, String> {
    // ZGC has no 32-bit references.
    let reference = if vm.gc == Gc::Z { "8" } else { "4" };
    Ok(vm.java("Objects")?.property("reference.bytes", reference).argument(what))
}

/// Objects, arrays, those of JNI, exceptions of the VM and strings. Objects older than the VM's readiness come after
/// the classes and before `JVM_INIT_DONE`.
fn every_way_to_allocate(vm: &Vm<'_>) -> Result<(), String> {
    let allocator = build::agent("allocator")?;
    let java = objects(vm, "objects")?.property("allocator.path", text(&allocator)?);
    let java = java.arguments(["arrays", "jni", "exceptions", "strings"]);
    // Without the flag compiled code throws the same preallocated exception each time.
    let outcome = checked(java.flag("-XX:-OmitStackTraceInFastThrow"), "")?;
    exact(&outcome)?;
    // Objects with one int have the same shape, however they are made.
    let of_four_bytes = outcome
        .expects
        .all()
        .iter()
        .filter(|line| line.int("payload") == Ok(4) && line.text("kind") != Ok("strings"));
    let sizes: HashSet<_> = of_four_bytes.map(|line| line.int("size")).collect::<Result<_, _>>()?;
    equal("sizes of objects with an int", sizes.len(), 1)?;
    // Everything lies in the one arena that was announced.
    let arenas: Vec<_> =
        outcome.report().lines("arena_new").map(|line| line.int("arena")).collect();
    equal("arenas", arenas, [Ok(1)])?;
    let replayed = outcome.report().one("replayed")?;
    ensure!(replayed.int("classes")? > 300, "{replayed}");
    ensure!(replayed.int("objects")? > 5_000, "{replayed}");
    // Other threads allocate in the meantime.
    ensure!((0..500).contains(&replayed.int("early")?), "{replayed}");
    Ok(())
}

fn strings_by_invokedynamic(vm: &Vm<'_>) -> Result<(), String> {
    exact(&checked(vm.java_for(21, "Concatenation")?, "")?)
}

/// The threads are older than the event's first use. Their earlier allocations are unknown.
fn enabled_late(vm: &Vm<'_>) -> Result<(), String> {
    exact(&objects(vm, "late")?.agent("checker", "late=1")?.run()?)
}

/// The threads are older than the shim; the VM determined before how much they may allocate before the next
/// sample.
fn enabled_in_a_running_vm(vm: &Vm<'_>) -> Result<(), String> {
    let (shim, agent) = (build::shim()?, build::agent("checker")?);
    let java = objects(vm, "attached")?.property("agent.path", text(&agent)?).ready()?;
    let options = format!("\"{}:late=1\"", text(&agent)?);
    java.jcmd(vm.jdk, &["JVMTI.agent_load", text(&shim)?, &options])?;
    exact(&java.finish(0)?)
}

/// The VM reports allocations to one agent only. If that is not the shim, rewritten code reports them to the
/// shim, and one line says so.
fn beside_another_profiler(vm: &Vm<'_>) -> Result<(), String> {
    let java = objects(vm, "arrays")?.jvmti_agent("holder", "sampled")?;
    let outcome = checked(java, "")?;
    exact(&outcome)?;
    let lines = outcome.stderr.lines().filter(|line| line.contains("alloc=bytecode"));
    // On JDK 11 rewritten code reports allocations anyway.
    equal("lines", lines.count(), usize::from(vm.jdk.feature >= 17))
}

/// While no agent of JVMPI wants allocations, an agent of JVMTI that is loaded later can have the VM report them. One
/// behind the shim on the command line can have the reports with `alloc=bytecode` only.
fn reports_are_left_to_others(vm: &Vm<'_>) -> Result<(), String> {
    let mut java = objects(vm, "attached")?.agent("checker", "late=1")?.ready()?;
    let holder = build::agent("holder")?;
    java.jcmd(vm.jdk, &["JVMTI.agent_load", text(&holder)?, "sampled"])?;
    java.wait_for("holder: error=0")?;
    exact(&java.finish(0)?)?;

    for (settings, status, result) in
        [("alloc=auto", 1, "error=98"), ("alloc=bytecode", 0, "error=0")]
    {
        let java = vm.java("Hello")?.agent("idle", "")?.settings(settings);
        let outcome = java.jvmti_agent("holder", "sampled")?.run_to(status)?;
        let line = format!("holder: {result}");
        ensure!(outcome.stdout.contains(&line), "{settings}: {}", outcome.stdout);
    }
    Ok(())
}

/// Many requests in sequence cost no more than a few walks through the heap, also in a dump's handler and
/// while IDs do not become invalid.
fn many_requests(vm: &Vm<'_>) -> Result<(), String> {
    let java = || vm.java("ObjectRequests");
    for java in [
        java()?.agent("object_requests", "")?.arguments(["10000", "60000", "kept"]),
        java()?
            .agent("object_requests", "mode=all")?
            .arguments(["10000", "60000"])
            .flags(["-Xcomp", "-XX:TieredStopAtLevel=1"]),
    ] {
        let outcome = java.run()?;
        outcome.checks(&["made-up IDs", "many in a heap dump", "many told", "many dumped"])?;
        outcome.checks(&["value after a change", "one that is new", "one that is gone"])?;
        // A walk for each request would cost as much as 10,000 dumps.
        for cost in outcome.report().lines("cost") {
            ensure!(cost.int("dumps")? < 1_000, "{cost}");
        }
    }
    Ok(())
}

/// IDs of dead objects are reused if the settings say so, or if there are no others. The checking agent fails if
/// an ID is reused while its object is alive.
fn ids_of_the_dead(vm: &Vm<'_>) -> Result<(), String> {
    const FEW: i64 = 80_000;
    for (settings, again, ids) in [
        ("", false, None),
        ("ids=32bit", false, None),
        ("ids=reused", true, None),
        ("ids=32bit", true, Some(FEW)),
    ] {
        let java = vm.java("Reuse")?.settings(settings);
        let java = match ids {
            Some(count) => java.variable(IDS, &count.to_string()),
            None => java,
        };
        let outcome = checked(java, if again { "again=1" } else { "" })?;
        let objects = outcome.expects.one("expect")?.int("objects")?;
        let kept = keeps_rules(&outcome)?;
        let greatest = kept.int("greatest")? / 16;
        ensure!(kept.int("objects")? >= objects, "{objects} objects: {kept}");
        if again {
            let most = ids.unwrap_or(objects / 2);
            ensure!(greatest <= most, "{greatest} IDs for {objects} objects: {kept}");
        } else {
            ensure!(greatest >= kept.int("objects")?, "{greatest} IDs: {kept}");
        }
        equal("lines", lines_about_ids(&outcome), 0)?;
    }
    Ok(())
}

/// The variable with the number of available IDs.
const IDS: &str = "JVMPI_TEST_IDS";

fn lines_about_ids(outcome: &Outcome) -> i64 {
    lines_that_begin(outcome, "no object IDs are left")
}

fn lines_that_begin(outcome: &Outcome, with: &str) -> i64 {
    let with = format!("[jvmpi] warning: {with}");
    outcome.stderr.lines().filter(|line| line.starts_with(&with)).count() as i64
}

/// Checks that no ID is greater than the number of IDs, and that this many lines report that none is left.
fn has_few_ids(outcome: &Outcome, kept: &Line, few: i64, lines: i64) -> Result<(), String> {
    ensure!(kept.int("greatest")? / 16 <= few, "{kept}");
    equal("lines", lines_about_ids(outcome), lines)
}

/// A thread reserves a thousand IDs at a time. When it ends, other threads get the IDs that it did not use.
fn ids_that_threads_leave(vm: &Vm<'_>) -> Result<(), String> {
    // Half of the IDs that 400 threads reserve.
    const FEW: i64 = 200 * 1024;
    let java = vm.java("Reuse")?.argument("threads").variable(IDS, &FEW.to_string());
    let again = if usize::BITS == 32 { "again=1" } else { "" };
    let outcome = checked(java, again)?;
    has_few_ids(&outcome, keeps_rules(&outcome)?, FEW, 0)
}

/// Objects without an ID are not reported, and cannot be requested, until there are IDs again.
fn no_ids_are_left(vm: &Vm<'_>) -> Result<(), String> {
    const FEW: i64 = 50_000;
    let java = vm.java("Exhaustion")?.settings("ids=32bit").variable(IDS, &FEW.to_string());
    // A thread that started in the meantime would get no ID.
    let outcome = checked(java.flag("-XX:-UseDynamicNumberOfCompilerThreads"), "again=1")?;
    let seen = outcome.expects.one("expect")?;
    let told = seen.int("told")?;
    ensure!(told > 0 && told < FEW, "{seen}");
    equal("ID of the last", seen.int("id")?, 0)?;
    equal("heap dumps without IDs", seen.int("dumps")?, 0)?;
    equal("and why", lines_that_begin(&outcome, "no heap dump: no object IDs are left"), 1)?;
    equal("objects told afterwards", seen.int("told_after")?, 1000)?;
    ensure!(seen.int("id_after")? > 0, "{seen}");
    equal("heap dumps afterwards", seen.int("dumps_after")?, 1)?;
    has_few_ids(&outcome, keeps_rules(&outcome)?, FEW, 1)
}

/// Survivors of collections get new IDs until none are left. Then they keep their old ones.
fn survivors_without_ids(vm: &Vm<'_>) -> Result<(), String> {
    const FEW: i64 = 120_000;
    let java = vm.java("Reuse")?.settings("arenas=copying").variable(IDS, &FEW.to_string());
    let outcome = java.agent("checker", "")?.run()?;
    has_few_ids(&outcome, outcome.report().one("kept")?, FEW, 1)
}
