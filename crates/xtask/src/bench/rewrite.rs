//! Measures how fast class files are rewritten for METHOD_ENTRY and METHOD_EXIT, compared with ASM.

use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::{build, text, workspace_root};

use super::asm;
use super::comparison::{Figure, Side, compare};
use super::program::{self, number_after};

/// The number of runs of each side, and of rounds per run. The best round counts.
const RUNS: usize = 5;
const ROUNDS: &str = "10";

/// The name of this rewriting in `crates/classfile/examples/throughput.rs`.
const JOB: &str = ": entry, return, throw";

pub fn run(jdk: &Jdk) -> Result<(), String> {
    let classes = build::output_dir().join(format!("java.base-{}", jdk.feature));
    let classes = text(&classes)?;
    let class_path = asm::class_path()?;
    let asm = || {
        let arguments = ["-cp", &class_path, "Throughput", classes, ROUNDS];
        program::run(Command::new(jdk.java()).args(arguments))?.numbers(&["mb_per_second="])
    };
    // The first run unpacks the classes.
    asm()?;
    let ours = || {
        let mut command = Command::new(env!("CARGO"));
        command.args(["run", "--release", "--quiet", "--package", "jvmpi-classfile"]);
        command.args(["--example", "throughput", "--", classes, ROUNDS]);
        let printed = program::run(command.current_dir(workspace_root()))?;
        let line = printed.stdout.lines().find(|line| line.ends_with(JOB)).ok_or("no such job")?;
        Ok(vec![number_after("", line.trim_start())?])
    };
    let sides =
        [Side { name: "ASM", run: Box::new(asm) }, Side { name: "classfile", run: Box::new(ours) }];
    compare(&[Figure { name: "MB/s, java.base", digits: 0, cost: false }], &sides, RUNS)
}
