//! Classes: the replay at start-up, what `CLASS_LOAD` tells, requests, unloading, and the hook.

use crate::objects::keeps_rules;
use crate::prelude::*;

cases![
    replay_order.on_every_jdk(),
    used_before_it_can_be_linked,
    used_before_it_is_linked_by_a_thread_with_a_lock,
    unload_waits_until_gc_is_enabled,
    data_of_unannounced_classes_is_freed,
    // ZGC has no class unloading there.
    numbers_of_methods_are_given_again.on_every_gc().except(11, Gc::Z),
    numbers_of_methods_that_are_never_called,
    the_load_is_that_of_the_thread_of_the_hook,
    each_hook_is_followed_by_its_load,
];

/// The start of the main thread, the classes, the other threads, and only then the end of
/// initialization.
fn replay_order(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Hello")?.agent("events", "events=33+42+46")?.run()?;
    let lines = outcome.report().all();
    let end = outcome.report().position(|line| line.word == "jvm_init_done");
    let replay = &lines[..end.ok_or("no JVM_INIT_DONE")?];
    let env = replay.first().ok_or("no replay")?.id("env")?;
    ensure!(replay[0].text("name") == Ok("main"), "the first is {}", replay[0]);
    let classes = replay[1..].iter().take_while(|line| line.word == "class_load").count();
    ensure!(classes > 300, "only {classes} classes before JVM_INIT_DONE");
    let threads = replay.len() - 1 - classes;
    ensure!(threads >= 3, "only {threads} threads besides the main one");
    for thread in &replay[1 + classes..] {
        ensure!(thread.word == "thread_start", "among the threads: {thread}");
    }
    for line in replay {
        ensure!(line.id("env")? == env, "not on the main thread: {line}");
        ensure!(line.int("requested")? == 0, "{line}");
    }
    Ok(())
}

/// References to such a Class object, its monitor and arrays are reported once that is possible, or not at all. Its
/// loader's methods have such a receiver. Other Class objects that no event has named are receivers too.
fn used_before_it_can_be_linked(vm: &Vm<'_>) -> Result<(), String> {
    for mode in ["mode=monitors", "mode=all"] {
        let java = vm.java("Unready")?.agent("checker", mode)?;
        let outcome = java.run()?;
        let line = outcome.expects.one("expect")?;
        equal("loaded", line.text("loaded")?, "Unready$Child")?;
        keeps_rules(&outcome)?;
    }
    Ok(())
}

/// No event has the program's loaders asked for classes where the program itself does not ask: they may wait
/// for a lock that the thread has.
fn used_before_it_is_linked_by_a_thread_with_a_lock(vm: &Vm<'_>) -> Result<(), String> {
    for mode in ["mode=monitors", "mode=all"] {
        let java = vm.java("LockedOut")?.agent("checker", mode)?;
        let outcome = java.run()?;
        let line = outcome.expects.one("expect")?;
        equal("name", line.text("name")?, "LockedOut$Named")?;
        equal("arrays", line.int("arrays")?, 1)?;
        keeps_rules(&outcome)?;
    }
    Ok(())
}

/// IDs stay valid while the agent has collections disabled, although the VM continues to collect.
fn unload_waits_until_gc_is_enabled(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Unload")?.agent("unload", "")?.argument("held").run()?;
    let line = outcome.expects.find("expect", "test", "held")?;
    equal("unloaded while disabled", line.int("unloaded")?, 0)?;
    let last = outcome.expects.all().last().ok_or("no line")?;
    equal("unloaded in the end", last.int("unloaded")?, 10)
}

/// The shim's data about a class that was never reported is freed with the class.
fn data_of_unannounced_classes_is_freed(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Unload")?.agent("unload", "mode=traced")?.argument("traced");
    let outcome = java.property("victim.trace", "true").settings("log=debug").run()?;
    let line = outcome.stderr.lines().find(|line| line.contains(" methods are known"));
    let numbers = line.ok_or("nothing is said of what is known")?.split(' ');
    let numbers: Vec<usize> = numbers.filter_map(|word| word.parse().ok()).collect();
    ensure!(numbers.len() == 2 && numbers[1] < 100, "known of 150 classes: {numbers:?}");
    Ok(())
}

/// Methods of new classes get the numbers of unloaded ones, and no event reports an unloaded one.
fn numbers_of_methods_are_given_again(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Unload")?.agent("unload", "mode=called")?.argument("called");
    let outcome = java.settings("log=debug include=Unload$Victim:Unload$Second").run()?;
    let line = outcome.expects.one("expect")?;
    let classes = line.int("classes")?;
    equal("calls of steps", line.int("steps")?, 100 * classes)?;
    equal("calls of leaps", line.int("leaps")?, 2 * classes)?;
    equal("entries without an exit", line.int("open")?, 0)?;
    // Each class has three methods, ten classes live at a time, and 400 in all. The JDK's have some, too.
    ensure!((30..=300).contains(&numbers_of_methods(&outcome)?), "{}", outcome.stderr);
    Ok(())
}

/// These numbers are reused too, and so are those of classes with a failed definition.
fn numbers_of_methods_that_are_never_called(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Unload")?.agent("unload", "mode=called")?.argument("never called");
    let outcome = java.settings("log=debug include=Unload$Victim:Unload$Orphan").run()?;
    equal("failed", outcome.expects.one("expect")?.int("failed")?, 10_000)?;
    // Each has three methods, and fifty classes live at a time.
    ensure!((150..=450).contains(&numbers_of_methods(&outcome)?), "{}", outcome.stderr);
    Ok(())
}

/// Returns the number of method numbers of rewritten code, used or free.
fn numbers_of_methods(outcome: &Outcome) -> Result<i64, String> {
    let is_it = |line: &&str| line.contains("rewritten code has ");
    let said = outcome.stderr.lines().find(is_it).ok_or("nothing is said of numbers")?;
    said.split(' ').find_map(|word| word.parse().ok()).ok_or_else(|| said.to_owned())
}

/// A class that one thread loads and another links.
fn the_load_is_that_of_the_thread_of_the_hook(vm: &Vm<'_>) -> Result<(), String> {
    for (setting, is_same) in [("classload=link", false), ("classload=load", true)] {
        let java = vm.java("Hook")?.agent("class_hook", "mode=same")?.argument("elsewhere");
        let outcome = java.settings(setting).run()?;
        let hook = outcome.report().find("hook", "name", "Hello")?;
        let load = outcome.report().find("class_load", "name", "Hello")?;
        equal(setting, load.id("env")? == hook.id("env")?, is_same)?;
        let of_main = outcome.report().find("class_load", "name", "Hook")?;
        equal(setting, load.id("env")? == of_main.id("env")?, !is_same)?;
    }
    Ok(())
}

/// A thread has announced the classes that it has loaded when it ends, and never sees a class of the shim's. The
/// program returns or exits.
fn each_hook_is_followed_by_its_load(vm: &Vm<'_>) -> Result<(), String> {
    // The thread, the main one if it returns, and that which ends the JVM.
    for (argument, ends) in [("unused", 3), ("exit", 2)] {
        let java = vm.java("Hook")?.agent("class_hook", "mode=pairs")?;
        let outcome = java.argument(argument).run()?;
        let report = outcome.report();
        let pending: Vec<_> = report.lines("pending").map(ToString::to_string).collect();
        equal("hooks without CLASS_LOAD", pending, Vec::<String>::new())?;
        ensure!(report.count("end") >= ends, "{argument}: {} ends", report.count("end"));
        let unused = ["Hook$Unused", "Hook$UnusedToo", "Hello", "java.util.zip.GZIPInputStream"];
        for name in unused {
            report.find("class_load", "name", name)?;
        }
    }
    Ok(())
}
