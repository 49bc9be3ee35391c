//! Measures the cost of MONITOR_CONTENDED_EXIT for uncontended locks, and of all monitor events for contended ones,
//! compared with the floor agent, which uses JVMTI's events.

use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::text;

use super::comparison::{Figure, Side, compare};
use super::{floor, program};

const ROUNDS: usize = 7;

/// The program, its operations per thread, and its threads. On several CPUs it has two modes that differ by a factor of
/// five, so it runs on one.
const WORK: [&str; 3] = ["MonitorWork", "20_000", "4"];

/// The events that the floor agent reports.
const AS_FLOOR: &str = "54+55+57+58";
/// The same and MONITOR_CONTENDED_EXIT, which the floor agent does not report.
const ALL: &str = "54+55+56+57+58";

/// Compares the program alone, with the floor agent and with `counter.c`.
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

/// Returns the time of an operation in nanoseconds: uncontended, contended, and wait with notify.
fn work(jdk: &Jdk, option: &str, classes: &str) -> Result<Vec<f64>, String> {
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(jdk.java()).args([option, "-cp", classes]).args(WORK);
    program::run(&mut command)?.numbers(&[
        "uncontended_ns_per_op=",
        " contended_ns_per_op=",
        "handoff_ns_per_op=",
    ])
}
