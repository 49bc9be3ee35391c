//! The beginning and the end of the JVM, and the signal that asks for a dump.

use compat_tests::build;
use compat_tests::run::{Outcome, Running, Vm};

use crate::assert::equal;
use crate::cases;

cases![
    initialized_once_before_main,
    shim_is_not_seen,
    requests_at_shut_down,
    shut_down_by_return,
    shut_down_by_exit,
    shut_down_by_halt,
    shut_down_by_exception,
    nothing_passes_it.under_load_on(&[11, 25]),
    dump_and_reset_requests,
    a_reset_after_each_dump,
    a_reset_without_agents,
];

fn initialized_once_before_main(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Hello")?.agent("events", "events=42+46+47")?.run()?;
    let report = outcome.report();
    for word in ["jvm_init_done", "jvm_shut_down"] {
        let line = report.one(word)?;
        ensure!(line.id("env")? != 0 && line.id("env")? == line.id("self")?, "{line}");
    }
    let at = |name: &str| {
        report.position(|line| line.word == name || line.text("name").is_ok_and(|n| n == name))
    };
    ensure!(at("jvm_init_done") < at("Hello"), "the program was loaded before JVM_INIT_DONE");
    let last = report.all().last().map(|line| line.word.as_str());
    equal("the last event", last, Some("jvm_shut_down"))
}

/// Neither a thread nor a class of the shim's is announced.
fn shim_is_not_seen(vm: &Vm<'_>) -> Result<(), String> {
    let outcome =
        vm.java("Unload")?.agent("unload", "")?.another_agent("events", "events=33+42+43")?;
    let outcome = outcome.run()?;
    let report = &outcome.other_reports()[0];
    ensure!(report.count("class_unload") >= 10, "nothing was unloaded");
    for line in report.all().iter().filter(|line| line.word != "class_unload") {
        let name = line.text("name")?.to_lowercase();
        ensure!(!name.contains("jvmpi"), "{line}");
    }
    Ok(())
}

fn requests_at_shut_down(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("ShutDown")?.agent("shutdown", "")?.argument("return").run()?;
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

/// The program ends as it does without the shim, and nothing follows `JVM_SHUT_DOWN`.
fn shut_down(vm: &Vm<'_>, way: &str, status: i32) -> Result<(), String> {
    let alone = vm.java("ShutDown")?.argument(way).run_to(status)?;
    let outcome = vm.java("ShutDown")?.agent("shutdown", "")?.argument(way).run_to(status)?;
    equal("standard output", &outcome.stdout, &alone.stdout)?;
    equal("standard error", &outcome.stderr, &alone.stderr)?;
    silent_after_shut_down(&outcome)
}

fn silent_after_shut_down(outcome: &Outcome) -> Result<(), String> {
    let report = outcome.report();
    let line = report.one("jvm_shut_down")?;
    ensure!(line.id("env")? == line.id("self")?, "on another thread: {line}");
    report.one("end_of_handler")?;
    equal("events after JVM_SHUT_DOWN", report.count("after"), 0)
}

fn shut_down_by_return(vm: &Vm<'_>) -> Result<(), String> {
    shut_down(vm, "return", 0)
}

fn shut_down_by_exit(vm: &Vm<'_>) -> Result<(), String> {
    shut_down(vm, "exit", 7)
}

fn shut_down_by_halt(vm: &Vm<'_>) -> Result<(), String> {
    shut_down(vm, "halt", 8)
}

fn shut_down_by_exception(vm: &Vm<'_>) -> Result<(), String> {
    shut_down(vm, "throw", 1)
}

/// Threads that wait for the end of a collection when the VM ends send nothing after `JVM_SHUT_DOWN`.
fn nothing_passes_it(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("LastEvents")?.agent("last_events", "")?.run()?;
    outcome.checks(&["it begins", "all wait", "all go on"])?;
    equal("late events", outcome.report().one("jvm_shut_down")?.int("late")?, 0)
}

fn ask_for_reset(vm: &Vm<'_>, java: &Running) -> Result<(), String> {
    let shim = build::shim()?;
    java.jcmd(vm.jdk, &["JVMTI.agent_load", &shim.to_string_lossy(), "!reset"])
}

/// The user's requests arrive on a thread that exists already, and the JVM still writes its own dump.
fn dump_and_reset_requests(vm: &Vm<'_>) -> Result<(), String> {
    let mut java = vm.java("Wait")?.agent("events", "events=44+45+46")?.start()?;
    java.wait_for("ready")?;
    java.signal(libc::SIGQUIT)?;
    java.wait_for_report("data_dump_request")?;
    ask_for_reset(vm, &java)?;
    java.wait_for_report("data_reset_request")?;
    let outcome = java.finish(0)?;
    ensure!(outcome.stdout.contains("Full thread dump"), "the JVM's own dump is gone");
    for event in ["data_dump_request", "data_reset_request"] {
        let request = outcome.report().one(event)?;
        ensure!(request.id("env")? != 0 && request.id("env")? == request.id("self")?, "{request}");
    }
    Ok(())
}

fn a_reset_after_each_dump(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Wait")?.agent("events", "events=44+45")?.settings("reset=after-dump");
    let mut java = java.start()?;
    java.wait_for("ready")?;
    java.signal(libc::SIGQUIT)?;
    java.wait_for_report("data_reset_request")?;
    let outcome = java.finish(0)?;
    let report = outcome.report();
    let at = |event: &str| report.position(|line| line.word == event);
    ensure!(at("data_dump_request") < at("data_reset_request"), "the reset comes first");
    let env = |event| report.one(event)?.id("env");
    equal("thread", env("data_reset_request")?, env("data_dump_request")?)
}

fn a_reset_without_agents(vm: &Vm<'_>) -> Result<(), String> {
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    // The command jcmd itself fails then on some JDKs only.
    let _ = ask_for_reset(vm, &java);
    let outcome = java.finish(0)?;
    equal("output", outcome.stdout.as_str(), "ready\ndone\n")?;
    ensure!(outcome.stderr.contains("!reset: no agent is loaded"), "{}", outcome.stderr);
    Ok(())
}
