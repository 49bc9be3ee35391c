//! Measures the cost of the setting `trace`, and the speed of a replay: method events for an agent that does nothing.

use std::fs;
use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::{build, text};

use super::comparison::{Figure, Side, compare};
use super::floor;
use super::program::{self, number_after};

/// The number of rounds; both sides take turns.
const ROUNDS: usize = 7;

/// The number of calls in a round, with two events each.
const CALLS: &str = "4_000_000";

pub fn run(jdk: &Jdk) -> Result<(), String> {
    let classes = floor::classes()?;
    let agent = program::shim(jdk, "empty", "events=1+3")?;
    let file = build::output_dir().join(format!("bench-{}.trace", jdk.feature));
    let file = text(&file)?;
    let run = |setting: &str| {
        program::run(Command::new(jdk.java()).env("JVMPI_OPTIONS", setting).args([
            &agent,
            "-cp",
            &classes,
            "MethodWork",
            "plain",
            CALLS,
            "1",
        ]))?
        .numbers(&["fib_ns_per_op=", "virtual_ns_per_op="])
    };
    let figures = [
        Figure { name: "recursive call, ns", digits: 1, cost: true },
        Figure { name: "virtual call, ns", digits: 1, cost: true },
    ];
    let setting = format!("trace={file}");
    let sides = [
        Side { name: "not recorded", run: Box::new(|| run("trace=off")) },
        Side { name: "recorded", run: Box::new(|| run(&setting)) },
    ];
    compare(&figures, &sides, ROUNDS)?;

    let command = build::released_command()?;
    let library = build::agent("empty")?;
    let agent = format!("{}:out=/dev/null,events=1+3", text(&library)?);
    let replay = || {
        let replayed = program::run(Command::new(&command).args(["replay", file, &agent]))?;
        Ok(vec![number_after(" s, ", &replayed.stderr)?])
    };
    let figures = [Figure { name: "million events a second", digits: 1, cost: false }];
    compare(&figures, &[Side { name: "replayed", run: Box::new(replay) }], ROUNDS)?;

    let stats = program::run(Command::new(&command).args(["trace", "stats", file]))?.stdout;
    let each = number_after("bytes, ", &stats)?;
    let bytes = fs::metadata(file).map_err(|e| format!("{file}: {e}"))?.len();
    println!("  {bytes} bytes, {each} per event");
    fs::remove_file(file).map_err(|e| format!("{file}: {e}"))
}
