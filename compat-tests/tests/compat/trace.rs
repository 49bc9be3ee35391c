//! The setting `trace`, and the commands `jvmpi trace` and `jvmpi replay` that read its files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use compat_tests::hung::{self, Ended};
use jvmpi_formats::profile::File;

use crate::hprof::{limit_files, methods};
use crate::prelude::*;
use crate::sampling::samples;

cases![
    replayed_profile_is_that_of_the_run.on_every_gc(),
    every_event_comes_again_and_is_counted,
    kept_memory_lives_as_long_as_in_the_jvm.only(17),
    samples_are_answered,
    rounds_are_kept_apart,
    a_lock_of_the_agents_own,
    a_program_that_is_killed,
    file_that_cannot_be_written_is_reported_and_removed.only(17),
    two_agents,
    virtual_threads_of_their_own.since(21),
    a_bug_shows_under_valgrind.only(17),
];

/// Runs `jvmpi` with these arguments, and demands this exit status.
fn jvmpi(vm: &Vm<'_>, arguments: &[&str], status: i32) -> Result<Ended, String> {
    command(vm, Command::new(build::command()?).args(arguments), status)
}

fn command(vm: &Vm<'_>, command: &mut Command, status: i32) -> Result<Ended, String> {
    let report = vm.file("replayed");
    let _ = fs::remove_file(&report);
    command.env("JVMPI_TEST_REPORT", &report);
    let ended = hung::output(command, None)?;
    ensure!(ended.status == Some(status), "{command:?}: {ended:?}");
    Ok(ended)
}

/// Returns the numbers of the events and calls in a recording.
fn stats(vm: &Vm<'_>, trace: &str) -> Result<String, String> {
    jvmpi(vm, &["trace", "stats", trace], 0).map(|ended| ended.stdout)
}

/// Returns what the agent reports in a replay.
fn replayed(vm: &Vm<'_>, trace: &str, agent: &str, options: &str) -> Result<Report, String> {
    let agent = format!("{}:{options}", text(&build::agent(agent)?)?);
    jvmpi(vm, &["replay", "--quiet", trace, &agent], 0)?;
    Report::parse(&contents(vm.file("replayed"))?)
}

/// Returns the file for a recording.
fn recording(vm: &Vm<'_>, name: &str) -> Result<String, String> {
    let file = vm.file(name);
    let _ = fs::remove_file(&file);
    Ok(text(&file)?.to_owned())
}

fn recorded(launch: Launch, file: &str) -> Launch {
    launch.settings(&format!("trace={file}"))
}

/// Feeds HPROF from the recording of a run with HPROF.
fn replayed_profile_is_that_of_the_run(vm: &Vm<'_>) -> Result<(), String> {
    let hprof = build::hprof()?;
    let agent = |name: &str| {
        let (file, options) = (vm.file(name), "cpu=times,heap=sites,cutoff=0");
        let _ = fs::remove_file(&file);
        Ok::<_, String>(format!("{}:{options},file={}", text(&hprof)?, text(&file)?))
    };
    let trace = recording(vm, "trace")?;
    let java = vm.java("Profiled")?.arguments(["calls", "objects"]);
    let outcome = recorded(java, &trace).shim(&agent("live.txt")?)?.run()?;
    let said = jvmpi(vm, &["replay", &trace, &agent("again.txt")?], 0)?.stderr;
    ensure!(!said.contains("HPROF ERROR"), "{said}");
    let rows = |name: &str| {
        let file = File::open(&vm.file(name)).map_err(|e| format!("{name}: {e}\n{said}"))?;
        let profile = file.profile();
        let frames = |trace| methods(profile, trace).join(" ");
        let times = profile.cpu_times().next_back().ok_or("no times")?;
        let mut calls: BTreeMap<String, u64> = BTreeMap::new();
        for row in &times.rows {
            *calls.entry(frames(row.trace)).or_default() += row.calls;
        }
        let mut sites: BTreeMap<String, [u64; 4]> = BTreeMap::new();
        for row in &profile.sites().next_back().ok_or("no sites")?.rows {
            let place = format!("{} {}", profile.site_type(row), frames(row.trace));
            let (live, allocated) = (row.live, row.allocated);
            let counts = [live.instances, live.bytes, allocated.instances, allocated.bytes];
            for (sum, count) in sites.entry(place).or_default().iter_mut().zip(counts) {
                *sum += count;
            }
        }
        Ok::<_, String>((calls, sites))
    };
    let ((live_calls, live_sites), (calls, sites)) = (rows("live.txt")?, rows("again.txt")?);
    let outer = live_calls.iter().filter(|(frames, _)| frames.starts_with("Profiled.outer"));
    let expected = outcome.expects.lines("expect").find_map(|line| line.int("outer").ok());
    equal("outer", Some(outer.map(|(_, calls)| *calls as i64).sum()), expected)?;
    let is_there = live_sites.keys().any(|place| place.starts_with("Profiled$Dropped "));
    ensure!(is_there, "{live_sites:?}");
    equal("calls", calls, live_calls)?;
    equal("sites", sites, live_sites)
}

/// Returns the lines without the parts that differ between processes: environments of threads and addresses of code.
fn without_addresses(report: &str) -> Vec<String> {
    let is_address = |word: &&str| {
        ["env=", "thread_env=", "self=", "address="].iter().any(|name| word.starts_with(name))
    };
    let line =
        |line: &str| line.split(' ').filter(|word| !is_address(word)).collect::<Vec<_>>().join(" ");
    let mut lines: Vec<_> = report.lines().map(line).collect();
    lines.sort();
    lines
}

fn every_event_comes_again_and_is_counted(vm: &Vm<'_>) -> Result<(), String> {
    let trace = recording(vm, "trace")?;
    let agent = build::agent("events")?;
    let events = "events=7+8+33+34+38+39+40+41+42+43+44+46+47+48+54+55+56+57+58+60+61";
    let launch =
        recorded(vm.java("Profiled")?.argument("calls"), &trace).agent("events", events)?;
    let directory = launch.directory().to_owned();
    launch.run()?;
    let stats = stats(vm, &trace)?;
    for line in ["           1 JVM_INIT_DONE\n", "          21 call EnableEvent\n"] {
        ensure!(stats.contains(line), "{stats}");
    }
    ensure!(stats.lines().any(|line| line.starts_with("vm ") && line.contains("VM")), "{stats}");
    jvmpi(vm, &["replay", "--quiet", &trace, &format!("{}:{events}", text(&agent)?)], 0)?;
    let live = without_addresses(&contents(directory.join("report"))?);
    let again = without_addresses(&contents(vm.file("replayed"))?);
    ensure!(live.len() > 500, "only {} lines", live.len());
    let different = live.iter().zip(&again).find(|(a, b)| a != b);
    ensure!(different.is_none(), "{different:?}");
    equal("lines", again.len(), live.len())
}

/// Agents keep the names of requested CLASS_LOADs, store something before THREAD_START, and read machine code.
fn kept_memory_lives_as_long_as_in_the_jvm(vm: &Vm<'_>) -> Result<(), String> {
    let trace = recording(vm, "trace")?;
    let launch = recorded(vm.java("Hello")?.argument("it"), &trace).agent("lasting", "")?;
    let outcome = launch.run()?;
    for report in [outcome.report(), &replayed(vm, &trace, "lasting", "")?] {
        let kept = |line: &Line| Ok::<_, String>((line.text("of")?.to_owned(), line.int("kept")?));
        let storage = report.lines("storage").map(kept).collect::<Result<Vec<_>, _>>()?;
        equal("storage", storage, vec![("main".to_owned(), 1), ("DestroyJavaVM".to_owned(), 0)])?;
        let names = report.one("names")?;
        ensure!(names.int("kept")? > 100 && names.int("changed")? == 0, "{names}");
        let code = report.one("code")?;
        ensure!(code.int("methods")? > 0 && code.int("bytes")? > 0, "{code}");
        equal("codes without bytes", code.int("empty")? + code.int("zeros")?, 0)?;
    }
    Ok(())
}

/// A thread of the agent's own asks for the stacks of others. Of one that ends meanwhile it is not recorded whether it
/// was still to be seen.
fn samples_are_answered(vm: &Vm<'_>) -> Result<(), String> {
    const ENDED: i64 = 10;
    let trace = recording(vm, "trace")?;
    let launch = recorded(vm.java("Profiled")?.argument("compute-2-1200"), &trace);
    let outcome = launch.agent("sampler", "")?.run()?;
    let live = samples(outcome.report())?;
    let again = samples(&replayed(vm, &trace, "sampler", "")?)?;
    ensure!((live - again).abs() <= ENDED, "{again} samples, not {live}");
    ensure!(live > 10 * ENDED, "only {live} samples");
    Ok(())
}

/// A thread of the agent's own has the recorded number of rounds in the replay, even if it does less in each. It may
/// make its calls in any order.
fn rounds_are_kept_apart(vm: &Vm<'_>) -> Result<(), String> {
    let trace = recording(vm, "trace")?;
    let outcome = recorded(vm.java("Rounds")?, &trace).agent("rounds", "")?.run()?;
    let again = replayed(vm, &trace, "rounds", "again=y")?;
    let (live, again) = (outcome.report().one("rounds")?, again.one("rounds")?);
    let rounds = |line: &Line| line.int("number");
    // The end of the program comes at any time in a round.
    ensure!((rounds(live)? - rounds(again)?).abs() <= 1, "{live} and {again}");
    for (name, line) in [("live", live), ("again", again)] {
        equal(name, (line.int("object")?, line.int("string")?), (1, 1))?;
    }
    Ok(())
}

/// An event waits for a lock that is held by a thread of the agent's own, and that thread's next call came after the
/// event.
fn a_lock_of_the_agents_own(vm: &Vm<'_>) -> Result<(), String> {
    let trace = recording(vm, "trace")?;
    let launch = recorded(vm.java("Rounds")?.argument("threads"), &trace);
    let outcome = launch.agent("rounds", "lock=y")?.run()?;
    let again = replayed(vm, &trace, "rounds", "lock=y,again=y")?;
    let (live, again) = (outcome.report().one("rounds")?, again.one("rounds")?);
    ensure!(live.int("number")? >= 20, "{live}");
    equal("starts", again.int("starts")?, live.int("starts")?)
}

fn a_program_that_is_killed(vm: &Vm<'_>) -> Result<(), String> {
    let trace = recording(vm, "trace")?;
    let launch = recorded(vm.java("Wait")?, &trace).agent("events", "events=33+42+46+47")?;
    let mut running = launch.start()?;
    running.wait_for_report("jvm_init_done")?;
    // The threads' buffers go to the file gradually.
    running.wait_until(|| Ok(stats(vm, &trace)?.contains(" JVM_INIT_DONE\n")))?;
    running.signal(libc::SIGKILL)?;
    running.wait()?;
    let stats = stats(vm, &trace)?;
    ensure!(stats.contains("without the end of the process"), "{stats}");
    replayed(vm, &trace, "events", "events=46")?.one("jvm_init_done").map(drop)
}

fn file_that_cannot_be_written_is_reported_and_removed(vm: &Vm<'_>) -> Result<(), String> {
    let unusable =
        [("/nowhere/trace", "No such file or directory"), ("/dev/full", "No space left on device")];
    for (file, why) in unusable {
        let launch = recorded(vm.java("Hello")?.argument("it"), file);
        let outcome = launch.agent("events", "events=42")?.run()?;
        equal("output", outcome.stdout.as_str(), "hello it\n")?;
        let line = format!("[jvmpi] error: cannot record in {file}: {why}");
        ensure!(outcome.stderr.starts_with(&line), "{}", outcome.stderr);
    }

    let trace = recording(vm, "trace")?;
    let running = recorded(vm.java("Wait")?, &trace).agent("lasting", "")?.ready()?;
    // The recording is larger, what the program and the agent write is not.
    limit_files(&running, 20_000)?;
    let outcome = running.finish(0)?;
    let line = format!(
        "[jvmpi] error: cannot record in {trace}: File too large (os error 27); the file is removed"
    );
    ensure!(outcome.stderr.lines().any(|said| said == line), "{}", outcome.stderr);
    ensure!(!Path::new(&trace).exists(), "half a recording is left");
    Ok(())
}

fn two_agents(vm: &Vm<'_>) -> Result<(), String> {
    let trace = recording(vm, "trace")?;
    let launch = recorded(vm.java("Hello")?.argument("it"), &trace);
    let launch = launch.agent("events", "events=46")?.another_agent("events", "events=47")?;
    let outcome = launch.run()?;
    ensure!(
        outcome.stderr.contains("already holds the recording of another agent of this process"),
        "{}",
        outcome.stderr
    );
    let stats = stats(vm, &trace)?;
    ensure!(
        stats.contains("           1 JVM_INIT_DONE\n") && !stats.contains("JVM_SHUT_DOWN"),
        "{stats}"
    );
    Ok(())
}

fn a_bug_shows_under_valgrind(vm: &Vm<'_>) -> Result<(), String> {
    let command_alone = Command::new("valgrind").arg(build::command()?).arg("--version").output();
    if !command_alone.is_ok_and(|output| output.status.success()) {
        println!("skipped: a_bug_shows_under_valgrind: no valgrind for programs of this machine");
        return Ok(());
    }
    let trace = recording(vm, "trace")?;
    let launch = recorded(vm.java("Hello")?.argument("it"), &trace);
    launch.agent("events", "events=33+47")?.run()?;
    let agent = format!("{}:mode=dangling", text(&build::agent("faulty")?)?);
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--error-exitcode=9"]).arg(build::command()?);
    let said = command(vm, valgrind.args(["replay", "--quiet", &trace, &agent]), 9)?.stderr;
    // What the replay itself does is right.
    let complaints = said.split("Invalid read").skip(1);
    let of_others = complaints.filter(|complaint| !complaint.contains("faulty.c")).count();
    ensure!(said.contains("Invalid read") && of_others == 0, "{said}");
    equal("other complaints", said.matches("uninitialised").count(), 0)
}

/// They are recorded as all threads are, while the agent is watched for keeping the rules.
fn virtual_threads_of_their_own(vm: &Vm<'_>) -> Result<(), String> {
    const THREADS: i64 = 2_000;
    let trace = recording(vm, "trace")?;
    let events = "events=1+3+33+34";
    let java = vm.java_for(21, "VirtualThreads")?.agent("counter", events)?;
    let settings = format!("virtual=own include=VirtualThreads* check=on trace={trace}");
    let outcome = java.settings(&settings).argument(&THREADS.to_string()).run()?;
    let kept = "[jvmpi] check: libcounter.so has broken no rule";
    ensure!(outcome.stderr.contains(kept), "{}", outcome.stderr);
    let again = replayed(vm, &trace, "counter", events)?;
    let calls = outcome.expects.one("expect")?.int("calls")? + THREADS;
    for (event, least) in [("1", calls), ("3", calls), ("33", THREADS), ("34", THREADS)] {
        let count = |report: &Report| report.find("events", "type", event)?.int("count");
        let live = count(outcome.report())?;
        ensure!(live >= least, "events of type {event}: {live}, not {least}");
        equal(&format!("events of type {event}"), count(&again)?, live)?;
    }
    Ok(())
}
