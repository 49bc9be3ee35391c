//! HPROF, `libhprof.so`: its figures equal the program's own counts.

use std::fs;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use compat_tests::machine::Machine;
use compat_tests::programs::{self, Found};
use jvmpi_formats::hprof::control::{Command, Control, SiteFlags};
use jvmpi_formats::profile::heap::Record;
use jvmpi_formats::profile::{
    self, File, Monitor, MonitorTime, Profile, TraceSerial, Value, WallState, Weight,
};

use crate::prelude::*;
use crate::sampling::{COMPUTING, Counted, in_proportion};

cases![
    programs_do_what_they_do.only(17),
    call_times,
    commands_of_jdk_8_run.on_every_jdk(),
    samples_of_many_threads,
    wall_clock_samples_show_the_state_of_each_thread,
    samples_of_virtual_threads.since(21),
    times_of_virtual_threads_are_counted_once.since(21),
    allocation_sites.on_every_gc(),
    waits_for_monitors,
    waits_for_locks,
    waits_are_no_processor_time,
    a_dump_at_each_signal,
    in_a_running_program_twice.on_every_jdk(),
    formats_by_name,
    killed_jvm_leaves_the_last_whole_dump,
    a_dump_of_a_program_that_dies_of_memory,
    a_dump_during_another_one,
    a_file_that_cannot_be_written,
    a_front_end,
    a_front_end_that_goes_away,
    a_front_end_that_ends_the_program.only(17),
    a_front_end_that_takes_nothing.only(17),
    bad_options,
    help,
    two_of_them,
];

/// Returns a launch of the workload with HPROF and these options, and the path of HPROF's file.
fn profiled(
    vm: &Vm<'_>,
    work: &str,
    name: &str,
    options: &str,
) -> Result<(Launch, PathBuf), String> {
    let file = vm.file(name);
    let binary = if name.ends_with(".hprof") { ",format=b" } else { "" };
    let options = format!("{options}{binary},file={}", text(&file)?);
    for left in [Some(file.clone()), unfinished(&file)].into_iter().flatten() {
        let _ = fs::remove_file(left);
    }
    let java = with_hprof(vm.java("Profiled")?, &options)?;
    Ok((java.arguments(work.split(' ')), file))
}

fn with_hprof(java: Launch, options: &str) -> Result<Launch, String> {
    java.shim(&format!("{}:{options}", text(&build::hprof()?)?))
}

/// Reads the file of a profile, which must be whole.
pub fn read(file: &Path) -> Result<File, String> {
    let read = File::open(file).map_err(|e| format!("{}: {e}", file.display()))?;
    match read.problem() {
        Some(problem) => Err(format!("{}: {problem}", file.display())),
        None => Ok(read),
    }
}

/// Runs it to its end and reads the file.
fn run(vm: &Vm<'_>, work: &str, name: &str, options: &str) -> Result<(Outcome, File), String> {
    let (java, file) = profiled(vm, work, name, options)?;
    let outcome = java.run()?;
    equal("last line", outcome.stdout.lines().last(), Some("done"))?;
    ensure!(!outcome.stderr.contains("HPROF ERROR"), "{}", outcome.stderr);
    Ok((outcome, read(&file)?))
}

/// Returns the methods of a trace, `Class.method`, innermost first.
pub fn methods(profile: &Profile, trace: TraceSerial) -> Vec<String> {
    let frames = profile.traces.frames_of(trace);
    let names = &profile.names;
    let name =
        |method: profile::Method| format!("{}.{}", names.get(method.class), names.get(method.name));
    frames.iter().filter_map(|id| profile.frame(id)).map(|(_, method)| name(method)).collect()
}

/// Returns the number of calls of a method of the program `Profiled`.
pub fn calls_of(profile: &Profile, method: &str) -> Result<i64, String> {
    let times = profile.cpu_times().next_back().ok_or("no section")?;
    let name = format!("Profiled.{method}");
    let is_of = |trace| methods(profile, trace).first() == Some(&name);
    let calls = times.rows.iter().filter(|row| is_of(row.trace)).map(|row| row.calls);
    i64::try_from(calls.sum::<u64>()).map_err(|e| e.to_string())
}

fn call_times(vm: &Vm<'_>) -> Result<(), String> {
    for (options, deepest) in
        [("cpu=times,cutoff=0", 4), ("cpu=times,cutoff=0,depth=1,thread=y", 1)]
    {
        let (outcome, file) = run(vm, "calls", "times.txt", options)?;
        let expected = outcome.expects.one("expect")?;
        let profile = file.profile();
        let times = profile.cpu_times().next_back().ok_or("no section")?;
        for method in ["outer", "inner", "recursive"] {
            equal(method, calls_of(profile, method)?, expected.int(method)?)?;
        }
        let is_too_deep = |trace| methods(profile, trace).len() > deepest;
        ensure!(!times.rows.iter().any(|row| is_too_deep(row.trace)), "a trace is too deep");
        let by_inner =
            times.rows.iter().filter(|row| methods(profile, row.trace)[0] == "Profiled.inner");
        // Nor is anything called by a constructor that an exception has left.
        let is_outer = |trace: &Vec<String>| trace[0] == "Profiled.outer";
        for trace in times.rows.iter().map(|row| methods(profile, row.trace)).filter(is_outer) {
            ensure!(!trace.contains(&"Profiled$Refused.<init>".to_owned()), "{trace:?}");
        }
        // All from outer, called by the lambda; or each thread for itself.
        equal("traces of inner", by_inner.count(), if deepest == 1 { 4 } else { 1 })?;
    }
    Ok(())
}

/// HPROF as a JVMTI agent brings libjvmpi.so, which may also be there already.
fn commands_of_jdk_8_run(vm: &Vm<'_>) -> Result<(), String> {
    let library = build::hprof()?;
    let by_path = format!("-agentpath:{}=", text(&library)?);
    for (number, (option, beside)) in [
        ("-agentlib:hprof=", false),
        ("-agentlib:hprof=", true),
        ("-Xrunhprof:", false),
        ("-Xrunhprof:", true),
        (&by_path, false),
        ("JAVA_TOOL_OPTIONS", false),
    ]
    .into_iter()
    .enumerate()
    {
        let file = vm.file(&format!("command-{number}.txt"));
        let options = format!("heap=sites,cutoff=0,file={}", text(&file)?);
        let java = vm.java("Profiled")?.argument("objects");
        let java = java.library_path(&library)?;
        let java = if beside { java.shim_alone()? } else { java };
        let java = match option {
            "JAVA_TOOL_OPTIONS" => java.variable(option, &format!("{by_path}{options}")),
            _ => java.flag(&format!("{option}{options}")),
        };
        let kept = java.run()?.expects.one("expect")?.int("kept")?;
        let sites = site_of(read(&file)?.profile(), "Profiled$Kept", "Profiled.objects")?;
        equal(option, sites, (kept, kept))?;
    }
    let outcome = vm.java("Hello")?.flag(&format!("{by_path}heap=none")).run_to(1)?;
    let line =
        "HPROF ERROR: hprof option error: heap option value must be dump|sites|all (heap=none)\n";
    equal("refusal", outcome.stderr.as_str(), line)?;
    let [hprof, jvmpi] = ["hprof", "jvmpi"].map(|name| Machine::this().library(name));
    let alone = vm.file(&format!("alone/{hprof}"));
    fs::create_dir_all(alone.parent().ok_or("no directory")?).map_err(|e| e.to_string())?;
    fs::copy(&library, &alone).map_err(|e| e.to_string())?;
    let outcome = vm.java("Hello")?.flag(&format!("-agentpath:{}", text(&alone)?)).run_to(1)?;
    let line = format!("HPROF ERROR: cannot load {jvmpi}, which must be beside {hprof}: ");
    ensure!(outcome.stderr.starts_with(&line), "{}", outcome.stderr);
    Ok(())
}

/// Most of the threads wait for a processor at any time. The first samples of each have other shares, and are a large
/// part of few samples: methods are not compiled yet, and a thread in a method that is unknown continues until it can
/// be stopped. Sampling works next to an agent that has `can_suspend`, without a message, because it does not need that.
fn samples_of_many_threads(vm: &Vm<'_>) -> Result<(), String> {
    in_proportion(1_000, &mut |millis| {
        let work = format!("compute-40-{millis}");
        let options = "cpu=samples,interval=2,depth=8,cutoff=0";
        let (java, file) = profiled(vm, &work, "samples.txt", options)?;
        let outcome = java.jvmti_agent("holder", "suspend")?.run()?;
        ensure!(!outcome.stderr.contains("can_suspend"), "{}", outcome.stderr);
        let file = read(&file)?;
        let profile = file.profile();
        equal("methods without names", unknown_methods(profile), Vec::<String>::new())?;
        // Each of the two that wait runs when it begins and when there is something for it; either takes
        // microseconds, but the sampler may look in its middle.
        let waits = |methods: &[String]| {
            let in_native =
                ["java.net.", "sun.nio.ch."].iter().any(|name| methods[0].starts_with(name));
            in_native && methods.iter().any(|method| method.starts_with("Profiled.lambda$compute$"))
        };
        let waiting = samples(profile, waits)?;
        ensure!(waiting <= 8, "{waiting} samples of threads that wait for a socket");
        counted(profile)
    })
}

/// Returns the number of samples whose methods pass a test.
fn samples(profile: &Profile, test: impl Fn(&[String]) -> bool) -> Result<u64, String> {
    let section = profile.cpu_samples().next_back().ok_or("no section")?;
    let rows = section.rows.iter().filter(|row| test(&methods(profile, row.trace)));
    Ok(rows.map(|row| row.samples).sum())
}

fn counted(profile: &Profile) -> Result<Counted, String> {
    let mut counts = [0; 3];
    for (count, name) in counts.iter_mut().zip(COMPUTING) {
        *count = samples(profile, |methods| methods.iter().any(|method| method == name))?;
    }
    Ok(Counted { counts, all: samples(profile, |_| true)? })
}

/// The samples of a thread add up to its time, in its state.
///
/// A sample stands for the time since the previous one of its thread, so the sum is off by at most one such time at
/// each end. On a busy machine the sampler may be late, so the program gets more time until that is little.
fn wall_clock_samples_show_the_state_of_each_thread(vm: &Vm<'_>) -> Result<(), String> {
    let mut result = Ok(());
    for millis in [1_500, 6_000, 24_000] {
        result = states_in_the_file(vm, "states.txt", millis)
            .and_then(|()| states_in_the_file(vm, "states.hprof", millis));
        if result.is_ok() {
            break;
        }
    }
    result
}

fn states_in_the_file(vm: &Vm<'_>, name: &str, millis: u32) -> Result<(), String> {
    let file = vm.file(name);
    let format = if name.ends_with(".hprof") { "b" } else { "a" };
    let options = format!(
        "cpu=wall,interval=5,depth=8,cutoff=0,thread=y,format={format},file={}",
        text(&file)?
    );
    let java = with_hprof(vm.java("WallStates")?, &options)?;
    let outcome = java.argument(&millis.to_string()).run()?;
    let expected = outcome.expects.one("expect")?;
    let (held, life) = (expected.int("held")?, expected.int("life")?);
    let file = read(&file)?;
    let profile = file.profile();
    equal("weights", Weight::of(profile), vec![Weight::WallSamples])?;
    let stacks = profile::stacks(profile, Weight::WallSamples);
    let slack = held / 10;
    for state in WallState::ALL {
        let own = stacks.iter().filter(|stack| {
            let thread = profile.threads.get(&stack.thread);
            thread.is_some_and(|thread| profile.names.get(thread.name) == state.name())
        });
        let in_state = own.filter(|stack| stack.state == Some(state));
        let time = 5 * in_state.map(|stack| stack.value as i64).sum::<i64>();
        let bounds = held - slack..=life + slack;
        ensure!(bounds.contains(&time), "{}: {time} ms, not {bounds:?}; {stacks:?}", state.name());
    }
    let has_agent = profile.threads.values().any(|thread| {
        let is_own = profile.names.get(thread.name).starts_with("HPROF");
        is_own && stacks.iter().any(|stack| stack.thread == thread.serial)
    });
    ensure!(!has_agent, "the agent has sampled its own thread");
    Ok(())
}

/// On their carriers, and as threads of their own.
fn samples_of_virtual_threads(vm: &Vm<'_>) -> Result<(), String> {
    for settings in ["virtual=carrier", "virtual=own"] {
        in_proportion(400, &mut |millis| {
            // Within a kernel's clock tick, samples would not be independent.
            let options = "cpu=samples,interval=4,depth=8,cutoff=0";
            let (_, file) = computing_virtually(vm, settings, options, millis)?;
            counted(file.profile())
        })
        .map_err(|e| format!("{settings}: {e}"))?;
    }
    Ok(())
}

/// Runs the workload of virtual threads that compute for this long, with HPROF.
fn computing_virtually(
    vm: &Vm<'_>,
    settings: &str,
    options: &str,
    millis: u32,
) -> Result<(Outcome, File), String> {
    let file = vm.file("virtual.txt");
    let options = format!("{options},file={}", text(&file)?);
    let java = with_hprof(vm.java_for(21, "VirtualProfiled")?, &options)?;
    let java = java.settings(settings).argument("4").argument(&millis.to_string());
    let outcome = java.run()?;
    equal("last line", outcome.stdout.lines().last(), Some("done"))?;
    Ok((outcome, read(&file)?))
}

/// While a virtual thread runs, the clock of its carrier stands still: all threads together have not had more processor
/// time than the process, which counts in hundredths of a second.
fn times_of_virtual_threads_are_counted_once(vm: &Vm<'_>) -> Result<(), String> {
    for settings in ["virtual=carrier", "virtual=own"] {
        let (outcome, file) = computing_virtually(vm, settings, "cpu=times,cutoff=0", 2_000)?;
        let expected = outcome.expects.one("expect")?;
        let times = file.profile().cpu_times().next_back().ok_or("no section")?;
        let sum = times.rows.iter().map(|row| row.own).sum::<Duration>().as_millis() as i64;
        let (meanwhile, consumed) = (expected.int("meanwhile")?, expected.int("consumed")?);
        ensure!(
            (meanwhile / 2..=consumed + 50).contains(&sum),
            "{settings}: {sum} ms in methods, the process used {consumed} ms, {meanwhile} of them to compute"
        );
    }
    Ok(())
}

/// Returns the sampled methods without a name.
fn unknown_methods(profile: &Profile) -> Vec<String> {
    let rows = profile.cpu_samples().flat_map(|section| &section.rows);
    let all = rows.flat_map(|row| methods(profile, row.trace));
    all.filter(|method| method.contains("<Unknown>")).collect()
}

fn site_of(profile: &Profile, class: &str, method: &str) -> Result<(i64, i64), String> {
    let sites = profile.sites().next_back().ok_or("no section")?;
    let rows = sites.rows.iter().filter(|row| {
        profile.site_type(row) == class
            && methods(profile, row.trace).first().is_some_and(|first| first == method)
    });
    let sum = rows.fold((0, 0), |(allocated, live), row| {
        (allocated + row.allocated.instances, live + row.live.instances)
    });
    Ok((sum.0 as i64, sum.1 as i64))
}

fn allocation_sites(vm: &Vm<'_>) -> Result<(), String> {
    let (outcome, file) = run(vm, "objects brief", "sites.txt", "heap=sites,cutoff=0,depth=3")?;
    // All threads see them, so that no compiler leaves them out.
    let brief = outcome.expects.find("expect", "brief", "200000")?.int("brief")?;
    let sites = file.profile().sites().next_back().ok_or("no section")?;
    let of_brief =
        sites.rows.iter().filter(|row| file.profile().site_type(row) == "Profiled$Brief");
    let allocated = of_brief.map(|row| row.allocated.instances as i64).sum::<i64>();
    equal("brief", allocated, brief)?;
    let expected = outcome.expects.find("expect", "kept", "700")?;
    let (allocated, live) = site_of(file.profile(), "Profiled$Kept", "Profiled.objects")?;
    equal("kept", (allocated, live), (expected.int("kept")?, expected.int("kept")?))?;
    let (allocated, live) = site_of(file.profile(), "Profiled$Deep", "Profiled.objects")?;
    equal("deep", (allocated, live), (expected.int("deep")?, expected.int("deep")?))?;
    if vm.jdk.feature == 11 {
        // Later JDKs do not allocate what does not leave its method once it is compiled.
        let (allocated, _) = site_of(file.profile(), "Profiled$Dropped", "Profiled.objects")?;
        equal("dropped", allocated, expected.int("dropped")?)?;
    }
    Ok(())
}

/// The chain of kept objects is in the dump, each with its number.
fn has_the_chain(file: &File, kept: i64) -> Result<(), String> {
    let dump = file.profile().heap_dumps().next_back().ok_or("no dump")?;
    let (mut found, mut ends, mut numbers) = (0, 0, Vec::new());
    let mut arrays = 0;
    file.heap(dump)
        .records::<profile::Error>(&mut |record: &Record<'_>| {
            match *record {
                Record::Instance(instance) if instance.class_name == "Profiled$Kept" => {
                    found += 1;
                    let next = instance.fields.iter().find(|field| field.name == "next");
                    ends += i64::from(
                        next.is_none_or(|f| f.value == Value::Reference(profile::ObjectId(0))),
                    );
                    numbers.extend(instance.fields.iter().filter_map(|field| match field.value {
                        Value::Int(number) if field.name == "number" => Some(i64::from(number)),
                        _ => None,
                    }));
                }
                Record::Objects(_) => arrays += 1,
                _ => {}
            }
            Ok(())
        })
        .map_err(|e| e.to_string())?;
    equal("objects of the chain", (found, ends), (kept, 1))?;
    ensure!(arrays > 10, "{arrays} arrays");
    numbers.sort_unstable();
    ensure!(numbers.into_iter().eq(0..kept), "their numbers are wrong");
    Ok(())
}

fn waits_for_monitors(vm: &Vm<'_>) -> Result<(), String> {
    let (outcome, file) = run(vm, "contention", "monitors.txt", "monitor=y,cutoff=0")?;
    let expected = outcome.expects.one("expect")?;
    let profile = file.profile();
    let times = profile.monitor_times().next_back().ok_or("no section")?;
    let mut rows = times.rows.iter().filter(|row| {
        methods(profile, row.trace).first().is_some_and(|first| first == "Profiled.waitForLock")
    });
    let row = rows.next().ok_or("the lock is not there")?;
    equal("hits", row.hits as i64, expected.int("hits")?)?;
    let millis = row.time.as_millis() as i64;
    let (least, most) = (expected.int("least")?, expected.int("most")?);
    ensure!((least..=most).contains(&millis), "{millis} ms, not {least} to {most}");
    let dump = profile.monitor_dumps().next_back().ok_or("no monitor dump")?;
    ensure!(!dump.threads.is_empty(), "no threads");
    // The dump itself must not start any: there is no THREAD_START any more.
    let unknown = dump.threads.iter().filter(|status| status.thread.0 == 0).count();
    equal("threads without THREAD_START", unknown, 0)
}

/// A thread that parks at a lock has waited for it, if that is reported. A wait for a notification does not count.
fn waits_for_locks(vm: &Vm<'_>) -> Result<(), String> {
    let (java, file) = profiled(vm, "locks", "locks.txt", "monitor=y,cutoff=0")?;
    let outcome = java.settings("park=monitor").run()?;
    has_waited_for_locks(&outcome, &file)
}

/// Checks that the file reports the workload's waits for a ReentrantLock, and none of its other waits.
pub fn has_waited_for_locks(outcome: &Outcome, file: &Path) -> Result<(), String> {
    let expected = outcome.expects.one("expect")?;
    let file = read(file)?;
    let profile = file.profile();
    let times = profile.monitor_times().next_back().ok_or("no section")?;
    let of_program = |method: &String| method.starts_with("Profiled.");
    let mut rows = times.rows.iter().filter(|row| is_of_parking(profile, row)).filter_map(|row| {
        let methods = methods(profile, row.trace);
        let first = methods.iter().position(of_program)?;
        Some((row, methods.into_iter().take(first + 1).rev()))
    });
    let (row, mut methods) = rows.next().ok_or("the lock is not there")?;
    equal("who waits", methods.next().as_deref(), Some("Profiled.waitForReentrantLock"))?;
    let lock = "java.util.concurrent.locks.ReentrantLock";
    equal("by what", methods.next(), Some(format!("{lock}.lock")))?;
    equal("for what", blocker(profile, row), format!("{lock}$NonfairSync").as_str())?;
    equal("hits", row.hits as i64, expected.int("hits")?)?;
    // The text has the sum of all rows in whole milliseconds, and a row's share of it.
    let millis = row.time.as_millis() as i64;
    let (least, most) = (expected.int("least")? - 1, expected.int("most")?);
    ensure!((least..=most).contains(&millis), "{millis} ms, not {least} to {most}");
    equal("other waits", rows.count(), 0)
}

/// Returns the class of the monitor that was waited for; empty for a raw monitor.
fn blocker<'a>(profile: &'a Profile, row: &MonitorTime) -> &'a str {
    match row.monitor {
        Monitor::Java { class, .. } => profile.names.get(class),
        Monitor::Raw { .. } => "",
    }
}

pub fn is_of_parking(profile: &Profile, row: &MonitorTime) -> bool {
    blocker(profile, row).starts_with("java.util.concurrent.")
}

/// The original needs another clock for its `monitor=y`, which ours, of the same name, must not get.
fn waits_are_no_processor_time(vm: &Vm<'_>) -> Result<(), String> {
    let (outcome, file) = run(vm, "contention", "both.txt", "cpu=times,monitor=y,cutoff=0")?;
    let waited = outcome.expects.one("expect")?.int("least")?;
    let profile = file.profile();
    let times = profile.cpu_times().next_back().ok_or("no section")?;
    let rows = times.rows.iter();
    let rows = rows.filter(|row| methods(profile, row.trace)[0] == "Profiled.waitForLock");
    let millis = rows.map(|row| row.own).sum::<Duration>().as_millis() as i64;
    ensure!(millis < waited / 2, "{millis} ms for waiting {waited} ms");
    equal("sections of monitors", profile.monitor_times().count(), 1)
}

fn a_dump_at_each_signal(vm: &Vm<'_>) -> Result<(), String> {
    let (java, file) = profiled(vm, "objects wait", "signals.hprof", "heap=all,cutoff=0")?;
    let mut running = java.ready()?;
    for dumps in 1..=2 {
        running.signal(libc::SIGQUIT)?;
        let count = |file: File| file.profile().heap_dumps().count();
        running.wait_until(|| Ok(read(&file).is_ok_and(|file| count(file) == dumps)))?;
    }
    let outcome = running.finish(0)?;
    let file = read(&file)?;
    equal("dumps", file.profile().heap_dumps().count(), 3)?;
    equal("sites", file.profile().sites().count(), 3)?;
    has_the_chain(&file, outcome.expects.one("expect")?.int("kept")?)
}

/// Each time from the attach to the end that it has by `duration`, after which nothing is written. The second time it
/// knows the classes and threads of the first.
fn in_a_running_program_twice(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Profiled")?.shim_alone()?;
    let java =
        if vm.jdk.feature >= 21 { java.flag("-XX:+EnableDynamicAgentLoading") } else { java };
    let mut running = java.arguments(["compute-1-200", "wait", "calls"]).ready()?;
    let mut written = Vec::new();
    // The first run needs no events of classes, the second one needs all.
    for (name, options) in [("first.txt", "cpu=samples"), ("second.txt", "cpu=samples,monitor=y")] {
        let file = vm.file(name);
        let _ = fs::remove_file(&file);
        let options = format!("{options},duration=0.1,file={}", text(&file)?);
        let agent = format!("\"{}:{options}\"", text(&build::hprof()?)?);
        running.jcmd(vm.jdk, &["JVMTI.agent_load", text(&build::shim()?)?, &agent])?;
        running.wait_until(|| Ok(file.exists()))?;
        let file = read(&file)?;
        let profile = file.profile();
        let mains = profile.threads.values().filter(|t| profile.names.get(t.name) == "main");
        equal("threads called main", mains.count(), 1)?;
        equal("sections of samples", profile.cpu_samples().count(), 1)?;
        equal("methods without names", unknown_methods(profile), Vec::<String>::new())?;
        written.push((vm.file(name), contents(vm.file(name))?));
    }
    let outcome = running.finish(0)?;
    equal("last line", outcome.stdout.lines().last(), Some("done"))?;
    ensure!(!outcome.stderr.contains("HPROF ERROR"), "{}", outcome.stderr);
    for (file, before) in written {
        ensure!(contents(&file)? == before, "{} has changed", file.display());
    }
    Ok(())
}

/// The extension of the file name selects the format.
fn formats_by_name(vm: &Vm<'_>) -> Result<(), String> {
    for (name, options, beginning) in [
        ("x.collapsed", "cpu=times", ""),
        ("x.svg", "heap=sites", "<?xml"),
        ("x.json", "cpu=times", "{"),
        ("x.pb.gz", "heap=sites", "\u{1f}"),
    ] {
        let (java, file) = profiled(vm, "calls objects", name, options)?;
        let outcome = java.run()?;
        ensure!(!outcome.stderr.contains("HPROF ERROR"), "{name}: {}", outcome.stderr);
        let bytes = fs::read(&file).map_err(|e| format!("{name}: {e}"))?;
        let text = String::from_utf8_lossy(&bytes);
        let start: String = text.chars().take(beginning.len()).collect();
        equal(name, start.to_ascii_lowercase().as_str(), beginning)?;
        let method = if options == "cpu=times" { "Profiled.outer" } else { "Profiled.objects" };
        ensure!(name == "x.pb.gz" || text.contains(method), "{name} does not tell of {method}");
    }
    Ok(())
}

/// Before a dump there is no file, not even an unfinished one. Afterwards the file has all dumps but the one that is
/// being made.
fn killed_jvm_leaves_the_last_whole_dump(vm: &Vm<'_>) -> Result<(), String> {
    for (dumps, dumping) in [(0, false), (1, false), (1, true)] {
        let (java, file) = profiled(vm, "objects wait", "killed.hprof", "heap=all")?;
        let mut running = java.ready()?;
        if dumps > 0 {
            running.signal(libc::SIGQUIT)?;
            running.wait_until(|| Ok(file.exists()))?;
        }
        if dumping {
            running.signal(libc::SIGQUIT)?;
            let is_read = || read(&file).is_ok_and(|file| file.profile().heap_dumps().count() > 1);
            running.wait_until(|| Ok(unfinished(&file).is_some() || is_read()))?;
        }
        running.signal(libc::SIGKILL)?;
        drop(running);
        equal("file", file.exists(), dumps > 0)?;
        if dumps > 0 {
            let found = read(&file)?.profile().heap_dumps().count();
            ensure!((dumps..=dumps + usize::from(dumping)).contains(&found), "{found} dumps");
        }
        let part = unfinished(&file);
        ensure!(dumping || part.is_none(), "{part:?} is left");
        let length = |part: &PathBuf| fs::metadata(part).map_or(1, |file| file.len());
        ensure!(part.as_ref().is_none_or(|part| length(part) > 0), "{part:?} is empty");
    }
    Ok(())
}

/// Returns the unfinished file next to this one.
pub fn unfinished(file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?;
    let entries = fs::read_dir(file.parent()?).ok()?.flatten().map(|entry| entry.path());
    let is_part = |path: &PathBuf| {
        let found = path.file_name().and_then(|name| name.to_str());
        let rest = found.and_then(|found| found.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".part"))
    };
    let mut parts = entries.filter(is_part);
    parts.next()
}

/// The program dies as it would alone, and the dump shows the reason.
fn a_dump_of_a_program_that_dies_of_memory(vm: &Vm<'_>) -> Result<(), String> {
    let (java, file) = profiled(vm, "exhaust", "exhausted.hprof", "heap=dump")?;
    let outcome = java.flag("-Xmx24m").run_to(1)?;
    let lines: Vec<_> = outcome.stderr.lines().filter(|line| !line.starts_with("\tat ")).collect();
    let death = "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space";
    equal("standard error", lines, [death, "Dumping Java heap ... done."])?;
    has_the_chain(&read(&file)?, outcome.expects.one("expect")?.int("kept")?)
}

/// The first dump goes into a pipe without a reader. The second is refused in a line, meanwhile.
fn a_dump_during_another_one(vm: &Vm<'_>) -> Result<(), String> {
    let (java, pipe) = profiled(vm, "objects wait", "pipe", "heap=sites,cutoff=0,depth=16")?;
    let name = std::ffi::CString::new(text(&pipe)?).map_err(|e| e.to_string())?;
    // SAFETY: the name is a NUL-terminated string.
    if unsafe { libc::mkfifo(name.as_ptr(), 0o600) } != 0 {
        return Err(format!("{}: {}", pipe.display(), io::Error::last_os_error()));
    }
    // Open for reading and writing, it does not wait for the other end.
    let mut reader =
        fs::File::options().read(true).write(true).open(&pipe).map_err(|e| e.to_string())?;
    let mut running = java.ready()?;
    // The thread that executes this is started by the one that makes the first dump.
    running.jcmd(vm.jdk, &["VM.version"])?;
    // SAFETY: the descriptor is open.
    let room = unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETPIPE_SZ, 1 << 12) };
    running.signal(libc::SIGQUIT)?;
    running.wait_until(|| Ok(waiting(&reader) >= room))?;
    running.jcmd(vm.jdk, &["JVMTI.data_dump"])?;
    let stderr = contents(running.directory().join("stderr"))?;
    let refusal = "HPROF ERROR: a dump is already being written; this request is ignored\n";
    ensure!(stderr.ends_with(refusal), "{stderr}");
    let all = std::thread::spawn(move || {
        let (mut all, mut buffer) = (Vec::new(), [0; 1 << 16]);
        let ends = |all: &[u8]| all.windows(10).filter(|line| line == b"\nSITES END").count();
        while ends(&all) < 2 {
            let length = io::Read::read(&mut reader, &mut buffer).unwrap_or(0);
            all.extend(&buffer[..length]);
        }
        all
    });
    let outcome = running.finish(0)?;
    let all = all.join().map_err(|_| "the reader panicked")?;
    let profile = File::from_bytes(all).map_err(|e| e.to_string())?.into_profile();
    let kept = outcome.expects.one("expect")?.int("kept")?;
    equal("dumps", profile.sites().count(), 2)?;
    equal("kept", site_of(&profile, "Profiled$Kept", "Profiled.objects")?, (kept, kept))
}

/// Returns the number of bytes that can be read.
fn waiting(pipe: &fs::File) -> libc::c_int {
    let mut count = 0;
    // SAFETY: the descriptor is open, and the number is written where there is room for it.
    unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut count) };
    count
}

/// No file may be larger than some bytes, as if the disk was full.
pub fn limit_files(running: &Running, bytes: libc::rlim_t) -> Result<(), String> {
    let pid = libc::pid_t::try_from(running.process()).map_err(|e| e.to_string())?;
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit is read, and nothing is written to the NULL.
    let result = unsafe { libc::prlimit(pid, libc::RLIMIT_FSIZE, &limit, std::ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error().to_string()) }
}

fn a_file_that_cannot_be_written(vm: &Vm<'_>) -> Result<(), String> {
    let (java, file) = profiled(vm, "objects wait", "full.hprof", "heap=all")?;
    let mut running = java.ready()?;
    limit_files(&running, 20_000)?;
    running.signal(libc::SIGQUIT)?;
    running.wait_for_error("HPROF ERROR")?;
    ensure!(!file.exists(), "half a file has its name");
    limit_files(&running, libc::RLIM_INFINITY)?;
    let outcome = running.finish(0)?;
    let line = format!("HPROF ERROR: cannot write {}: ", file.display());
    let said: Vec<_> = outcome.stderr.lines().filter(|l| l.contains("HPROF ERROR")).collect();
    ensure!(
        matches!(said[..], [one] if one.starts_with(&line) && one.ends_with("; the program continues")),
        "{said:?}"
    );
    has_the_chain(&read(&file)?, outcome.expects.one("expect")?.int("kept")?)
}

/// Returns a program with HPROF that has connected to this front end.
fn connected(vm: &Vm<'_>, work: &str, options: &str) -> Result<(Running, TcpStream), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    let port = listener.local_addr().map_err(|e| e.to_string())?.port();
    let java = with_hprof(vm.java("Profiled")?, &format!("net=127.0.0.1:{port},{options}"))?;
    let mut running = java.arguments(work.split(' ')).start()?;
    listener.set_nonblocking(true).map_err(|e| e.to_string())?;
    let mut front_end = None;
    running.wait_until(|| match listener.accept() {
        Ok((stream, _)) => {
            front_end = Some(stream);
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error.to_string()),
    })?;
    let stream = front_end.ok_or("no front end")?;
    stream.set_nonblocking(false).map_err(|e| e.to_string())?;
    Ok((running, stream))
}

/// A front end gets all data and ends the profiling, and the program continues.
fn a_front_end(vm: &Vm<'_>) -> Result<(), String> {
    let (mut running, mut stream) = connected(vm, "objects wait", "heap=sites,format=b,cutoff=0")?;
    running.wait_for("ready")?;
    let commands = [
        Command::RunGc,
        Command::HeapSummary,
        Command::AllocSites { flags: SiteFlags(4), cutoff: 0.0 },
        Command::DumpHeap,
        Command::Control(Control::SamplingOn(0)),
        Command::CpuSamples { cutoff: 0.0 },
        Command::Control(Control::SamplingOff(0)),
        Command::Control(Control::AllocTracesOff),
        Command::DumpTraces,
        Command::Stop { dump: true },
    ];
    for (serial, command) in (1..).zip(commands) {
        command.write(&mut stream, serial).map_err(|e| e.to_string())?;
    }
    // The agent closes the connection when it is at its end.
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut stream, &mut bytes).map_err(|e| e.to_string())?;
    let outcome = running.finish(0)?;
    equal("last line", outcome.stdout.lines().last(), Some("done"))?;
    let file = File::from_bytes(bytes).map_err(|e| e.to_string())?;
    if let Some(problem) = file.problem() {
        return Err(problem.to_string());
    }
    let profile = file.profile();
    let found =
        (profile.heap_summaries().count(), profile.sites().count(), profile.heap_dumps().count());
    equal("summaries, sites, heap dumps", found, (1, 2, 1))?;
    equal("samples", profile.cpu_samples().count(), 1)?;
    let expected = outcome.expects.one("expect")?;
    let kept = expected.int("kept")?;
    equal("kept", site_of(profile, "Profiled$Kept", "Profiled.objects")?, (kept, kept))?;
    let (allocated, live) = site_of(profile, "Profiled$Dropped", "Profiled.objects")?;
    ensure!(live == 0, "{live} of {allocated} dropped objects live after a collection");
    has_the_chain(&file, kept)
}

/// Acts like the system on a connection with unread data.
fn reset_when_closed(stream: &TcpStream) -> Result<(), String> {
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    let size = size_of_val(&at_once) as libc::socklen_t;
    let socket = stream.as_raw_fd();
    // SAFETY: the descriptor is that of an open socket, and the structure the one that the option takes.
    let result = unsafe {
        let value = (&raw const at_once).cast();
        libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_LINGER, value, size)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error().to_string()) }
}

/// The profiling ends, nothing else.
fn a_front_end_that_goes_away(vm: &Vm<'_>) -> Result<(), String> {
    let (mut running, mut stream) = connected(vm, "wait calls", "cpu=samples")?;
    running.wait_for("ready")?;
    stream.write_all(&[99, 0, 0, 0, 0, 0, 0, 0, 0]).map_err(|e| e.to_string())?;
    let line = "HPROF ERROR: the front end's commands cannot be read: 99 is no command";
    running.wait_for_error(line)?;
    drop(stream);
    let outcome = running.finish(0)?;
    equal("last line", outcome.stdout.lines().last(), Some("done"))?;
    for resets in [false, true] {
        let (mut running, stream) = connected(vm, "wait calls", "cpu=samples")?;
        running.wait_for("ready")?;
        if resets {
            reset_when_closed(&stream)?;
        }
        drop(stream);
        let outcome = running.finish(0)?;
        equal("last line", outcome.stdout.lines().last(), Some("done"))?;
        ensure!(!outcome.stderr.contains("HPROF ERROR"), "{}", outcome.stderr);
    }
    Ok(())
}

/// Any front end can end the program without a password; a line names the front end as the cause.
fn a_front_end_that_ends_the_program(vm: &Vm<'_>) -> Result<(), String> {
    let (mut running, mut stream) = connected(vm, "wait calls", "cpu=samples")?;
    running.wait_for("ready")?;
    Command::Exit.write(&mut stream, 1).map_err(|e| e.to_string())?;
    running.wait()?;
    let outcome = running.finish(0)?;
    ensure!(!outcome.stdout.contains("done"), "{}", outcome.stdout);
    let line = "HPROF ERROR: the front end ends the program";
    equal("lines", outcome.stderr.lines().filter(|it| *it == line).count(), 1)
}

/// HPROF abandons the connection, with a line, and the program continues. This many dumps are more than the system
/// buffers.
fn a_front_end_that_takes_nothing(vm: &Vm<'_>) -> Result<(), String> {
    let (mut running, mut stream) = connected(vm, "objects wait", "heap=dump,format=b")?;
    running.wait_for("ready")?;
    for serial in 0..100 {
        Command::DumpHeap.write(&mut stream, serial).map_err(|e| e.to_string())?;
    }
    let address = stream.local_addr().map_err(|e| e.to_string())?;
    running.wait_for_error(&format!("HPROF ERROR: cannot write {address}: "))?;
    let outcome = running.finish(0)?;
    drop(stream);
    equal("last line", outcome.stdout.lines().last(), Some("done"))?;
    equal("lines", outcome.stderr.matches("HPROF ERROR").count(), 1)
}

fn bad_options(vm: &Vm<'_>) -> Result<(), String> {
    // No process listens on the port that was just closed.
    let closed =
        TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).map_err(|e| e.to_string())?;
    let net = format!("net={closed}");
    for (options, error) in [
        (
            "file=x.html",
            "hprof option error: file=x.html is made by 'jvmpi report FILE' (file=x.html)"
                .to_owned(),
        ),
        (
            "file=/nowhere/at/all.txt",
            "cannot write the profile /nowhere/at/all.txt: No such file or directory (os error 2)"
                .to_owned(),
        ),
        (&net, format!("cannot connect to {closed}: Connection refused (os error 111)")),
    ] {
        let outcome = with_hprof(vm.java("Hello")?, options)?.run_to(1)?;
        let errors: Vec<_> = outcome.stderr.lines().collect();
        equal(options, errors, [format!("HPROF ERROR: {error}")])?;
        equal("output", outcome.stdout.as_str(), "")?;
    }
    Ok(())
}

fn help(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = with_hprof(vm.java("Hello")?, "help")?.run()?;
    equal("output", outcome.stdout.as_str(), jvmpi_formats::hprof::options::HELP)
}

/// One is found by its name next to libjvmpi.so, the others are copies. The last one's disk is full, which disturbs nobody. The
/// same library twice is refused.
fn two_of_them(vm: &Vm<'_>) -> Result<(), String> {
    let library = build::hprof()?;
    let java = vm.java("Profiled")?.arguments(["calls", "objects"]);
    let copy = vm.file("libhprof-too.so");
    fs::copy(&library, &copy).map_err(|e| e.to_string())?;
    let (first, second) = (vm.file("first.txt"), vm.file("second.txt"));
    let by_name =
        if std::env::var_os("JVMPI_LIBRARY").is_none() { "hprof" } else { text(&library)? };
    let times = format!("{by_name}:cpu=times,cutoff=0,file={}", text(&first)?);
    let sites = format!("{}:heap=sites,cutoff=0,file={}", text(&copy)?, text(&second)?);
    let third = vm.file("libhprof-full.so");
    fs::copy(&library, &third).map_err(|e| e.to_string())?;
    let full = format!("{}:heap=all,format=b,file=/dev/full", text(&third)?);
    let outcome = java.shim(&times)?.shim(&sites)?.shim(&full)?.run()?;
    let said: Vec<_> = outcome.stderr.lines().filter(|l| l.contains("HPROF ERROR")).collect();
    let line = "HPROF ERROR: cannot write /dev/full: No space left on device (os error 28); the program continues";
    equal("lines", said, [line])?;
    let kept = outcome.expects.find("expect", "dropped", "3000")?.int("kept")?;
    let inner = outcome.expects.find("expect", "recursive", "120")?.int("inner")?;
    equal("calls", calls_of(read(&first)?.profile(), "inner")?, inner)?;
    equal("site", site_of(read(&second)?.profile(), "Profiled$Kept", "Profiled.objects")?.0, kept)?;
    let twice = vm.java("Profiled")?.shim(&sites)?.shim(&sites)?.run_to(1)?;
    ensure!(twice.stderr.contains("HPROF already runs in this VM"), "{}", twice.stderr);
    Ok(())
}

/// Whatever is recorded, a program's output stays as it is.
fn programs_do_what_they_do(vm: &Vm<'_>) -> Result<(), String> {
    let [javac, _, clojure] = programs::SHORT;
    let runs = [(javac, "heap=all,cpu=samples", "hprof"), (clojure, "cpu=times,monitor=y", "txt")];
    for (program, kind, format) in runs {
        let name = program.name;
        let alone = match program.on(vm)? {
            Found::Ready(launch) => launch.run()?,
            Found::Missing(why) => {
                println!("skipped: {name}: {why}");
                continue;
            }
        };
        let Found::Ready(launch) = program.on(vm)? else { continue };
        let file = vm.file(&format!("{name}.{format}"));
        let outcome = with_hprof(*launch, &format!("{kind},file={}", text(&file)?))?
            .run()
            .map_err(|e| format!("{name} {kind}: {e}"))?;
        let (seen, expected) =
            (programs::lasting(&outcome.stdout), programs::lasting(&alone.stdout));
        equal(&format!("output of {name} with {kind}"), seen, expected)?;
        ensure!(!read(&file)?.profile().sections.is_empty(), "{kind}: nothing is in the file");
    }
    Ok(())
}
