//! `cargo xtask test`: every test of the workspace, on every JDK that can be had.

use std::env;
use std::process::Command;

use compat_tests::machine::{EMULATOR, Machine};
use compat_tests::{jdk, workspace_root};

const MACHINE: &str = "--machine";
/// The address space of an emulated program. qemu keeps books of each page, and takes more memory than there is
/// for the terabytes that the buffer of a dump reserves where it can.
const ADDRESS_SPACE: &str = "8G";
const VM: &str = "--vm";

/// Fetches the JDKs and runs `cargo test`, built as the library is that the compatibility tests load:
/// optimized, with debug assertions.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let machine = crate::jdk::machine(take(&mut arguments, MACHINE))?;
    let vm = take(&mut arguments, VM);
    if let Err(why) = jdk::fetch(machine) {
        if jdk::found_for(machine).is_empty() {
            return Err(why);
        }
        eprintln!("warning: {why}\nwarning: tests on the JDKs that are missing will be skipped");
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(cargo);
    cargo.arg("test");
    if machine.target != Machine::this().target {
        build_for(machine, &mut cargo)?;
    }
    if let Some(vm) = vm {
        jdk::other(&vm)?;
        cargo.env(jdk::OTHER, vm);
    }
    // Packages that are named are those to test.
    if !arguments.iter().any(|argument| argument == "-p" || argument.starts_with("--package")) {
        cargo.arg("--workspace");
    }
    let status = cargo
        .args(["--profile", "checked"])
        .args(arguments)
        .current_dir(workspace_root())
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if status.success() { Ok(()) } else { Err("tests failed".to_owned()) }
}

/// Takes an option and its value out of the arguments for Cargo, before which they stand.
fn take(arguments: &mut Vec<String>, option: &str) -> Option<String> {
    let ours = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let at = arguments[..ours].iter().position(|argument| argument == option)?;
    (at + 1 < ours).then(|| arguments.drain(at..at + 2).next_back())?
}

/// Has Cargo, and the tests that it runs, compile for another machine than this one.
fn build_for(machine: &Machine, cargo: &mut Command) -> Result<(), String> {
    machine.can_be_tested()?;
    let compiler = machine.compiler();
    cargo.env("CARGO_BUILD_TARGET", machine.target).env("CC", &compiler);
    cargo.env(machine.cargo_variable("LINKER"), &compiler);
    if let Some(emulator) = machine.emulator() {
        let runner = format!("{emulator} -L {}", machine.root());
        cargo.env(machine.cargo_variable("RUNNER"), runner);
        // Programs that tests start in it have these, too.
        cargo.env("QEMU_LD_PREFIX", machine.root()).env("QEMU_RESERVED_VA", ADDRESS_SPACE);
        cargo.env(EMULATOR, emulator);
    }
    Ok(())
}
