//! Threads: their events, storage, status, suspension and time.

use std::collections::HashSet;

use compat_tests::report::Line;
use compat_tests::run::{Outcome, Vm};
use compat_tests::{build, text};

use crate::assert::equal;
use crate::cases;

cases![
    starts_and_ends_pair,
    names,
    local_storage,
    system_threads,
    native_threads,
    native_threads_that_detach_late_leave_no_records,
    status.on_every_jdk(),
    suspend_stops_progress,
    suspend_stops_progress.under_load_on(&[17]),
    suspend_stops_at_once.on_every_jdk(),
    suspensions_do_not_add_up,
    suspend_and_resume_lists,
    suspend_a_waiting_thread,
    suspend_self,
    resume_undoes_no_one_elses_suspension.until(19),
    suspended_by_java_anywhere.until(19),
    several_agents_suspend_one_thread,
    suspended_while_it_links,
    suspended_while_it_ends,
    looked_at_while_it_ends,
    collect_while_suspended.on_every_gc(),
    has_run,
    cpu_time,
    wall_time,
    virtual_threads_run_undisturbed.since(21),
    virtual_threads_of_their_own.since(21),
    calls_of_virtual_threads_of_their_own.since(21),
    virtual_threads_seen_from_outside.since(21),
];

/// Every thread is announced by itself, ends once, and has no events afterwards.
fn starts_and_ends_pair(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Threads")?.agent("events", "events=33+34+42+46+47")?.run()?;
    let report = outcome.report();
    let initialized = report.position(|line| line.word == "jvm_init_done");
    let initialized = initialized.ok_or("no JVM_INIT_DONE")?;
    let main = report.find("thread_start", "name", "main")?.id("thread_env")?;
    let mut alive = HashSet::new();
    for (i, line) in report.all().iter().enumerate() {
        let env = line.id("env")?;
        match line.word.as_str() {
            "thread_start" => {
                let started = line.id("thread_env")?;
                ensure!(alive.insert(started), "started twice: {line}");
                ensure!(line.id("thread")? != 0, "no thread object: {line}");
                // The main thread announces threads that existed before, unless they begin to run only
                // now.
                let by_main = i < initialized && env == main;
                let is_right = (by_main || env == started) && line.id("self")? == env;
                ensure!(is_right, "not on its own thread: {line}");
            }
            "thread_end" => {
                ensure!(line.id("self")? == env, "not on its own thread: {line}");
                ensure!(alive.remove(&env), "ended without start: {line}");
            }
            // The thread that ends the JVM has ended itself by then.
            "jvm_shut_down" => {}
            _ => ensure!(alive.contains(&env), "of a thread that is not there: {line}"),
        }
    }
    let ours = report
        .lines("thread_start")
        .filter(|line| line.text("parent").is_ok_and(|p| p == "main" || p == "outer \"group\""))
        .count();
    equal("threads", ours as i64, outcome.expects.one("expect")?.int("threads")?)
}

fn names(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Threads")?.agent("events", "events=33")?.run()?;
    let report = outcome.report();
    for line in report.lines("thread_start") {
        for key in ["name", "group", "parent"] {
            ensure!(!line.is_null(key)?, "{key} is NULL: {line}");
        }
    }
    for (name, group, parent) in [
        ("main", "main", "system"),
        ("Reference Handler", "system", ""),
        ("thread-2", "inner", "outer \"group\""),
        ("thread-3", "outer \"group\"", "main"),
        ("", "inner", "outer \"group\""),
        ("größe \\ 日本 \"quoted\"\n💡", "outer \"group\"", "main"),
    ] {
        // A character outside the basic plane is two surrogates of three bytes in modified UTF-8.
        let (head, modified) =
            name.split_once('💡').map_or((name, false), |(head, _)| (head, true));
        let line = report
            .lines("thread_start")
            .find(|line| match line.text("name") {
                Ok(found) if modified => found.starts_with(head),
                Ok(found) => found == name,
                Err(_) => false,
            })
            .ok_or_else(|| format!("no thread {name:?}"))?;
        equal(&format!("group of {name:?}"), line.text("group")?, group)?;
        equal(&format!("parent of {name:?}"), line.text("parent")?, parent)?;
        ensure!(modified == line.text("name")?.contains('\u{fffd}'), "not modified UTF-8: {line}");
    }
    Ok(())
}

fn local_storage(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Storage")?.agent("local_storage", "")?.run()?;
    outcome.checks(&["own", "other's", "set by other", "own is untouched", "cleared"])?;
    outcome.checks(&["kept at the end", "set at the end"])?;
    let line = outcome.report().one("storage")?;
    equal("empty at first", line.int("fresh")?, line.int("started")?)?;
    equal("there at the end", line.int("kept")?, line.int("ended")?)?;
    let threads = outcome.expects.one("expect")?.int("threads")?;
    ensure!(line.int("ended")? >= threads, "{threads} threads: {line}");
    Ok(())
}

fn system_threads(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("SystemThreads")?.agent("system_thread", "")?.run()?;
    outcome.checks(&["finished"])?;
    let report = outcome.report();
    for line in report.lines("created") {
        equal("CreateSystemThread", line.int("result")?, 0)?;
    }
    equal("in JVM_OnLoad", report.one("too_early")?.int("result")?, -1)?;
    ensure!(report.find("thread_start", "name", "early").is_err(), "it was started");
    report.one("endless")?;
    for (name, priority) in [
        ("priority-0", 1),
        ("priority-1", 1),
        ("priority-5", 5),
        ("priority-10", 10),
        ("priority-99", 10),
        ("größe-5", 5),
    ] {
        let thread = report.find("system_thread", "name", name)?;
        ensure!(thread.int("null")? == 1 && thread.int("daemon")? == 1, "{thread}");
        equal(name, thread.int("priority")?, priority)?;
        let env = thread.id("env")?;
        let start = report.find("thread_start", "name", name)?;
        ensure!(start.id("env")? == env && start.id("thread_env")? == env, "{start}");
        let at =
            |word: &str| report.position(|line| line.word == word && line.id("env") == Ok(env));
        ensure!(at("thread_start") < at("system_thread"), "{name} ran before its THREAD_START");
        ensure!(at("thread_end") > at("system_thread"), "{name} has no THREAD_END");
    }
    Ok(())
}

/// An attached thread has its events, and one that is not attached can use the interface.
fn native_threads(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("NativeThreads")?.agent("native_thread", "")?.run()?;
    outcome.checks(&["time", "enable", "disable", "still not attached"])?;
    let report = outcome.report();
    let start = report.find("thread_start", "name", "native")?;
    let env = report.one("attached")?.id("env")?;
    ensure!(start.id("env")? == env && start.id("self")? == env, "{start}");
    let ends = report.lines("thread_end").filter(|line| line.id("env") == Ok(env)).count();
    ensure!(ends >= 1, "no THREAD_END");
    let end = report.position(|line| line.word == "thread_end" && line.id("env") == Ok(env));
    ensure!(end < report.position(|line| line.word == "detached"), "THREAD_END after detaching");
    Ok(())
}

/// They detach in the destructor of a `pthread_key`, when thread-local storage is gone.
fn native_threads_that_detach_late_leave_no_records(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("NativeThreads")?.agent("native_thread", "mode=late")?;
    let outcome = java.settings("log=debug").run()?;
    equal("detached", outcome.report().count("detached"), 200)?;
    ensure!(outcome.report().count("thread_end") >= 200, "threads have no end");
    let lines = outcome.stderr.lines().filter(|line| line.contains(" records of threads"));
    let words = lines.flat_map(|line| line.split(' ')).filter_map(|word| word.parse().ok());
    let counts: Vec<usize> = words.collect();
    ensure!(counts.len() == 1 && counts[0] < 100, "records: {counts:?}");
    Ok(())
}

fn status(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Status")?.agent("status", "")?.run()?;
    for (thread, expected) in [
        ("self", 1),
        ("spinning", 1),
        ("interrupted", 0x4001),
        ("accepting", 1),
        ("blocked", 2),
        ("waiting", 3),
        ("waiting-timed", 3),
        ("sleeping", 3),
        ("parked", 3),
    ] {
        let line = outcome.expects.find("expect", "thread", thread)?;
        equal(thread, line.int("status")?, expected)?;
    }
    let suspended = outcome.expects.find("expect", "thread", "suspended");
    equal("suspended by Java", suspended.is_ok(), vm.jdk.feature < 20)?;
    if let Ok(line) = suspended {
        equal("suspended by Java", line.int("status")?, 0x8001)?;
    }
    Ok(())
}

/// True if the call traces of suspended threads are asynchronous where possible, or all JVMTI's.
const CALL_TRACES: [&str; 2] = ["suspend=auto", "suspend=jvmti"];

/// Checks one of the program's tests, by the line that it prints.
fn suspend_test(
    vm: &Vm<'_>,
    test: &str,
    check: impl Fn(&Line) -> Result<(), String>,
) -> Result<(), String> {
    for traces in CALL_TRACES {
        let java = vm.java("Suspend")?.agent("suspend", "")?.settings(traces).argument(test);
        let outcome = java.run()?;
        let line = outcome.expects.find("expect", "test", test)?;
        check(line).map_err(|e| format!("{traces}: {e}"))?;
    }
    Ok(())
}

fn stands_still(line: &Line) -> Result<(), String> {
    equal("progress while suspended", line.int("moved")?, 0)
}

fn suspend_stops_progress(vm: &Vm<'_>) -> Result<(), String> {
    suspend_test(vm, "one", |line| {
        stands_still(line)?;
        // The agent's own suspension does not show.
        equal("status", line.int("status")?, 1)
    })
}

/// A suspended thread does nothing more from the moment `SuspendThread` returns.
fn suspend_stops_at_once(vm: &Vm<'_>) -> Result<(), String> {
    suspend_test(vm, "at_once", stands_still)
}

fn suspensions_do_not_add_up(vm: &Vm<'_>) -> Result<(), String> {
    suspend_test(vm, "twice", stands_still)
}

fn suspend_and_resume_lists(vm: &Vm<'_>) -> Result<(), String> {
    suspend_test(vm, "list", |line| {
        stands_still(line)?;
        // Zero for the two threads, another number for the NULL between them.
        equal("results of suspending", line.int("suspended")?, 111)?;
        equal("results of resuming", line.int("resumed")?, 111)
    })
}

fn suspend_a_waiting_thread(vm: &Vm<'_>) -> Result<(), String> {
    suspend_test(vm, "waiting", stands_still)
}

fn suspend_self(vm: &Vm<'_>) -> Result<(), String> {
    suspend_test(vm, "self", |line| equal("alive", line.int("alive")?, 1))
}

/// `Thread.suspend` exists up to JDK 19.
fn resume_undoes_no_one_elses_suspension(vm: &Vm<'_>) -> Result<(), String> {
    suspend_test(vm, "java", stands_still)
}

/// The program suspends a thread wherever it may be in the shim, and continues itself.
fn suspended_by_java_anywhere(vm: &Vm<'_>) -> Result<(), String> {
    suspend_test(vm, "anywhere", |_| Ok(()))
}

/// The thread continues when the last of them has resumed it.
fn several_agents_suspend_one_thread(vm: &Vm<'_>) -> Result<(), String> {
    for traces in CALL_TRACES {
        let other = build::agent_copy("suspend", 1)?;
        let java = vm.java("Suspend")?.argument("agents").settings(traces);
        let java = java.agent("suspend", &format!("other={}", text(&other)?))?;
        let outcome = java.another_agent("suspend", "")?.run()?;
        let line = outcome.expects.find("expect", "test", "agents")?;
        stands_still(line).map_err(|e| format!("{traces}: {e}"))?;
    }
    Ok(())
}

/// Whoever has suspended it does not wait for what it holds, and hears of methods when it is resumed.
fn suspended_while_it_links(vm: &Vm<'_>) -> Result<(), String> {
    suspend_test(vm, "linking", |line| {
        equal("result meanwhile", line.int("suspended")?, -1)?;
        equal("result when it is linked", line.int("linked")?, 0)?;
        equal("methods entered", line.int("entered")?, line.int("calls")?)
    })
}

/// Returns the line that the program with ending threads prints about this test.
fn ending(vm: &Vm<'_>, test: &str) -> Result<Line, String> {
    let outcome = vm.java("Ending")?.argument(test).agent("ending", "")?.run()?;
    Ok(outcome.expects.one("expect")?.clone())
}

fn suspended_while_it_ends(vm: &Vm<'_>) -> Result<(), String> {
    let line = ending(vm, "suspended")?;
    equal("ended when resumed", line.int("ended")?, line.int("rounds")?)
}

/// An ending thread does not count as live, and a thread that gets its environment is announced.
fn looked_at_while_it_ends(vm: &Vm<'_>) -> Result<(), String> {
    let line = ending(vm, "looked_at")?;
    equal("THREAD_START refused", line.int("refused")?, line.int("rounds")?)?;
    ensure!(line.int("reused")? > 0, "no environment was used again: {line}");
    equal("announced", line.int("announced")?, line.int("reused")?)
}

fn collect_while_suspended(vm: &Vm<'_>) -> Result<(), String> {
    suspend_test(vm, "collection", |line| equal("rounds", line.int("rounds")?, 20))
}

fn has_run(vm: &Vm<'_>) -> Result<(), String> {
    suspend_test(vm, "has_run", |line| {
        equal("a thread that computes", line.int("first")?, line.int("rounds")?)?;
        equal("a thread that waits", line.int("waiter")?, 0)
    })
}

/// Milliseconds that passed for the agent while the program computed 30 ms and slept 200 ms.
fn time(vm: &Vm<'_>, settings: &str) -> Result<(i64, i64), String> {
    let outcome = vm.java("CpuTime")?.agent("cpu_time", "")?.settings(settings).run()?;
    outcome.checks(&["in JVM_OnLoad"])?;
    let computing = outcome.expects.find("expect", "what", "computing")?;
    equal("steps back", computing.int("backwards")?, 0)?;
    let sleeping = outcome.expects.find("expect", "what", "sleeping")?;
    Ok((computing.int("ms")?, sleeping.int("ms")?))
}

fn cpu_time(vm: &Vm<'_>) -> Result<(), String> {
    let (computing, sleeping) = time(vm, "")?;
    ensure!(computing >= 30, "computing: {computing} ms");
    ensure!(sleeping < 100, "sleeping: {sleeping} ms");
    Ok(())
}

fn wall_time(vm: &Vm<'_>) -> Result<(), String> {
    let (computing, sleeping) = time(vm, "cputime=wall")?;
    ensure!(computing >= 30, "computing: {computing} ms");
    ensure!(sleeping >= 199, "sleeping: {sleeping} ms");
    Ok(())
}

/// Their actions are reported on their carriers, also while these are sampled.
fn virtual_threads_run_undisturbed(vm: &Vm<'_>) -> Result<(), String> {
    let right = "expect sum=499500 monitor=1000 lock=1000\n";
    let outcome = vm.java_for(21, "Virtual")?.agent("events", "events=33+34+42+46")?.run()?;
    equal("output", outcome.stdout.as_str(), right)?;
    let report = outcome.report();
    let mut threads = HashSet::new();
    for line in report.all() {
        match line.word.as_str() {
            "thread_start" => {
                let name = line.text("name")?;
                ensure!(!name.is_empty() && !name.starts_with("virtual"), "virtual: {line}");
                threads.insert(line.id("thread_env")?);
            }
            _ => ensure!(threads.contains(&line.id("env")?), "of an unknown thread: {line}"),
        }
    }
    let carrier = |name: &str| name.starts_with("ForkJoinPool");
    let carriers =
        report.lines("thread_start").filter(|line| line.text("name").is_ok_and(carrier)).count();
    ensure!(carriers > 0, "no carriers were announced");

    for traces in CALL_TRACES {
        let java = vm.java_for(21, "Virtual")?.agent("sampler", "interval=1")?;
        let outcome = java.settings(traces).run()?;
        equal("output under the sampler", outcome.stdout.as_str(), right)?;
    }
    Ok(())
}

/// The setting with which each is a thread.
const OWN: &str = "virtual=own";

/// Each virtual thread begins and ends once, and its calls nest on it whatever carriers it runs on.
fn short_virtual_threads(vm: &Vm<'_>, threads: i64, options: &str) -> Result<Outcome, String> {
    let java = vm.java_for(21, "VirtualThreads")?.agent("virtual", options)?;
    // The heap is allocated at the start, because the memory of the process is measured.
    let heap = ["-Xms48m", "-Xmx48m", "-XX:+AlwaysPreTouch"];
    let java = heap.iter().fold(java, |java, flag| java.flag(flag));
    let outcome = java.settings(OWN).argument(&threads.to_string()).run()?;
    let seen = outcome.report().one("threads")?;
    for (field, expected) in
        [("starts", threads), ("ends", threads), ("live", 0), ("not_fresh", 0), ("unknown", 0)]
    {
        equal(field, seen.int(field)?, expected)?;
    }
    Ok(outcome)
}

/// Nothing is kept of those that have ended: less than 200 bytes each, noise included.
fn virtual_threads_of_their_own(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = short_virtual_threads(vm, 100_000, "")?;
    let grown = outcome.expects.one("expect")?.int("grown")?;
    ensure!(grown < 15_000, "{grown} KB more");
    Ok(())
}

fn calls_of_virtual_threads_of_their_own(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = short_virtual_threads(vm, 5_000, "events=1+3,prefix=VirtualThreads.,traces=1")?;
    let calls = outcome.report().one("calls")?;
    // Each thread's lambda makes the first.
    let expected = outcome.expects.one("expect")?.int("calls")? + 5_000;
    equal("calls", calls.int("counted")?, expected)?;
    equal("exits", calls.int("exits")?, calls.int("entries")?)?;
    for fault in ["not_nested", "left_open", "misplaced"] {
        equal(fault, calls.int(fault)?, 0)?;
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
