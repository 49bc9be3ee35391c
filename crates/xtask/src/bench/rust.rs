//! Measures the overhead of the crate `jvmpi`: method events for an agent that counts them, in C and in Rust.

use std::process::Command;

use compat_tests::build::{self, RustAgent};
use compat_tests::jdk::Jdk;
use compat_tests::text;

use super::comparison::{Figure, Side, compare};
use super::{floor, program};

/// The number of rounds; the sides take turns.
const ROUNDS: usize = 7;
const CALLS: &str = "5_000_000";

/// Measures agents that keep the counts of a thread in a thread-local variable or in the VM's thread-local storage.
pub fn run(jdk: &Jdk) -> Result<(), String> {
    let classes = floor::classes()?;
    let c = program::shim(jdk, "counter", "events=1+3")?;
    let (shim, agent) = (build::released_shim()?, build::released_rust_agent(RustAgent::Counter)?);
    let (shim, agent) = (text(&shim)?, text(&agent)?);
    let in_rust = |place: &str| format!("-agentpath:{shim}={agent}:{place}");
    let (variable, in_vm) = (in_rust("rust"), in_rust("vm"));
    let run = |option: Option<&str>| {
        let program = ["-cp", &classes, "MethodWork", "plain", CALLS, "1"];
        program::run(Command::new(jdk.java()).args(option).args(program))?
            .numbers(&["fib_ns_per_op=", "virtual_ns_per_op="])
    };
    let figures = [
        Figure { name: "recursive call, ns", digits: 1, cost: true },
        Figure { name: "virtual call, ns", digits: 1, cost: true },
    ];
    let sides = [
        Side { name: "C, variable", run: Box::new(|| run(Some(&c))) },
        Side { name: "Rust, variable", run: Box::new(|| run(Some(&variable))) },
        Side { name: "Rust, VM's storage", run: Box::new(|| run(Some(&in_vm))) },
        Side { name: "no agent", run: Box::new(|| run(None)) },
    ];
    compare(&figures, &sides, ROUNDS)
}
