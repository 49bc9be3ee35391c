//! What METHOD_ENTRY and METHOD_EXIT cost: a call, against code that was instrumented by hand and
//! against JVMTI's own events; and the start of a program, all of whose classes are rewritten.

use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::{build, text};

use super::{Figure, Side, compare, floor, number_after};

/// Rounds in which all sides take turns.
const ROUNDS: usize = 3;

/// Calls that each thread makes in a round. Through JVMTI's events a call takes ten times as long.
const CALLS: &str = "2_000_000";
const SLOW_CALLS: &str = "200_000";

/// On how many threads the calls are made at a time.
const THREADS: [&str; 1] = ["1"];

pub fn run(jdk: &Jdk) -> Result<(), String> {
    for threads in THREADS {
        println!(" {threads} threads");
        calls(jdk, threads)?;
    }
    Ok(())
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
    let run = |options: &[&str], variant: &str, calls: &str| -> Result<Vec<f64>, String> {
        let output = Command::new(jdk.java())
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
        Side { name: "floor, by hand", run: Box::new(|| run(&[&boot, &fill], "hooked", CALLS)) },
        Side { name: "shim, ENTRY + EXIT", run: Box::new(|| run(&[&pairs], "plain", CALLS)) },
        Side { name: "shim, ENTRY2 + EXIT", run: Box::new(|| run(&[&receivers], "plain", CALLS)) },
        Side { name: "floor, JVMTI events", run: Box::new(|| run(&[&jvmti], "plain", SLOW_CALLS)) },
        Side { name: "no agent", run: Box::new(|| run(&[], "plain", CALLS)) },
    ];
    compare(&figures, &sides, ROUNDS)
}
