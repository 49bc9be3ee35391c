//! `cargo xtask test`: runs the tests of the workspace, on one JDK, on those that a landing needs, or on all.

use compat_tests::machine::Machine;
use compat_tests::{changes, jdk};

use crate::{cases, cross, models, skips};

const VM: &str = "--vm";
/// Selects every JDK and collector, and the tests of paths that have not changed.
const ALL: &str = "--all";
/// Selects what a landing runs after the same command without this option.
const LANDING: &str = "--landing";
/// The package whose tests need JVMs, and its program that runs them.
const CASES: &str = "compat-tests";
const PROGRAM: &str = "compat";

/// The packages whose tests run in Wine. Other tests start programs of Linux, or JVMs as the conformance suite does.
const IN_WINE: [&str; 7] = [
    "--package=jvmpi-cli",
    "--package=jvmpi-formats",
    "--package=jvmpi-jvm",
    "--no-default-features",
    "--features=jvmpi-cli/conformance",
    "--lib",
    "--bins",
];

/// Runs `cargo test` with the profile of the library that the compatibility tests load: optimized, with debug
/// assertions. Without arguments it runs the models too, and the cases run on the installed JDK with G1. With
/// `--landing` only cases run: those that a landing needs on other JDKs and collectors. With `--all`, or for
/// another machine, they run on every JDK. Missing JDKs are downloaded for both, except the newer ones that need a
/// C library of their own. For Windows the conformance suite runs in place of the cases, unless compat-tests is named.
/// With `--vm` they run on that JVM, which is downloaded if it is named by its version.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let machine = cross::machine(&mut arguments)?;
    let vm = cross::take(&mut arguments, VM);
    let is_landing = cross::take_flag(&mut arguments, LANDING);
    let is_everything = cross::take_flag(&mut arguments, ALL);
    if is_landing {
        arguments.splice(..0, ["--test", PROGRAM].map(str::to_owned));
    }
    // Cargo tests only the packages that the user names.
    let every_jdk = is_everything || is_landing || !machine.is_this();
    let is_named = |argument: &String| argument == "-p" || argument.starts_with("--package");
    let are_all = !arguments.iter().any(is_named);
    let needs_jvms = are_all || arguments.iter().any(|argument| argument.contains(CASES));
    if needs_jvms && (every_jdk || jdk::usual().is_none()) {
        fetch_jdks(machine)?;
    }
    if machine.is_windows() && needs_jvms && !are_all {
        let at = arguments.iter().position(|argument| argument == "--");
        return cases::run_for(machine, at.map_or(&[], |at| &arguments[at + 1..]));
    }
    // The models do not depend on the machine.
    let with_models = arguments.is_empty() && machine.is_this();
    let mut cargo = cross::cargo(machine)?;
    if is_landing {
        cargo.env(jdk::LANDING, changes::commit().unwrap_or_default());
    } else if !every_jdk {
        cargo.env(jdk::ONLY_USUAL, "1");
    }
    if is_everything {
        cargo.env(changes::IGNORED, "1").env("CLASSFILE_CORPUS", "20");
    }
    cargo.arg("test");
    if let Some(vm) = vm {
        if machine.runtimes().any(|(name, _)| name == vm) {
            jdk::fetch_named(machine, std::slice::from_ref(&vm))?;
        }
        jdk::other(&vm)?;
        cargo.env(jdk::OTHER, vm);
    }
    if are_all {
        cargo.args(match machine.name {
            _ if machine.is_this() => &["--workspace"][..],
            "windows" => &IN_WINE,
            // xtask builds for other machines; it runs only on this one.
            _ => &["--workspace", "--exclude", "xtask"],
        });
        if machine.is_windows() {
            cross::xtask(
                machine,
                "conformance",
                &["jdk17", "jdk25", "g1", "serial"].map(str::to_owned),
            )?;
        }
    }
    eprintln!("Compiling everything, then running the tests of each package:");
    skips::run(cargo.args(["--profile", "checked"]).args(arguments))?;
    if with_models {
        eprintln!("\nModels of the locks and waits of libjvmpi.so:");
        models::run(&[])?;
    }
    Ok(())
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
