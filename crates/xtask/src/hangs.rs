//! `cargo xtask soak hangs`: programs that once hung or crashed JVMs.

use std::time::Instant;

use compat_tests::hangs::{Program, Setting};
use compat_tests::jdk::{self, Gc, Jdk};

/// The default number of runs of each program on each JDK.
const RUNS: u32 = 100;

/// Runs the programs that once hung JVMs. The arguments are a number of runs, programs, and JDKs such as `jdk17`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (mut runs, mut programs, mut features) = (RUNS, Vec::new(), Vec::new());
    for argument in arguments {
        let program = Program::ALL.into_iter().find(|program| program.name() == argument);
        if let Some(program) = program {
            programs.push(program);
        } else if let Some(feature) = argument.strip_prefix("jdk") {
            features.push(
                feature
                    .parse::<u32>()
                    .map_err(|_| format!("{argument} is not a JDK such as jdk17"))?,
            );
        } else {
            runs = argument
                .parse()
                .map_err(|_| format!("{argument} is neither a program nor a number of runs"))?;
        }
    }
    if programs.is_empty() {
        programs.extend(Program::ALL);
    }
    let jdks: Vec<_> = jdk::found()
        .into_values()
        .filter(|jdk| features.is_empty() || features.contains(&jdk.feature))
        .collect();
    let mut failed = 0;
    for program in programs {
        for jdk in jdks.iter().filter(|jdk| program.runs_on(jdk)) {
            failed += run_often(program, jdk, runs);
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} runs failed")) }
}

/// Runs one program on one JDK, with all settings in turn. Returns the number of failed runs.
fn run_often(program: Program, jdk: &Jdk, runs: u32) -> u32 {
    let began = Instant::now();
    let mut failed = 0;
    for number in 0..runs {
        let is = |bit: u32| number >> bit & 1 != 0;
        let setting = Setting {
            jdk,
            gc: if is(0) { Gc::Serial } else { Gc::G1 },
            has_one_processor: is(1),
            has_one_arena: is(2),
            is_busy: is(3),
        };
        if let Err(why) = program.run(&setting, &format!("hangs/{}/{number}", program.name())) {
            println!("FAILED {} {setting:?}: {why}", program.name());
            failed += 1;
        }
    }
    let (name, seconds) = (program.name(), began.elapsed().as_secs());
    println!("{name} jdk{}: {runs} runs, {failed} failed ({seconds} s)", jdk.feature);
    failed
}
