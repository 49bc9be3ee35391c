//! `cargo xtask test`: every test of the workspace, on every JDK that can be had.

use std::env;
use std::process::Command;

use compat_tests::machine::{EMULATOR, Machine};
use compat_tests::{jdk, workspace_root};

const MACHINE: &str = "--machine";

/// Fetches the JDKs and runs `cargo test`, built as the library is that the compatibility tests load:
/// optimized, with debug assertions.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (machine, arguments) = match arguments {
        [first, name, rest @ ..] if first == MACHINE => (Some(name.clone()), rest),
        _ => (None, arguments),
    };
    let machine = crate::jdk::machine(machine)?;
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

/// Has Cargo, and the tests that it runs, compile for another machine than this one.
fn build_for(machine: &Machine, cargo: &mut Command) -> Result<(), String> {
    let compiler = format!("{}gcc", machine.tools);
    for tool in [Some(compiler.clone()), machine.emulator()].into_iter().flatten() {
        if Command::new(&tool).arg("--version").output().is_err() {
            return Err(format!("no {tool}: apt-get install {}", machine.packages));
        }
    }
    let variable = |what: &str| {
        let target = machine.target.to_uppercase().replace('-', "_");
        format!("CARGO_TARGET_{target}_{what}")
    };
    cargo.env("CARGO_BUILD_TARGET", machine.target).env("CC", &compiler);
    cargo.env(variable("LINKER"), &compiler);
    if let Some(emulator) = machine.emulator() {
        cargo.env(variable("RUNNER"), format!("{emulator} -L {}", machine.root()));
        cargo.env(EMULATOR, emulator);
    }
    Ok(())
}
