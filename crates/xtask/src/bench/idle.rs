//! Measures the cost of the library for a program whose agent enables nothing, or has disabled everything again.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Instant;

use compat_tests::jdk::Jdk;
use compat_tests::{build, text};

use super::comparison::{Figure, Side, compare};
use super::{floor, program};

/// The number of runs of a program that only starts.
const STARTS: usize = 41;

/// The number of runs of a program that computes.
const COMPUTATIONS: usize = 9;

/// Measures the time until the program's first line, and the time of calls.
pub fn run(jdk: &Jdk) -> Result<(), String> {
    let agent = build::agent("idle")?;
    let option = format!("-agentpath:{}={}", text(&build::released_shim()?)?, text(&agent)?);

    let classes = build::classes(8)?;
    let start = |options: &[&str]| start_up(jdk, options, &classes);
    let sides = [
        Side { name: "no agent", run: Box::new(|| start(&[])) },
        Side { name: "shim, idle agent", run: Box::new(|| start(&[&option])) },
    ];
    compare(&STARTED, &sides, STARTS)?;

    let classes = floor::classes()?;
    let compute = |options: &[&str]| compute(jdk, options, &classes);
    let figures = [
        Figure { name: "recursive call, ns", digits: 3, cost: true },
        Figure { name: "virtual call, ns", digits: 3, cost: true },
        Figure { name: "loop, s", digits: 4, cost: true },
    ];
    // Method events, which need rewritten classes.
    let disabled = program::shim(jdk, "counter", "events=1+3,until=start")?;
    let sides = [
        Side { name: "no agent", run: Box::new(|| compute(&[])) },
        Side { name: "shim, idle agent", run: Box::new(|| compute(&[&option])) },
        Side { name: "shim, disabled again", run: Box::new(|| compute(&[&disabled])) },
    ];
    compare(&figures, &sides, COMPUTATIONS)
}

/// The figures of [`start_up`].
pub const STARTED: [Figure; 2] = [
    Figure { name: "start-up to main, ms", digits: 1, cost: true },
    Figure { name: "to the end, ms", digits: 1, cost: true },
];

/// Returns the time from the start of the process to the program's first line, and to its end, in milliseconds.
pub fn start_up(jdk: &Jdk, options: &[&str], classes: &str) -> Result<Vec<f64>, String> {
    let error = |e: std::io::Error| format!("{}: {e}", jdk.java().display());
    let begin = Instant::now();
    let mut child = Command::new(jdk.java())
        .args(options)
        .args(["-cp", classes, "Hello"])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(error)?;
    let mut stdout = BufReader::new(child.stdout.take().ok_or("no output")?);
    let mut line = String::new();
    stdout.read_line(&mut line).map_err(error)?;
    let ms = || begin.elapsed().as_secs_f64() * 1e3;
    let started = ms();
    stdout.read_to_string(&mut String::new()).map_err(error)?;
    let status = child.wait().map_err(error)?;
    if status.success() && line.starts_with("hello") {
        return Ok(vec![started, ms()]);
    }
    Err(format!("the program ended with {status}"))
}

/// Returns the time of a recursive and of a virtual call in nanoseconds, and of a loop without calls in seconds.
fn compute(jdk: &Jdk, options: &[&str], classes: &str) -> Result<Vec<f64>, String> {
    let run = |program: &[&str]| {
        program::run(Command::new(jdk.java()).args(options).args(["-cp", classes]).args(program))
    };
    let mut figures = run(&["MethodWork", "plain", "20_000_000"])?
        .numbers(&["fib_ns_per_op=", "virtual_ns_per_op="])?;
    figures.extend(run(&["CpuWork", "10_000", "1"])?.numbers(&["seconds="])?);
    Ok(figures)
}
