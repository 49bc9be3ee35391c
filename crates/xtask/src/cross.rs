//! Runs Cargo and commands of xtask for another machine.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use compat_tests::build::LIBRARY;
use compat_tests::machine::{ALL, EMULATOR, FORMATS, Machine, TESTED};
use compat_tests::tool::run;
use compat_tests::{jdk, target_dir, workspace_root};

use crate::product::usual_linker;

const MACHINE: &str = "--machine";
/// The address space of an emulated program, in KiB. qemu tracks each page, so the terabytes that the buffer of a
/// dump reserves would need more memory than there is. qemu's own limit (`QEMU_RESERVED_VA`) cannot be used, because
/// it moves the program to addresses that differ from those in `/proc/self/mem`.
const ADDRESS_SPACE: u32 = 32 << 20;

/// Removes `--machine NAME` from the arguments and returns that machine, or this machine by default.
///
/// # Errors
/// Fails if the name is unknown, and lists the known names.
pub fn machine(arguments: &mut Vec<String>) -> Result<&'static Machine, String> {
    let Some(name) = take(arguments, MACHINE) else { return Ok(Machine::this()) };
    Machine::named(&name).ok_or_else(|| {
        let names: Vec<_> = ALL.iter().map(|machine| machine.name).collect();
        format!("unknown machine {name}; use one of {}", names.join(", "))
    })
}

/// Removes an option and its value from the arguments in front of `--`.
pub fn take(arguments: &mut Vec<String>, option: &str) -> Option<String> {
    let ours = ours(arguments);
    let joined = format!("{option}=");
    if let Some(at) = arguments[..ours].iter().position(|argument| argument.starts_with(&joined)) {
        return Some(arguments.remove(at)[joined.len()..].to_owned());
    }
    let at = arguments[..ours].iter().position(|argument| argument == option)?;
    (at + 1 < ours).then(|| arguments.drain(at..at + 2).next_back())?
}

/// Removes an option without a value. Returns true if it was there.
pub fn take_flag(arguments: &mut Vec<String>, flag: &str) -> bool {
    let at = arguments[..ours(arguments)].iter().position(|argument| argument == flag);
    at.map(|at| arguments.remove(at)).is_some()
}

/// Fails if an argument is left that the command does not know.
pub fn finish(arguments: &[String]) -> Result<(), String> {
    arguments.first().map_or(Ok(()), |argument| Err(format!("unknown argument {argument}")))
}

/// Returns the number of arguments in front of `--`.
fn ours(arguments: &[String]) -> usize {
    arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len())
}

/// Returns a Cargo command that compiles for the machine and runs the result.
///
/// # Errors
/// Fails if a required tool is missing.
pub fn cargo(machine: &Machine) -> Result<Command, String> {
    let this = compat_tests::cargo();
    if machine.is_this() {
        return Ok(this);
    }
    let mut cargo = tester(machine, this.get_program())?;
    cargo.current_dir(workspace_root());
    Ok(cargo)
}

/// Returns a command that runs a program of this machine, which compiles for the other machine and starts its programs.
///
/// # Errors
/// Fails if a required tool is missing.
pub fn tester(machine: &Machine, program: &OsStr) -> Result<Command, String> {
    machine.can_be_tested()?;
    let mut command = match machine.emulator() {
        Some(emulator) => where_it_is_known(machine, &emulator, program),
        None => Command::new(program),
    };
    compiles(machine, &mut command)?;
    command.env(TESTED, machine.name);
    Ok(command)
}

/// Makes a program compile for the machine.
fn compiles(machine: &Machine, program: &mut Command) -> Result<(), String> {
    program.env("CARGO_BUILD_TARGET", machine.target).env("CC", machine.compiler());
    program.env(machine.cargo_variable("LINKER"), usual_linker(machine)?);
    if machine.is_windows()
        && let Some(jdk) = jdk::found_for(machine).into_values().next()
    {
        // The tests of packages run in Wine, which the runtime for Windows brings with it.
        program.env(machine.cargo_variable("RUNNER"), jdk.home.join("bin/wine"));
    }
    Ok(())
}

/// Returns a command that runs a program so that it and its children can start programs of the machine, through the
/// emulator.
///
/// If the system does not know the emulator (Debian's qemu-user-binfmt registers it), the program runs in a namespace
/// of its own in which the emulator is registered.
fn where_it_is_known(machine: &Machine, emulator: &str, program: &OsStr) -> Command {
    let run = format!("ulimit -v {ADDRESS_SPACE}; exec \"$@\"");
    let mut command = if Path::new(FORMATS).join(emulator).exists() {
        let mut shell = Command::new("sh");
        shell.args(["-c", &run, "sh"]);
        shell
    } else {
        let script = format!(
            "{{ {}; }} ||
             {{ echo 'error: cannot create a namespace for {emulator}, which needs Linux 6.7; or apt-get install qemu-user-binfmt' >&2; exit 1; }}
             {run}",
            machine.registration(emulator)
        );
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
        unshare
    };
    command.arg(program).env("QEMU_LD_PREFIX", machine.root()).env(EMULATOR, emulator);
    // Before version 8, glib's allocator in the emulator could deadlock in the child of a process with several
    // threads, if another thread allocated during the fork.
    command.env("G_SLICE", "always-malloc");
    command
}

/// Runs a command of `cargo xtask` that tests the library on the machine's JVMs.
///
/// # Errors
/// Fails if the command fails.
pub fn xtask(machine: &Machine, command: &str, arguments: &[String]) -> Result<(), String> {
    machine.can_be_tested()?;
    jdk::fetch(machine)?;
    let library = match env::var_os(LIBRARY) {
        Some(library) => library.into(),
        None => {
            // The command would compile the whole workspace for the machine.
            let mut build = compat_tests::cargo();
            compiles(machine, &mut build)?;
            build.args(["build", "--quiet", "--package", "jvmpi-shim", "--profile", "checked"]);
            run(&mut build)?;
            target_dir().join(machine.target).join("checked").join(machine.library("jvmpi"))
        }
    };
    let this = env::current_exe().map_err(|e| format!("xtask: {e}"))?;
    let status = tester(machine, this.as_os_str())?
        .env(LIBRARY, library)
        .arg(command)
        .args(arguments)
        .status()
        .map_err(|e| format!("{}: {e}", this.display()))?;
    if status.success() { Ok(()) } else { Err(format!("{command} failed on {}", machine.name)) }
}
