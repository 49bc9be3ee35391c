//! `cargo xtask test`: runs the tests of the workspace, on one JDK or on every JDK that can be downloaded.

use compat_tests::jdk;
use compat_tests::machine::Machine;

use crate::{cross, models, skips};

const VM: &str = "--vm";
/// Selects every JDK and collector.
const ALL: &str = "--all";
/// The package whose tests need JVMs.
const CASES: &str = "compat-tests";

/// Runs `cargo test` with the profile of the library that the compatibility tests load: optimized, with debug
/// assertions. Without arguments it runs the models too. With `--all`, or for another machine, the cases run on every
/// JDK, and missing JDKs are downloaded, except the newer ones that need a C library of their own. With `--vm` they run
/// on that JVM, which is downloaded if it is named by its version. Otherwise they run on the installed JDK with G1.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let machine = cross::machine(&mut arguments)?;
    let vm = cross::take(&mut arguments, VM);
    // Cargo tests only the packages that the user names.
    let every_jdk = cross::take_flag(&mut arguments, ALL) || !machine.is_this();
    let is_named = |argument: &String| argument == "-p" || argument.starts_with("--package");
    let are_all = !arguments.iter().any(is_named);
    let needs_jvms = are_all || arguments.iter().any(|argument| argument.contains(CASES));
    if needs_jvms && (every_jdk || jdk::usual().is_none()) {
        fetch_jdks(machine)?;
    }
    // The models do not depend on the machine.
    let with_models = arguments.is_empty() && machine.is_this();
    let mut cargo = cross::cargo(machine)?;
    if !every_jdk {
        cargo.env(jdk::ONLY_USUAL, "1");
    }
    cargo.arg("test");
    if let Some(vm) = vm {
        if let Ok(feature) = vm.parse() {
            jdk::fetch_named(machine, &[feature])?;
        }
        jdk::other(&vm)?;
        cargo.env(jdk::OTHER, vm);
    }
    if are_all {
        cargo.arg("--workspace");
        // xtask builds for other machines; it runs only on this one.
        cargo.args(if machine.is_this() { &[][..] } else { &["--exclude", "xtask"] });
    }
    skips::run(cargo.args(["--profile", "checked"]).args(arguments))?;
    if with_models { models::run(&[]) } else { Ok(()) }
}

/// Downloads the machine's JDKs. Fails only if no JDK is installed afterwards.
fn fetch_jdks(machine: &'static Machine) -> Result<(), String> {
    if let Err(why) = jdk::fetch(machine) {
        if jdk::found_for(machine).is_empty() {
            return Err(why);
        }
        eprintln!("warning: {why}\nwarning: tests on the JDKs that are missing will be skipped");
    }
    Ok(())
}
