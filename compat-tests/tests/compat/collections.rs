//! Collections: the number of reports, their threads, and the objects that die.

use std::time::Duration;

use crate::objects::{checked, keeps_rules};
use crate::prelude::*;

cases![
    each_system_gc_has_a_window.on_every_gc().on_every_jdk(),
    // From 22 on JNI does not prevent collections, or threads wait before the world is stopped.
    kept_away.on(&[Gc::Serial, Gc::Parallel, Gc::G1]).until(21),
    figures.on_every_gc().on_every_jdk(),
    take_their_time.on(&[Gc::Parallel, Gc::G1, Gc::Z, Gc::Shenandoah]),
    asked_for_by_two.on(&[Gc::Serial, Gc::G1, Gc::Z]),
    churn_with_all_events.on_every_gc(),
    nobody_else_in_a_collection.under_load_on(&[17, 21]),
    dumps_take_no_deaths_away.on(&[Gc::Serial, Gc::G1, Gc::Z]).since(17),
];

fn collect(vm: &Vm<'_>, what: &str) -> Result<Outcome, String> {
    checked(vm.java("Collect")?.argument(what), "")
}

/// Each `System.gc()` is reported as a collection, and no more collections are reported than the JVM counts.
fn each_system_gc_has_a_window(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = collect(vm, "count")?;
    let phase = |name| outcome.expects.find("expect", "phase", name);
    let (young, requested) = (phase("young")?, phase("requested")?);
    equal("answered", requested.int("answered")?, requested.int("requests")?)?;
    for phase in [young, requested] {
        let windows = phase.int("brackets")?;
        ensure!((1..=phase.int("collections")?).contains(&windows), "{phase}");
    }
    Ok(())
}

/// A JNI critical section delays a requested collection until the section ends. Pauses without a collection are not
/// reported.
fn kept_away(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Collect")?.argument("critical").flag("-Xlog:gc+jni=debug");
    let mut java = java.agent("checker", "")?.start()?;
    java.wait_for_text("Setting _needs_gc")?;
    let outcome = java.finish(0)?;
    keeps_rules(&outcome)?;
    let line = outcome.expects.one("expect")?;
    let collections = line.int("collections")? - line.int("twice")?;
    ensure!(collections > 0, "{line}");
    ensure!((1..=collections).contains(&line.int("brackets")?), "{line}");
    Ok(())
}

/// Two threads call `RunGC`. Each gets the events of its own collection before its call returns, although one then
/// waits for the other's lock.
fn asked_for_by_two(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Turns")?.agent("turns", "")?.run()?;
    for who in ["owner", "guest"] {
        let line = outcome.expects.find("expect", "who", who)?;
        equal(who, line.int("told")?, line.int("rounds")?)?;
    }
    Ok(())
}

/// Compares the figures of `GC_FINISH` with those of `java.lang.Runtime` and the live objects.
fn figures(vm: &Vm<'_>) -> Result<(), String> {
    const MB: i64 = 1 << 20;
    let outcome = collect(vm, "figures")?;
    let concurrent = matches!(vm.gc, Gc::Z | Gc::Shenandoah);
    for (what, least, most) in [
        // The program's own allocations in between; ZGC counts in pages of 2 MB and more.
        ("used", -8 * MB, 8 * MB),
        // Concurrent collectors return memory to the system while the program runs.
        ("total", if concurrent { -64 * MB } else { 0 }, if concurrent { 64 * MB } else { 0 }),
        // Classes, and IDs that threads have reserved.
        ("objects", 0, 30_000),
    ] {
        let line = outcome.expects.find("expect", "what", what)?;
        let difference = line.int("agent")? - line.int("vm")?;
        ensure!((least..=most).contains(&difference), "{line}");
        ensure!(line.int("agent")? > 0, "{line}");
    }
    Ok(())
}

/// Returns the time between `GC_START` and `GC_FINISH`, and the CPU time of the program's thread, both in
/// microseconds.
fn time_of_collections(vm: &Vm<'_>, settings: &str) -> Result<Line, String> {
    let java = vm.java("GcTime")?.flag("-Xmx256m").agent("cpu_time", "gc=1")?.settings(settings);
    let line = java.run()?.expects.one("expect")?.clone();
    equal("steps back, and collections in another thread's name", line.int("wrong")?, 0)?;
    let (told, pauses, elapsed) = (line.int("told")?, line.int("pauses")?, line.int("elapsed")?);
    ensure!(0 < told && told <= elapsed, "{line}");
    // The JVM rounds to milliseconds, for each of its two or three kinds of collections.
    let off = (told - pauses).abs();
    ensure!(off <= 6_000 + pauses / 20, "{line}");
    Ok(line)
}

/// The thread's CPU clock includes the time of the collections. Without it, the clock shows the CPU time that the
/// thread itself used. A clock of elapsed time includes the collections once.
fn take_their_time(vm: &Vm<'_>) -> Result<(), String> {
    let line = time_of_collections(vm, "")?;
    let own = line.int("clock")? - line.int("told")?;
    ensure!((own - line.int("cpu")?).abs() <= 3_000, "{line}");
    let line = time_of_collections(vm, "cputime=wall")?;
    ensure!((line.int("clock")? - line.int("elapsed")?).abs() <= 3_000, "{line}");
    Ok(())
}

/// Returns the duration of the churn: a minute with the variable `JVMPI_LONG`.
fn churning_time() -> Duration {
    Duration::from_secs(if std::env::var_os("JVMPI_LONG").is_some() { 60 } else { 2 })
}

/// Four threads allocate, others come and go, classes are unloaded: every event keeps the rules. The agent holds its
/// raw monitor from GC_START to GC_FINISH.
fn churn_with_all_events(vm: &Vm<'_>) -> Result<(), String> {
    let time = churning_time();
    let java = vm.java("Churn")?.argument(&time.as_millis().to_string());
    let outcome = checked(java.more_patience(time), "mode=all,hold=1")?;
    let kept = keeps_rules(&outcome)?;
    // The amount of work in that time depends on the machine.
    ensure!(kept.int("brackets")? > 0 && kept.int("freed")? > 1_000, "{kept}");
    Ok(())
}

/// Heap walks and collections compete to find dead objects: all are reported, and classes are unloaded. (JDK 11
/// reports dead objects in the pause.)
fn dumps_take_no_deaths_away(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Churn")?.arguments(["1000", "dumps"]).property("churn.least", "6");
    let outcome = checked(java, "")?;
    let end = outcome.expects.one("expect")?;
    ensure!(end.int("dumps")? > 0, "{end}");
    equal("unloaded", end.int("unloaded")?, end.int("rounds")?)?;
    equal("left", end.int("left")?, 0)
}

/// Between `GC_START` and `GC_FINISH` no other thread gets an event. The agent has no locks.
fn nobody_else_in_a_collection(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Churn")?.property("churn.threads", "16").argument("1500");
    let outcome = java.agent("brackets", "")?.run()?;
    let seen = outcome.report().one("brackets")?;
    ensure!(seen.int("count")? > 0, "{seen}");
    equal("object events under way", seen.int("objects_under_way")?, 0)?;
    equal("events of others", seen.int("events_inside")?, 0)
}
