//! The beginning and the end of the JVM, and the signal that asks for a dump.

use crate::objects::keeps_rules;
use crate::prelude::*;

cases![
    program_ends_as_without_the_shim,
    nothing_passes_it.under_load_on(&[11, 25]),
    dump_and_reset_requests,
];

/// The checking agent fails if something follows `JVM_SHUT_DOWN`, or if that is on another thread than it says.
fn program_ends_as_without_the_shim(vm: &Vm<'_>) -> Result<(), String> {
    for (way, status) in [("return", 0), ("exit", 7), ("halt", 8), ("throw", 1)] {
        let alone = vm.java("ShutDown")?.argument(way).run_to(status)?;
        let java = vm.java("ShutDown")?.agent("checker", "mode=all")?.argument(way);
        let outcome = java.run_to(status)?;
        equal("standard output", &outcome.stdout, &alone.stdout)?;
        equal("standard error", &outcome.stderr, &alone.stderr)?;
        keeps_rules(&outcome).map_err(|e| format!("{way}: {e}"))?;
    }
    Ok(())
}

/// Threads that wait for the end of a collection when the VM ends send nothing after `JVM_SHUT_DOWN`.
fn nothing_passes_it(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("LastEvents")?.agent("last_events", "")?.run()?;
    outcome.checks(&["it begins", "all wait", "all go on"])?;
    equal("late events", outcome.report().one("jvm_shut_down")?.int("late")?, 0)
}

/// The user's requests arrive on a thread that exists already, and the JVM still writes its own dump.
fn dump_and_reset_requests(vm: &Vm<'_>) -> Result<(), String> {
    let mut java = vm.java("Wait")?.agent("events", "events=44+45+46")?.ready()?;
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
