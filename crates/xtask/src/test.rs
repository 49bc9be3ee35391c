//! `cargo xtask test`: every test of the workspace, on every JDK that can be had.

use compat_tests::jdk;
use compat_tests::machine::Machine;

use crate::cross;

const VM: &str = "--vm";
/// The package that needs JVMs.
const CASES: &str = "compat-tests";

/// Fetches the JDKs and runs `cargo test`, built as the library is that the compatibility tests load:
/// optimized, with debug assertions.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let machine = cross::machine(&mut arguments)?;
    let vm = cross::take(&mut arguments, VM);
    // Packages that are named are those to test.
    let is_named = |argument: &String| argument == "-p" || argument.starts_with("--package");
    let are_all = !arguments.iter().any(is_named);
    if are_all || arguments.iter().any(|argument| argument.contains(CASES)) {
        fetch_jdks(machine)?;
    }
    let mut cargo = cross::cargo(machine)?;
    cargo.arg("test");
    if let Some(vm) = vm {
        jdk::other(&vm)?;
        cargo.env(jdk::OTHER, vm);
    }
    if are_all {
        cargo.arg("--workspace");
        // It builds, which is for this machine.
        cargo.args(if machine.is_this() { &[][..] } else { &["--exclude", "xtask"] });
    }
    let status = cargo
        .args(["--profile", "checked"])
        .args(arguments)
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if status.success() { Ok(()) } else { Err("tests failed".to_owned()) }
}

/// Fetches the machine's JDKs; that some can't be had is no error.
fn fetch_jdks(machine: &'static Machine) -> Result<(), String> {
    if let Err(why) = jdk::fetch(machine) {
        if jdk::found_for(machine).is_empty() {
            return Err(why);
        }
        eprintln!("warning: {why}\nwarning: tests on the JDKs that are missing will be skipped");
    }
    Ok(())
}
