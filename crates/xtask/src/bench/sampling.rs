//! Measures the cost of a sampler that wakes every millisecond, or every ten, for a program with ten threads. Two
//! thirds of these threads compute. Also counts the ticks that the sampler gets.

use std::fs;
use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::{contents, text};

use super::comparison::{Figure, Side, compare};
use super::floor;
use super::program::{self, number_after};

const ROUNDS: usize = 7;

/// The program, its units of work, and its threads.
const WORK: [&str; 3] = ["CpuWork", "50_000", "10"];

/// Compares the program alone, with the floor agent and with `sampler.c`.
pub fn run(jdk: &Jdk) -> Result<(), String> {
    let classes = floor::classes()?;
    let floor = floor::agent("sampling")?;
    let floor = |mode: &str, interval: &str| -> Result<Vec<f64>, String> {
        let option = format!("-agentpath:{}=mode={mode},interval={interval}", text(&floor)?);
        let (seconds, stderr) = work(jdk, &[&option], &classes)?;
        let ticks = number_after(" per_second=", &stderr)?;
        let traces = number_after(" traces=", &stderr)? / number_after(" samples=", &stderr)?;
        Ok(vec![seconds, ticks, ticks * traces])
    };

    let report = program::report(jdk, "sampler");
    let sampler = |interval: &str| -> Result<Vec<f64>, String> {
        let option = program::shim(jdk, "sampler", &format!("interval={interval}"))?;
        let _ = fs::remove_file(&report);
        let (seconds, _) = work(jdk, &[&option], &classes)?;
        let profile = contents(&report)?;
        let number = |key| number_after(key, &profile);
        let sampled = number(" ms=")? / 1_000.0;
        Ok(vec![seconds, number(" ticks=")? / sampled, number(" samples=")? / sampled])
    };

    let figures = [
        Figure { name: "seconds", digits: 3, cost: true },
        Figure { name: "ticks per second", digits: 0, cost: false },
        Figure { name: "traces per second", digits: 0, cost: false },
    ];
    let sides = [
        Side {
            name: "alone",
            run: Box::new(|| Ok(vec![work(jdk, &[], &classes)?.0, f64::NAN, f64::NAN])),
        },
        Side { name: "floor, all", run: Box::new(|| floor("all", "1")) },
        Side { name: "floor, suspend", run: Box::new(|| floor("suspend", "1")) },
        Side { name: "shim, sampler.c", run: Box::new(|| sampler("1")) },
        Side { name: "floor, suspend, 10 ms", run: Box::new(|| floor("suspend", "10")) },
        Side { name: "shim, 10 ms", run: Box::new(|| sampler("10")) },
    ];
    compare(&figures, &sides, ROUNDS)
}

/// Returns the duration of one round of the program's work in seconds, and its standard error.
fn work(jdk: &Jdk, options: &[&str], classes: &str) -> Result<(f64, String), String> {
    let command = &mut Command::new(jdk.java());
    let printed = program::run(command.args(options).args(["-cp", classes]).args(WORK))?;
    Ok((number_after("seconds=", &printed.stdout)?, printed.stderr))
}
