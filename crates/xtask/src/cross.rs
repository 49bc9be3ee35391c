//! Cargo and its programs for another machine than this one.

use std::env;
use std::process::Command;

use compat_tests::machine::{EMULATOR, Machine};
use compat_tests::{jdk, workspace_root};

const MACHINE: &str = "--machine";
/// The address space of an emulated program. qemu keeps books of each page, and takes more memory than there is
/// for the terabytes that the buffer of a dump reserves where it can.
const ADDRESS_SPACE: &str = "8G";

/// The machine that the arguments name, which is taken out of them, or this one.
///
/// # Errors
/// If nothing is known of it.
pub fn machine(arguments: &mut Vec<String>) -> Result<&'static Machine, String> {
    crate::jdk::machine(take(arguments, MACHINE))
}

/// Takes an option and its value out of the arguments for a program, before which they stand.
pub fn take(arguments: &mut Vec<String>, option: &str) -> Option<String> {
    let ours = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let at = arguments[..ours].iter().position(|argument| argument == option)?;
    (at + 1 < ours).then(|| arguments.drain(at..at + 2).next_back())?
}

/// Cargo, which compiles for the machine and runs what it has compiled.
///
/// # Errors
/// If a tool is missing that this needs.
pub fn cargo(machine: &Machine) -> Result<Command, String> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace_root());
    if machine.is_this() {
        return Ok(cargo);
    }
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
    Ok(cargo)
}

/// Runs a command of `cargo xtask` as a program of the machine, whose JVMs it then finds.
///
/// # Errors
/// If it fails.
pub fn run(machine: &Machine, command: &str, arguments: &[String]) -> Result<(), String> {
    jdk::fetch(machine)?;
    let status = cargo(machine)?
        .args(["run", "--quiet", "--package", "xtask", "--profile", "checked", "--", command])
        .args(arguments)
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command} failed on {}", machine.name)) }
}
