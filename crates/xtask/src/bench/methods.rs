//! Measures the cost of METHOD_ENTRY and METHOD_EXIT: of a call, compared with code instrumented by hand and with
//! JVMTI's own events; of a constructor; of an exception by its depth; and of the startup of a program, whose classes
//! are all rewritten.

use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::{build, text};

use super::comparison::{Figure, Side, compare};
use super::idle::{STARTED, start_up};
use super::{asm, floor, program, rows};

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
        rows::section(&format!("{threads} threads"));
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

/// Measures the CPU time of exceptions that pass a handler in each frame. It grows with the depth raised to the printed
/// exponent.
pub fn exceptions(jdk: &Jdk) -> Result<(), String> {
    const DEPTHS: [f64; 2] = [8_000.0, 64_000.0];
    let classes = build::classes(8)?;
    let (one, other) = (counting(jdk, "1+3")?, program::shim(jdk, "empty", "events=1+3")?);
    let run = |options: &[&str]| {
        let depths = DEPTHS.map(|depth| depth.to_string());
        let program = ["-cp", &classes, "Unwinding", &depths[0], &depths[1]];
        let printed = program::run(Command::new(jdk.java()).args(options).args(program))?;
        let mut figures = Vec::new();
        for passes in ["methods", "constructors"] {
            let key =
                |depth| format!("passes={passes} exception=StackOverflowError depth={depth} ns=");
            let [shallow, deep] = [key(&depths[0]), key(&depths[1])];
            let costs = printed.numbers(&[&shallow, &deep])?;
            let exponent = 1.0 + (costs[1] / costs[0]).log(DEPTHS[1] / DEPTHS[0]);
            figures.extend([costs[0], costs[1], exponent]);
        }
        Ok(figures)
    };
    let cost = |name| Figure { name, digits: 0, cost: true };
    let exponent = |name| Figure { name, digits: 2, cost: false };
    let figures = [
        cost("StackOverflowError through 8,000 methods, ns a frame"),
        cost("StackOverflowError through 64,000 methods, ns a frame"),
        exponent("exponent of the depth"),
        cost("StackOverflowError through 8,000 constructors, ns a frame"),
        cost("StackOverflowError through 64,000 constructors, ns a frame"),
        exponent("exponent of the depth, constructors"),
    ];
    let sides = [
        Side { name: "no agent", run: Box::new(|| run(&[])) },
        Side { name: "shim, ENTRY + EXIT", run: Box::new(|| run(&[&one])) },
        Side { name: "the same, two agents", run: Box::new(|| run(&[&one, &other])) },
    ];
    compare(&figures, &sides, ROUNDS)
}

/// Measures the time until a program's first line, with the shim and with a Java agent that uses ASM.
fn start(jdk: &Jdk) -> Result<(), String> {
    let classes = build::classes(8)?;
    let pairs = counting(jdk, "1+3")?;
    let shim =
        Side { name: "shim, ENTRY + EXIT", run: Box::new(|| start_up(jdk, &[&pairs], &classes)) };
    let alone = Side { name: "no agent", run: Box::new(|| start_up(jdk, &[], &classes)) };
    match asm::java_agent() {
        Err(why) => {
            println!("  without ASM for comparison: {why}");
            compare(&STARTED, &[alone, shim], STARTS)
        }
        Ok(agent) => {
            let options: Vec<&str> = agent.iter().map(String::as_str).collect();
            let asm = Side {
                name: "Java agent with ASM",
                run: Box::new(|| start_up(jdk, &options, &classes)),
            };
            compare(&STARTED, &[asm, shim, alone], STARTS)
        }
    }
}
