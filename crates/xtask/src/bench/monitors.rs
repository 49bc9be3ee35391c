//! What MONITOR_CONTENDED_EXIT costs locks for which nobody waits, and what the events cost locks
//! for which threads do, against the floor agent, which gets them from JVMTI.

use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::text;

use super::{Figure, Side, compare, floor, program};

const ROUNDS: usize = 7;

/// Operations of each thread, and threads. On several processors such a program has two modes, a
/// factor of five apart, so it gets one.
const WORK: [&str; 3] = ["MonitorWork", "20_000", "4"];

/// What the floor agent reports.
const AS_FLOOR: &str = "54+55+57+58";
/// The same, and MONITOR_CONTENDED_EXIT, for which the floor agent has nothing.
const ALL: &str = "54+55+56+57+58";

/// Compares the program alone, under the floor agent and under `counter.c`.
pub fn run(jdk: &Jdk) -> Result<(), String> {
    let classes = floor::classes()?;
    let floor = format!("-agentpath:{}=mode=tag", text(&floor::agent("monitors")?)?);
    let shim = |events: &str| program::shim(jdk, "counter", &format!("events={events}"));
    let (as_floor, all, exits) = (shim(AS_FLOOR)?, shim(ALL)?, shim("56")?);
    let work = |option: &str| work(jdk, option, &classes);

    let figures = [
        Figure { name: "uncontended, ns", digits: 2, cost: true },
        Figure { name: "contended, ns", digits: 0, cost: true },
        Figure { name: "wait and notify, ns", digits: 0, cost: true },
    ];
    let sides = [
        Side { name: "floor", run: Box::new(|| work(&floor)) },
        Side { name: "alone", run: Box::new(|| work("-Dnone")) },
        Side { name: "shim, same events", run: Box::new(|| work(&as_floor)) },
        Side { name: "shim, exits too", run: Box::new(|| work(&all)) },
    ];
    compare(&figures, &sides, ROUNDS)?;

    let idle = shim("46")?;
    let sides = [
        Side { name: "shim, no event", run: Box::new(|| work(&idle)) },
        Side { name: "shim, exits only", run: Box::new(|| work(&exits)) },
    ];
    compare(&figures[..1], &sides, ROUNDS)
}

/// Nanoseconds of an operation: one that nobody waits for, one that threads wait for, one that
/// waits and notifies.
fn work(jdk: &Jdk, option: &str, classes: &str) -> Result<Vec<f64>, String> {
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(jdk.java()).args([option, "-cp", classes]).args(WORK);
    program::run(&mut command)?.numbers(&[
        "uncontended_ns_per_op=",
        " contended_ns_per_op=",
        "handoff_ns_per_op=",
    ])
}
