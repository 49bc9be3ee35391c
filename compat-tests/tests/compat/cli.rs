//! The parts of the command `jvmpi` that need a JVM.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use compat_tests::hung::{self, Guarded};
use compat_tests::machine::Machine;
use compat_tests::tool::copy_program;
use flate2::read::GzDecoder;
use jvmpi_formats::profile::heap::{Instance, Record};
use jvmpi_formats::profile::{
    self, CpuSample, CpuSamples, DumpKind, Frame, Line, Method, Profile, StreamWriter,
    ThreadSerial, Writer as _,
};
use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceRequest;
use prost::Message as _;

use crate::hprof::{calls_of, methods, read};
use crate::internals;
use crate::prelude::*;

cases![
    run_gives_java_the_agent,
    run_gives_a_script_the_agent,
    run_attaches,
    run_prints_why_it_cannot_attach,
    doctor_lists_what_works.on_every_jdk(),
    doctor_tests_the_internals_of_an_unknown_version.only(25),
    record_joins_calls_that_took_hardly_any_time,
    record_shows_elapsed_time,
    record_keeps_the_calls_that_took_long,
    record_shows_samples_over_time,
    record_writes_a_file_for_each_jvm_of_a_script,
    record_attaches_for_a_while.on_every_jdk(),
    record_waits_for_a_jvm_that_is_starting.on_every_jdk(),
    record_that_is_killed_leaves_its_last_snapshot,
    commands_end_though_a_jvm_does_not_answer,
    record_attaches_until_it_is_stopped,
    record_keeps_the_last_snapshot_of_a_killed_jvm,
    record_pushes_what_is_new_of_each_jvm.only(17),
    record_fails_if_nothing_is_whole.only(17),
    record_admits_jvms_alone.only(17),
    record_admits_a_jvm_while_strangers_hold_connections.only(17),
    record_forgets_what_has_ended.since(17),
    record_says_that_there_are_too_many_stacks.only(17),
    top_shows_the_hottest_method,
    heap_dump_has_the_objects_of_the_program.on_every_gc(),
    heap_prints_why_there_is_no_dump.only(17),
    record_dumps_the_heap_at_the_end_of_the_program.on(&[Gc::G1, Gc::Z]),
    record_dumps_the_heap_of_a_program_that_is_ended,
    record_dumps_the_heap_of_a_jvm_that_continues,
    record_reports_a_jvm_that_ends_before_its_heap_dump.only(17),
    jvms_are_listed_and_found_by_name.only(17),
    stacks_have_states_monitors_and_cpu_time,
    record_writes_to_standard_output.only(17),
    top_starts_a_program_and_ends_it.only(17),
    top_on_a_terminal_filters_and_shows_threads.only(17),
];

/// The period of checking a condition.
const TICK: Duration = Duration::from_millis(2);

/// Returns the agent `events` with options, in a folder whose name must be quoted.
fn events_agent(vm: &Vm<'_>) -> Result<String, String> {
    let directory = vm.file("with blank's");
    let copy = |to: &PathBuf| {
        fs::create_dir_all(&directory)?;
        fs::copy(build::agent("events").map_err(std::io::Error::other)?, to).map(|_| ())
    };
    let agent = directory.join("libevents.so");
    copy(&agent).map_err(|e| format!("{}: {e}", agent.display()))?;
    Ok(format!("{}:events=42", text(&agent)?))
}

/// The started process becomes the JVM: it gets the signals, and its exit status is that of the command.
fn run_gives_java_the_agent(vm: &Vm<'_>) -> Result<(), String> {
    let agent = events_agent(vm)?;
    let arguments = ["run", "--setting", "names=slash", &agent, "--"];
    let java = vm.java("Wait")?.behind_jvmpi(&arguments)?.ready()?;
    let executable = fs::read_link(format!("/proc/{}/exe", java.process()));
    let is_java = executable.is_ok_and(|executable| executable == vm.jdk.java());
    ensure!(is_java || Machine::this().emulator().is_some(), "the process runs another program");
    let outcome = java.finish(0)?;
    equal("standard error", outcome.stderr.as_str(), "")?;
    outcome.report().find("class_load", "name", "java/lang/Object").map(|_| ())
}

fn run_gives_a_script_the_agent(vm: &Vm<'_>) -> Result<(), String> {
    let agent = events_agent(vm)?;
    let java = vm.java("Hello")?.variable("JAVA_TOOL_OPTIONS", "-Dset=before");
    let script = "exec \"$0\" \"$@\"";
    let outcome = java.behind_jvmpi(&["run", &agent, "--", "sh", "-c", script])?.run()?;
    equal("output", outcome.stdout.as_str(), "hello \n")?;
    ensure!(outcome.stderr.contains(": -Dset=before '-agentpath:"), "{}", outcome.stderr);
    outcome.report().find("class_load", "name", "java.lang.Object").map(|_| ())
}

/// An upgrade replaces the library's file, while a JVM has the old one loaded. The JVM's is used in place of another one
/// too, because there can be only one. The settings of a JVM do not change after it has loaded the library.
fn run_attaches(vm: &Vm<'_>) -> Result<(), String> {
    let agent = text(&build::agent("events")?)?.to_owned();
    let java = vm.java("Wait")?.ready()?;
    let pid = java.process().to_string();
    let run = |libjvmpi: &Path, settings: &[&str], events: &str| {
        let _ = fs::remove_file(libjvmpi);
        fs::copy(build::shim()?, libjvmpi).map_err(|e| e.to_string())?;
        let agent = format!("{agent}:events={events},a b");
        let mut run = jvmpi_command(&[&["run", "--pid", &pid], settings, &[&agent]].concat())?;
        hung::output(run.env("JVMPI_LIBRARY", libjvmpi), Some(java.process()))
    };
    let libjvmpi = empty_directory(vm, "upgraded")?.join("libjvmpi.so");
    let slash = ["--setting", "names=slash", "--setting", "ids=32bit"];
    for (settings, events) in [(&slash[..], "33"), (&[], "42")] {
        equal(events, run(&libjvmpi, settings, events)?.succeeded()?.as_str(), "")?;
    }
    let another = empty_directory(vm, "another")?.join("libjvmpi.so.1");
    let other_settings = run(&another, &["--setting", "names=dot"], "42")?;
    ensure!(other_settings.status != Some(0), "other settings were taken");
    let outcome = java.finish(0)?;
    equal("output of the program", outcome.stdout.as_str(), "ready\ndone\n")?;
    let refused = "names=dot: this JVM has loaded libjvmpi.so before";
    ensure!(outcome.stderr.contains(refused), "{}", outcome.stderr);
    outcome.report().find("class_load", "name", "java/lang/Object")?;
    outcome.report().find("thread_start", "name", "main").map(|_| ())
}

fn run_prints_why_it_cannot_attach(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Wait")?.ready()?;
    let pid = java.process().to_string();
    let run = ["run", "--pid", &pid, "no_such_agent"];
    let why = "its standard error says why";
    refused(&run, &format!("the JVM {pid} has not loaded {}", text(&build::shim()?)?))?;
    refused(&run, why)?;
    // SAFETY: has no precondition. An emulator is known only to one user.
    if unsafe { libc::geteuid() } == 0 && Machine::this().emulator().is_none() {
        names_the_owner(&pid)?;
    }
    let outcome = java.finish(0)?;
    equal("lines of the shim", outcome.errors().len(), 2)?;
    equal("output", outcome.stdout.as_str(), "ready\ndone\n")?;
    refused(&run, &format!("there is no process {pid}"))?;

    let java = vm.java("Wait")?.flag("-XX:+DisableAttachMechanism").ready()?;
    let run = ["run", "--pid", &java.process().to_string(), "events"];
    refused(&run, "-XX:+DisableAttachMechanism, which forbids")?;
    ends(java)
}

/// Another user cannot attach to the JVM; the line names the users who can.
fn names_the_owner(pid: &str) -> Result<(), String> {
    // A directory that every user can search.
    let directory = std::env::temp_dir().join(format!("jvmpi-user-{}", std::process::id()));
    fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
    let command = directory.join("jvmpi");
    copy_program(&build::command()?, &command)?;
    let mut jvmpi = Command::new(&command);
    jvmpi.args(["run", "--pid", pid, "foo"]).current_dir("/").uid(NOBODY).gid(NOBODY);
    let output = hung::output(&mut jvmpi, None);
    fs::remove_dir_all(&directory).map_err(|e| e.to_string())?;
    let line = format!(
        "jvmpi: error: process {pid} belongs to root: run jvmpi as root (sudo -u root jvmpi …)\n"
    );
    equal("standard error", output?.stderr, line)
}

/// The ID of a user that owns no files.
const NOBODY: u32 = 65534;

/// Lets such a program end, and checks its output.
fn ends(java: Running) -> Result<(), String> {
    equal("output of the program", java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}

/// Returns the output of `jvmpi` with these arguments, which may be about this process.
pub fn jvmpi(partner: Option<u32>, arguments: &[&str]) -> Result<String, String> {
    let mut jvmpi = jvmpi_command(arguments)?;
    let output = hung::output(&mut jvmpi, partner)?;
    output.succeeded().map_err(|said| format!("{jvmpi:?}: {said}"))
}

/// Runs `jvmpi`, which prints one line with this text and fails.
fn refused(arguments: &[&str], why: &str) -> Result<(), String> {
    let hung::Ended { status, stderr: said, .. } =
        hung::output(&mut jvmpi_command(arguments)?, None)?;
    ensure!(said.starts_with("jvmpi: error: ") && said.contains(why), "not `{why}`: {said}");
    equal("lines", said.lines().count(), 1)?;
    equal("exit status", status, Some(1))
}

/// Starts a recording of this JVM and waits until HPROF is loaded.
fn recording(vm: &Vm<'_>, java: &Running, more: &[&str]) -> Result<Guarded, String> {
    let pid = java.process().to_string();
    let record = [&["record", "--pid", &pid], more].concat();
    let started = hung::start(&mut jvmpi_command(&record)?, Some(java.process()))?;
    while !maps_hprof(&pid)? {
        thread::sleep(TICK);
    }
    // The JVM serves one request after the other: when it answers this one, HPROF has been loaded.
    java.jcmd(vm.jdk, &["VM.version"])?;
    Ok(started)
}

/// Returns the last line of the program's standard error: a summary of the recording in this file.
fn summary<'a>(outcome: &'a Outcome, file: &Path) -> Result<&'a str, String> {
    let last = outcome.stderr.lines().last().ok_or("nothing was said")?;
    let start = format!("jvmpi: {} ", text(file)?);
    last.strip_prefix(start.as_str()).ok_or_else(|| format!("not `{start}`: {}", outcome.stderr))
}

/// The start of the JDK has tens of thousands of stacks, nearly all of them with hardly any time.
fn record_joins_calls_that_took_hardly_any_time(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("small.txt");
    let record = ["record", "--calls", "-o", text(&file)?, "--"];
    let outcome = vm.java("Profiled")?.argument("calls").behind_jvmpi(&record)?.run()?;
    ensure!(summary(&outcome, &file)?.ends_with(" cpu-time"), "{}", outcome.stderr);
    equal("lines of standard error", outcome.stderr.lines().count(), 1)?;
    read(&file)?;
    let written = contents(&file)?;
    equal("traces for small stacks", written.matches(SMALL).count(), 1)
}

/// The frame of the joined stacks.
const SMALL: &str = " stacks below 1/10000](<Unknown>:Unknown line)";

/// Records a program that keeps each thread in a method for two seconds. Returns the stacks.
fn recorded_states(vm: &Vm<'_>, options: &[&str], measure: &str) -> Result<String, String> {
    let file = vm.file("states.collapsed");
    let arguments = [&["record"], options, &["-o", text(&file)?, "--"]].concat();
    let outcome = vm.java("WallStates")?.argument("2000").behind_jvmpi(&arguments)?.run()?;
    ensure!(summary(&outcome, &file)?.ends_with(measure), "{}", outcome.stderr);
    contents(&file)
}

/// The program sleeps, which takes no CPU time.
fn record_shows_elapsed_time(vm: &Vm<'_>) -> Result<(), String> {
    let stacks = recorded_states(vm, &["--wall"], " wall-samples")?;
    let is_asleep = |line: &str| line.contains("WallStates.sleep;") && line.contains("[sleeping] ");
    ensure!(stacks.lines().any(is_asleep), "{stacks}");
    Ok(())
}

/// Some of the threads spend the time in their method without the CPU.
fn record_keeps_the_calls_that_took_long(vm: &Vm<'_>) -> Result<(), String> {
    let which = ["--calls", "--over", "900ms", "--include", "WallStates*"];
    let stacks = recorded_states(vm, &which, " cpu-time")?;
    for method in ["spin", "park", "sleep", "block", "await"] {
        let call = format!("WallStates.{method} ");
        let time = stacks.lines().find_map(|line| Some(line.split_once(&call)?.1));
        let time = time.and_then(|time| time.parse::<u64>().ok());
        ensure!(time.is_some_and(|time| time >= 900_000), "{method}: {stacks}");
    }
    ensure!(!stacks.contains("WallStates.next"), "{stacks}");
    Ok(())
}

/// No sample of the first method is in a later bucket than one of the second method.
fn record_shows_samples_over_time(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("phases.html");
    let arguments = ["record", "-o", text(&file)?, "--"];
    vm.java("Phases")?.behind_jvmpi(&arguments)?.run()?;
    let page = fs::read(&file).map_err(|e| e.to_string())?;
    let (profile, _) = jvmpi_report::read(&page).ok_or("this is no page")??;
    let CpuSamples { timeline, rows, .. } = profile.cpu_samples().next().ok_or("no samples")?;
    equal("a bucket", timeline.bucket, Duration::from_millis(20))?;
    let buckets_of = |method: &str| -> Vec<u32> {
        let is_in_stack = |trace| methods(&profile, trace).iter().any(|found| found == method);
        let rows = timeline.rows.iter().filter(|row| is_in_stack(row.trace));
        rows.map(|row| row.bucket).collect()
    };
    let (first, second) = (buckets_of("Phases.first"), buckets_of("Phases.second"));
    let is_before = first.iter().max() <= second.iter().min();
    ensure!(!first.is_empty() && !second.is_empty() && is_before, "{first:?}, {second:?}");
    // Each phase takes more than a second.
    ensure!(first.iter().min() < second.iter().max(), "{first:?}, {second:?}");
    let over_time: u64 = timeline.rows.iter().map(|row| row.samples).sum();
    let all: u64 = rows.iter().map(|row| row.samples).sum();
    equal("samples over time", over_time, all)
}

/// The exit status for a killed program is the one that shells use.
fn record_writes_a_file_for_each_jvm_of_a_script(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("script.hprof");
    let script = "\"$0\" \"$@\"; \"$0\" \"$@\"; kill -KILL $$";
    let java = vm.java("Hello")?.argument("twice");
    let arguments = ["record", "--alloc", "--exact", "-o", text(&file)?, "--", "sh", "-c", script];
    let outcome = java.behind_jvmpi(&arguments)?.run_to(137)?;
    equal("output", outcome.stdout.as_str(), "hello twice\nhello twice\n")?;
    for name in ["script.hprof", "script-2.hprof"] {
        ensure!(read(&vm.file(name))?.profile().sites().next().is_some(), "{name} has no sites");
    }
    Ok(())
}

/// The program continues after the end of the profile.
fn record_attaches_for_a_while(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("attached.txt");
    let java = vm.java("Wait")?.ready()?;
    let process = java.process().to_string();
    let record = ["record", "-d", "0.1", "-o", text(&file)?, "--pid", &process];
    // Each round is a separate recording.
    for what in ["--locks", "--alloc", "--locks"] {
        jvmpi(Some(java.process()), &[&record[..], &[what]].concat())?;
        let file = read(&file)?;
        let has_monitors = file.profile().monitor_dumps().next().is_some();
        equal(what, has_monitors, what == "--locks")?;
    }
    ends(java)
}

/// A command ends at a signal, or when its time is over, even if the JVM is stopped. So does a recording that began
/// before. Another user's socket in the place of the JVM's is refused.
fn commands_end_though_a_jvm_does_not_answer(vm: &Vm<'_>) -> Result<(), String> {
    let directory = empty_directory(vm, "never")?;
    let [file, heap, begun] = ["p.txt", "h.hprof", "b.txt"].map(|name| directory.join(name));
    let java = vm.java("Wait")?.ready()?;
    let pid = java.process().to_string();
    let record = ["record", "-o", text(&file)?, "--pid", &pid];
    let agent = build::agent("idle")?;
    let commands = [
        (record.to_vec(), Some(libc::SIGINT)),
        (record.to_vec(), Some(libc::SIGTERM)),
        (record.to_vec(), Some(libc::SIGHUP)),
        ([&record[..], &["-d", "0.3"]].concat(), None),
        (vec!["top", "--pid", &pid], Some(libc::SIGTERM)),
        (vec!["run", "--pid", &pid, text(&agent)?], Some(libc::SIGINT)),
    ];
    let dump = ["heap", "-o", text(&heap)?, "--pid", &pid];
    stop(&java)?;
    refused(&dump, "is stopped by a signal")?;
    for (command, _) in &commands {
        refused(command, "is stopped by a signal")?;
    }
    let socket = format!("/tmp/.java_pid{pid}");
    let listener = UnixListener::bind(&socket).map_err(|e| e.to_string())?;
    for (command, _) in &commands {
        refused(command, "is not the JVM's socket")?;
    }
    drop(listener);
    fs::remove_file(&socket).map_err(|e| e.to_string())?;
    // The JVM's own socket, on which the stopped JVM does not answer.
    java.signal(libc::SIGCONT)?;
    java.jcmd(vm.jdk, &["VM.version"])?;
    // The JVM handles one request after the other: while this one is incomplete, it does not answer.
    let before = connections(&socket)?;
    let incomplete = UnixStream::connect(&socket).map_err(|e| e.to_string())?;
    let has_connected = || Ok(connections(&socket)? > before + 1);
    ends_without_an_answer(&dump, Some(libc::SIGINT), "an incomplete request", has_connected)?;
    drop(incomplete);
    let early = recording(vm, &java, &["--every", "0.2", "-o", text(&begun)?])?;
    stop(&java)?;
    for (command, signal) in &commands {
        let before = connections(&socket)?;
        let has_connected = || Ok(connections(&socket)? > before);
        ends_without_an_answer(command, *signal, "the JVM's socket", has_connected)?;
    }
    early.signal(libc::SIGINT);
    let said = early.end()?.stderr;
    ensure!(said.contains("is stopped by a signal") || said.contains("in time"), "{said}");
    // The JVM would execute the request after it continues.
    drop(java);
    let _ = fs::remove_file(&socket);
    ensure!(!file.exists() && !heap.exists(), "a file without data is left");
    Ok(())
}

/// Returns the number of sockets under this path: the listening one, and connections not accepted yet. The system does
/// not notice that a JVM renames its socket.
fn connections(path: &str) -> Result<usize, String> {
    let sockets = contents("/proc/net/unix")?;
    let paths = sockets.lines().filter_map(|line| line.split_whitespace().last());
    Ok(paths.filter(|there| there.strip_suffix(".tmp").unwrap_or(there) == path).count())
}

/// Stops the JVM, and waits until the system says that it is.
fn stop(java: &Running) -> Result<(), String> {
    java.signal(libc::SIGSTOP)?;
    let path = format!("/proc/{}/stat", java.process());
    while !contents(&path)?.contains(") T ") {
        thread::sleep(TICK);
    }
    Ok(())
}

/// Runs a command that gets no answer. Once it `waits` it gets the signal, and ends with a line that says so.
fn ends_without_an_answer(
    command: &[&str],
    signal: Option<libc::c_int>,
    what: &str,
    mut waits: impl FnMut() -> Result<bool, String>,
) -> Result<(), String> {
    let mut jvmpi = hung::start(&mut jvmpi_command(command)?, None)?;
    let status = format!("/proc/{}/status", jvmpi.child.id());
    let listens = || {
        let status = fs::read_to_string(&status);
        let blocked = status.unwrap_or_default();
        blocked.lines().any(|line| line.starts_with("SigBlk:") && !line.ends_with("0000"))
    };
    let mut is_sent = signal.is_none();
    while jvmpi.child.try_wait().map_err(|e| e.to_string())?.is_none() {
        let is_waiting = waits()?;
        if let Some(signal) = signal.filter(|_| !is_sent && is_waiting && listens()) {
            jvmpi.signal(signal);
            is_sent = true;
        }
        thread::sleep(TICK);
    }
    let hung::Ended { status, stderr: said, .. } = jvmpi.end()?;
    let is_said = said.contains("interrupted before") || said.contains("has not answered in time");
    ensure!(status != Some(0) && is_said, "{what}: {command:?}: {said}");
    equal("lines", said.trim().lines().count(), 1)
}

/// HotSpot takes SIGQUIT long before it can answer, and forgets it while it touches its heap. It executes commands before
/// the VM is created.
fn record_waits_for_a_jvm_that_is_starting(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("starting.txt");
    for _ in 0..2 {
        let java = vm.java("Wait")?.flags(["-Xms200m", "-XX:+AlwaysPreTouch"]);
        let mut java = java.start()?;
        let pid = java.process().to_string();
        let maps = format!("/proc/{pid}/maps");
        java.wait_until(|| Ok(contents(&maps)?.contains("/libjvm.so")))?;
        let arguments = ["record", "-d", "1", "-o", text(&file)?, "--pid", &pid];
        let output = hung::output(&mut jvmpi_command(&arguments)?, Some(java.process()))?;
        ensure!(output.status == Some(0) && !output.stderr.contains("error"), "{output:?}");
        java.wait_for("ready")?;
        let outcome = java.finish(0)?;
        ensure!(!outcome.stderr.contains("JVMTI"), "{}", outcome.stderr);
        equal("output", outcome.stdout.as_str(), "ready\ndone\n")?;
        fs::remove_file(&file).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// The JVM can be recorded again. If it is killed, the recording ends with its last snapshot.
fn record_that_is_killed_leaves_its_last_snapshot(vm: &Vm<'_>) -> Result<(), String> {
    let directory = empty_directory(vm, "killed")?;
    let java = vm.java("Wait")?.ready()?;
    let record = |name: &str| {
        let file = directory.join(name);
        let options = ["--wall", "--every", "0.1", "-o", text(&file)?];
        let mut record = recording(vm, &java, &options)?;
        while !file.exists() {
            let ended = record.child.try_wait().map_err(|e| e.to_string())?;
            ensure!(ended.is_none(), "{ended:?}");
            thread::sleep(TICK);
        }
        Ok((file, record))
    };
    let (first, killed) = record("first.txt")?;
    killed.signal(libc::SIGKILL);
    killed.end()?;
    let (second, record) = record("second.txt")?;
    // It is a zombie until the test waits for it.
    java.signal(libc::SIGKILL)?;
    let said = record.end()?.stderr;
    ensure!(!said.contains("detached"), "{said}");
    for file in [first, second] {
        ensure!(!read(&file)?.profile().sections.is_empty(), "{} is empty", file.display());
    }
    Ok(())
}

/// Meanwhile no other recording can begin.
fn record_attaches_until_it_is_stopped(vm: &Vm<'_>) -> Result<(), String> {
    let file = empty_directory(vm, "stopped")?.join("stopped.txt");
    let java = vm.java("Wait")?.ready()?;
    let pid = java.process().to_string();
    let record = recording(vm, &java, &["--alloc", "--locks", "-o", text(&file)?])?;
    refused(
        &["record", "-o", "second.txt", "--pid", &pid],
        "if another recording of it is running, end that one first",
    )?;
    record.signal(libc::SIGINT);
    let hung::Ended { status, stderr: said, .. } = record.end()?;
    equal(&said, status, Some(0))?;
    let file = read(&file)?;
    ensure!(file.profile().sites().next().is_some(), "no sites: {said}");
    ensure!(file.profile().monitor_dumps().next().is_some(), "no monitors: {said}");
    let detached =
        format!("jvmpi: detached from process {pid}; libjvmpi.so stays loaded but inactive");
    equal("last line", said.lines().last(), Some(detached.as_str()))?;
    ensure!(maps_hprof(&pid)?, "HPROF does not stay loaded");
    ends(java)
}

fn maps_hprof(pid: &str) -> Result<bool, String> {
    let maps = contents(format!("/proc/{pid}/maps"))?;
    Ok(maps.contains("/libhprof.so"))
}

/// The last snapshot survives a killed JVM. Snapshots follow one another until one has all the work of the program.
fn record_keeps_the_last_snapshot_of_a_killed_jvm(vm: &Vm<'_>) -> Result<(), String> {
    let file = empty_directory(vm, "last")?.join("killed.txt");
    // Shells give a background process no standard input.
    let script = "exec 3<&0; \"$0\" \"$@\" <&3 & echo pid=$!; wait $!";
    let mut arguments = vec!["record", "--alloc", "--exact", "--calls", "--every", "0.01"];
    // Without the stacks of the JDK, a snapshot takes little time, and so does the pause after it.
    arguments.extend(["--cutoff", "0", "--setting", "include=Profiled*"]);
    arguments.extend(["-o", text(&file)?, "--", "sh", "-c", script]);
    let java = vm.java("Profiled")?.arguments(["calls", "objects", "wait"]);
    let mut java = java.behind_jvmpi(&arguments)?.ready()?;
    let output = contents(java.directory().join("stdout"))?;
    let pid = output.lines().find_map(|line| line.strip_prefix("pid=")).ok_or("no number")?;
    let pid: libc::pid_t = pid.parse().map_err(|_| pid.to_owned())?;
    let expects = Report::parse_only("expect", &output)?;
    let kept = expects.find("expect", "dropped", "3000")?.int("kept")?;
    let calls = expects.find("expect", "recursive", "120")?;
    let methods = ["outer", "inner", "recursive"];
    let expected = (kept, methods.map(|method| calls.int(method).unwrap_or(-1)));
    let recorded = || {
        let file = read(&file)?;
        let profile = file.profile();
        let rows = profile.sites().flat_map(|sites| &sites.rows);
        let kept = rows.filter(|row| profile.site_type(row) == "Profiled$Kept");
        let kept = kept.map(|row| row.allocated.instances as i64).sum::<i64>();
        Ok::<_, String>((kept, methods.map(|method| calls_of(profile, method).unwrap_or(0))))
    };
    while !file.exists() || recorded()? != expected {
        ensure!(!java.has_ended_with_input_open()?, "the program has ended");
        thread::sleep(Duration::from_millis(300));
    }
    // SAFETY: kill has no precondition, and the shell waits for the process, so the number is its.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    let outcome = java.finish(137)?;
    let said = "the JVM exited without a final dump; the file holds the last snapshot, taken ";
    equal("warnings", outcome.stderr.matches(said).count(), 1)?;
    let bent = "jvmpi: warning: --exact slows down code that allocates";
    equal("warnings of both", outcome.stderr.matches(bent).count(), 1)?;
    summary(&outcome, &file)?;
    equal("objects and calls", recorded()?, expected)
}

/// Stores add up what they get: the parts that are pushed while two JVMs run one after the other are together the
/// profiles that they leave. The parts have the attributes of their JVM.
fn record_pushes_what_is_new_of_each_jvm(vm: &Vm<'_>) -> Result<(), String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|e| e.to_string())?;
    let port = listener.local_addr().map_err(|e| e.to_string())?.port();
    let (sender, requests) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let taken = stream.and_then(|stream| take_request(&stream));
            if sender.send(taken).is_err() {
                return;
            }
        }
    });
    let file = vm.file("pushed.collapsed");
    let url = format!("otlp+http://127.0.0.1:{port}");
    let mut arguments = vec!["record", "--every", "0.2", "--push", &url, "-o", text(&file)?];
    arguments.extend(["--", "sh", "-c", "\"$0\" \"$@\"; \"$0\" \"$@\""]);
    let java = vm.java("Phases")?.behind_jvmpi(&arguments)?;
    let java = java.variable("OTEL_RESOURCE_ATTRIBUTES", "team=a b");
    let outcome = java.variable("OTEL_EXPORTER_OTLP_TIMEOUT", "60000").run()?;
    equal("output", outcome.stdout.as_str(), "done\ndone\n")?;
    let report = outcome.stderr.lines().last().unwrap_or_default();
    let number = report.strip_prefix("jvmpi: pushed ").and_then(|rest| rest.split(' ').next());
    let number: usize = number.and_then(|n| n.parse().ok()).ok_or_else(|| report.to_owned())?;
    ensure!(number >= 4, "{number} parts of two JVMs that run two seconds each");

    let samples = |lines: &str| -> u64 {
        let counts = lines.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        counts.sum()
    };
    // By process, in the order of their start.
    let mut pushed: Vec<(String, u64)> = Vec::new();
    for _ in 0..number {
        let request = requests.recv_timeout(Duration::from_secs(60)).map_err(|e| e.to_string())?;
        let request = request.map_err(|e| e.to_string())?;
        let [resource] = &request.resource_profiles[..] else { return Err("no resource".into()) };
        let attribute = |key: &str| {
            let mut all = resource.resource.iter().flat_map(|resource| &resource.attributes);
            let found = all.find(|attribute| attribute.key == key);
            found.map(|found| format!("{:?}", found.value)).ok_or_else(|| format!("no {key}"))
        };
        for (key, value) in [
            ("service.name", "Phases"),
            ("team", "a b"),
            ("process.runtime.version", &vm.jdk.version),
        ] {
            let found = attribute(key)?;
            ensure!(found.contains(value), "{key} is {found}");
        }
        let process = attribute("process.pid")?;
        let profiles = resource.scope_profiles.iter().flat_map(|scope| &scope.profiles);
        let values = profiles.flat_map(|profile| &profile.samples).flat_map(|it| &it.values);
        let samples: u64 = values.map(|value| value.unsigned_abs()).sum();
        match pushed.last_mut().filter(|(last, _)| *last == process) {
            Some((_, sum)) => *sum += samples,
            None => pushed.push((process, samples)),
        }
    }
    let pushed: Vec<_> = pushed.into_iter().map(|(_, sum)| sum).collect();
    let files = [file, vm.file("pushed-2.collapsed")];
    let files = files.iter().map(|file| fs::read_to_string(file).map(|lines| samples(&lines)));
    let left: Vec<u64> = files.collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    equal("samples", pushed, left)
}

/// Reads a request and accepts it.
fn take_request(mut stream: &TcpStream) -> std::io::Result<ExportProfilesServiceRequest> {
    let (mut reader, mut head, mut length) = (BufReader::new(stream), String::new(), 0);
    while reader.read_line(&mut head)? > 2 {
        let line = head.lines().last().unwrap_or_default().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().map_err(std::io::Error::other)?;
        }
    }
    let mut body = Vec::new();
    GzDecoder::new(reader.take(length)).read_to_end(&mut body)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    ExportProfilesServiceRequest::decode(&body[..]).map_err(std::io::Error::other)
}

/// A recording of a program without a JVM. The program ends when its input is closed.
struct Impersonated {
    record: Guarded,
    /// The address that JVMs connect to, and the secret that they send first.
    address: String,
    secret: String,
}

impl Impersonated {
    /// Starts the recording into a new file.
    fn start(file: &Path, options: &[&str]) -> Result<Self, String> {
        fs::create_dir_all(file.parent().ok_or("no directory")?).map_err(|e| e.to_string())?;
        let _ = fs::remove_file(file);
        // Prints one line with the port and the secret.
        let program = "echo \"$JAVA_TOOL_OPTIONS,$JVMPI_CHANNEL\"; exec cat";
        let record = ["record", "-o", text(file)?];
        let record = [&record[..], options, &["--", "sh", "-c", program]].concat();
        let mut record = hung::start(jvmpi_command(&record)?.stdin(Stdio::piped()), None)?;
        let mut line = String::new();
        let output = record.child.stdout.as_mut().ok_or("no output")?;
        BufReader::new(output).read_line(&mut line).map_err(|e| e.to_string())?;
        // All users can see the options of a JVM, so the secret is in its environment.
        let channel = line.trim_end().rsplit_once(',').and_then(|(options, secret)| {
            let address = options.rsplit_once("channel=")?.1;
            (secret.len() == 32 && !options.contains(secret)).then_some((address, secret))
        });
        let (address, secret) = channel.ok_or_else(|| format!("no port and secret in {line}"))?;
        let (address, secret) = (address.to_owned(), secret.to_owned());
        Ok(Self { record, address, secret })
    }

    /// Connects and sends these bytes.
    fn connect(&self, first: &[u8]) -> Result<TcpStream, String> {
        let connected = TcpStream::connect(&self.address).and_then(|mut stream| {
            stream.write_all(first)?;
            Ok(stream)
        });
        connected.map_err(|e| format!("{}: {e}", self.address))
    }

    fn connect_jvm(&self, told: &[u8]) -> Result<TcpStream, String> {
        self.connect(&[self.secret.as_bytes(), told].concat())
    }

    /// Lets the program end. Returns the exit status of the recording and its errors.
    fn finish(self) -> Result<(Option<i32>, String), String> {
        self.record.end().map(|ended| (ended.status, ended.stderr))
    }
}

/// Runs the command with connections that each send these bytes and close, one after the other. Checks that it exits
/// with this status and prints these lines. The program exits with 0.
fn record_tells_of(
    vm: &Vm<'_>,
    told: &[&[u8]],
    expected: i32,
    lines: &[&str],
) -> Result<(), String> {
    let file = vm.file("told.txt");
    let recording = Impersonated::start(&file, &[])?;
    for bytes in told {
        recording.connect_jvm(bytes)?;
    }
    let (status, stderr) = recording.finish()?;
    equal(&format!("status of `{stderr}`"), status, Some(expected))?;
    for line in lines {
        ensure!(stderr.contains(line), "not `{line}`: {stderr}");
    }
    equal("lines", stderr.lines().count(), lines.len())?;
    equal("whether there is a file", file.exists(), told.iter().any(|told| !told.is_empty()))
}

/// The exit status shows that a profile is cut off. If another one is complete, lines name the missing data, and the
/// exit status is the program's.
fn record_fails_if_nothing_is_whole(vm: &Vm<'_>) -> Result<(), String> {
    let stream = |dumps: &[Option<DumpKind>]| told_dumps(7, dumps);
    let (begun, cut, all) = (stream(&[])?, stream(&[None])?, stream(&[Some(DumpKind::Last)])?);
    let old = stream(&[Some(DumpKind::Snapshot), None])?;
    let is_cut = "the JVM exited before it had sent its whole profile";
    let (has, has_too) = ("told.txt has 7 cpu-samples", "told-2.txt has 7 cpu-samples");
    let fails = "jvmpi: error: no profile is complete: ";
    record_tells_of(vm, &[&cut], 125, &[is_cut, has, fails])?;
    record_tells_of(vm, &[&begun], 125, &[is_cut, "told.txt is empty", fails])?;
    record_tells_of(vm, &[&all], 0, &[has])?;
    let is_old = "the JVM exited without a final dump; the file holds the last snapshot, taken ";
    record_tells_of(vm, &[&old], 0, &[is_old, has])?;
    let silent = "jvmpi: warning: 1 of 3 JVMs exited before they sent a profile";
    record_tells_of(vm, &[&cut, b"", &all], 0, &[is_cut, has, has_too, silent])?;
    record_tells_of(vm, &[b"", b""], 125, &["jvmpi: error: nothing was recorded: "])?;
    record_tells_of(vm, &[], 125, &["jvmpi: error: no JVM was profiled"])?;
    let nonsense = [&begun[..], &[200, 1, 0]].concat();
    let is_nonsense = "the JVM sent malformed data: ";
    record_tells_of(vm, &[&nonsense], 125, &[is_nonsense, "told.txt is empty", fails])
}

/// Returns the stream of a JVM with these dumps, each with this number of samples. A dump without a kind is cut off.
fn told_dumps(samples: u64, dumps: &[Option<DumpKind>]) -> Result<Vec<u8>, String> {
    let write = || {
        let mut profile = Profile::default();
        let class = profile.names.intern("Main");
        let name = profile.names.intern("main");
        let method = profile.methods.intern(Method { class, name, ..Method::default() });
        let frame = profile.frames.intern(Frame { method, line: Line::Unknown });
        let trace = profile.traces.intern(ThreadSerial(0), &[frame]);
        let mut writer = StreamWriter::new(Vec::new(), &profile)?;
        for kind in dumps {
            let rows = vec![CpuSample { trace, samples, hits: samples }];
            let section = CpuSamples { total: samples, rows, ..CpuSamples::default() };
            writer.section(&profile, &section.into())?;
            kind.map_or(Ok(()), |kind| writer.end_dump(kind))?;
        }
        Ok(writer.into_inner())
    };
    write().map_err(|e: std::io::Error| e.to_string())
}

/// Other users of the machine can connect too. A connection without the secret is closed and reported, even if it sends
/// much data, and the file contains the JVM's profile.
fn record_admits_jvms_alone(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("admitted.txt");
    let recording = Impersonated::start(&file, &[])?;
    let forged = told_dumps(1000, &[Some(DumpKind::Last)])?;
    let secret = recording.secret.as_bytes();
    let almost = [&secret[..secret.len() - 1], b"!"].concat();
    let mut strangers = Vec::new();
    for first in [&forged[..], &[&almost[..], &forged].concat(), &secret[..31], b""] {
        let mut stranger = recording.connect(first)?;
        if first.len() < secret.len() {
            stranger.shutdown(std::net::Shutdown::Write).map_err(|e| e.to_string())?;
        }
        // The command has closed the connection; unread bytes make that a reset.
        ensure!(matches!(stranger.read(&mut [0]), Ok(0) | Err(_)), "a stranger is answered");
        strangers.push(stranger);
    }
    recording.connect_jvm(&told_dumps(7, &[Some(DumpKind::Last)])?)?;
    let (status, stderr) = recording.finish()?;
    equal(&format!("status of `{stderr}`"), status, Some(0))?;
    for stranger in &strangers {
        let address = stranger.local_addr().map_err(|e| e.to_string())?;
        let line = format!("jvmpi: warning: closed a connection from {address}, which");
        equal(&line, stderr.matches(&line).count(), 1)?;
    }
    ensure!(stderr.ends_with("admitted.txt has 7 cpu-samples\n"), "{stderr}");
    equal("lines", stderr.lines().count(), strangers.len() + 1)
}

fn record_admits_a_jvm_while_strangers_hold_connections(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("held.txt");
    let recording = Impersonated::start(&file, &[])?;
    let strangers: Vec<_> = (0..80).map(|_| recording.connect(b"")).collect::<Result<_, _>>()?;
    recording.connect_jvm(&told_dumps(7, &[Some(DumpKind::Last)])?)?;
    drop(strangers);
    let (status, stderr) = recording.finish()?;
    equal(&format!("status of `{stderr}`"), status, Some(0))?;
    ensure!(stderr.ends_with("held.txt has 7 cpu-samples\n"), "{stderr}");
    ensure!(stderr.contains("closed a connection from"), "{stderr}");
    Ok(())
}

/// A profile contains the threads that ran during its recording, not those that ended before. A recording of calls
/// rewrites the loaded classes once at its beginning and once at its end, although it enables and disables two events of
/// methods. The second recording finds the shim loaded, the first does not.
fn record_forgets_what_has_ended(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Passing")?.settings("log=info").ready()?;
    let pid = java.process().to_string();
    let file = vm.file("passing.txt");
    let mut ended_before: Option<u32> = None;
    for what in ["--calls", "--alloc", "--calls", "--cpu"] {
        let record = ["record", what, "-d", "1", "-o", text(&file)?, "--pid", &pid];
        jvmpi(Some(java.process()), &record)?;
        let profile = read(&file)?.into_profile();
        let name = |thread: &profile::Thread| profile.names.get(thread.name).to_owned();
        let number = |name: String| name.strip_prefix("passing-").and_then(|n| n.parse().ok());
        let threads = profile.threads.values();
        let told: Vec<u32> = threads.clone().filter_map(|thread| number(name(thread))).collect();
        ensure!(threads.clone().any(|thread| name(thread) == "main"), "{what}: no main thread");
        if let Some(last) = ended_before {
            ensure!(told.iter().all(|number| *number > last), "{what}: {told:?} after {last}");
        }
        let ended = threads.filter(|thread| thread.ended);
        ended_before = ended.filter_map(|thread| number(name(thread))).max().or(ended_before);
    }
    ensure!(ended_before.is_some(), "no thread has ended in any recording");
    let outcome = java.finish(0)?;
    equal("rewritings", outcome.stderr.matches(" loaded classes took ").count(), 4)?;
    equal("output of the program", outcome.stdout.as_str(), "ready\ndone\n")
}

/// Beyond the limit the calls of each method are still counted, and one line says that the limit was reached.
fn record_says_that_there_are_too_many_stacks(vm: &Vm<'_>) -> Result<(), String> {
    let (library, file) = (build::hprof()?, vm.file("limited.txt"));
    let options =
        format!("{}:cpu=times,cutoff=0,contexts=9,file={}", text(&library)?, text(&file)?);
    let outcome = vm.java("Profiled")?.argument("calls").shim(&options)?.run()?;
    let line = "HPROF ERROR: more than 9 stacks were called: ";
    equal(line, outcome.stderr.matches(line).count(), 1)?;
    let expected = outcome.expects.one("expect")?;
    let file = read(&file)?;
    for method in ["outer", "inner", "recursive"] {
        equal(method, calls_of(file.profile(), method)?, expected.int(method)?)?;
    }
    Ok(())
}

fn jvmpi_command(arguments: &[&str]) -> Result<Command, String> {
    let mut jvmpi = Command::new(build::command()?);
    jvmpi.args(arguments).env("JVMPI_LIBRARY", build::shim()?);
    Ok(jvmpi)
}

fn top_shows_the_hottest_method(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Busy")?.ready()?;
    let pid = java.process();
    let mut top = jvmpi_command(&["top", "--pid", &pid.to_string()])?;
    let mut top = hung::start(&mut top, Some(pid))?;
    let mut lines = BufReader::new(top.child.stdout.take().ok_or("no output")?).lines();
    // On a busy machine a table may be empty.
    let mut before = String::new();
    loop {
        let line = lines.next().ok_or("top has ended")?.map_err(|e| e.to_string())?;
        if before.ends_with("  method") && !line.is_empty() {
            ensure!(line.ends_with("%  Busy.work"), "not the hottest: {line}");
            break;
        }
        before = line;
    }
    top.signal(libc::SIGINT);
    top.end()?.succeeded()?;
    ends(java)
}

fn doctor_lists_what_works(vm: &Vm<'_>) -> Result<(), String> {
    let home = text(&vm.jdk.home)?;
    let said = jvmpi(None, &["doctor", "--report", home])?;
    let java = format!("\nJava {}", vm.jdk.version);
    ensure!(said.contains(&java) && said.contains(home), "{said}");
    let works = said.lines().find_map(|line| line.strip_prefix("  works with  "));
    let works: Vec<_> = works.ok_or("works with nothing")?.split(", ").collect();
    for gc in Gc::ALL {
        equal(gc.name(), works.contains(&gc.name()), vm.jdk.supports(gc))?;
    }
    Ok(())
}

/// On a version without results of the conformance suite, the command tests each internal, and says what agents miss.
fn doctor_tests_the_internals_of_an_unknown_version(vm: &Vm<'_>) -> Result<(), String> {
    let home = empty_directory(vm, "jdk-99")?;
    let failed = |e: std::io::Error| format!("{}: {e}", home.display());
    for entry in fs::read_dir(&vm.jdk.home).map_err(failed)?.flatten() {
        symlink(entry.path(), home.join(entry.file_name())).map_err(failed)?;
    }
    fs::remove_file(home.join("release")).map_err(failed)?;
    fs::write(home.join("release"), "JAVA_VERSION=\"99\"\n").map_err(failed)?;
    let mut doctor = jvmpi_command(&["doctor", text(&home)?])?;
    let output = doctor.env("JVMPI_TEST_WITHOUT", "eetop").output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let internal = |line: &str| {
        let (name, result) = line.strip_prefix("  internal    ")?.split_once(": ")?;
        Some((name.to_owned(), result.to_owned()))
    };
    let results: Vec<_> = said.lines().filter_map(internal).collect();
    let names: Vec<_> = results.iter().map(|(name, _)| name.clone()).collect();
    ensure!(said.contains("Java 99") && names == internals::names()?, "{said}");
    for (name, result) in results {
        let works = result == "works";
        // Without the first, there is no place to look for the second.
        let mut missing = vec!["eetop", "thread_state"];
        if vm.jdk.feature >= 26 {
            missing.push("native_function");
        }
        ensure!(works != missing.contains(&&*name), "{name}: {result}");
        ensure!(name != "eetop" || result.starts_with("missing: threads that only wait"), "{said}");
    }
    Ok(())
}

/// Returns the numbers of objects of [`CLASSES`] that the program printed.
fn expected_objects(outcome: &Outcome) -> Result<[u64; 3], String> {
    let line = outcome.expects.one("expect")?;
    let number = |name| line.int(name).map(i64::unsigned_abs);
    Ok([number("kept")?, number("deep")?, number("dropped")?])
}

/// The classes of objects that the program `Profiled` keeps and drops.
const CLASSES: [&str; 3] = ["Profiled$Kept", "Profiled$Deep", "Profiled$Dropped"];

/// Returns the number of instances of each of [`CLASSES`] in a file with one heap dump.
fn dumped_objects(path: &Path) -> Result<[u64; 3], String> {
    let file = read(path)?;
    let dumps: Vec<_> = file.profile().heap_dumps().collect();
    equal("heap dumps", dumps.len(), 1)?;
    let mut counts = [0; 3];
    file.heap(dumps[0])
        .records::<profile::Error>(|record| {
            if let Record::Instance(Instance { class_name, .. }) = record
                && let Some(index) = CLASSES.iter().position(|class| class == class_name)
            {
                counts[index] += 1;
            }
            Ok(())
        })
        .map_err(|e| e.to_string())?;
    Ok(counts)
}

/// Returns the number of objects of each of [`CLASSES`] in a report.
fn reported_objects(path: &Path) -> Result<[u64; 3], String> {
    let page = contents(path)?;
    let data = page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>"));
    let data = data.ok_or("the page has no data")?.0;
    let data: serde_json::Value = serde_json::from_str(data).map_err(|e| e.to_string())?;
    let classes = &data["heaps"][0]["classes"];
    let names = classes["name"].as_array().ok_or("no classes")?;
    let name = |number: &serde_json::Value| data["strings"][number.as_u64()? as usize].as_str();
    Ok(CLASSES.map(|class| {
        let index = names.iter().position(|number| name(number) == Some(class));
        index.and_then(|index| classes["objects"][index].as_u64()).unwrap_or(0)
    }))
}

/// Returns an empty directory of this run.
fn empty_directory(vm: &Vm<'_>, name: &str) -> Result<PathBuf, String> {
    let directory = vm.file(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    Ok(directory)
}

/// Returns the names in a directory, in order.
fn names_in(directory: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(directory).map_err(|e| e.to_string())?.flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// A dump has exactly the reachable objects, in each format; with `--all`, unreachable ones too. The file replaces an
/// existing one, and only its owner has access. Nothing else is left in the directory.
fn heap_dump_has_the_objects_of_the_program(vm: &Vm<'_>) -> Result<(), String> {
    let directory = empty_directory(vm, "heap")?;
    let java = vm.java("Profiled")?.arguments(["objects", "wait"]).ready()?;
    let pid = java.process().to_string();
    let dump = |name: &str, options: &[&str]| {
        let path = directory.join(name);
        fs::write(&path, "in the way").map_err(|e| e.to_string())?;
        let heap = [&["heap", "--pid", &pid, "-o", text(&path)?], options].concat();
        jvmpi(Some(java.process()), &heap)?;
        Ok::<_, String>(path)
    };
    // The first one, before anything is collected.
    let all = dumped_objects(&dump("all.hprof", &["--all"])?)?;
    let path = dump("live.hprof", &[])?;
    let live = dumped_objects(&path)?;
    let mode = fs::metadata(&path).map_err(|e| e.to_string())?.permissions().mode();
    equal("mode", mode & 0o777, 0o600)?;
    let in_text = dumped_objects(&dump("live.txt", &[])?)?;
    let in_page = reported_objects(&dump("live.html", &[])?)?;
    let report = directory.join("report.html");
    jvmpi(None, &["report", text(&path)?, "-o", text(&report)?])?;
    let in_report = reported_objects(&report)?;
    let files = ["all.hprof", "live.hprof", "live.html", "live.txt", "report.html"];
    equal("files", names_in(&directory)?, files)?;
    let outcome = java.finish(0)?;
    let [kept, deep, dropped] = expected_objects(&outcome)?;
    for (what, counts) in
        [("dump", live), ("text", in_text), ("page", in_page), ("report", in_report)]
    {
        equal(what, counts, [kept, deep, 0])?;
    }
    // A compiler may have removed objects that are not kept.
    equal("objects of all", all[..2].to_vec(), vec![kept, deep])?;
    ensure!(all[2] <= dropped, "{} of {dropped} objects were dropped", all[2]);
    equal("output", outcome.stdout.lines().last(), Some("done"))
}

fn heap_prints_why_there_is_no_dump(vm: &Vm<'_>) -> Result<(), String> {
    let directory = empty_directory(vm, "heap")?;
    let java = vm.java("Wait")?.ready()?;
    let pid = java.process().to_string();
    let path = directory.join("heap.hprof");
    let heap = ["heap", "--pid", &pid, "-o"];
    let to = |name| [&heap[..], &[name]].concat();
    refused(&to("heap.svg"), "heap.svg: a heap dump has no stacks; use .hprof, .html or .txt")?;
    refused(&to("heap"), "the name selects no format")?;
    refused(&to("/no/such/heap.hprof"), "cannot write /no/such/heap.hprof: No such file")?;
    fs::create_dir(&path).map_err(|e| e.to_string())?;
    refused(&to(text(&path)?), "heap.hprof: is a directory")?;
    fs::remove_dir(&path).map_err(|e| e.to_string())?;
    ends(java)?;
    refused(&to(text(&path)?), &format!("there is no process {pid}"))?;
    let own = std::process::id().to_string();
    refused(&["heap", "--pid", &own, "-o", text(&path)?], "is not a JVM")?;
    equal("files", names_in(&directory)?, [""; 0])?;
    heap_of_openj9_is_refused(&directory)
}

/// Its attach protocol is another one. SIGQUIT would make it write files.
fn heap_of_openj9_is_refused(directory: &Path) -> Result<(), String> {
    let library = |name| {
        let copy = directory.join(name);
        fs::copy(build::agent("idle")?, &copy).map_err(|e| e.to_string())?;
        Ok::<_, String>(text(&copy)?.to_owned())
    };
    let preload = [library("libjvm.so")?, library("libj9vm29.so")?].join(":");
    let mut cat = Command::new("cat");
    let mut cat = hung::start(cat.env("LD_PRELOAD", preload).stdin(Stdio::piped()), None)?;
    // It answers when it runs with its libraries.
    let (input, output) = (cat.child.stdin.as_mut(), cat.child.stdout.as_mut());
    input.ok_or("no input")?.write_all(b"?").map_err(|e| e.to_string())?;
    output.ok_or("no output")?.read_exact(&mut [0]).map_err(|e| e.to_string())?;
    let file = directory.join("heap.hprof");
    let heap = ["heap", "--pid", &cat.child.id().to_string(), "-o", text(&file)?];
    refused(&heap, "is OpenJ9, which jvmpi")?;
    cat.end()?.succeeded().map(drop)
}

/// A JVM that ends by itself is dumped before it does, with unreachable objects.
fn record_dumps_the_heap_at_the_end_of_the_program(vm: &Vm<'_>) -> Result<(), String> {
    let directory = empty_directory(vm, "recorded")?;
    let file = directory.join("x.txt");
    let record = ["record", "--heap", "-o", text(&file)?, "--"];
    let outcome = vm.java("Profiled")?.argument("objects").behind_jvmpi(&record)?.run()?;
    equal("files", names_in(&directory)?, ["x-heap.hprof", "x.txt"])?;
    let [kept, deep, dropped] = expected_objects(&outcome)?;
    let counts = dumped_objects(&directory.join("x-heap.hprof"))?;
    equal("objects", counts[..2].to_vec(), vec![kept, deep])?;
    ensure!(counts[2] <= dropped, "{} of {dropped} were dropped", counts[2]);
    let is_said = outcome.stderr.trim_end().ends_with("x-heap.hprof has the heap");
    ensure!(is_said, "{}", outcome.stderr);
    Ok(())
}

/// A signal that ends the program, as Ctrl-C does, does not end it before the dump and the profile. Meanwhile all users can see
/// its command line, which does not have the secret.
fn record_dumps_the_heap_of_a_program_that_is_ended(vm: &Vm<'_>) -> Result<(), String> {
    for (signal, status) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let file = empty_directory(vm, "ended")?.join("x.collapsed");
        let java = vm.java("Profiled")?.arguments(["objects", "wait"]);
        let mut java =
            java.behind_jvmpi(&["record", "--heap", "-o", text(&file)?, "--"])?.ready()?;
        shows_nobody_the_secret(java.process())?;
        java.signal(signal)?;
        java.wait()?;
        let outcome = java.finish(status)?;
        let [kept, deep, _] = expected_objects(&outcome)?;
        let counts = dumped_objects(&file.with_file_name("x-heap.hprof"))?;
        equal("objects", counts[..2].to_vec(), vec![kept, deep])?;
        summary(&outcome, &file.with_file_name("x-heap.hprof"))?;
        equal("files", names_in(&vm.file("ended"))?, ["x-heap.hprof", "x.collapsed"])?;
    }
    Ok(())
}

fn shows_nobody_the_secret(jvmpi: u32) -> Result<(), String> {
    let java = contents(format!("/proc/{jvmpi}/task/{jvmpi}/children"))?;
    let environment = contents(format!("/proc/{}/environ", java.trim()))?;
    let secret = environment.split('\0').find_map(|entry| entry.strip_prefix("JVMPI_CHANNEL="));
    let (secret, command) =
        (secret.ok_or("no secret")?, contents(format!("/proc/{}/cmdline", java.trim()))?);
    let is_hidden = command.contains("channel=127.0.0.1:") && !command.contains(secret);
    ensure!(is_hidden, "{command}");
    Ok(())
}

/// The heap of a JVM that continues has only the reachable objects.
fn record_dumps_the_heap_of_a_jvm_that_continues(vm: &Vm<'_>) -> Result<(), String> {
    let directory = empty_directory(vm, "attached")?;
    let (dump, page) = (directory.join("x.svg"), directory.join("y.html"));
    let java = vm.java("Profiled")?.arguments(["objects", "wait"]).ready()?;
    let pid = java.process().to_string();
    for file in [&dump, &page] {
        let record = ["record", "--heap", "-d", "0.1", "-o", text(file)?, "--pid", &pid];
        jvmpi(Some(java.process()), &record)?;
    }
    let names = ["x-heap.hprof", "x.svg", "y.html"];
    equal("files", names_in(&directory)?, names)?;
    let outcome = java.finish(0)?;
    let [kept, deep, _] = expected_objects(&outcome)?;
    let in_dump = dumped_objects(&directory.join("x-heap.hprof"))?;
    equal("objects of the dump", in_dump, [kept, deep, 0])?;
    equal("objects of the page", reported_objects(&page)?, [kept, deep, 0])
}

/// The profile is kept, a line says that there is no heap dump, and the exit status shows it.
fn record_reports_a_jvm_that_ends_before_its_heap_dump(vm: &Vm<'_>) -> Result<(), String> {
    let file = empty_directory(vm, "none")?.join("x.txt");
    let no_heap = "jvmpi: error: there is no heap dump: ";
    for (kind, why) in [
        (DumpKind::Snapshot, "the JVM exited before its heap could be dumped".to_owned()),
        // The process that this test claims to be.
        (DumpKind::AtExit, format!("process {} is not a JVM", std::process::id())),
    ] {
        let recording = Impersonated::start(&file, &["--heap"])?;
        recording.connect_jvm(&told_dumps(7, &[Some(kind)])?)?;
        let (status, stderr) = recording.finish()?;
        let last = stderr.lines().last().unwrap_or_default();
        ensure!(last.starts_with(&format!("{no_heap}{why}")), "not `{why}`: {stderr}");
        equal("status", status, Some(125))?;
        equal("files", names_in(&vm.file("none"))?, ["x.txt"])?;
    }
    Ok(())
}

/// A JVM is found by a part of its main class. A name that fits several is refused, unless it is the whole name of one.
fn jvms_are_listed_and_found_by_name(vm: &Vm<'_>) -> Result<(), String> {
    let file = vm.file("named.collapsed");
    let (java, other) = (vm.java("Stacks")?.ready()?, vm.java("Wait")?.ready()?);
    let list = jvmpi(None, &["list"])?;
    for (java, class) in [(&java, "Stacks"), (&other, "Wait")] {
        let mut fields = list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let number = java.process().to_string();
        let jvm = fields.rfind(|fields| fields.first() == Some(&number.as_str()));
        let jvm = jvm.ok_or_else(|| format!("no {number} in {list}"))?;
        ensure!(vm.jdk.version.starts_with(jvm[2]), "another version: {jvm:?}");
        equal("program", jvm.last(), Some(&class))?;
    }
    refused(&["stacks", "no such class"], "no running JVM has no such class in its name")?;
    let many = format!("{} Stacks", java.process());
    let said = hung::output(&mut jvmpi_command(&["stacks", "a"])?, None)?.stderr;
    ensure!(said.contains("fits several JVMs") && said.contains(&many), "{said}");
    let record = ["record", "--wall", "-d", "300ms", "--setting", "log=info", "-o", text(&file)?];
    let number = java.process().to_string();
    jvmpi(Some(java.process()), &[&record[..], &["--pid", &number]].concat())?;
    ends(other)?;
    let outcome = java.finish(0)?;
    ensure!(outcome.stderr.contains("[jvmpi]"), "the setting is ignored: {}", outcome.stderr);
    let stacks = contents(&file)?;
    ensure!(stacks.contains("Stacks.wantsIt"), "{stacks}");
    Ok(())
}

fn stacks_have_states_monitors_and_cpu_time(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Stacks")?.ready()?;
    let said = jvmpi(Some(java.process()), &["stacks", &java.process().to_string()])?;
    let thread = |name: &str| {
        let start = format!("\"{name}\"");
        let found = said.split("\n\n").find(|paragraph| paragraph.starts_with(&start));
        found.ok_or_else(|| format!("no {name} in {said}"))
    };
    let (main, wants) = (thread("main")?, thread("wants it")?);
    for (thread, part) in [
        (main, "        at Stacks.readsToTheEnd("),
        (main, "        - locked <"),
        (main, " cpu="),
        (wants, "java.lang.Thread.State: BLOCKED"),
        (wants, "        - waiting to lock <"),
        (wants, "        at Stacks.wantsIt("),
    ] {
        ensure!(thread.contains(part), "no `{part}` in {thread}");
    }
    if vm.jdk.feature >= 21 {
        let sleeper = said.rsplit("\n\n").find(|paragraph| paragraph.contains(" virtual"));
        let sleeper = sleeper.ok_or_else(|| format!("no virtual thread in {said}"))?;
        ensure!(sleeper.contains("Stacks.sleepsLong("), "{sleeper}");
        ensure!(vm.jdk.feature < 25 || sleeper.contains("TIMED_WAITING"), "{sleeper}");
    }
    // The virtual thread does not keep the program.
    ends(java)
}

/// What the program prints goes to standard error.
fn record_writes_to_standard_output(vm: &Vm<'_>) -> Result<(), String> {
    let record = ["record", "-o", "-", "--format", "collapsed", "--"];
    let outcome = vm.java("Hello")?.argument("you").behind_jvmpi(&record)?.run()?;
    ensure!(outcome.stderr.contains("hello you\n"), "{}", outcome.stderr);
    let stacks = outcome.stdout.as_str();
    let is_stack = |line: &str| line.rsplit(' ').next().is_some_and(|n| n.parse::<u32>().is_ok());
    ensure!(!stacks.is_empty() && stacks.lines().all(is_stack), "{stacks}");
    refused(&["record", "-o", "-", "--pid", "1"], "- selects no format")
}

fn top_starts_a_program_and_ends_it(vm: &Vm<'_>) -> Result<(), String> {
    let top = ["top", "--wall", "--every", "200ms", "--"];
    let mut top = vm.java("Stacks")?.behind_jvmpi(&top)?.start()?;
    top.wait_for_text("%  Stacks.wantsIt")?;
    top.signal(libc::SIGINT)?;
    // The program would end by itself at the end of its input.
    top.wait()?;
    let outcome = top.finish(0)?;
    ensure!(
        outcome.stderr.contains("ready") && !outcome.stderr.contains("done"),
        "{}",
        outcome.stderr
    );
    Ok(())
}

/// The terminal is that of `script`.
fn top_on_a_terminal_filters_and_shows_threads(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Busy")?.ready()?;
    let top = format!(
        "stty rows 24 cols 80; exec {} top --every 200ms --pid {}",
        text(&build::command()?)?,
        java.process()
    );
    let mut script = Command::new("script");
    script.args(["-qec", &top, "/dev/null"]).env("JVMPI_LIBRARY", build::shim()?);
    let script = script.env("TERM", "xterm").stdin(Stdio::piped());
    let mut top = hung::start(script, Some(java.process()))?;
    let mut keys = top.child.stdin.take().ok_or("no input")?;
    let mut screen = BufReader::new(top.child.stdout.take().ok_or("no output")?);
    let mut shows = |part: &str| -> Result<(), String> {
        let mut seen = String::new();
        while !seen.contains(part) {
            let mut bytes = [0; 4096];
            let length = screen.read(&mut bytes).map_err(|e| e.to_string())?;
            ensure!(length > 0, "no `{part}` in {seen}");
            seen.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
        Ok(())
    };
    let mut press = |text: &str| keys.write_all(text.as_bytes()).map_err(|e| e.to_string());
    shows("Busy.work")?;
    press("h")?;
    shows("busy-1")?;
    press("/BUSY-0\r")?;
    shows("filter: BUSY-0 (Esc: all)")?;
    press("?")?;
    shows("show only rows with a text")?;
    press("q")?;
    top.end()?.succeeded()?;
    ends(java)
}
