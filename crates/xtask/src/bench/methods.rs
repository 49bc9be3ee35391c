//! What METHOD_ENTRY and METHOD_EXIT cost: a call, against code that was instrumented by hand and
//! against JVMTI's own events; and the start of a program, all of whose classes are rewritten.

use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::{build, text};

use super::idle::start_up;
use super::{Figure, Side, asm, compare, floor, number_after};

/// Rounds in which all sides take turns.
const ROUNDS: usize = 5;

/// Starts of a program.
const STARTS: usize = 15;

/// Calls that each thread makes in a round. Through JVMTI's events a call takes ten times as long.
const CALLS: &str = "2_000_000";
const SLOW_CALLS: &str = "200_000";

/// On how many threads the calls are made at a time.
const THREADS: [&str; 3] = ["1", "2", "4"];

pub fn run(jdk: &Jdk) -> Result<(), String> {
    for threads in THREADS {
        println!(" {threads} threads");
        calls(jdk, threads)?;
    }
    start(jdk)
}

/// The agent that counts events, loaded by the shim.
fn counting(jdk: &Jdk, events: &str) -> Result<String, String> {
    let report = build::output_dir().join(format!("bench-methods-{}.txt", jdk.feature));
    let _ = std::fs::remove_file(&report);
    let (shim, counter) = (build::shim()?, build::agent("counter")?);
    let (shim, counter, out) = (text(&shim)?, text(&counter)?, text(&report)?);
    Ok(format!("-agentpath:{shim}={counter}:events={events},out={out}"))
}

fn calls(jdk: &Jdk, threads: &str) -> Result<(), String> {
    let classes = floor::classes()?;
    let agent = floor::agent("methods")?;
    let floor = |mode: &str| Ok::<_, String>(format!("-agentpath:{}=mode={mode}", text(&agent)?));
    let (fill, jvmti) = (floor("fill")?, floor("jvmti")?);
    let (pairs, receivers) = (counting(jdk, "1+3")?, counting(jdk, "2+3")?);
    let boot = format!("-Xbootclasspath/a:{classes}");
    let run = |settings: &str, options: &[&str], variant: &str, calls: &str| {
        let output = Command::new(jdk.java())
            .env("JVMPI_OPTIONS", settings)
            .args(options)
            .args(["-cp", &classes, "MethodWork", variant, calls, threads])
            .output()
            .map_err(|e| format!("{}: {e}", jdk.java().display()))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let line = String::from_utf8_lossy(&output.stdout);
        Ok(vec![number_after("fib_ns_per_op=", &line)?, number_after("virtual_ns_per_op=", &line)?])
    };
    let figures = [
        Figure { name: "recursive call, ns", digits: 1, cost: true },
        Figure { name: "virtual call, ns", digits: 1, cost: true },
    ];
    let sides = [
        Side {
            name: "floor, by hand",
            run: Box::new(|| run("", &[&boot, &fill], "hooked", CALLS)),
        },
        Side { name: "shim, ENTRY + EXIT", run: Box::new(|| run("", &[&pairs], "plain", CALLS)) },
        Side {
            name: "receivers=methods",
            run: Box::new(|| run("receivers=methods", &[&pairs], "plain", CALLS)),
        },
        Side {
            name: "shim, ENTRY2 + EXIT",
            run: Box::new(|| run("", &[&receivers], "plain", SLOW_CALLS)),
        },
        Side {
            name: "floor, JVMTI events",
            run: Box::new(|| run("", &[&jvmti], "plain", SLOW_CALLS)),
        },
        Side { name: "no agent", run: Box::new(|| run("", &[], "plain", CALLS)) },
    ];
    compare(&figures, &sides, ROUNDS)
}
/// The time until a program's first line, rewritten by the shim and by a Java agent with ASM.
fn start(jdk: &Jdk) -> Result<(), String> {
    let classes = build::classes(8)?;
    let pairs = counting(jdk, "1+3")?;
    let figures = [Figure { name: "start-up to main, ms", digits: 1, cost: true }];
    let shim = Side {
        name: "shim, ENTRY + EXIT",
        run: Box::new(|| start_up(jdk, &[&pairs], &classes).map(|ms| vec![ms])),
    };
    let alone = Side {
        name: "no agent",
        run: Box::new(|| start_up(jdk, &[], &classes).map(|ms| vec![ms])),
    };
    match asm::java_agent() {
        Err(why) => {
            println!("  without ASM for comparison: {why}");
            compare(&figures, &[alone, shim], STARTS)
        }
        Ok(agent) => {
            let options: Vec<&str> = agent.iter().map(String::as_str).collect();
            let asm = Side {
                name: "Java agent with ASM",
                run: Box::new(|| start_up(jdk, &options, &classes).map(|ms| vec![ms])),
            };
            compare(&figures, &[asm, shim, alone], STARTS)
        }
    }
}
