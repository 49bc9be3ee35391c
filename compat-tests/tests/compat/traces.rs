//! Call traces.

use crate::prelude::*;

cases![
    frames_are_those_that_java_prints.on_every_jdk(),
    trace_of_redefined_code_has_announced_methods,
    trace_shows_code_that_a_handler_runs,
    computing_threads_are_sampled_anywhere.since(17),
];

/// Returns the frames that were reported for each trace of this command.
fn all_traces<'a>(report: &'a Report, what: &str) -> Vec<Vec<&'a Line>> {
    let is_it = |line: &Line| line.word == "trace" && line.text("what") == Ok(what);
    let lines = report.all();
    let starts = (0..lines.len()).filter(|&start| is_it(&lines[start]));
    let frames = |start: usize| lines[start + 1..].iter().take_while(|line| line.word == "frame");
    starts.map(|start| frames(start).collect()).collect()
}

/// Returns the frames that were reported for the last trace of this command.
fn last_trace<'a>(report: &'a Report, what: &str) -> Result<Vec<&'a Line>, String> {
    all_traces(report, what).pop().ok_or_else(|| format!("no trace `{what}`"))
}

fn equal_to_java(frames: &[&Line], expected: &[Line]) -> Result<(), String> {
    ensure!(expected.len() >= 3, "Java printed {} frames", expected.len());
    equal("frames", frames.len(), expected.len() + 2)?;
    equal("innermost", frames[0].text("method")?, "Agent.call")?;
    equal("line of a native method", frames[0].int("line")?, -3)?;
    equal("its caller", frames[1].text("method")?, "Agent.call")?;
    for (frame, expected) in frames[2..].iter().zip(expected) {
        for key in ["method", "line", "source"] {
            // Java has no file for code that was replaced while it runs.
            let is_unknown = key == "source" && expected.text(key)? == "null";
            let is_same = is_unknown || frame.text(key)? == expected.text(key)?;
            ensure!(is_same, "saw {frame}, expected {expected}");
        }
    }
    Ok(())
}

/// Each trace is the stack that Java printed, under the native method that asked for it and the method that called
/// that.
fn same_as_java(outcome: &Outcome, count: usize) -> Result<(), String> {
    let traces = all_traces(outcome.report(), "self");
    equal("traces", traces.len(), count)?;
    let printed = outcome.expects.all();
    let printed = printed.split(|line| line.text("trace").is_ok()).skip(1);
    let printed: Vec<_> = printed.collect();
    equal("stacks of Java", printed.len(), count)?;
    for (i, (frames, expected)) in traces.iter().zip(printed).enumerate() {
        equal_to_java(frames, expected).map_err(|e| format!("trace {i}: {e}"))?;
    }
    Ok(())
}

/// Frames of inlined code, of code that is rewritten while it runs for methods and monitors, and of code that another
/// tool redefines. A frame keeps its line whatever its class is rewritten to while the frame is open: some changes leave
/// the method's code as it is, later ones do not.
fn frames_are_those_that_java_prints(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Traces")?.agent("traces", "")?.settings("alloc=bytecode,include=Traces*");
    let java = java.arguments(["hot", "rewritten", "redefined", "versions"]);
    let outcome = java.flag("-Xbatch").run()?;
    outcome.checks(&["redefined"])?;
    same_as_java(&outcome, 1 + 4 + 2 + 1)
}

/// A sampler gets the stack of a thread at any place in its code, suspended or by asynchronous sampling.
fn computing_threads_are_sampled_anywhere(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java_for(17, "Loops")?.agent("traces", "")?;
    // There the VM does not get all stacks right where a method begins: see "Suspension" in
    // docs/explanation/differences.md.
    let java = if cfg!(target_arch = "x86") { java.settings("suspend=jvmti") } else { java };
    let java = java.flag("-XX:CompileCommand=quiet");
    let outcome = java.flag("-XX:CompileCommand=dontinline,Loops.enter").run()?;
    equal("loops", outcome.expects.all().len(), 8)?;
    equal("ways of each", outcome.report().count("sampled"), 16)?;
    for line in outcome.report().lines("sampled") {
        let (whole, native) = (line.int("whole")?, line.int("native")?);
        ensure!(whole == line.int("traces")? && native == 0, "{line}");
    }
    Ok(())
}

/// The VM may free code that a running thread has left before anything asks for its ID.
fn trace_of_redefined_code_has_announced_methods(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Traces")?.agent("traces", "")?.settings("include=Traces$Changing");
    let outcome = java.argument("running").run()?;
    outcome.expects.one("expect")?;
    let (mut traces, mut found) = (0, 0);
    for line in outcome.report().lines("running") {
        equal("methods that were not announced", line.int("unknown")?, 0)?;
        traces += line.int("traces")?;
        found += line.int("found")?;
    }
    ensure!(found > traces / 2, "{found} of {traces} traces have frames");
    Ok(())
}

/// Agents see all of the code that they run themselves, whether rewritten code or the VM has reported the event,
/// and whatever of it is hidden.
fn trace_shows_code_that_a_handler_runs(vm: &Vm<'_>) -> Result<(), String> {
    for alloc in ["alloc=bytecode", "alloc=sampled"] {
        let java = vm.java("Traces")?.agent("traces", "")?.argument("inside").settings(alloc);
        let outcome = java.run()?;
        let report = outcome.report();
        same_as_java(&outcome, 2).map_err(|why| format!("{alloc}: {why}"))?;
        let inside = all_traces(report, "self");
        let load = last_trace(report, "load")?;
        let methods = |frames: &[&Line]| {
            frames
                .iter()
                .map(|f| f.text("method").map(str::to_owned))
                .collect::<Result<Vec<_>, _>>()
        };
        equal("where a class was loaded", methods(&load)?, methods(&inside[0][2..])?)?;
    }
    Ok(())
}
