//! A whole profiler, made as they were: `agents/sampler.c`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use compat_tests::jdk;

use crate::prelude::*;

cases![
    finds_the_hot_methods.on_every_gc().on_every_jdk(),
    finds_the_hot_methods.under_load_on(&[11]),
    several_samplers,
    beside_an_agent_that_suspends,
    beside_a_debugger.on_every_jdk(),
    threads_inside_malloc_are_not_stopped,
    threads_inside_malloc_are_not_stopped.under_load_on(&[21]),
    virtual_threads_by_their_time.since(21),
    stacks_have_only_calls_that_the_program_makes.slow(),
    native_calls_are_not_interrupted.since(21),
];

/// Returns the number of samples in a report of the sampler.
pub fn samples(report: &Report) -> Result<i64, String> {
    report.one("total")?.int("samples")
}

/// Returns the stacks in a report of the sampler: how often each was seen, and its frames, innermost first.
fn stacks(report: &Report) -> Result<Vec<(i64, Vec<&str>)>, String> {
    let stacks = report.lines("stack");
    stacks.map(|line| Ok((line.int("count")?, line.text("frames")?.split(';').collect()))).collect()
}

fn finds_them(outcome: &Outcome) -> Result<(), String> {
    let report = outcome.report();
    equal("unresolved frames", report.one("total")?.int("unresolved")?, 0)?;
    let mut stacks = stacks(report)?;
    stacks.sort_by_key(|(count, _)| Reverse(*count));
    let hottest: Vec<_> = stacks.iter().take(4).flat_map(|(_, frames)| frames).collect();
    for method in ["Sampled.first:", "Sampled.second:"] {
        let mut lines = hottest.iter().filter_map(|frame| frame.strip_prefix(method));
        ensure!(lines.any(|line| line.parse::<u32>().is_ok()), "no {method} in {hottest:?}");
    }
    Ok(())
}

/// A program with two threads that compute and others that wait: those two are the hottest in the report, every frame
/// has a name and theirs have lines. JDK 11 can do it only at a price, which one line reports.
fn finds_the_hot_methods(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Sampled")?.settings("log=info").agent("sampler", "")?.run()?;
    equal("output", outcome.stdout.as_str(), "sampled\n")?;
    finds_them(&outcome)?;
    let price = |line: &&str| line.starts_with("[jvmpi] info: on this JDK");
    let lines = outcome.stderr.lines().filter(price).count();
    equal("lines", lines, usize::from(vm.jdk.feature < 17))
}

/// Samplers suspend each other, too, in whatever they are doing. None waits for HotSpot 11 to look at a thread 50 times.
fn several_samplers(vm: &Vm<'_>) -> Result<(), String> {
    for (samplers, settings) in [(3, "suspend=jvmti"), (6, "")] {
        let java = vm.java("Crowd")?.argument("400").settings(settings);
        let outcome =
            (0..samplers).try_fold(java, |java, _| java.another_agent("sampler", ""))?.run()?;
        equal("output", outcome.stdout.as_str(), "crowded\n")?;
        let each = outcome.other_reports().iter().map(samples);
        let total = each.sum::<Result<i64, _>>().map_err(|e| format!("{settings}: {e}"))?;
        ensure!(total > 0, "{samplers} samplers took no samples");
        for report in outcome.other_reports() {
            let longest = report.one("total")?.int("longest")?;
            ensure!(longest < 6375, "{settings}: a tick took {longest} ms");
        }
    }
    Ok(())
}

/// With one arena, malloc has one lock: a thread that is stopped while it holds that blocks all others, the VM's own
/// among them.
fn threads_inside_malloc_are_not_stopped(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("NativeMemory")?.argument("400000").variable("MALLOC_ARENA_MAX", "1");
    let outcome = java.agent("sampler", "")?.run()?;
    equal("steps", outcome.expects.one("expect")?.int("steps")?, 4 * 400_000)?;
    ensure!(samples(outcome.report())? > 0, "no samples");
    Ok(())
}

/// Like [`finds_the_hot_methods`], with another agent that has `can_suspend`, loaded before the shim or after it. One line names the
/// features that do not work then.
fn beside(
    vm: &Vm<'_>,
    settings: &str,
    other: impl Fn(Launch) -> Result<Launch, String>,
) -> Result<(), String> {
    for other_first in [true, false] {
        let java = vm.java("Sampled")?.settings(settings);
        let sampler = |java: Launch| java.agent("sampler", "");
        let java = if other_first { sampler(other(java)?)? } else { other(sampler(java)?)? };
        let outcome = java.run()?;
        let lines = lines_about_suspension(&outcome);
        finds_them(&outcome).and_then(|()| equal("lines", lines.len(), 1)).map_err(|e| {
            format!("{settings} other first: {other_first}: {e}\n{}", outcome.stderr)
        })?;
    }
    Ok(())
}

fn lines_about_suspension(outcome: &Outcome) -> Vec<&str> {
    let is_ours = |line: &&str| line.starts_with("[jvmpi] ") && line.contains("can_suspend");
    outcome.stderr.lines().filter(is_ours).collect()
}

fn beside_an_agent_that_suspends(vm: &Vm<'_>) -> Result<(), String> {
    beside(vm, "suspend=jvmti", |java| java.jvmti_agent("holder", "suspend"))
}

fn beside_a_debugger(vm: &Vm<'_>) -> Result<(), String> {
    let installed = jdk::with_javac_of(vm.jdk.feature);
    let has_debugger = |jdk: &&jdk::Jdk| jdk.home.join("lib/libjdwp.so").is_file();
    let Some(jdk) = [Some(vm.jdk), installed].into_iter().flatten().find(has_debugger) else {
        println!("skipped: no JDK {} with libjdwp.so", vm.jdk.feature);
        return Ok(());
    };
    let vm = vm.on(jdk);
    let debugger = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0";
    beside(&vm, "", |java| Ok(java.flag(debugger)))
}

/// The share of samples, in each setting, is that of the time. The stacks are those of the virtual threads, without the
/// frames of their carriers.
fn virtual_threads_by_their_time(vm: &Vm<'_>) -> Result<(), String> {
    for settings in ["virtual=carrier", "virtual=own"] {
        in_proportion(400, &mut |millis: u32| {
            let java = vm.java_for(21, "VirtualProfiled")?.settings(settings);
            let java = java.argument("4").argument(&millis.to_string());
            let outcome = java.agent("sampler", "")?.run()?;
            equal("last line", outcome.stdout.lines().last(), Some("done"))?;
            let stacks = stacks(outcome.report())?;
            let is = |frame: &str, name: &str| frame.rsplit_once(':').is_some_and(|f| f.0 == name);
            let has = |frames: &[&str], name: &str| frames.iter().any(|frame| is(frame, name));
            for (_, frames) in &stacks {
                // The virtual thread may call ForkJoinPool itself.
                let mut callers =
                    frames.iter().skip_while(|frame| !is(frame, "VirtualProfiled.compute"));
                let has_carrier = callers.any(|frame| frame.contains("ForkJoin"));
                ensure!(!has_carrier, "frames of a carrier: {frames:?}");
            }
            let sum = |name: &str| {
                let counted =
                    stacks.iter().filter(|(_, frames)| name.is_empty() || has(frames, name));
                counted.map(|(count, _)| count.unsigned_abs()).sum()
            };
            Ok(Counted { counts: COMPUTING.map(sum), all: sum("") })
        })
        .map_err(|e| format!("{settings}: {e}"))?;
    }
    Ok(())
}

/// The methods that take 70, 20 and 10 % of the time.
pub const COMPUTING: [&str; 3] = ["Profiled.seventy", "Profiled.twenty", "Profiled.ten"];

/// The samples of each of [`COMPUTING`], and all samples.
pub struct Counted {
    pub counts: [u64; 3],
    pub all: u64,
}

/// Gives the program more time until there are enough samples, and compares their shares with those of the time. They are
/// off by chance, too: by less than four times the standard deviation.
pub fn in_proportion(
    enough: u64,
    run: &mut dyn FnMut(u32) -> Result<Counted, String>,
) -> Result<(), String> {
    let mut found = 0;
    for millis in [1_000, 6_000, 30_000] {
        let Counted { counts, all } = run(millis)?;
        found = counts.iter().sum();
        if found < enough {
            continue;
        }
        for (counted, expected) in counts.into_iter().zip([0.7, 0.2, 0.1_f64]) {
            let chance = 4.0 * (expected * (1.0 - expected) / found as f64).sqrt();
            let is_off = (counted as f64 / found as f64 - expected).abs() > 0.03 + chance;
            ensure!(!is_off, "{counts:?} are not 70, 20 and 10 %");
        }
        ensure!(2 * found > all, "only {found} of {all} samples are of what computes");
        return Ok(());
    }
    Err(format!("{found} samples"))
}

/// Each method of `workloads/CallGraph.java`, and its callers.
const CALLERS: [(&str, &[&str]); 13] = [
    ("mix", &["leaf0", "leaf2", "leaf4", "leaf6", "catches"]),
    ("leaf0", &["caller0", "caller2", "caller4"]),
    ("leaf2", &["caller0", "caller2", "caller4"]),
    ("leaf4", &["caller0", "caller2", "caller4"]),
    ("leaf6", &["caller0", "caller2", "caller4"]),
    ("caller0", &["round"]),
    ("caller2", &["round"]),
    ("caller4", &["round"]),
    ("fails", &["passes"]),
    ("passes", &["catches"]),
    ("catches", &["round"]),
    ("round", &["main"]),
    ("main", &[]),
];

/// No method is missing in a stack, at any instruction of compiled code. HotSpot's walk is wrong at an instruction
/// after a method has removed its frame, if the memory that it reads as the caller's frame looks like a frame.
fn stacks_have_only_calls_that_the_program_makes(vm: &Vm<'_>) -> Result<(), String> {
    if cfg!(not(target_arch = "x86_64")) {
        println!("skipped: the agent steps through the machine code of x86-64");
        return Ok(());
    }
    for compiler in ["-XX:-TieredCompilation", "-XX:TieredStopAtLevel=1"] {
        let mut wrong = wrong_stacks(vm, compiler)?;
        // HotSpot itself gives a wrong stack once in a thousand times, more often at some instructions. A fault shows at
        // the same instruction in each run.
        for _ in 0..2 {
            if !wrong.is_empty() {
                let again = wrong_stacks(vm, compiler)?;
                wrong.retain(|place, _| again.contains_key(place));
            }
        }
        let lines: Vec<_> = wrong.into_values().flatten().collect();
        ensure!(lines.is_empty(), "{compiler}: wrong stacks:\n{}", lines.join("\n"));
    }
    Ok(())
}

/// Returns the samples with a wrong stack, by method and offset.
fn wrong_stacks(
    vm: &Vm<'_>,
    compiler: &str,
) -> Result<BTreeMap<(String, i64), Vec<String>>, String> {
    let java = vm.java("CallGraph")?.argument(&(CALLERS.len() - 1).to_string()).flag(compiler);
    let java =
        java.flags(["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,CallGraph.*"]);
    let outcome = java.agent("stepping", "class=CallGraph")?.run()?;
    equal("last line", outcome.stdout.lines().last(), Some("done"))?;
    let (mut methods, mut samples, mut wrong) = (BTreeSet::new(), 0, BTreeMap::new());
    for sample in outcome.report().lines("sample") {
        let method = sample.text("method")?;
        let stack: Vec<_> = sample.text("stack")?.split(';').collect();
        let ours: Vec<_> = stack.iter().map(|name| name.strip_prefix("CallGraph.")).collect();
        let is_possible = |call: &[Option<&str>]| {
            let callers = CALLERS.iter().find(|(method, _)| Some(*method) == call[0]);
            callers.is_some_and(|(_, callers)| call[1].is_some_and(|name| callers.contains(&name)))
        };
        if ours.last() != Some(&Some("main")) || !ours.windows(2).all(is_possible) {
            let place = (method.to_owned(), sample.int("offset")?);
            wrong.entry(place).or_insert_with(Vec::new).push(sample.to_string());
        }
        methods.insert(method.to_owned());
        samples += 1;
    }
    equal("sampled methods", methods.len(), CALLERS.len() - 1)?;
    ensure!(samples > 400, "{samples} samples");
    Ok(wrong)
}

/// A native method is in `ppoll` most of the time, with samplers that suspend and that do not, on a platform thread and
/// on a virtual one.
fn native_calls_are_not_interrupted(vm: &Vm<'_>) -> Result<(), String> {
    for (options, settings) in
        [("", ""), ("suspends=1", ""), ("", "virtual=own"), ("suspends=1", "virtual=own")]
    {
        let java = vm.java_for(21, "NativeWaits")?.agent("interrupted", options)?;
        let outcome = java.settings(settings).run()?;
        for thread in ["platform", "virtual"] {
            let seen = outcome.report().find("waits", "thread", thread)?;
            let where_ = format!("{options} {settings}: {thread}");
            equal(&where_, seen.int("interrupted")?, 0)?;
            ensure!(seen.int("has_run")? > 0, "{where_}: the sampler did not ask for the thread");
        }
    }
    Ok(())
}
