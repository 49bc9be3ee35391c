//! `cargo xtask conformance`: runs the conformance suite on the current build, and maintains the suite.

use compat_tests::conformance::{self as suite, compiled, places, workers};
use compat_tests::jdk::Gc;
use compat_tests::machine::Machine;
use compat_tests::{build, workspace_root};
use jvmpi_conformance::manifest::Manifest;
use jvmpi_conformance::run::{Implementation, PATIENCE, Shard, run_all};
use jvmpi_conformance::{document, mutation, report};
use std::fs;
use std::path::PathBuf;

use crate::cross;

/// Runs the suite on every JVM with every collector, or on those that the arguments name: `jdk17`, `zero`, `g1`.
///
/// `--mutate` removes each function and each event in turn, or only those named after it. `--document` writes
/// `docs/reference/conformance.md`. `--workloads` compiles the programs. `--machine` selects another machine's JVMs.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let machine = cross::machine(&mut arguments)?;
    if !machine.is_this() {
        return cross::run(machine, "conformance", &arguments);
    }
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--workloads") {
        return suite::compile_workloads(&suite_directory().join("workloads.jar"));
    }
    let manifest = Manifest::of_the_suite();
    if has("--document") {
        let path = workspace_root().join("docs/reference/conformance.md");
        return fs::write(&path, document::page(&manifest))
            .map_err(|error| format!("{}: {error}", path.display()));
    }
    if has("--mutate") {
        return mutate(&manifest, &arguments);
    }
    tried(&manifest, &arguments)
}

fn suite_directory() -> PathBuf {
    workspace_root().join("crates/conformance/suite")
}

fn tried(manifest: &Manifest, arguments: &[String]) -> Result<(), String> {
    let unknown = |argument: &&String| {
        let is_gc = Gc::ALL.iter().any(|gc| gc.name() == *argument);
        !is_gc && *argument != "zero" && !argument.starts_with("jdk")
    };
    if let Some(argument) = arguments.iter().find(unknown) {
        return Err(format!(
            "{argument} is neither a JDK such as jdk17, nor zero, nor a collector"
        ));
    }
    let named = |names: &[String]| names.iter().any(|name| arguments.contains(name));
    let jvms: Vec<_> =
        Machine::this().jdks.iter().map(|(feature, _)| format!("jdk{feature}")).collect();
    let some_jvms = named(&jvms) || arguments.iter().any(|argument| argument == "zero");
    let gcs: Vec<_> = Gc::ALL.iter().map(|gc| gc.name().to_owned()).collect();
    let wanted = |name: &str| {
        let (jvm, gc) = name.split_once('/').unwrap_or((name, ""));
        let jvm = if jvm.ends_with("-zero") { "zero".to_owned() } else { format!("jdk{jvm}") };
        (!some_jvms || arguments.contains(&jvm))
            && (!named(&gcs) || arguments.iter().any(|argument| argument == gc))
    };
    let places: Vec<_> = places().into_iter().filter(|place| wanted(&place.name)).collect();
    let implementation =
        Implementation { library: build::shim()?, between: None, patience: PATIENCE };
    let progress = |line: &str| println!("{line}");
    let results =
        run_all(manifest, compiled()?, &places, &implementation, Shard::ALL, workers(), &progress);
    print!("{}", report::matrix(&results));
    let directory = build::output_dir().join("conformance");
    for (name, text) in [
        ("results.json", results.to_json(manifest)),
        ("results.xml", report::junit(manifest, &results)),
        ("results.html", report::page(manifest, &results)),
    ] {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    println!("results.json, results.xml and results.html are in {}", directory.display());
    if results.is_good() { Ok(()) } else { Err("some cases failed, or no case was run".into()) }
}

fn mutate(manifest: &Manifest, arguments: &[String]) -> Result<(), String> {
    let all = mutation::items();
    let named: Vec<_> = all.iter().filter(|item| arguments.contains(item)).cloned().collect();
    let items = if named.is_empty() { &all } else { &named };
    let noticed = suite::mutated(manifest, items)?;
    print!("{}", mutation::table(&noticed));
    let faults = mutation::faults(&noticed).len();
    if faults == 0 { Ok(()) } else { Err(format!("{faults} mutations were missed by some case")) }
}
