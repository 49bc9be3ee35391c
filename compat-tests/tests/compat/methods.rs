//! METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT.

use std::collections::BTreeSet;

use compat_tests::programs::{self, Found};

use crate::objects::keeps_rules;
use crate::prelude::*;

cases![
    every_kind_of_method,
    methods_of_the_chosen_classes_on_several_threads,
    programs_do_what_they_do.slow(),
    over_when_they_are_disabled,
    rewritten_while_it_runs,
    exits_enabled_beside_calls.on_every_jdk(),
    receivers_that_move.on_every_gc(),
    native_methods,
    native_methods_of_the_jdk.on_every_jdk(),
    native_methods_of_a_running_vm.on_every_jdk(),
    native_methods_of_a_running_vm_that_are_not_found.only(17),
    skipped_getters,
    too_large_a_method,
    constants_that_are_not_numbers.until(22),
    classes_that_cannot_be_used,
    classes_that_are_just_linked,
    calls_left_unseen_end_where_their_exception_is_caught,
    calls_left_unseen_end_where_a_virtual_thread_catches.since(21),
    exceptions_cost_time_in_proportion_to_the_depth.on_every_jdk(),
    hooked_classes.on_every_jdk(),
    loaders_that_refuse_what_they_do_not_know,
    loaders_are_not_locked_for_the_tracker.on_every_jdk(),
    security_managers_are_not_asked_about_the_tracker.until(21).on_every_jdk(),
    constructors_of_every_kind,
    enabled_while_a_method_handle_is_made,
    allocations_belong_to_the_innermost,
    virtual_threads.since(21),
    rewritten_while_virtual_threads_are_mounted.since(21),
    virtual_threads_that_wait.since(21),
    entered_method_of_virtual_thread_is_on_top.since(21),
];

/// With this the VM trusts no class file, rewritten or not.
const VERIFY: &str = "-Xverify:all";

fn calls(vm: &Vm<'_>, options: &str, argument: &str) -> Result<Outcome, String> {
    let java = vm.java("Calls")?.agent("methods", options)?.argument(argument);
    let outcome = java.flag(VERIFY).run()?;
    ensure!(outcome.stdout.ends_with("done\n"), "{}", outcome.stdout);
    Ok(outcome)
}

/// The program's counts equal the agent's, in each of these fields.
fn counted(outcome: &Outcome, fields: &[&str]) -> Result<(), String> {
    let calls = |method: &str, field: &str| -> Result<i64, String> {
        // The compiler numbers the bodies of lambdas; those of a name count together.
        let is_it = |name: &str| match method {
            "Calls.lambda" => name.starts_with("Calls.lambda$counting"),
            _ => name == method,
        };
        let lines = outcome.report().lines("calls");
        lines.filter(|line| line.text("method").is_ok_and(is_it)).map(|l| l.int(field)).sum()
    };
    for expected in outcome.expects.all() {
        let (method, expected) = (expected.text("method")?, expected.int("calls")?);
        for field in fields {
            equal(&format!("{field} of {method}"), calls(method, field)?, expected)?;
        }
    }
    Ok(())
}

fn well_nested(outcome: &Outcome) -> Result<(), String> {
    equal("events on a wrong thread", outcome.report().count("wrong_thread"), 0)?;
    let total = outcome.report().one("total")?;
    for fault in ["not_nested", "unknown"] {
        equal(fault, total.int(fault)?, 0)?;
    }
    Ok(())
}

fn every_kind_of_method(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = calls(vm, "events=1+2+3,prefix=Calls", "rounds")?;
    well_nested(&outcome)?;
    counted(&outcome, &["entries", "entries2", "exits"])
}

/// Another agent gets the compiled methods: those that agents know, not those that the shim adds.
fn methods_of_the_chosen_classes_on_several_threads(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Calls")?.agent("methods", "events=1+3,prefix=")?.argument("threads");
    let java = java.another_agent("compiled", "")?.flags(["-Xcomp", "-XX:TieredStopAtLevel=1"]);
    let outcome = java.settings("include=Calls*,exclude=*$Counter:none.such").run()?;
    well_nested(&outcome)?;
    let report = outcome.report();
    let fib = report.find("calls", "method", "Calls.fib")?;
    equal("exits", fib.int("exits")?, fib.int("entries")?)?;
    equal("methods entered when their thread ended", report.one("total")?.int("open")?, 0)?;
    for line in report.lines("calls") {
        let method = line.text("method")?;
        ensure!(method.starts_with("Calls") && !method.starts_with("Calls$Counter"), "{line}");
    }
    let line = outcome.other_reports()[0].one("compiled")?;
    ensure!(line.int("loads")? > 300, "{line}");
    equal("methods that CLASS_LOAD did not name", line.int("unknown")?, 0)
}

/// An agent that has disabled events may unload its handler's data. If another agent still has them, disabling is so
/// quick that threads are still in the handler.
fn over_when_they_are_disabled(vm: &Vm<'_>) -> Result<(), String> {
    for (events, other, rounds) in [("1+3", "", 4), ("2+3", "1+2+3", 10), ("4", "4", 10)] {
        // The program calls the last one.
        let java = vm.java("Disabling")?.agent("counter", &format!("events={other}"))?;
        let java = java.agent("disabling", &format!("events={events}"))?;
        let java = java.argument(&rounds.to_string()).settings("include=Disabling*");
        let outcome = java.run()?;
        let seen: Vec<_> = outcome.report().lines("disabled").collect();
        equal("rounds", seen.len(), rounds)?;
        for line in seen {
            ensure!(line.int("before")? > 0, "{events}: {line}");
            equal(events, line.int("after")?, 0)?;
        }
    }
    Ok(())
}

/// The exit is the first event of the method. It comes from code that is no longer that of its class, and still names
/// the method of CLASS_LOAD.
fn rewritten_while_it_runs(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = calls(vm, "events=3,late=56,prefix=Calls", "rewritten")?;
    well_nested(&outcome)?;
    counted(&outcome, &["exits"])
}

/// Nothing is kept of calls that begin while METHOD_EXIT is being enabled, in code that does not report exits yet.
fn exits_enabled_beside_calls(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Calls")?.agent("methods", "events=1,late=3,count=0")?.argument("behind");
    let outcome = java.settings("include=Calls").run()?;
    let line = outcome.expects.find("expect", "what", "memory")?;
    // A byte of each would be something.
    ensure!(line.int("behind")? >= 2_000_000 && line.int("grown")? < line.int("behind")?, "{line}");
    Ok(())
}

/// METHOD_ENTRY2 names the object that has a method called, however often the collector moves objects and
/// gives their places to others.
fn receivers_that_move(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Calls")?.agent("methods", "events=2,prefix=Calls")?.argument("moved");
    let outcome = java.settings("include=Calls*").run()?;
    counted(&outcome, &["entries2"])?;
    let touch = outcome.report().find("calls", "method", "Calls$Receiver.touch")?;
    equal("with their receiver", touch.int("receivers")?, touch.int("entries2")?)
}

/// Every call of the program's own native methods is reported, compiled or not, and nothing else is
/// different for the program.
fn native_methods(vm: &Vm<'_>) -> Result<(), String> {
    let run = |options: &str, settings: &str| {
        let java = vm.java("NativeCalls")?.agent("methods", options)?;
        java.settings(&format!("include=NativeCalls*,{settings}")).run()
    };
    let output = |outcome: &Outcome| -> Vec<String> {
        let lines = outcome.stdout.lines().filter(|line| !line.starts_with("expect"));
        lines.map(str::to_owned).collect()
    };
    let silent = run("events=1+3,off=3+1,prefix=NativeCalls", "natives=off")?;
    let is_native =
        |line: &&Line| line.text("method").is_ok_and(|name| name.starts_with("NativeCalls.same"));
    equal("calls with natives=off", silent.report().lines("calls").filter(is_native).count(), 0)?;
    for events in ["1+3", "1+2+3", "2+3"] {
        let outcome =
            run(&format!("events={events},off=3+2+1,tops=1,prefix=NativeCalls"), "natives=stub")?;
        well_nested(&outcome)?;
        let top = outcome.report().one("total")?.int("not_on_top")?;
        equal("methods not on top of their trace", top, 0)?;
        let entries = if events == "2+3" { "entries2" } else { "entries" };
        counted(&outcome, &[entries, "exits"])?;
        if events != "1+3" {
            let of = |method: &str| outcome.report().find("calls", "method", method);
            let fails = of("NativeCalls.fails")?;
            equal("receivers", fails.int("receivers")?, fails.int("entries2")?)?;
            equal("of a static method", of("NativeCalls.mixed")?.int("receivers")?, 0)?;
        }
        equal(&format!("output with {events}"), output(&outcome), output(&silent))?;
    }
    Ok(())
}

/// Methods of the JDK that were bound before any agent began are reported, unless the compiler has replaced their
/// calls.
fn native_methods_of_the_jdk(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("NativeCalls")?.agent("methods", "events=1+3,off=3+1,prefix=None")?;
    let java = java.argument("jdk");
    let outcome = java.flag("-Xint").run()?;
    well_nested(&outcome)?;
    let natives = outcome.expects.lines("expect").filter(|line| line.text("native").is_ok());
    let mut seen = 0;
    for line in natives {
        equal(&format!("events of {line}"), line.int("events")?, 2 * line.int("calls")?)?;
        seen += 1;
    }
    equal("native methods", seen, 8)
}

/// Runs the program that binds its native methods before the agent is attached.
fn attached(vm: &Vm<'_>, without: &str) -> Result<Outcome, String> {
    let (shim, agent) = (build::shim()?, build::agent("methods")?);
    let java = vm.java("NativeCalls")?.property("agent.path", text(&agent)?).flag("-Xint");
    let java = java.variable("JVMPI_TEST_WITHOUT", without).settings("log=info");
    let java = java.argument("attached").ready()?;
    let options = format!("\"{}:events=1+2+3,off=3+2+1,prefix=NativeCalls\"", text(&agent)?);
    java.jcmd(vm.jdk, &["JVMTI.agent_load", text(&shim)?, &options])?;
    java.finish(0)
}

/// Methods bound before the agent was attached are reported: bound by their names, by `RegisterNatives`, and those of
/// the JDK.
fn native_methods_of_a_running_vm(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = attached(vm, "")?;
    ensure!(!outcome.stdout.contains("e-registering"), "the VM complains: {}", outcome.stdout);
    let natives = outcome.expects.lines("expect").filter(|line| line.text("native").is_ok());
    let mut seen = 0;
    for line in natives {
        equal(&format!("events of {line}"), line.int("events")?, 3 * line.int("calls")?)?;
        seen += 1;
    }
    equal("native methods", seen, 8)?;
    for line in outcome.expects.lines("expect").filter(|line| line.text("method").is_ok()) {
        let method = line.text("method")?;
        let calls = outcome.report().find("calls", "method", method)?;
        for word in ["entries", "entries2", "exits"] {
            equal(&format!("{word} of {method}"), calls.int(word)?, line.int("calls")?)?;
        }
    }
    Ok(())
}

/// If the VM's place of the bound functions is unknown, one line says so, and methods bound later are reported.
fn native_methods_of_a_running_vm_that_are_not_found(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = attached(vm, "native_function")?;
    ensure!(outcome.stdout.ends_with("done\n"), "{}", outcome.stdout);
    let said = outcome.stderr.matches("cannot find native_function: ").count();
    equal("lines that say so", said, 1)?;
    let (mut seen, mut unseen) = (0, 0);
    for line in outcome.expects.lines("expect").filter(|line| line.text("native").is_ok()) {
        let (events, calls) = (line.int("events")?, line.int("calls")?);
        ensure!(events == 0 || events == 3 * calls, "{line}");
        *(if events > 0 { &mut seen } else { &mut unseen }) += 1;
    }
    for line in outcome.expects.lines("expect").filter(|line| line.text("method").is_ok()) {
        let (method, made) = (line.text("method")?, line.int("calls")?);
        let Ok(calls) = outcome.report().find("calls", "method", method) else {
            unseen += 1;
            continue;
        };
        let entries = calls.int("entries")?;
        ensure!(entries <= made && entries == calls.int("exits")?, "of {made}: {calls}");
        *(if entries == made { &mut seen } else { &mut unseen }) += 1;
    }
    ensure!(seen > 0 && unseen > 0, "{seen} methods were seen, {unseen} were not");
    Ok(())
}

/// With `getters=skip` exactly the methods that only read or write fields report no call.
fn skipped_getters(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Getters")?.agent("methods", "events=1+2+3,prefix=Getters")?;
    let outcome = java.settings("include=Getters,getters=skip").run()?;
    well_nested(&outcome)?;
    counted(&outcome, &["entries", "entries2", "exits"])
}

fn classes_that_cannot_be_used(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Unusable")?.agent("methods", "late=1+3,prefix=Usable")?;
    let outcome = java.settings("log=debug").run()?;
    counted(&outcome, &["entries", "exits"])?;
    // Nothing can be done for those, and nothing is lost. Each event that is switched says so.
    let refusals = outcome.stderr.lines().filter(|line| line.contains("is not rewritten"));
    let refusals: BTreeSet<_> = refusals.collect();
    for name in ["Failed", "NotYetFailed", "Unverified"] {
        let about = |line: &&&str| line.contains(&format!(" {name}"));
        let of_it = refusals.iter().filter(about).collect::<Vec<_>>();
        equal(&format!("lines about {name}"), of_it.len(), 8)?;
        ensure!(of_it.iter().all(|line| line.starts_with("[jvmpi] debug")), "{of_it:?}");
    }
    Ok(())
}

/// The VM misreads the code of a class that another thread is just linking (JDK-8277444).
fn classes_that_are_just_linked(vm: &Vm<'_>) -> Result<(), String> {
    // To verify classes would be most of linking them, and the rest is what matters.
    let java = vm.java("Linking")?.flag("-XX:+UnlockDiagnosticVMOptions");
    let java = java.flag("-XX:-BytecodeVerificationRemote");
    let java = java.agent("methods", "late=1+3,prefix=None")?;
    let outcome = java.settings("include=Made*").run()?;
    ensure!(!outcome.stderr.contains("is not rewritten"), "{}", outcome.stderr);
    let line = outcome.expects.one("expect")?;
    equal("events", line.int("told")?, 2 * line.int("calls")?)
}

/// The program compares the number of entered methods where it catches an exception with the number before. The
/// exception has left constructors in their call of another constructor, where no code can report the exit, or methods
/// with a stack too full for a report.
fn exits_where_exceptions_are_caught(
    vm: &Vm<'_>,
    thread: &str,
    settings: &str,
) -> Result<(), String> {
    for (mode, events, overflows) in [("-Xmixed", "1+2+3", 3), ("-Xint", "1+3", 100)] {
        let java =
            vm.java("Caught")?.agent("methods", &format!("events={events},prefix=Caught"))?;
        let java = java.argument(thread).argument(&overflows.to_string()).settings(settings);
        let outcome = java.flag(mode).flag(VERIFY).run()?;
        let line = outcome.expects.one("expect")?;
        ensure!(line.text("failed")? == "false", "{line}: {}", outcome.stderr);
        ensure!(line.int("checks")? > 1000, "{line}");
        well_nested(&outcome)?;
        for calls in outcome.report().lines("calls") {
            equal(&calls.to_string(), calls.int("exits")?, calls.int("entries")?)?;
        }
    }
    Ok(())
}

fn calls_left_unseen_end_where_their_exception_is_caught(vm: &Vm<'_>) -> Result<(), String> {
    exits_where_exceptions_are_caught(vm, "platform", "")
}

fn calls_left_unseen_end_where_a_virtual_thread_catches(vm: &Vm<'_>) -> Result<(), String> {
    exits_where_exceptions_are_caught(vm, "virtual", "virtual=own")
}

/// An exception passes a handler in each frame of a deep recursion.
fn exceptions_cost_time_in_proportion_to_the_depth(vm: &Vm<'_>) -> Result<(), String> {
    let alone = vm.java("Unwinding")?.agent("counter", "events=1+3")?;
    let two = vm.java("Unwinding")?.agent("counter", "events=1+3")?;
    let two = two.another_agent("counter", "events=1+3")?;
    for java in [alone, two] {
        let java = java.settings("include=Unwinding*").arguments(["1000", "16000"]);
        let outcome = java.run()?;
        let lines = outcome.expects.all();
        equal("measurements", lines.len(), 8)?;
        for pair in lines.chunks(2) {
            let (shallow, deep) = (pair[0].int("ns")?, pair[1].int("ns")?);
            ensure!(deep < 4 * shallow, "{} {}", pair[0], pair[1]);
        }
    }
    Ok(())
}

fn too_large_a_method(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Large")?.agent("methods", "events=1+3,prefix=Made")?.run()?;
    equal("results", outcome.expects.all().len(), 3)?;
    for line in outcome.expects.all() {
        equal("value", line.int("value")?, 5)?;
    }
    equal("calls", outcome.report().one("calls")?.text("method")?, "Made.small")?;
    let warnings = outcome.stderr.lines().filter(|line| line.starts_with("[jvmpi] warn"));
    let warnings: Vec<_> = warnings.collect();
    ensure!(warnings.len() == 1 && warnings[0].contains("Made.large"), "{warnings:?}");
    Ok(())
}

/// Each rewriting adds such constants once more, and a VM that does not count them crashes when there are too
/// many. The class is left as it is before that.
fn constants_that_are_not_numbers(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("NotANumber")?.agent("methods", "late=1+3,prefix=Made")?;
    let outcome = java.settings("include=Made").run()?;
    let line = outcome.expects.one("expect")?;
    let rounds = line.int("rounds")?;
    equal("sum", line.int("sum")?, 2 * 5 * rounds)?;
    // The class is left as it is at a stage that reports both.
    let calls = outcome.report().one("calls")?;
    equal("calls", (calls.int("entries")?, calls.int("exits")?), (rounds, rounds))?;
    let warnings: Vec<_> =
        outcome.stderr.lines().filter(|line| line.starts_with("[jvmpi] warn")).collect();
    ensure!(warnings.len() == 1 && warnings[0].contains(" Made "), "{warnings:?}");
    Ok(())
}

/// An agent of CLASS_LOAD_HOOK gets the original class files, and the class files that it returns are
/// rewritten.
fn hooked_classes(vm: &Vm<'_>) -> Result<(), String> {
    let lengths = |outcome: &Outcome| -> Result<Vec<i64>, String> {
        let hook = |report: usize, name: &str| {
            let reports = outcome.other_reports();
            let report = if report == 0 { outcome.report() } else { &reports[report - 1] };
            report.find("hook", "name", name)?.int("length")
        };
        let report = outcome.other_reports().len();
        ["Hook", "Hook$Target"].iter().map(|name| hook(report, name)).collect()
    };
    let alone = vm.java("Hook")?.agent("class_hook", "mode=replaced")?.run()?;
    let java = vm.java("Hook")?.agent("methods", "events=1+3,prefix=Hook")?;
    let outcome = java.another_agent("class_hook", "mode=replaced")?.flag(VERIFY).run()?;
    equal("text", outcome.expects.one("expect")?.text("text")?, "REPLACEMENT")?;
    equal("lengths", lengths(&outcome)?, lengths(&alone)?)?;
    let line = outcome.report().find("calls", "method", "Hook$Target.text")?;
    equal("calls", (line.int("entries")?, line.int("exits")?), (1, 1))
}

/// Code that reports names a class of the shim's. Loaders of programs are not asked for it, and no event reports it.
fn loaders_that_refuse_what_they_do_not_know(vm: &Vm<'_>) -> Result<(), String> {
    let run = |options: &str, arguments: &[&str], settings: &str| {
        let java = vm.java("Loaders")?.agent("methods", options)?.settings(settings);
        java.arguments(arguments.iter().copied()).flag(VERIFY).run()
    };
    let outcome = run("events=1+3,prefix=Loaders", &[], "include=*")?;
    let late = run("late=1+3,prefix=Loaders", &["late"], "include=Loaders$Made")?;
    for outcome in [&outcome, &late] {
        well_nested(outcome)?;
        for line in outcome.expects.all() {
            equal("asked for the Tracker", line.text("tracker")?, "false")?;
        }
        equal("loaders", outcome.expects.all().len(), 3)?;
        // Each loader has a class of its own.
        let lines = outcome.report().lines("calls");
        let steps = lines.filter(|line| line.text("method") == Ok("Loaders$Made.step"));
        let steps = steps.map(|line| Ok((line.int("entries")?, line.int("exits")?)));
        equal("steps", steps.collect::<Result<Vec<_>, String>>()?, vec![(10, 10); 3])?;
    }
    for line in outcome.expects.all() {
        let method = format!("Loaders${}.loadClass", line.text("loader")?);
        let calls = outcome.report().find("calls", "method", &method)?;
        equal(&method, calls.int("entries")?, line.int("asked")?)?;
    }
    Ok(())
}

/// One thread has the monitor of a class loader and waits for a lock. The owner of the lock runs the first code of a
/// class of the loader.
fn loaders_are_not_locked_for_the_tracker(vm: &Vm<'_>) -> Result<(), String> {
    let java = || vm.java("LoaderLock");
    let first = java()?.agent("methods", "events=1+3,prefix=LoaderLock")?;
    let late = java()?.agent("methods", "late=1+3,prefix=LoaderLock")?.argument("late");
    for java in [first, late] {
        let outcome = java.run()?;
        equal("length", outcome.expects.one("expect")?.int("length")?, 1)?;
        let run = outcome.report().find("calls", "method", "LoaderLock$Made.getAsInt")?;
        equal("calls", (run.int("entries")?, run.int("exits")?), (1, 1))?;
    }
    Ok(())
}

/// The VM asks the security manager whether a class may use the package of the Tracker. The manager is rewritten
/// itself, or refuses packages that it does not know.
fn security_managers_are_not_asked_about_the_tracker(vm: &Vm<'_>) -> Result<(), String> {
    const PROPERTY: &str = "java.security.manager";
    for manager in ["Watching", "Refusing"] {
        let class = format!("Managed${manager}");
        let first = vm.java("Managed")?.agent("methods", "events=1+3,prefix=Managed")?;
        let late = vm.java("Managed")?.agent("methods", "late=1+3,prefix=Managed")?;
        // JDK 11 takes "allow" for the name of a class.
        let late = if vm.jdk.feature > 11 { late.property(PROPERTY, "allow") } else { late };
        for java in [first.property(PROPERTY, &class), late.argument(manager)] {
            let outcome = java.flag(VERIFY).run()?;
            equal("manager", outcome.expects.one("expect")?.text("manager")?, manager)?;
            well_nested(&outcome)?;
            let steps = outcome.report().find("calls", "method", "Managed.step")?;
            equal("steps", (steps.int("entries")?, steps.int("exits")?), (1000, 1000))?;
        }
    }
    Ok(())
}

/// METHOD_ENTRY2 names the object of a constructor, also in code that the compiler has inlined and for
/// objects that it would replace by their fields.
fn constructors_of_every_kind(vm: &Vm<'_>) -> Result<(), String> {
    let compiled = ["-XX:Tier3InvocationThreshold=100", "-XX:Tier4InvocationThreshold=500"];
    let java = vm
        .java("Receivers")?
        .agent("methods", "events=2+3,prefix=Receivers")?
        .settings("include=Receivers*");
    let outcome = java.flags(compiled).flags(["-Xbatch", VERIFY]).run()?;
    let expected = outcome.expects.one("expect")?;
    let of = |method: &str, field: &str| -> Result<i64, String> {
        let name = format!("Receivers${method}");
        let lines = outcome.report().lines("calls");
        lines.filter(|line| line.text("method") == Ok(&name)).map(|line| line.int(field)).sum()
    };
    equal("objects", of("Base.touch", "entries2")?, expected.int("touched")?)?;
    equal("their constructors", of("Base.touch", "constructors")?, expected.int("constructors")?)?;
    for line in outcome.report().lines("calls") {
        let name = line.text("method")?;
        if name == "Receivers$Copy.<init>" {
            // Entries that were left before their object could be known need not have one.
            equal(&format!("entries of {name}"), line.int("entries2")?, line.int("exits")?)?;
        } else if name.ends_with(".<init>") {
            equal(&line.to_string(), line.int("receivers")?, line.int("entries2")?)?;
        }
    }
    let classes =
        [("Local", "local"), ("Derived", "derived"), ("Failing", "failing"), ("Node", "nodes")];
    equal("copies entered", of("Copy.<init>", "entries2")?, expected.int("copies")?)?;
    let known = of("Copy.<init>", "receivers")?;
    ensure!(3 * known >= expected.int("copies")?, "{known} copies are known");
    for (class, field) in classes {
        let method = format!("{class}.<init>");
        equal(&method, of(&method, "receivers")?, expected.int(field)?)?;
    }
    Ok(())
}

/// The class of a kind of method handles is loaded while the JDK makes the first of them. The agent
/// enables METHOD_ENTRY2 there, and the JDK gets on with it.
fn enabled_while_a_method_handle_is_made(vm: &Vm<'_>) -> Result<(), String> {
    let kinds = "java.lang.invoke.BoundMethodHandle$Species_";
    let options = format!("events=1,late=2,prefix=Handles,when={kinds}");
    let outcome = vm.java("Handles")?.agent("methods", &options)?.run()?;
    equal("output", outcome.stdout.contains("123\n"), true)?;
    let made = outcome.expects.one("expect")?.int("made")?;
    let line = outcome.report().find("calls", "method", "Handles$Made.<init>")?;
    equal("constructors", (line.int("entries2")?, line.int("receivers")?), (made, made))
}

/// An allocation belongs to the innermost method that was entered, whatever reports it: in OBJECT_ALLOC of an object
/// none of its constructors has been entered. The call trace agrees, even if no agent wants events of calls.
fn allocations_belong_to_the_innermost(vm: &Vm<'_>) -> Result<(), String> {
    let events = ["", "1+3", "1+2+3"].into_iter();
    for (source, events) in events.flat_map(|on| [("alloc=bytecode", on), ("alloc=sampled", on)]) {
        let case = format!("{source} {events}");
        let options = format!("events={events},prefix=Receivers,allocations=1");
        let java = vm.java("Receivers")?.agent("methods", &options)?;
        let settings = format!("{source},include=Receivers*");
        let outcome = java.settings(&settings).flag("-Xint").flag(VERIFY).run()?;
        well_nested(&outcome)?;
        let line = outcome.report().one("allocations")?;
        let least = if events.is_empty() { 0 } else { 15_000 };
        ensure!(line.int("placed")? >= least, "{case}: {line}");
        equal(&format!("misplaced with {case}"), line.int("misplaced")?, 0)?;
        let expected = outcome.expects.one("expect")?;
        for (method, field) in [("Derived", "derived"), ("Node", "nodes")] {
            let name = format!("Receivers${method}.<init>");
            let lines = outcome.report().lines("calls");
            let lines = lines.filter(|line| line.text("method") == Ok(&name));
            let made: i64 = lines.map(|l| l.int("allocations")).sum::<Result<_, _>>()?;
            // One of its constructors makes one object.
            let constructors = if method == "Derived" { 2 } else { 3 };
            equal(
                &format!("made by {name} with {case}"),
                made,
                expected.int(field)? / constructors,
            )?;
        }
    }
    Ok(())
}

/// A program prints the same as without an agent when all its methods report, and each exit matches an entry.
fn programs_do_what_they_do(vm: &Vm<'_>) -> Result<(), String> {
    for program in programs::SHORT {
        let name = program.name;
        let launch = match program.on(vm)? {
            Found::Ready(launch) => launch,
            Found::Missing(why) => {
                println!("skipped: {name}: {why}");
                continue;
            }
        };
        let expected = launch.run()?;
        let Found::Ready(launch) = program.on(vm)? else { return Err(format!("no {name} now")) };
        let outcome = launch.agent("methods", "events=1+3,count=0")?.run()?;
        equal(&format!("output of {name}"), &outcome.stdout, &expected.stdout)?;
        well_nested(&outcome).map_err(|error| format!("{name}: {error}"))?;
        let total = outcome.report().one("total")?;
        ensure!(total.int("entries")? > 100_000, "{name}: {total}");
    }
    Ok(())
}

/// Virtual threads that continue after waiting for a monitor are reported. A call that begins on one carrier and ends
/// on another has no exit, so there is but one.
fn virtual_threads_that_wait(vm: &Vm<'_>) -> Result<(), String> {
    let java =
        vm.java_for(21, "VirtualCalls")?.agent("methods", "events=1+3,prefix=VirtualCalls")?;
    let java = java.property("jdk.virtualThreadScheduler.parallelism", "1");
    let outcome = java.property("jdk.virtualThreadScheduler.maxPoolSize", "1").run()?;
    counted(&outcome, &["entries", "exits"])
}

/// The call trace of METHOD_ENTRY begins with the entered method. A virtual thread that leaves its carrier at a monitor does
/// so without a notice.
fn entered_method_of_virtual_thread_is_on_top(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java_for(21, "VirtualCalls")?.agent("methods", "events=1,tops=1,count=0")?;
    let outcome = java.settings("virtual=carrier").run()?;
    let total = outcome.report().one("total")?;
    ensure!(total.int("entries")? > 10_000, "too few entries: {total}");
    equal("entries not on top", total.int("not_on_top")?, 0)
}

/// Virtual threads run undisturbed beside a sampler, and every event keeps the rules. One line names the setting that agents with stacks need.
fn virtual_threads(vm: &Vm<'_>) -> Result<(), String> {
    for (settings, mode, warnings) in [
        ("virtual=carrier", "mode=all", 1),
        ("virtual=own", "mode=all", 0),
        ("suspend=jvmti", "mode=monitors", 0),
    ] {
        let java = vm.java_for(21, "Virtual")?.settings(settings).agent("checker", mode)?;
        let outcome = java.another_agent("sampler", "")?.run()?;
        keeps_rules(&outcome)?;
        let names = |line: &&str| line.starts_with("[jvmpi] warn") && line.contains("virtual=own");
        let lines = outcome.stderr.lines().filter(names).count();
        equal("lines that name the setting", lines, warnings)?;
        let right = "expect sum=499500 monitor=1000 lock=1000\n";
        equal("output", outcome.stdout.as_str(), right)?;
    }
    Ok(())
}

/// Code that runs while a virtual thread is being mounted or unmounted reports nothing, also if it is rewritten just
/// then: JVMTI would have it wait for itself.
fn rewritten_while_virtual_threads_are_mounted(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java_for(21, "VirtualSwitching")?.agent("traces", "")?;
    let outcome = java.settings("virtual=own").run()?;
    equal("rounds", outcome.expects.one("expect")?.int("rounds")?, 5)
}
