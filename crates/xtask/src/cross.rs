//! Cargo and its programs for another machine than this one.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use compat_tests::machine::{EMULATOR, FORMATS, Machine};
use compat_tests::{jdk, workspace_root};

const MACHINE: &str = "--machine";
/// The address space of an emulated program in KiB. qemu keeps books of each page, and takes more memory than there
/// is for the terabytes that the buffer of a dump reserves where it can. Its own limit (`QEMU_RESERVED_VA`) would
/// move the program to other addresses than `/proc/self/mem` has.
const ADDRESS_SPACE: u32 = 32 << 20;

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
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    if machine.is_this() {
        let mut cargo = Command::new(program);
        cargo.current_dir(workspace_root());
        return Ok(cargo);
    }
    machine.can_be_tested()?;
    let mut cargo = match machine.emulator() {
        Some(emulator) => where_it_is_known(machine, &emulator, &program),
        None => Command::new(program),
    };
    let compiler = machine.compiler();
    cargo.env("CARGO_BUILD_TARGET", machine.target).env("CC", &compiler);
    cargo.env(machine.cargo_variable("LINKER"), &compiler).current_dir(workspace_root());
    Ok(cargo)
}

/// A program that starts, as do those that it starts, programs of the machine as if they were of this one: the
/// system has the emulator run them. Where the system does not know the emulator (Debian's qemu-user-binfmt tells
/// it), the program is told of it, and nobody else: it gets a namespace of its own.
fn where_it_is_known(machine: &Machine, emulator: &str, program: &OsStr) -> Command {
    let run = format!("ulimit -v {ADDRESS_SPACE}; exec \"$@\"");
    let mut command = if Path::new(FORMATS).join(emulator).exists() {
        let mut shell = Command::new("sh");
        shell.args(["-c", &run, "sh"]);
        shell
    } else {
        let script = format!(
            "{{ {}; }} ||
             {{ echo 'error: no namespace that knows {emulator}, which takes Linux 6.7: apt-get install qemu-user-binfmt' >&2; exit 1; }}
             {run}",
            machine.registration(emulator)
        );
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
        unshare
    };
    command.arg(program).env("QEMU_LD_PREFIX", machine.root()).env(EMULATOR, emulator);
    // Before version 8 the emulator allocates in a way that no child of a process with several threads survives, if
    // another thread allocates while it is forked.
    command.env("G_SLICE", "always-malloc");
    command
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
