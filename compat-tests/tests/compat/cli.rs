//! The parts of the command `jvmpi` that need a JVM.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use compat_tests::jdk::Gc;
use compat_tests::run::{Outcome, Running, Vm};
use compat_tests::{build, hung, text};
use flate2::read::GzDecoder;
use jvmpi_formats::profile::heap::{Instance, Record};
use jvmpi_formats::profile::{
    self, CpuSample, CpuSamples, DumpKind, Frame, Line, Method, Profile, StreamWriter,
    ThreadSerial, Writer as _,
};
use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceRequest;
use prost::Message as _;

use crate::assert::equal;
use crate::cases;
use crate::hprof::{has_waited_for_locks, is_of_parking, unfinished};
use crate::internals;

cases![
    run_gives_java_the_agent,
    run_gives_a_script_the_agent,
    run_is_the_program,
    run_refuses_what_is_no_agent,
    run_attaches,
    run_attaches_after_an_upgrade.only(17),
    run_prints_why_it_cannot_attach,
    run_names_the_owner_of_a_foreign_jvm,
    doctor_lists_what_works.on_every_jdk(),
    doctor_tests_the_internals_of_an_unknown_version.only(25),
    record_joins_calls_that_took_hardly_any_time,
    record_profiles_a_program,
    record_shows_locks,
    record_shows_elapsed_time,
    record_shows_samples_over_time,
    record_passes_signals_on,
    record_writes_a_file_for_each_jvm_of_a_script,
    record_attaches_for_a_while.on_every_jdk(),
    record_waits_for_a_jvm_that_is_starting.on_every_jdk(),
    record_that_is_killed_leaves_its_last_snapshot,
    commands_end_though_a_jvm_does_not_answer,
    record_ends_though_its_jvm_is_stopped,
    record_attaches_until_it_is_stopped,
    record_ends_as_the_program,
    record_keeps_the_last_snapshot_of_a_killed_jvm,
    record_pushes_what_is_new_of_each_jvm.only(17),
    record_fails_if_nothing_is_whole.only(17),
    record_admits_jvms_alone.only(17),
    record_admits_a_jvm_while_strangers_hold_connections.only(17),
    second_recording_of_a_jvm_is_refused.only(17),
    record_does_not_call_a_dead_jvm_detached.only(17),
    record_shows_nobody_the_secret.only(17),
    record_forgets_what_has_ended.since(17),
    recording_of_calls_rewrites_classes_twice.since(17),
    record_says_that_there_are_too_many_stacks.only(17),
    record_says_why_there_is_nothing,
    top_shows_the_hottest_method,
    heap_dump_has_the_objects_of_the_program.on_every_gc(),
    heap_prints_why_there_is_no_dump.only(17),
    heap_can_be_interrupted.only(17),
    heap_of_openj9_is_refused.only(17),
    record_dumps_the_heap_at_the_end_of_the_program.on_every_gc(),
    record_dumps_the_heap_of_a_program_that_is_ended,
    record_dumps_the_heap_of_a_jvm_that_continues,
    record_reports_a_jvm_that_ends_before_its_heap_dump.only(17),
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

fn run_gives_java_the_agent(vm: &Vm<'_>) -> Result<(), String> {
    let agent = events_agent(vm)?;
    let java = vm.java("Hello")?.argument("run");
    let arguments = ["run", "--setting", "names=slash", &agent, "--"];
    let outcome = java.behind_jvmpi(&arguments)?.run()?;
    equal("output", outcome.stdout.as_str(), "hello run\n")?;
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

/// The started process becomes the JVM: it gets the signals, and its exit status is that of the command.
fn run_is_the_program(vm: &Vm<'_>) -> Result<(), String> {
    let agent = events_agent(vm)?;
    let mut java = vm.java("Wait")?.behind_jvmpi(&["run", &agent, "--"])?.start()?;
    java.wait_for("ready")?;
    let executable = fs::read_link(format!("/proc/{}/exe", java.process()));
    equal("executable", executable.map_err(|e| e.to_string())?, vm.jdk.java())?;
    java.finish(0).map(|_| ())
}

fn run_refuses_what_is_no_agent(vm: &Vm<'_>) -> Result<(), String> {
    let library = build::agent("no_onload")?;
    let java = vm.java("Hello")?;
    let outcome = java.behind_jvmpi(&["run", text(&library)?, "--"])?.run_to(125)?;
    equal("output", outcome.stdout.as_str(), "")?;
    let refusal = format!("jvmpi: error: {} does not export JVM_OnLoad", text(&library)?);
    ensure!(outcome.stderr.starts_with(&refusal), "{}", outcome.stderr);
    equal("lines", outcome.stderr.lines().count(), 1)
}

fn run_attaches(vm: &Vm<'_>) -> Result<(), String> {
    let agent = build::agent("events")?;
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    let (pid, agent) = (java.process(), format!("{}:events=33+42,a b", text(&agent)?));
    let run = |settings: &[&str]| {
        let pid_text = pid.to_string();
        let arguments = [&["run", "--pid", &pid_text], settings, &[&agent]].concat();
        jvmpi(Some(pid), &arguments)
    };
    let said = run(&["--setting", "names=slash", "--setting", "ids=32bit"])?;
    equal("output", said.as_str(), "")?;
    // The settings of a JVM do not change after it has loaded the library.
    ensure!(run(&["--setting", "names=dot"]).is_err(), "other settings were taken");
    let outcome = java.finish(0)?;
    equal("output of the program", outcome.stdout.as_str(), "ready\ndone\n")?;
    let refused = "names=dot: this JVM has loaded libjvmpi.so before";
    ensure!(outcome.stderr.contains(refused), "{}", outcome.stderr);
    outcome.report().find("class_load", "name", "java/lang/Object")?;
    outcome.report().find("thread_start", "name", "main").map(|_| ())
}

fn run_prints_why_it_cannot_attach(vm: &Vm<'_>) -> Result<(), String> {
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    let pid = java.process();
    let process = pid.to_string();
    let Err(refusal) = jvmpi(Some(pid), &["run", "--pid", &process, "no_such_agent"]) else {
        return Err("an agent that is not there is loaded".into());
    };
    let line = format!("jvmpi: error: the JVM {process} has not loaded {}", text(&build::shim()?)?);
    ensure!(
        refusal.contains(&line) && refusal.contains("its standard error says why"),
        "{refusal}"
    );
    let outcome = java.finish(0)?;
    equal("lines of the shim", outcome.errors().len(), 1)?;
    let Err(refusal) = jvmpi(None, &["run", "--pid", &process, "no_such_agent"]) else {
        return Err("a process that has ended has loaded an agent".into());
    };
    ensure!(refusal.contains(&format!("there is no process {process}")), "{refusal}");

    let mut java = vm.java("Wait")?.flag("-XX:+DisableAttachMechanism").start()?;
    java.wait_for("ready")?;
    let Err(refusal) = jvmpi(None, &["run", "--pid", &java.process().to_string(), "events"]) else {
        return Err("a JVM that forbids it has loaded an agent".into());
    };
    ensure!(refusal.contains("-XX:+DisableAttachMechanism, which forbids"), "{refusal}");
    equal("output", java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}

/// An upgrade replaces the library's file, while a JVM has the old one loaded.
fn run_attaches_after_an_upgrade(vm: &Vm<'_>) -> Result<(), String> {
    let libjvmpi = vm.file("upgraded").join("libjvmpi.so");
    let directory = libjvmpi.parent().ok_or("no directory")?;
    fs::create_dir_all(directory).map_err(|e| e.to_string())?;
    let install = || {
        let _ = fs::remove_file(&libjvmpi);
        fs::copy(build::shim()?, &libjvmpi).map(drop).map_err(|e| e.to_string())
    };
    let agent = text(&build::agent("events")?)?.to_owned();
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    let pid = java.process();
    for event in ["33", "42"] {
        install()?;
        let agent = format!("{agent}:events={event}");
        let mut run = jvmpi_command(&["run", "--pid", &pid.to_string(), &agent])?;
        let output = hung::output(run.env("JVMPI_LIBRARY", &libjvmpi), Some(pid))?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let outcome = java.finish(0)?;
    let loads = outcome.report().count("class_load");
    ensure!(loads > 0, "the second attach has not reached the agent");
    Ok(())
}

/// Another user's JVM cannot be attached to; the line names the users who can.
fn run_names_the_owner_of_a_foreign_jvm(vm: &Vm<'_>) -> Result<(), String> {
    // SAFETY: has no precondition.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: only root can be two users");
        return Ok(());
    }
    // A directory that every user can search.
    let directory = std::env::temp_dir().join(format!("jvmpi-user-{}", std::process::id()));
    fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
    let command = directory.join("jvmpi");
    fs::copy(build::command()?, &command).map_err(|e| e.to_string())?;
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    let process = java.process().to_string();
    let mut jvmpi = Command::new(&command);
    jvmpi.args(["run", "--pid", &process, "foo"]).current_dir("/").uid(NOBODY).gid(NOBODY);
    let output = hung::output(&mut jvmpi, Some(java.process()));
    fs::remove_dir_all(&directory).map_err(|e| e.to_string())?;
    let output = output?;
    let said = String::from_utf8_lossy(&output.stderr);
    let line = format!(
        "jvmpi: error: process {process} belongs to root: run jvmpi as root (sudo -u root jvmpi …)\n"
    );
    equal("standard error", said.as_ref(), line.as_str())?;
    equal("exit status", output.status.code(), Some(1))?;
    equal("output of the program", java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}

/// The ID of a user that owns no files.
const NOBODY: u32 = 65534;

/// Returns the output of `jvmpi` with these arguments, which may be about this process.
pub fn jvmpi(partner: Option<u32>, arguments: &[&str]) -> Result<String, String> {
    let mut jvmpi = jvmpi_command(arguments)?;
    let output = hung::output(&mut jvmpi, partner)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{jvmpi:?}: {}: {stderr}", output.status);
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}

fn profile(path: &Path) -> Result<profile::File, String> {
    let file = profile::File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    match file.problem() {
        Some(problem) => Err(format!("{}: {problem}", path.display())),
        None => Ok(file),
    }
}

/// Returns the last line of the program's standard error: a summary of the recording in this file.
fn summary<'a>(outcome: &'a Outcome, file: &Path) -> Result<&'a str, String> {
    let last = outcome.stderr.lines().last().ok_or("nothing was said")?;
    let start = format!("jvmpi: {} ", text(file)?);
    last.strip_prefix(start.as_str()).ok_or_else(|| format!("not `{start}`: {}", outcome.stderr))
}

fn record_profiles_a_program(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("calls.txt");
    let java = vm.java("Profiled")?.argument("calls");
    let arguments = ["record", "--calls", "--cutoff", "0", "-o", text(&file)?, "--"];
    let outcome = java.behind_jvmpi(&arguments)?.run()?;
    ensure!(summary(&outcome, &file)?.ends_with(" cpu-time"), "{}", outcome.stderr);
    equal("lines of standard error", outcome.stderr.lines().count(), 1)?;
    let expected = outcome.expects.one("expect")?;
    let file = profile(&file)?;
    let profile = file.profile();
    for method in ["outer", "inner", "recursive"] {
        equal(method, calls_of(profile, method)?, expected.int(method)?)?;
    }
    Ok(())
}

/// The start of the JDK has tens of thousands of stacks, nearly all of them with hardly any time.
fn record_joins_calls_that_took_hardly_any_time(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let written = |more: &[&str]| {
        let file = vm.file("small.txt");
        let record = [&["record", "--calls", "-o", text(&file)?], more, &["--"]].concat();
        vm.java("Profiled")?.argument("calls").behind_jvmpi(&record)?.run()?;
        profile(&file)?;
        fs::read_to_string(&file).map_err(|e| e.to_string())
    };
    let (joined, all) = (written(&[])?, written(&["--cutoff", "0"])?);
    let traces = |text: &str| text.matches("\nTRACE ").count();
    ensure!(traces(&joined) < traces(&all), "{} of {}", traces(&joined), traces(&all));
    let frames =
        |text: &str| text.matches(" stacks below 1/10000](<Unknown>:Unknown line)").count();
    equal("traces for small stacks", (frames(&joined), frames(&all)), (1, 0))
}

/// Locks of java.util.concurrent are included, unless the user wants none.
fn record_shows_locks(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("locks.txt");
    let record = ["record", "--locks", "-o", text(&file)?];
    let with = |more: &[&str]| {
        let java = vm.java("Profiled")?.argument("locks");
        java.behind_jvmpi(&[&record[..], more, &["--"]].concat())?.run()
    };
    let outcome = with(&[])?;
    ensure!(summary(&outcome, &file)?.ends_with(" monitor-time"), "{}", outcome.stderr);
    has_waited_for_locks(&outcome, &file)?;
    with(&["--setting", "park=off"])?;
    let file = profile(&file)?;
    let profile = file.profile();
    let rows = profile.monitor_times().flat_map(|times| &times.rows);
    equal("waits of threads that park", rows.filter(|row| is_of_parking(profile, row)).count(), 0)
}

/// Returns the number of calls of a method of the program.
fn calls_of(profile: &Profile, method: &str) -> Result<i64, String> {
    let times = profile.cpu_times().next_back().ok_or("no section")?;
    let is_of = |trace| {
        let innermost = profile.traces.frames_of(trace).first();
        let frame = innermost.and_then(|id| profile.frame(id));
        frame.is_some_and(|(_, found)| {
            [found.class, found.name].map(|name| profile.names.get(name)) == ["Profiled", method]
        })
    };
    let calls = times.rows.iter().filter(|row| is_of(row.trace)).map(|row| row.calls);
    i64::try_from(calls.sum::<u64>()).map_err(|e| e.to_string())
}

/// Signals sent to the command reach the program, which ends in its own way and sends its profile.
/// The program sleeps, which takes no CPU time.
fn record_shows_elapsed_time(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("wall.collapsed");
    let java = vm.java("WallStates")?.argument("2000");
    let arguments = ["record", "--wall", "-o", text(&file)?, "--"];
    let outcome = java.behind_jvmpi(&arguments)?.run()?;
    ensure!(summary(&outcome, &file)?.ends_with(" wall-samples"), "{}", outcome.stderr);
    let stacks = fs::read_to_string(&file).map_err(|e| e.to_string())?;
    let is_asleep = |line: &str| line.contains("WallStates.sleep;") && line.contains("[sleeping] ");
    ensure!(stacks.lines().any(is_asleep), "{stacks}");
    Ok(())
}

/// No sample of the first method is in a later second than one of the second method.
fn record_shows_samples_over_time(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("phases.html");
    let arguments = ["record", "-o", text(&file)?, "--"];
    vm.java("Phases")?.behind_jvmpi(&arguments)?.run()?;
    let page = fs::read_to_string(&file).map_err(|e| e.to_string())?;
    let data = page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>"));
    let (data, _) = data.ok_or("the page has no data")?;
    let data: serde_json::Value = serde_json::from_str(data).map_err(|e| e.to_string())?;
    let number = |value: &serde_json::Value, at: usize| value[at].as_u64().unwrap_or(0) as usize;
    let (table, code) = (&data["tables"][0], &data["code"]);
    equal("table", table["kind"].as_str(), Some("samples"))?;
    let (nodes, times) = (&code["nodes"], &table["times"]);
    equal("a bucket", times["bucket"].as_u64(), Some(1_000_000))?;
    let rows = times["row"].as_array().ok_or("no samples over time")?;
    let seconds_of = |name: &str| -> Vec<usize> {
        let is_in_stack = |index: &usize| {
            let mut node = number(&table["node"], number(&times["row"], *index));
            while node != 0 {
                let method = number(&code["frames"]["method"], number(&nodes["frame"], node));
                if data["strings"][number(&code["methods"]["name"], method)] == name {
                    return true;
                }
                node = number(&nodes["parent"], node);
            }
            false
        };
        let indices = (0..rows.len()).filter(is_in_stack);
        indices.map(|index| number(&times["number"], index)).collect()
    };
    let (first, second) = (seconds_of("first"), seconds_of("second"));
    let is_before = first.iter().max() <= second.iter().min();
    ensure!(!first.is_empty() && !second.is_empty() && is_before, "{first:?}, {second:?}");
    // Each phase takes more than a second.
    ensure!(first.iter().min() < second.iter().max(), "{first:?}, {second:?}");
    let sum: u64 = times["value"].as_array().into_iter().flatten().filter_map(|v| v.as_u64()).sum();
    equal("samples over time", Some(sum), table["measures"][0]["total"][0].as_u64())
}

fn record_passes_signals_on(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("ended.collapsed");
    let java = vm.java("Busy")?.behind_jvmpi(&["record", "-o", text(&file)?, "--"])?;
    let mut java = java.start()?;
    java.wait_for("ready")?;
    java.signal(libc::SIGTERM)?;
    while !java.has_ended_with_input_open()? {
        thread::sleep(TICK);
    }
    let outcome = java.finish(143)?;
    summary(&outcome, &file).map(|_| ())
}

fn record_writes_a_file_for_each_jvm_of_a_script(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("script.hprof");
    let script = "\"$0\" \"$@\"; \"$0\" \"$@\"; exit 3";
    let java = vm.java("Hello")?.argument("twice");
    let arguments = ["record", "--alloc", "--exact", "-o", text(&file)?, "--", "sh", "-c", script];
    let outcome = java.behind_jvmpi(&arguments)?.run_to(3)?;
    equal("output", outcome.stdout.as_str(), "hello twice\nhello twice\n")?;
    for name in ["script.hprof", "script-2.hprof"] {
        ensure!(profile(&vm.file(name))?.profile().sites().next().is_some(), "{name} has no sites");
    }
    Ok(())
}

/// The program continues after the end of the profile.
fn record_attaches_for_a_while(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("attached.txt");
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    let process = java.process().to_string();
    let record = ["record", "-d", "0.1", "-o", text(&file)?, "--pid", &process];
    // Each round is a separate recording.
    for what in ["--locks", "--alloc", "--locks"] {
        jvmpi(Some(java.process()), &[&record[..], &[what]].concat())?;
        let file = profile(&file)?;
        let has_monitors = file.profile().monitor_dumps().next().is_some();
        equal(what, has_monitors, what == "--locks")?;
    }
    equal("output of the program", java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}

/// A command ends at a signal, or when its time is over, even if the JVM is stopped. Another user's socket in the
/// place of the JVM's is refused.
fn commands_end_though_a_jvm_does_not_answer(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("never.txt");
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
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
    stop(&java)?;
    for (command, _) in &commands {
        let Err(refusal) = jvmpi(None, command) else {
            return Err(format!("{command:?} says nothing of a JVM that is stopped"));
        };
        ensure!(refusal.contains("is stopped by a signal"), "{refusal}");
    }
    let socket = format!("/tmp/.java_pid{pid}");
    let listener = UnixListener::bind(&socket).map_err(|e| e.to_string())?;
    for (command, _) in &commands {
        let Err(refusal) = jvmpi(None, command) else {
            return Err(format!("{command:?} takes somebody's socket for the JVM's"));
        };
        ensure!(refusal.contains("is not the JVM's socket"), "{refusal}");
    }
    drop(listener);
    fs::remove_file(&socket).map_err(|e| e.to_string())?;
    // The JVM's own socket, on which the stopped JVM does not answer.
    java.signal(libc::SIGCONT)?;
    java.jcmd(vm.jdk, &["VM.version"])?;
    stop(&java)?;
    for (command, signal) in &commands {
        let before = connections(&socket)?;
        let has_connected = || Ok(connections(&socket)? > before);
        ends_without_an_answer(command, *signal, "the JVM's socket", has_connected)?;
    }
    // The JVM would execute the request after it continues.
    drop(java);
    let _ = fs::remove_file(&socket);
    ensure!(!file.exists(), "a file without a profile is left");
    Ok(())
}

/// Returns the number of sockets under this path: the listening one, and connections not accepted yet. The system does
/// not notice that a JVM renames its socket.
fn connections(path: &str) -> Result<usize, String> {
    let sockets = fs::read_to_string("/proc/net/unix").map_err(|e| e.to_string())?;
    let paths = sockets.lines().filter_map(|line| line.split_whitespace().last());
    Ok(paths.filter(|there| there.strip_suffix(".tmp").unwrap_or(there) == path).count())
}

/// Stops the JVM, and waits until the system says that it is.
fn stop(java: &Running) -> Result<(), String> {
    java.signal(libc::SIGSTOP)?;
    let path = format!("/proc/{}/stat", java.process());
    while !fs::read_to_string(&path).map_err(|e| e.to_string())?.contains(") T ") {
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
    let (mut child, _guard) = hung::start(&mut jvmpi_command(command)?, None)?;
    let listens = |child: &Child| {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
        let blocked = status.unwrap_or_default();
        blocked.lines().any(|line| line.starts_with("SigBlk:") && !line.ends_with("0000"))
    };
    let mut is_sent = signal.is_none();
    while child.try_wait().map_err(|e| e.to_string())?.is_none() {
        let is_waiting = waits()?;
        if let Some(signal) = signal.filter(|_| !is_sent && is_waiting && listens(&child)) {
            let number = libc::pid_t::try_from(child.id()).map_err(|e| e.to_string())?;
            // SAFETY: kill has no precondition, and the child was not waited for.
            unsafe { libc::kill(number, signal) };
            is_sent = true;
        }
        thread::sleep(TICK);
    }
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    let is_said = said.contains("interrupted before") || said.contains("has not answered in time");
    ensure!(!output.status.success() && is_said, "{what}: {command:?}: {said}");
    equal("lines", said.trim().lines().count(), 1)
}

/// HotSpot takes SIGQUIT long before it can answer, and forgets it while it touches its heap. It executes commands before
/// the VM is created.
fn record_waits_for_a_jvm_that_is_starting(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("starting.txt");
    for _ in 0..2 {
        let java = vm.java("Wait")?.flag("-Xms200m").flag("-XX:+AlwaysPreTouch");
        let mut java = java.start()?;
        let pid = java.process().to_string();
        let maps = format!("/proc/{pid}/maps");
        while !fs::read_to_string(&maps).map_err(|e| e.to_string())?.contains("/libjvm.so") {
            ensure!(!java.has_ended_with_input_open()?, "the program has ended");
        }
        let arguments = ["record", "-d", "3", "-o", text(&file)?, "--pid", &pid];
        let output = hung::output(&mut jvmpi_command(&arguments)?, Some(java.process()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success() && !said.contains("error"), "{said}");
        java.wait_for("ready")?;
        let outcome = java.finish(0)?;
        ensure!(!outcome.stderr.contains("JVMTI"), "{}", outcome.stderr);
        equal("output", outcome.stdout.as_str(), "ready\ndone\n")?;
        fs::remove_file(&file).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn record_that_is_killed_leaves_its_last_snapshot(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let directory = empty_directory(vm, "killed")?;
    let file = directory.join("snapshot.txt");
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    let pid = java.process().to_string();
    let arguments =
        ["record", "--wall", "--every", "0.1", "-o", text(&file)?, "--pid", pid.as_str()];
    let (mut record, _guard) = hung::start(&mut jvmpi_command(&arguments)?, Some(java.process()))?;
    while !file.exists() {
        let ended = record.try_wait().map_err(|e| e.to_string())?;
        ensure!(ended.is_none(), "{ended:?}");
        thread::sleep(TICK);
    }
    record.kill().and_then(|()| record.wait()).map_err(|e| e.to_string())?;
    let file = profile::File::open(&file).map_err(|e| e.to_string())?;
    equal("problem", file.problem(), None)?;
    ensure!(!file.profile().sections.is_empty(), "the snapshot is empty");
    equal("output", java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}

/// The time of a recording is over while its JVM is stopped.
fn record_ends_though_its_jvm_is_stopped(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("stopped.txt");
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    let pid = java.process().to_string();
    let arguments = ["record", "--every", "0.2", "-d", "5", "-o", text(&file)?, "--pid", &pid];
    let (record, _guard) = hung::start(&mut jvmpi_command(&arguments)?, Some(java.process()))?;
    while !maps_hprof(&pid)? {
        ensure!(!java.has_ended_with_input_open()?, "the program has ended");
        thread::sleep(TICK);
    }
    stop(&java)?;
    let output = record.wait_with_output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(said.contains("is stopped by a signal") || said.contains("in time"), "{said}");
    java.signal(libc::SIGCONT)?;
    equal("output of the program", java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}

fn record_attaches_until_it_is_stopped(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("stopped.txt");
    while let Some(left) = unfinished(&file) {
        fs::remove_file(left).map_err(|e| e.to_string())?;
    }
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    let pid = java.process().to_string();
    let arguments = ["record", "--alloc", "--locks", "-o", text(&file)?, "--pid", &pid];
    let (record, _guard) = hung::start(&mut jvmpi_command(&arguments)?, Some(java.process()))?;
    while !maps_hprof(&pid)? {
        ensure!(!java.has_ended_with_input_open()?, "the program has ended");
        thread::sleep(TICK);
    }
    // The JVM serves one request after the other: when it answers this one, HPROF has been loaded.
    java.jcmd(vm.jdk, &["VM.version"])?;
    interrupt(&record);
    let output = record.wait_with_output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {said}", output.status);
    let file = profile(&file)?;
    ensure!(file.profile().sites().next().is_some(), "no sites: {said}");
    ensure!(file.profile().monitor_dumps().next().is_some(), "no monitors: {said}");
    let detached =
        format!("jvmpi: detached from process {pid}; libjvmpi.so stays loaded but inactive");
    equal("last line", said.lines().last(), Some(detached.as_str()))?;
    ensure!(maps_hprof(&pid)?, "HPROF does not stay loaded");
    equal("output of the program", java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}

fn maps_hprof(pid: &str) -> Result<bool, String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).map_err(|e| e.to_string())?;
    Ok(maps.contains("/libhprof.so"))
}

/// The exit status for a killed program is the one that shells use.
fn record_ends_as_the_program(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("killed.svg");
    let script = "\"$0\" \"$@\"; kill -KILL $$";
    let arguments = ["record", "-o", text(&file)?, "--", "sh", "-c", script];
    let outcome = vm.java("Hello")?.behind_jvmpi(&arguments)?.run_to(137)?;
    summary(&outcome, &file).map(|_| ())
}

/// The last snapshot survives a killed JVM. Its time cannot be seen from here, so the program gets more time until all
/// its work is reported: the pause before the next request is twenty times as long as the snapshot took.
fn record_keeps_the_last_snapshot_of_a_killed_jvm(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let mut told = (0, 0);
    for millis in [200, 1_000, 5_000, 25_000, 125_000] {
        let (expected, file) = killed(vm, Duration::from_millis(millis))?;
        let file = profile(&file)?;
        let profile = file.profile();
        let sites: Vec<_> = profile.sites().collect();
        equal("sections of sites", sites.len(), 1)?;
        let kept = sites[0].rows.iter().filter(|row| profile.site_type(row) == "Profiled$Kept");
        told = (kept.map(|row| row.allocated.instances as i64).sum(), calls_of(profile, "inner")?);
        ensure!(
            told.0 <= expected.0 && told.1 <= expected.1,
            "{told:?} are more than {expected:?}"
        );
        if told == expected {
            return Ok(());
        }
    }
    Err(format!("only {told:?} objects and calls are told"))
}

/// Stores add up what they get: the parts that are pushed while two JVMs run one after the other are together the
/// profiles that they leave. The parts have the attributes of their JVM.
fn record_pushes_what_is_new_of_each_jvm(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
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

/// Returns the number of objects that a program keeps and its number of calls, and the profile that remains when it is
/// killed after this time.
fn killed(vm: &Vm<'_>, after: Duration) -> Result<((i64, i64), PathBuf), String> {
    let file = vm.file("killed.txt");
    // Shells give a background process no standard input.
    let script = "exec 3<&0; \"$0\" \"$@\" <&3 & echo pid=$!; wait $!";
    let mut arguments = vec!["record", "--alloc", "--exact", "--calls", "--every", "0.01"];
    arguments.extend(["--cutoff", "0", "-o", text(&file)?, "--", "sh", "-c", script]);
    let java = vm.java("Profiled")?.argument("calls").argument("objects").argument("wait");
    let mut java = java.more_patience(after).behind_jvmpi(&arguments)?.start()?;
    java.wait_for("waits")?;
    let output = fs::read_to_string(java.directory().join("stdout")).map_err(|e| e.to_string())?;
    let pid = output.lines().find_map(|line| line.strip_prefix("pid=")).ok_or("no number")?;
    let pid: libc::pid_t = pid.parse().map_err(|_| pid.to_owned())?;
    java.go_on_for(after)?;
    // SAFETY: kill has no precondition, and the shell waits for the process, so the number is its.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    let outcome = java.finish(137)?;
    let said = "the JVM exited without a final dump; the file holds the last snapshot, taken ";
    equal("warnings", outcome.stderr.matches(said).count(), 1)?;
    let bent = "jvmpi: warning: --exact slows down code that allocates";
    equal("warnings of both", outcome.stderr.matches(bent).count(), 1)?;
    summary(&outcome, &file)?;
    let kept = outcome.expects.find("expect", "dropped", "3000")?.int("kept")?;
    let inner = outcome.expects.find("expect", "recursive", "120")?.int("inner")?;
    Ok(((kept, inner), file))
}

/// A recording of a program without a JVM. The program ends when its input is closed.
struct Impersonated {
    record: Child,
    _guard: hung::Guard,
    /// The address that JVMs connect to, and the secret that they send first.
    address: String,
    secret: String,
}

impl Impersonated {
    fn start(file: &Path, options: &[&str]) -> Result<Self, String> {
        // Prints one line with the port and the secret.
        let program = "echo \"$JAVA_TOOL_OPTIONS,$JVMPI_CHANNEL\"; exec cat";
        let record = ["record", "-o", text(file)?];
        let record = [&record[..], options, &["--", "sh", "-c", program]].concat();
        let (mut record, guard) = hung::start(jvmpi_command(&record)?.stdin(Stdio::piped()), None)?;
        let mut line = String::new();
        let output = record.stdout.as_mut().ok_or("no output")?;
        BufReader::new(output).read_line(&mut line).map_err(|e| e.to_string())?;
        let channel =
            line.trim_end().split("channel=").nth(1).and_then(|rest| rest.split_once(','));
        let (address, secret) = channel.ok_or_else(|| format!("no port and secret in {line}"))?;
        let (address, secret) = (address.to_owned(), secret.to_owned());
        Ok(Self { record, _guard: guard, address, secret })
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
}

/// Runs the command with connections that each send these bytes and close, one after the other. Checks that it exits
/// with this status and prints these lines. The program exits with 0.
fn record_tells_of(vm: &Vm<'_>, told: &[&[u8]], status: i32, said: &[&str]) -> Result<(), String> {
    let file = vm.file("told.txt");
    fs::create_dir_all(vm.file("")).map_err(|e| e.to_string())?;
    let _ = fs::remove_file(&file);
    let recording = Impersonated::start(&file, &[])?;
    for bytes in told {
        recording.connect_jvm(bytes)?;
    }
    let Impersonated { record, _guard, .. } = recording;
    let output = record.wait_with_output().map_err(|e| e.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    equal(&format!("status of `{stderr}`"), output.status.code(), Some(status))?;
    for line in said {
        ensure!(stderr.contains(line), "not `{line}`: {stderr}");
    }
    equal("lines", stderr.lines().count(), said.len())?;
    equal("whether there is a file", file.exists(), told.iter().any(|told| !told.is_empty()))
}

/// The exit status shows that a profile is cut off. If another one is complete, lines name the missing data, and the
/// exit status is the program's.
fn record_fails_if_nothing_is_whole(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
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
    build::hprof()?;
    let file = vm.file("admitted.txt");
    fs::create_dir_all(vm.file("")).map_err(|e| e.to_string())?;
    let _ = fs::remove_file(&file);
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
    let Impersonated { record, _guard, .. } = recording;
    let output = record.wait_with_output().map_err(|e| e.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    equal(&format!("status of `{stderr}`"), output.status.code(), Some(0))?;
    for stranger in &strangers {
        let address = stranger.local_addr().map_err(|e| e.to_string())?;
        let line = format!("jvmpi: warning: closed a connection from {address}, which");
        equal(&line, stderr.matches(&line).count(), 1)?;
    }
    ensure!(stderr.ends_with("admitted.txt has 7 cpu-samples\n"), "{stderr}");
    equal("lines", stderr.lines().count(), strangers.len() + 1)
}

fn record_admits_a_jvm_while_strangers_hold_connections(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("held.txt");
    fs::create_dir_all(vm.file("")).map_err(|e| e.to_string())?;
    let recording = Impersonated::start(&file, &[])?;
    let strangers: Vec<_> = (0..80).map(|_| recording.connect(b"")).collect::<Result<_, _>>()?;
    recording.connect_jvm(&told_dumps(7, &[Some(DumpKind::Last)])?)?;
    let Impersonated { record, _guard, .. } = recording;
    drop(strangers);
    let output = record.wait_with_output().map_err(|e| e.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    equal(&format!("status of `{stderr}`"), output.status.code(), Some(0))?;
    ensure!(stderr.ends_with("held.txt has 7 cpu-samples\n"), "{stderr}");
    ensure!(stderr.contains("closed a connection from"), "{stderr}");
    Ok(())
}

fn second_recording_of_a_jvm_is_refused(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let (first, second) = (vm.file("first.txt"), vm.file("second.txt"));
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    let pid = java.process().to_string();
    let record = |file| Ok::<_, String>(["record", "-o", text(file)?, "--pid", &pid].to_vec());
    let (running, _guard) =
        hung::start(&mut jvmpi_command(&record(&first)?)?, Some(java.process()))?;
    while !maps_hprof(&pid)? {
        ensure!(!java.has_ended_with_input_open()?, "the program has ended");
        thread::sleep(TICK);
    }
    java.jcmd(vm.jdk, &["VM.version"])?;
    refused(&record(&second)?, "if another recording of it is running, end that one first")?;
    interrupt(&running);
    let output = running.wait_with_output().map_err(|e| e.to_string())?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    java.finish(0).map(drop)
}

fn record_does_not_call_a_dead_jvm_detached(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("dead.txt");
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    let pid = java.process().to_string();
    let arguments = ["record", "--wall", "-o", text(&file)?, "--pid", &pid];
    let (record, _guard) = hung::start(&mut jvmpi_command(&arguments)?, Some(java.process()))?;
    while !maps_hprof(&pid)? {
        thread::sleep(TICK);
    }
    java.jcmd(vm.jdk, &["VM.version"])?;
    // It is a zombie until the test waits for it.
    java.signal(libc::SIGKILL)?;
    let output = record.wait_with_output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!said.contains("detached"), "{said}");
    Ok(())
}

/// The secret is in the environment, as all users can see the command line.
fn record_shows_nobody_the_secret(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("secret.svg");
    let java = vm.java("Wait")?.behind_jvmpi(&["record", "-o", text(&file)?, "--"])?;
    let mut java = java.start()?;
    java.wait_for("ready")?;
    let child = fs::read_to_string(format!("/proc/{0}/task/{0}/children", java.process()));
    let child = child.map_err(|e| e.to_string())?;
    let read = |name: &str| {
        let bytes =
            fs::read(format!("/proc/{}/{name}", child.trim())).map_err(|e| e.to_string())?;
        Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let environment = read("environ")?;
    let secret = environment.split('\0').find_map(|entry| entry.strip_prefix("JVMPI_CHANNEL="));
    let secret = secret.ok_or("no secret")?;
    let command_line = read("cmdline")?;
    ensure!(command_line.contains("channel=127.0.0.1:"), "{command_line}");
    ensure!(secret.len() == 32 && !command_line.contains(secret), "{command_line}");
    java.finish(0).map(|_| ())
}

/// A profile contains the threads that ran during its recording, not those that ended before.
fn record_forgets_what_has_ended(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let mut java = vm.java("Passing")?.start()?;
    java.wait_for("ready")?;
    let pid = java.process().to_string();
    let file = vm.file("passing.txt");
    let mut ended_before: Option<u32> = None;
    for what in ["--calls", "--alloc", "--calls", "--cpu"] {
        let record = ["record", what, "-d", "1", "-o", text(&file)?, "--pid", &pid];
        jvmpi(Some(java.process()), &record)?;
        let profile = profile(&file)?.into_profile();
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
    equal("output of the program", java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}

/// A recording rewrites the loaded classes once at its beginning and once at its end,
/// although it enables and disables two events of methods. The second recording finds the shim loaded, the first does not.
fn recording_of_calls_rewrites_classes_twice(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let mut java = vm.java("Passing")?.settings("log=info").start()?;
    java.wait_for("ready")?;
    let pid = java.process().to_string();
    let file = vm.file("twice.txt");
    for _ in 0..2 {
        let record = ["record", "--calls", "-d", "1", "-o", text(&file)?, "--pid", &pid];
        jvmpi(Some(java.process()), &record)?;
    }
    let outcome = java.finish(0)?;
    equal("rewritings", outcome.stderr.matches(" loaded classes took ").count(), 4)
}

/// Beyond the limit the calls of each method are still counted, and one line says that the limit was reached.
fn record_says_that_there_are_too_many_stacks(vm: &Vm<'_>) -> Result<(), String> {
    let library = build::hprof()?;
    let file = vm.file("limited.txt");
    let _ = fs::remove_file(&file);
    let options =
        format!("{}:cpu=times,cutoff=0,contexts=9,file={}", text(&library)?, text(&file)?);
    let outcome = vm.java("Profiled")?.argument("calls").shim(&options)?.run()?;
    let line = "HPROF ERROR: more than 9 stacks were called: ";
    equal(line, outcome.stderr.matches(line).count(), 1)?;
    let expected = outcome.expects.one("expect")?;
    let file = profile(&file)?;
    for method in ["outer", "inner", "recursive"] {
        equal(method, calls_of(file.profile(), method)?, expected.int(method)?)?;
    }
    Ok(())
}

fn record_says_why_there_is_nothing(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let file = vm.file("nothing.svg");
    let _ = fs::remove_file(&file);
    let java = vm.java("Hello")?;
    let arguments = ["record", "-o", text(&file)?, "--", "true"];
    let outcome = java.behind_jvmpi(&arguments)?.run_to(125)?;
    ensure!(outcome.stderr.starts_with("jvmpi: error: no JVM was profiled"), "{}", outcome.stderr);
    ensure!(!file.exists(), "there is a file");
    Ok(())
}

fn jvmpi_command(arguments: &[&str]) -> Result<Command, String> {
    let mut jvmpi = Command::new(build::command()?);
    jvmpi.args(arguments).env("JVMPI_LIBRARY", build::shim()?);
    Ok(jvmpi)
}

fn interrupt(jvmpi: &Child) {
    let number = libc::pid_t::try_from(jvmpi.id()).expect("as the system has it");
    // SAFETY: kill has no precondition, and the child was not waited for, so the number is its.
    unsafe { libc::kill(number, libc::SIGINT) };
}

fn top_shows_the_hottest_method(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let mut java = vm.java("Busy")?.start()?;
    java.wait_for("ready")?;
    let pid = java.process();
    let mut top = jvmpi_command(&["top", "--pid", &pid.to_string()])?;
    let (mut top, _guard) = hung::start(&mut top, Some(pid))?;
    let mut lines = BufReader::new(top.stdout.take().ok_or("no output")?).lines();
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
    interrupt(&top);
    let output = top.wait_with_output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {said}", output.status);
    equal("output of the program", java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}

fn doctor_lists_what_works(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
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
    build::hprof()?;
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
        let depends = ["eetop", "thread_state"].contains(&&*name);
        ensure!(works != depends, "{name}: {result}");
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
    let file = profile(path)?;
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
    let page = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let data = page.split("<script type=\"application/json\" id=\"data\">").nth(1);
    let data = data.and_then(|rest| rest.split("</script>").next()).ok_or("no data")?;
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
    let mut java = vm.java("Profiled")?.argument("objects").argument("wait").start()?;
    java.wait_for("waits")?;
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

fn refused(arguments: &[&str], why: &str) -> Result<(), String> {
    let output = hung::output(&mut jvmpi_command(arguments)?, None)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(said.starts_with("jvmpi: error: ") && said.contains(why), "not `{why}`: {said}");
    equal("lines", said.lines().count(), 1)?;
    equal("exit status", output.status.code(), Some(1))
}

fn heap_prints_why_there_is_no_dump(vm: &Vm<'_>) -> Result<(), String> {
    let directory = empty_directory(vm, "heap")?;
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
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
    stop(&java)?;
    refused(&to(text(&path)?), "is stopped by a signal; continue it with")?;
    java.signal(libc::SIGCONT)?;
    equal("output", java.finish(0)?.stdout.as_str(), "ready\ndone\n")?;
    refused(&to(text(&path)?), &format!("there is no process {pid}"))?;
    let own = std::process::id().to_string();
    refused(&["heap", "--pid", &own, "-o", text(&path)?], "is not a JVM")?;
    equal("files", names_in(&directory)?, [""; 0])
}

/// The JVM handles one request after the other: while another one is incomplete, it does not answer.
fn heap_can_be_interrupted(vm: &Vm<'_>) -> Result<(), String> {
    let directory = empty_directory(vm, "heap")?;
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    java.jcmd(vm.jdk, &["VM.version"])?;
    let pid = java.process().to_string();
    let socket = format!("/tmp/.java_pid{pid}");
    let before = connections(&socket)?;
    let incomplete = UnixStream::connect(&socket).map_err(|e| e.to_string())?;
    let path = directory.join("heap.hprof");
    let heap = ["heap", "--pid", &pid, "-o", text(&path)?];
    let has_connected = || Ok(connections(&socket)? > before + 1);
    ends_without_an_answer(&heap, Some(libc::SIGINT), "an incomplete request", has_connected)?;
    drop(incomplete);
    equal("files", names_in(&directory)?, [""; 0])?;
    equal("output", java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}

/// Its attach protocol is another one. SIGQUIT would make it write files.
fn heap_of_openj9_is_refused(vm: &Vm<'_>) -> Result<(), String> {
    let directory = empty_directory(vm, "openj9")?;
    let source = directory.join("nothing.c");
    fs::write(&source, "int nothing;\n").map_err(|e| e.to_string())?;
    let library = |name| build::c(&source, &directory.join(name), &[], &["-fPIC", "-shared"], &[]);
    let libraries = [library("libjvm.so")?, library("libj9vm29.so")?];
    let preload = format!("{}:{}", text(&libraries[0])?, text(&libraries[1])?);
    let mut cat = Command::new("cat");
    cat.env("LD_PRELOAD", preload).stdin(Stdio::piped());
    let (mut cat, _guard) = hung::start(&mut cat, None)?;
    // It answers when it runs with its libraries.
    let (input, output) = (cat.stdin.as_mut(), cat.stdout.as_mut());
    input.ok_or("no input")?.write_all(b"?").map_err(|e| e.to_string())?;
    output.ok_or("no output")?.read_exact(&mut [0]).map_err(|e| e.to_string())?;
    let pid = cat.id().to_string();
    let path = directory.join("heap.hprof");
    let refusal = refused(&["heap", "--pid", &pid, "-o", text(&path)?], "is OpenJ9, which jvmpi");
    let status = cat.wait_with_output().map_err(|e| e.to_string())?.status;
    refusal?;
    equal("status of cat", status.success(), true)
}

/// A JVM that ends by itself is dumped before it does, with unreachable objects. The dump is beside the profile or in
/// the page.
fn record_dumps_the_heap_at_the_end_of_the_program(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let directory = empty_directory(vm, "recorded")?;
    for (name, files) in [
        ("x.txt", vec!["x-heap.hprof", "x.txt"]),
        ("y.html", vec!["x-heap.hprof", "x.txt", "y.html"]),
    ] {
        let file = directory.join(name);
        let java = vm.java("Profiled")?.argument("objects");
        let record = ["record", "--heap", "-o", text(&file)?, "--"];
        let outcome = java.behind_jvmpi(&record)?.run()?;
        equal("files", names_in(&directory)?, files)?;
        let [kept, deep, dropped] = expected_objects(&outcome)?;
        let (counts, line) = match name {
            "x.txt" => {
                (dumped_objects(&directory.join("x-heap.hprof"))?, "x-heap.hprof has the heap")
            }
            _ => (reported_objects(&file)?, "the heap"),
        };
        equal(name, counts[..2].to_vec(), vec![kept, deep])?;
        ensure!(counts[2] <= dropped, "{name}: {} of {dropped} were dropped", counts[2]);
        ensure!(outcome.stderr.trim_end().ends_with(line), "{}", outcome.stderr);
    }
    Ok(())
}

/// A signal that ends the program, as Ctrl-C does, does not end it before the dump.
fn record_dumps_the_heap_of_a_program_that_is_ended(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    for (signal, status) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let file = empty_directory(vm, "ended")?.join("x.collapsed");
        let java = vm.java("Profiled")?.argument("objects").argument("wait");
        let mut java =
            java.behind_jvmpi(&["record", "--heap", "-o", text(&file)?, "--"])?.start()?;
        java.wait_for("waits")?;
        java.signal(signal)?;
        while !java.has_ended_with_input_open()? {
            thread::sleep(TICK);
        }
        let outcome = java.finish(status)?;
        let [kept, deep, _] = expected_objects(&outcome)?;
        let counts = dumped_objects(&file.with_file_name("x-heap.hprof"))?;
        equal("objects", counts[..2].to_vec(), vec![kept, deep])?;
    }
    Ok(())
}

/// The heap of a JVM that continues has only the reachable objects.
fn record_dumps_the_heap_of_a_jvm_that_continues(vm: &Vm<'_>) -> Result<(), String> {
    build::hprof()?;
    let directory = empty_directory(vm, "attached")?;
    let (dump, page) = (directory.join("x.svg"), directory.join("y.html"));
    let java = vm.java("Profiled")?.argument("objects").argument("wait");
    let mut java = java.start()?;
    java.wait_for("waits")?;
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
    build::hprof()?;
    let file = empty_directory(vm, "none")?.join("x.txt");
    let no_heap = "jvmpi: error: there is no heap dump: ";
    for (kind, why) in [
        (DumpKind::Snapshot, "the JVM exited before its heap could be dumped".to_owned()),
        // The process that this test claims to be.
        (DumpKind::AtExit, format!("process {} is not a JVM", std::process::id())),
    ] {
        let recording = Impersonated::start(&file, &["--heap"])?;
        recording.connect_jvm(&told_dumps(7, &[Some(kind)])?)?;
        let Impersonated { record, _guard, .. } = recording;
        let output = record.wait_with_output().map_err(|e| e.to_string())?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        let last = stderr.lines().last().unwrap_or_default();
        ensure!(last.starts_with(&format!("{no_heap}{why}")), "not `{why}`: {stderr}");
        equal("status", output.status.code(), Some(125))?;
        equal("files", names_in(&vm.file("none"))?, ["x.txt"])?;
    }
    Ok(())
}
