//! The beginning and the end of the JVM, and the signal that asks for a dump.

use compat_tests::build;
use compat_tests::run::{Outcome, Vm};

use crate::assert::equal;
use crate::cases;

cases![
    program_ends_as_without_the_shim,
    nothing_passes_it.under_load_on(&[11, 25]),
    dump_and_reset_requests,
];

/// Nothing follows `JVM_SHUT_DOWN`. In its handler the agent can make requests, also on a thread of its own.
fn program_ends_as_without_the_shim(vm: &Vm<'_>) -> Result<(), String> {
    for (way, status) in [("return", 0), ("exit", 7), ("halt", 8), ("throw", 1)] {
        let alone = vm.java("ShutDown")?.argument(way).run_to(status)?;
        let outcome = vm.java("ShutDown")?.agent("shutdown", "")?.argument(way).run_to(status)?;
        equal("standard output", &outcome.stdout, &alone.stdout)?;
        equal("standard error", &outcome.stderr, &alone.stderr)?;
        let report = outcome.report();
        let line = report.one("jvm_shut_down")?;
        ensure!(line.id("env")? == line.id("self")?, "on another thread: {line}");
        report.one("end_of_handler")?;
        equal("events after JVM_SHUT_DOWN", report.count("after"), 0)?;
        requests_were_answered(&outcome).map_err(|e| format!("{way}: {e}"))?;
    }
    Ok(())
}

fn requests_were_answered(outcome: &Outcome) -> Result<(), String> {
    let report = outcome.report();
    report.one("disabled")?;
    for (word, event) in [("thread", "33"), ("class", "42")] {
        equal(word, report.one(word)?.int("result")?, 0)?;
        // On the thread of the other request, the dump may define a thread that has just started.
        let env = report.one("jvm_shut_down")?.text("env")?;
        let answers = report.lines("requested").filter(|line| line.text("type") == Ok(event));
        equal(event, answers.filter(|line| line.text("env") == Ok(env)).count(), 1)?;
    }
    // The handler waits for a thread of the agent's.
    equal("a request of another thread", report.one("beside")?.int("result")?, 0)?;
    report.find("requested", "type", "59")?;
    report.one("unloaded")?;
    outcome.checks(&["trace", "status", "time", "no new thread"])
}

/// Threads that wait for the end of a collection when the VM ends send nothing after `JVM_SHUT_DOWN`.
fn nothing_passes_it(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("LastEvents")?.agent("last_events", "")?.run()?;
    outcome.checks(&["it begins", "all wait", "all go on"])?;
    equal("late events", outcome.report().one("jvm_shut_down")?.int("late")?, 0)
}

/// The user's requests arrive on a thread that exists already, and the JVM still writes its own dump.
fn dump_and_reset_requests(vm: &Vm<'_>) -> Result<(), String> {
    let mut java = vm.java("Wait")?.agent("events", "events=44+45+46")?.start()?;
    java.wait_for("ready")?;
    java.signal(libc::SIGQUIT)?;
    java.wait_for_report("data_dump_request")?;
    let shim = build::shim()?;
    java.jcmd(vm.jdk, &["JVMTI.agent_load", &shim.to_string_lossy(), "!reset"])?;
    java.wait_for_report("data_reset_request")?;
    let outcome = java.finish(0)?;
    ensure!(outcome.stdout.contains("Full thread dump"), "the JVM's own dump is gone");
    for event in ["data_dump_request", "data_reset_request"] {
        let request = outcome.report().one(event)?;
        ensure!(request.id("env")? != 0 && request.id("env")? == request.id("self")?, "{request}");
    }
    Ok(())
}
