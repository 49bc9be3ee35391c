//! Threads: their events, storage, status, suspension and time.

use std::collections::HashSet;

use crate::prelude::*;

cases![
    native_threads_that_detach_late_leave_no_records,
    thread_end_is_the_last_event_for_each_agent,
    security_managers_do_not_refuse_system_threads.until(21).on_every_jdk(),
    suspended_threads_stand_still.on_every_jdk(),
    suspended_threads_stand_still.under_load_on(&[17]),
    several_agents_suspend_one_thread,
    ending_thread_is_suspended_and_is_not_live,
    collect_while_suspended.on_every_gc(),
    virtual_threads_of_their_own.since(21),
    calls_of_virtual_threads_of_their_own.since(21),
    virtual_threads_seen_from_outside.since(21),
];

/// The handler of another agent causes more events after the first agent has got THREAD_END.
fn thread_end_is_the_last_event_for_each_agent(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Crowd")?.agent("events", "events=33+34+38+39+51+52+53")?;
    let outcome = java.another_agent("late_work", "")?.argument("300").run()?;
    ensure!(outcome.other_reports()[0].count("worked") >= 4, "too few threads have ended");
    let mut ended = HashSet::new();
    for line in outcome.report().all() {
        let env = line.text("env")?;
        match line.word.as_str() {
            "thread_start" => drop(ended.remove(line.text("thread_env")?)),
            "thread_end" => drop(ended.insert(env)),
            _ => ensure!(!ended.contains(env), "after THREAD_END: {line}"),
        }
    }
    Ok(())
}

/// They detach in the destructor of a `pthread_key`, when thread-local storage is gone.
fn native_threads_that_detach_late_leave_no_records(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Control")?.argument("agent").agent("native_thread", "mode=late")?;
    let outcome = java.settings("log=debug").run()?;
    equal("detached", outcome.report().count("detached"), 200)?;
    ensure!(outcome.report().count("thread_end") >= 200, "threads have no end");
    let lines = outcome.stderr.lines().filter(|line| line.contains(" records of threads"));
    let words = lines.flat_map(|line| line.split(' ')).filter_map(|word| word.parse().ok());
    let counts: Vec<usize> = words.collect();
    ensure!(counts.len() == 1 && counts[0] < 100, "records: {counts:?}");
    Ok(())
}

/// The shim's own thread reports collections, and the agent starts one. As without a manager, both are in the top-level
/// group. From JDK 12 on the VM itself does not start with such a manager, so the program sets it.
fn security_managers_do_not_refuse_system_threads(vm: &Vm<'_>) -> Result<(), String> {
    const PROPERTY: &str = "java.security.manager";
    for manager in ["Watching", "Guarding", "Closed"] {
        let java = || vm.java("Managed$Threads")?.agent("system_thread", "");
        let runs = if vm.jdk.feature > 11 {
            vec![java()?.argument(manager).property(PROPERTY, "allow")]
        } else {
            let at_start = java()?.property(PROPERTY, &format!("Managed${manager}"));
            vec![java()?.argument(manager), at_start]
        };
        for java in runs {
            let outcome = java.run()?;
            let line = outcome.expects.one("expect")?;
            equal("started", line.int("started")?, 1)?;
            equal("priority", line.int("priority")?, 1)?;
            let texts = ["group", "name", "daemon", "interrupted", "id"];
            let texts = texts.map(|field| line.text(field)).into_iter();
            let texts = texts.collect::<Result<Vec<_>, _>>()?;
            equal("thread", texts, vec!["system", "agents", "true", "true", "true"])?;
        }
    }
    Ok(())
}

/// True if the call traces of suspended threads are asynchronous where possible, or all JVMTI's.
const CALL_TRACES: [&str; 2] = ["suspend=auto", "suspend=jvmti"];

/// Runs these tests of the program one after the other, and checks the line that each prints.
fn suspend_tests(
    vm: &Vm<'_>,
    tests: &[&str],
    check: impl Fn(&str, &Line) -> Result<(), String>,
) -> Result<(), String> {
    for traces in CALL_TRACES {
        let java = vm.java("Suspend")?.agent("suspend", "")?.settings(traces);
        let outcome = java.arguments(tests.iter().copied()).run()?;
        for test in tests {
            let line = outcome.expects.find("expect", "test", test)?;
            check(test, line).map_err(|e| format!("{traces}: {test}: {e}"))?;
        }
    }
    Ok(())
}

/// A suspended thread does nothing more from the moment `SuspendThread` returns.
///
/// Resuming undoes no suspension by `Thread.suspend`, which exists up to JDK 19. By that the program suspends a thread
/// wherever it may be in the shim, and continues itself. The thread that has suspended another does not wait for what
/// that holds while it links a class, and the linking thread reports its methods when it is resumed.
fn suspended_threads_stand_still(vm: &Vm<'_>) -> Result<(), String> {
    let mut tests = vec!["waiting"];
    if vm.jdk.feature <= 19 {
        tests.extend(["java", "anywhere"]);
    }
    // It enables METHOD_ENTRY, so it comes last.
    tests.push("linking");
    suspend_tests(vm, &tests, |test, line| match test {
        "anywhere" => Ok(()),
        "linking" => {
            equal("result meanwhile", line.int("suspended")?, -1)?;
            equal("result when it is linked", line.int("linked")?, 0)?;
            equal("methods entered", line.int("entered")?, line.int("calls")?)
        }
        _ => equal("progress while suspended", line.int("moved")?, 0),
    })
}

/// The thread continues when the last of them has resumed it.
fn several_agents_suspend_one_thread(vm: &Vm<'_>) -> Result<(), String> {
    for traces in CALL_TRACES {
        let other = build::agent_copy("suspend", 1)?;
        let java = vm.java("Suspend")?.argument("agents").settings(traces);
        let java = java.agent("suspend", &format!("other={}", text(&other)?))?;
        let outcome = java.another_agent("suspend", "")?.run()?;
        let line = outcome.expects.find("expect", "test", "agents")?;
        equal(traces, line.int("moved")?, 0)?;
    }
    Ok(())
}

/// It does not count as live, and a thread that gets its environment is announced.
fn ending_thread_is_suspended_and_is_not_live(vm: &Vm<'_>) -> Result<(), String> {
    let run = |test| {
        let outcome = vm.java("Ending")?.argument(test).agent("ending", "")?.run()?;
        Ok::<_, String>(outcome.expects.one("expect")?.clone())
    };
    let line = run("suspended")?;
    equal("ended when resumed", line.int("ended")?, line.int("rounds")?)?;
    let line = run("looked_at")?;
    equal("THREAD_START refused", line.int("refused")?, line.int("rounds")?)?;
    ensure!(line.int("reused")? > 0, "no environment was used again: {line}");
    equal("announced", line.int("announced")?, line.int("reused")?)
}

fn collect_while_suspended(vm: &Vm<'_>) -> Result<(), String> {
    suspend_tests(vm, &["collection"], |_, line| equal("rounds", line.int("rounds")?, 12))
}

/// The setting with which each is a thread.
const OWN: &str = "virtual=own";

/// Returns a program with so many virtual threads, a few at a time.
fn short_virtual_threads(vm: &Vm<'_>, threads: i64) -> Result<Launch, String> {
    let java = vm.java_for(21, "VirtualThreads")?.settings(OWN).argument(&threads.to_string());
    // The heap is allocated at the start, because the memory of the process is measured.
    Ok(java.flags(["-Xms48m", "-Xmx48m", "-XX:+AlwaysPreTouch"]))
}

/// Each virtual thread begins and ends once.
fn begin_and_end(outcome: &Outcome, threads: i64) -> Result<(), String> {
    let seen = outcome.report().one("threads")?;
    for (field, expected) in
        [("starts", threads), ("ends", threads), ("live", 0), ("not_fresh", 0), ("unknown", 0)]
    {
        equal(field, seen.int(field)?, expected)?;
    }
    Ok(())
}

/// Nothing is kept of those that have ended: less than 200 bytes each, noise included.
fn virtual_threads_of_their_own(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = short_virtual_threads(vm, 100_000)?.agent("virtual", "")?.run()?;
    begin_and_end(&outcome, 100_000)?;
    let grown = outcome.expects.one("expect")?.int("grown")?;
    ensure!(grown < 15_000, "{grown} KB more");
    Ok(())
}

/// The calls of a virtual thread nest on it whatever carriers it runs on.
fn calls_of_virtual_threads_of_their_own(vm: &Vm<'_>) -> Result<(), String> {
    const THREADS: i64 = 5_000;
    let java = short_virtual_threads(vm, THREADS)?.agent("virtual", "events=1+3")?;
    let java = java.another_agent("methods", "events=1+3,tops=1,prefix=VirtualThreads.")?;
    let outcome = java.run()?;
    begin_and_end(&outcome, THREADS)?;
    let calls = &outcome.other_reports()[0];
    let (mut entries, mut exits) = (0, 0);
    for line in calls.lines("calls") {
        let method = line.text("method")?;
        if ["outer", "inner", "lambda"].iter().any(|name| method.contains(name)) {
            entries += line.int("entries")?;
            exits += line.int("exits")?;
        }
    }
    // Each thread's lambda makes the first.
    let expected = outcome.expects.one("expect")?.int("calls")? + THREADS;
    equal("entries and exits", (entries, exits), (expected, expected))?;
    equal("events on a wrong thread", calls.count("wrong_thread"), 0)?;
    for fault in ["not_nested", "open", "not_on_top", "unknown"] {
        equal(fault, calls.one("total")?.int(fault)?, 0)?;
    }
    Ok(())
}

/// From inside and from other threads, on a carrier and on none: status, traces, suspension, and their own
/// CPU time.
fn virtual_threads_seen_from_outside(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java_for(21, "VirtualOwn")?.agent("virtual", "")?.settings(OWN).run()?;
    outcome.checks(&[
        "another environment",
        "variadic",
        "the VM",
        "virtual",
        "its object",
        "its ID",
    ])?;
    for (thread, status) in [("spinning", 1), ("parked", 3), ("blocked", 2)] {
        equal(thread, outcome.expects.find("expect", "of", thread)?.int("status")?, status)?;
    }
    let printed = |key: &str| {
        let lines = outcome.expects.all().iter();
        lines.filter_map(|line| line.text(key).ok()).next().ok_or(format!("no {key}"))
    };
    equal("suspended", printed("suspended")?, "true")?;
    equal("held", printed("held")?, "true")?;
    let report = outcome.report();
    for (trace, method) in
        [("trace", "call"), ("parked", "park"), ("blocked", "enter"), ("spinning", "spin")]
    {
        let of_it = report.all().iter().skip_while(|line| line.text("what") != Ok(trace)).skip(1);
        let mut frames = of_it.take_while(|line| line.word == "frame");
        let method = format!("VirtualOwn.{method}");
        let is_it = |line: &Line| line.text("method").is_ok_and(|found| found == method);
        ensure!(frames.any(is_it), "{trace}: no frame of {method}");
    }
    // Eight threads have used 20 ms each, and a little for their start. The carriers' clocks would include
    // the others' time.
    let cpu: i64 = printed("cpu")?.parse().map_err(|_| "no number")?;
    ensure!((160_000_000..280_000_000).contains(&cpu), "{cpu} ns");
    let report = outcome.report().one("threads")?;
    equal("ends", report.int("ends")?, report.int("starts")?)
}
