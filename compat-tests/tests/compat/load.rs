//! The five ways of loading, what an agent is given there, and what happens when it cannot be
//! loaded.

use std::fs;
use std::path::{Path, PathBuf};

use compat_tests::machine::Machine;

use crate::prelude::*;

cases![
    each_way_of_loading_gives_an_agent_the_same.on_every_jdk(),
    shim_alone_warns_and_changes_nothing_else,
    library_of_the_program_controls_the_only_agent,
    get_env_as_the_last_call,
    eight_agents_get_only_their_events,
    nine_agents_are_refused,
    several_xrun_agents,
    attach.on_every_jdk(),
    attach_rewrites_each_class_once_in_few_calls,
    attach_failure_leaves_the_program_alone,
    embedded,
    agent_with_an_executable_stack.on_every_jdk(),
    unusable_library_is_refused,
    unusable_xrun_library_is_refused.on_every_jdk(),
];

/// Returns the option string that the agent saw; `None` if it was NULL.
fn options_seen(outcome: &Outcome) -> Result<Option<String>, String> {
    let line = outcome.report().one("on_load")?;
    if line.int("null")? == 1 {
        return Ok(None);
    }
    let hex = line.text("options")?;
    let byte = |i| u8::from_str_radix(&hex[i..i + 2], 16).map_err(|e| format!("{hex}: {e}"));
    let bytes = (0..hex.len()).step_by(2).map(byte).collect::<Result<_, _>>()?;
    String::from_utf8(bytes).map(Some).map_err(|e| e.to_string())
}

/// The options arrive unchanged, JNI works in `JVM_OnLoad`, and `JVM_OnUnload` comes last.
fn each_way_of_loading_gives_an_agent_the_same(vm: &Vm<'_>) -> Result<(), String> {
    let agent = build::agent("load")?;
    let hello = || vm.java("Hello");
    let xrun = |options: &str| hello()?.shim_alone()?.xrun("load", options);
    // Windows passes text in its code page.
    let beyond_ascii =
        if Machine::this().is_windows() { "" } else { "grüße Ωмега 日本 💡" };
    let all = format!("a=b,c::  {beyond_ascii} {}:", "0123456789abcdef".repeat(256));
    let in_variable = format!("-agentpath:{} -Xrunload:a=b,c", text(&build::shim()?)?);
    let in_variable = hello()?.library_path(&agent)?.variable("JAVA_TOOL_OPTIONS", &in_variable);
    for (java, expected) in [
        (hello()?.shim(&format!("{}:{all}", text(&agent)?))?, Some(all.as_str())),
        (hello()?.library_path(&agent)?.shim("load:by name")?, Some("by name")),
        (in_variable, Some("a=b,c")),
        (xrun(&format!(":{all}"))?, Some(&all)),
        (xrun(":")?, Some("")),
        (xrun("")?, None),
    ] {
        let outcome = java.run()?;
        equal("options", options_seen(&outcome)?.as_deref(), expected)?;
        equal("output", outcome.stdout.as_str(), "hello \n")?;
        outcome.checks(&["jni", "not attached"])?;
        let last = outcome.report().all().last().ok_or("an empty report")?;
        equal("the last line", last.to_string().as_str(), "on_unload same=\"1\"")?;
    }
    Ok(())
}

fn shim_alone_warns_and_changes_nothing_else(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Hello")?.shim_alone()?.argument("alone").run()?;
    equal("output", outcome.stdout.as_str(), "hello alone\n")?;
    let warning = format!(
        "[jvmpi] warning: no agent was named, as in -agentpath:…/{}=foo:options or -Xrunfoo:options: only a \
         library of the program that asks for JVMPI gets it\n",
        Machine::this().library("jvmpi")
    );
    equal("standard error", outcome.stderr.as_str(), warning.as_str())
}

/// Newer C libraries refuse to load it.
fn agent_with_an_executable_stack(vm: &Vm<'_>) -> Result<(), String> {
    let flags = ["-Wl,-z,execstack"];
    let agent = build::agent_with("events", "libevents-execstack.so", &flags)?;
    let outcome = vm.java("Hello")?.shim(&format!("{}:events=33", text(&agent)?))?.run()?;
    outcome.report().find("thread_start", "name", "main").map(|_| ())
}

/// A library of the program that asks for the interface, with a call that returns to the VM, controls the only agent
/// or none. With several agents the caller is unknown.
fn library_of_the_program_controls_the_only_agent(vm: &Vm<'_>) -> Result<(), String> {
    let control = build::agent("control")?;
    let alone = vm.java("Control")?.shim_alone()?;
    let beside = vm.java("Control")?.agent("events", "events=46")?;
    for (java, has_agent) in [(alone, false), (beside, true)] {
        let outcome = java.property("control.path", text(&control)?).run()?;
        let results = outcome.expects.all().iter().map(|line| line.int("result"));
        equal("results", results.collect::<Vec<_>>(), [Ok(0), Ok(0)])?;
        equal("errors", outcome.errors().len(), 0)?;
        if has_agent {
            outcome.report().find("class_load", "name", "Control$Loaded")?;
        }
    }

    let java = vm.java("Control")?.another_agent("events", "events=46")?;
    let java = java.another_agent("events", "events=46")?;
    let outcome = java.property("control.path", text(&control)?).run()?;
    equal("result", outcome.expects.all()[0].int("result")?, -1)?;
    let [error] = outcome.errors()[..] else { return Err(outcome.stderr) };
    ensure!(error.contains("which of 2 agents"), "{error}");
    Ok(())
}

/// The agent has no handler when JVM_SHUT_DOWN comes.
fn get_env_as_the_last_call(vm: &Vm<'_>) -> Result<(), String> {
    let agent = build::agent("tail_call")?;
    let xrun = vm.java("Control")?.shim_alone()?.xrun("tail_call", "")?;
    let xrun = xrun.property("agent.path", text(&agent)?);
    for java in [vm.java("Control")?.agent("tail_call", "")?, xrun] {
        let outcome = java.argument("agent").run()?;
        equal("output", outcome.stdout.as_str(), "")?;
        outcome.checks(&["asked again", "the same table", "it works"])?;
        equal("errors", outcome.errors().len(), 0)?;
    }
    Ok(())
}

fn eight_agents_get_only_their_events(vm: &Vm<'_>) -> Result<(), String> {
    let mut java = vm.java("Hello")?;
    for agent in 0..8 {
        let events = if agent % 2 == 0 { "events=42+46" } else { "events=33+47" };
        java = java.another_agent("events", events)?;
    }
    let outcome = java.run()?;
    equal("reports", outcome.other_reports().len(), 8)?;
    for (agent, report) in outcome.other_reports().iter().enumerate() {
        let has = ["class_load", "jvm_init_done", "thread_start", "jvm_shut_down", "error"]
            .map(|word| report.count(word));
        let is_right = match agent % 2 {
            0 => has[0] > 300 && has[1..] == [1, 0, 0, 0],
            _ => has[2] > 2 && [has[0], has[1], has[3], has[4]] == [0, 0, 1, 0],
        };
        ensure!(is_right, "agent {agent} has events of others: {has:?}");
    }
    Ok(())
}

fn nine_agents_are_refused(vm: &Vm<'_>) -> Result<(), String> {
    let mut java = vm.java("Hello")?;
    for _ in 0..9 {
        java = java.another_agent("events", "events=46")?;
    }
    let outcome = java.run_to(1)?;
    equal("error lines", outcome.errors().len(), 1)
}

fn several_xrun_agents(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm
        .java("Hello")?
        .shim_alone()?
        .xrun("load", ":first")?
        .xrun("events", ":events=46+47")?
        .run()?;
    equal("options", options_seen(&outcome)?.as_deref(), Some("first"))?;
    // Both report to the same file here: each has its own line.
    equal("jvm_init_done", outcome.report().count("jvm_init_done"), 2)?;
    equal("jvm_shut_down", outcome.report().count("jvm_shut_down"), 1)
}

fn attach(vm: &Vm<'_>) -> Result<(), String> {
    let (shim, agent) = (build::shim()?, build::agent("events")?);
    let java = vm.java("Wait")?.settings("log=info").ready()?;
    // jcmd takes an argument with `=` in it for a named one, unless it is quoted.
    let options = format!("\"{}:events=33+42+46+47\"", text(&agent)?);
    java.jcmd(vm.jdk, &["JVMTI.agent_load", text(&shim)?, &options])?;
    let outcome = java.finish(0)?;
    ensure!(outcome.stdout.ends_with("done\n"), "output: {}", outcome.stdout);
    let missed = "[jvmpi] info: attached to a running JVM: calls in progress, ";
    equal("lines about that", outcome.stderr.matches(missed).count(), 1)?;
    let report = outcome.report();
    report.find("thread_start", "name", "main")?;
    report.find("class_load", "name", "Wait")?;
    report.find("class_load", "name", "java.lang.Object")?;
    equal("jvm_init_done", report.count("jvm_init_done"), 1)?;
    equal("jvm_shut_down", report.count("jvm_shut_down"), 1)
}

/// Each class that has something to report is rewritten once, in as few operations as the shim says, by the VM's own
/// account: class loaders first, then those that most compiled code depends on.
fn attach_rewrites_each_class_once_in_few_calls(vm: &Vm<'_>) -> Result<(), String> {
    let (shim, agent) = (build::shim()?, build::agent("counter")?);
    let log = "-Xlog:redefine+class+timer=info,redefine+class+load=info:stdout";
    let java = vm.java("Wait")?.flag(log).settings("log=info").ready()?;
    let options = format!("\"{}:events=1+3\"", text(&agent)?);
    java.jcmd(vm.jdk, &["JVMTI.agent_load", text(&shim)?, &options])?;
    let outcome = java.finish(0)?;
    let operations = outcome.stdout.matches("vm_op: ").count();
    ensure!((1..=16).contains(&operations), "{operations} operations");
    let names = outcome.stdout.split("redefined name=").skip(1);
    let mut names: Vec<_> = names.filter_map(|name| name.split(',').next()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    equal("classes that are rewritten once", names.len(), count)?;
    let sum_after = |text: &str| -> usize {
        let numbers = outcome.stderr.split(text).skip(1);
        numbers.filter_map(|rest| rest.split(' ').next()?.parse::<usize>().ok()).sum()
    };
    equal("loaded classes", sum_after(" info: rewriting "), count)?;
    equal("stops", sum_after("the program was stopped "), operations)?;
    let place = |class: &str| outcome.stdout.find(&format!("redefined name={class},"));
    let object = place("java.lang.Object").ok_or("Object is not rewritten")?;
    let newer = place("Wait").ok_or("Wait is not rewritten")?;
    ensure!(object < newer, "the newest class comes first");
    equal("a class without code", place("java.lang.Comparable"), None)?;
    let said = |line: &&str| {
        line.starts_with("[jvmpi] info: rewriting")
            && line.contains("on this JDK the program stops")
    };
    let lines = outcome.stderr.lines().filter(said).count();
    equal("lines", lines, usize::from(vm.jdk.feature < 17))
}

fn attach_failure_leaves_the_program_alone(vm: &Vm<'_>) -> Result<(), String> {
    let shim = build::shim()?;
    let java = vm.java("Wait")?.ready()?;
    // The command jcmd itself fails then on some JDKs only.
    for options in ["no_such_agent", "!reset"] {
        let _ = java.jcmd(vm.jdk, &["JVMTI.agent_load", text(&shim)?, options]);
    }
    let outcome = java.finish(0)?;
    equal("output", outcome.stdout.as_str(), "ready\ndone\n")?;
    let errors = outcome.errors();
    for reason in ["no_such_agent", "!reset: no agent is loaded"] {
        let about = errors.iter().filter(|line| line.contains(reason)).count();
        equal(reason, about, 1)?;
    }
    equal("errors", errors.len(), 2)
}

fn embedded(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.embedded_in("embed")?.argument("Hello").run()?;
    equal("output", outcome.stdout.as_str(), "hello \n")?;
    let report = outcome.report();
    let wrong = report.one("wrong_version")?;
    ensure!(wrong.int("result")? == -3 && wrong.int("null")? == 1, "{wrong}");
    equal("get_interface", report.one("get_interface")?.int("result")?, 0)?;
    equal("destroy", report.one("destroy")?.int("result")?, 0)?;
    equal("JVM_SHUT_DOWN", report.find("event", "type", "47").is_ok(), true)?;
    for event in report.lines("event") {
        ensure!(event.id("env")? == event.id("self")?, "not on its own thread: {event}");
    }
    Ok(())
}

/// One line that begins `[jvmpi] error:` and names the library.
fn refused(outcome: &Outcome, library: &str) -> Result<(), String> {
    match outcome.errors()[..] {
        [line] if line.contains(library) => Ok(()),
        _ => Err(format!("not one error line that names {library}: {}", outcome.stderr)),
    }
}

/// The program does not start with this library as its agent, and one line says why.
fn is_refused(vm: &Vm<'_>, library: &Path) -> Result<(), String> {
    let outcome = vm.java("Hello")?.shim(&format!("{}:options", text(library)?))?.run_to(1)?;
    equal("output", outcome.stdout.contains("hello"), false)?;
    refused(&outcome, &library.file_name().unwrap_or_default().to_string_lossy())
}

/// Returns a copy of a good agent with other bytes at one place of its ELF header.
fn with_header(name: &str, offset: usize, bytes: &[u8]) -> Result<PathBuf, String> {
    let agent = build::agent("load")?;
    let mut contents = fs::read(&agent).map_err(|e| e.to_string())?;
    contents[offset..offset + bytes.len()].copy_from_slice(bytes);
    write(name, &contents)
}

fn write(name: &str, contents: &[u8]) -> Result<PathBuf, String> {
    let directory = build::output_dir().join("agents");
    let temporary = directory.join(format!("{name}.{:?}", std::thread::current().id()));
    let path = directory.join(name);
    fs::write(&temporary, contents).map_err(|e| e.to_string())?;
    fs::rename(&temporary, &path).map_err(|e| e.to_string())?;
    Ok(path)
}

fn unusable_library_is_refused(vm: &Vm<'_>) -> Result<(), String> {
    // EI_CLASS is ELFCLASS32, or ELFCLASS64 where pointers have 32 bits.
    let (class, flag) = if usize::BITS == 64 { (1, "-m32") } else { (2, "-m64") };
    // e_machine is EM_AARCH64, or EM_X86_64 where that is this machine.
    let machine = if cfg!(target_arch = "aarch64") { 62 } else { 183 };
    let mut libraries = vec![
        PathBuf::from("/no/such/libagent.so"),
        PathBuf::from("no_such_agent"),
        build::agent("control")?,
        build::agent("onload_fails")?,
        build::agent("unresolved")?,
        write("libtext.so", b"#!/bin/sh\necho no library\n")?,
        write("libnothing.so", b"")?,
        with_header("libclass.so", 4, &[class])?,
        with_header("libforeign.so", 18, &[machine, 0])?,
    ];
    // If the compiler can make a real one of another width, that is tested too.
    libraries.extend(build::agent_with("onload_fails", "libwidth.so", &[flag]).ok());
    libraries.iter().try_for_each(|library| is_refused(vm, library))
}

/// JVMs before 25 print themselves why they do not start; 25 would crash without a check by the shim.
fn unusable_xrun_library_is_refused(vm: &Vm<'_>) -> Result<(), String> {
    let by_the_shim: &[&str] =
        if vm.jdk.feature >= 25 { &["unresolved", "control"] } else { &["unresolved"] };
    for library in ["unresolved", "control", "onload_fails"] {
        let outcome = vm.java("Hello")?.shim_alone()?.xrun(library, ":options")?.run_to(1)?;
        ensure!(!outcome.stdout.contains("hello"), "output: {}", outcome.stdout);
        if by_the_shim.contains(&library) {
            refused(&outcome, library)?;
        } else if library == "control" {
            ensure!(outcome.stdout.contains(library), "output: {}", outcome.stdout);
        }
    }
    let missing = vm.java("Hello")?.shim_alone()?.flag("-Xrunno_such_agent").run_to(1)?;
    ensure!(missing.stdout.contains("no_such_agent"), "output: {}", missing.stdout);
    Ok(())
}
