//! Measures the cost of METHOD_ENTRY and METHOD_EXIT: of a call, compared with code instrumented by hand and with
//! JVMTI's own events; of a constructor; and of the startup of a program, whose classes are all rewritten.

use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::{build, text};

use super::comparison::{Figure, Side, compare};
use super::idle::{STARTED, start_up};
use super::{floor, program};

/// The number of rounds; the sides take turns.
const ROUNDS: usize = 5;

/// The number of starts of a program.
const STARTS: usize = 15;

/// The number of calls per thread and round. With JVMTI's events a call takes ten times as long.
const CALLS: &str = "2_000_000";
const SLOW_CALLS: &str = "200_000";

/// The number of objects per thread and round, with two constructors each.
const OBJECTS: &str = "400000";

/// The numbers of threads.
const THREADS: [&str; 3] = ["1", "2", "4"];

pub fn run(jdk: &Jdk) -> Result<(), String> {
    for threads in THREADS {
        println!(" {threads} threads");
        calls(jdk, threads)?;
        constructors(jdk, threads)?;
    }
    start(jdk)
}

/// Returns the JVM option for an agent that counts these events, loaded by the shim.
fn counting(jdk: &Jdk, events: &str) -> Result<String, String> {
    program::shim(jdk, "counter", &format!("events={events}"))
}

fn calls(jdk: &Jdk, threads: &str) -> Result<(), String> {
    let classes = floor::classes()?;
    let agent = floor::agent("methods")?;
    let floor = |mode: &str| Ok::<_, String>(format!("-agentpath:{}=mode={mode}", text(&agent)?));
    let (fill, jvmti) = (floor("fill")?, floor("jvmti")?);
    let (pairs, receivers) = (counting(jdk, "1+3")?, counting(jdk, "2+3")?);
    let boot = format!("-Xbootclasspath/a:{classes}");
    let run = |options: &[&str], variant: &str, calls: &str| {
        program::run(Command::new(jdk.java()).args(options).args([
            "-cp",
            &classes,
            "MethodWork",
            variant,
            calls,
            threads,
        ]))?
        .numbers(&["fib_ns_per_op=", "virtual_ns_per_op="])
    };
    let figures = [
        Figure { name: "recursive call, ns", digits: 1, cost: true },
        Figure { name: "virtual call, ns", digits: 1, cost: true },
    ];
    let sides = [
        Side { name: "floor, by hand", run: Box::new(|| run(&[&boot, &fill], "hooked", CALLS)) },
        Side { name: "shim, ENTRY + EXIT", run: Box::new(|| run(&[&pairs], "plain", CALLS)) },
        Side { name: "shim, ENTRY2 + EXIT", run: Box::new(|| run(&[&receivers], "plain", CALLS)) },
        Side { name: "floor, JVMTI events", run: Box::new(|| run(&[&jvmti], "plain", SLOW_CALLS)) },
        Side { name: "no agent", run: Box::new(|| run(&[], "plain", CALLS)) },
    ];
    compare(&figures, &sides, ROUNDS)
}

/// Measures the CPU time of a constructor. For a constructor that calls something before `super()`, the shim has to
/// search for the object.
fn constructors(jdk: &Jdk, threads: &str) -> Result<(), String> {
    let classes = build::classes(8)?;
    let (pairs, receivers) = (counting(jdk, "1+3")?, counting(jdk, "2+3")?);
    let run = |options: &[&str]| {
        let program = ["-cp", &classes, "Constructors", OBJECTS, threads];
        program::run(Command::new(jdk.java()).args(options).args(program))?
            .numbers(&["plain_ns_per_op=", "calling_ns_per_op="])
    };
    let figures = [
        Figure { name: "constructor, ns", digits: 1, cost: true },
        Figure { name: "every other one calls something first, ns", digits: 1, cost: true },
    ];
    let sides = [
        Side { name: "shim, ENTRY + EXIT", run: Box::new(|| run(&[&pairs])) },
        Side { name: "shim, ENTRY2 + EXIT", run: Box::new(|| run(&[&receivers])) },
        Side { name: "the same, -Xint", run: Box::new(|| run(&[&receivers, "-Xint"])) },
        Side { name: "no agent", run: Box::new(|| run(&[])) },
    ];
    compare(&figures, &sides, ROUNDS)
}

/// Measures the time until a program's first line.
fn start(jdk: &Jdk) -> Result<(), String> {
    let classes = build::classes(8)?;
    let pairs = counting(jdk, "1+3")?;
    let sides = [
        Side { name: "no agent", run: Box::new(|| start_up(jdk, &[], &classes)) },
        Side { name: "shim, ENTRY + EXIT", run: Box::new(|| start_up(jdk, &[&pairs], &classes)) },
    ];
    compare(&STARTED, &sides, STARTS)
}
