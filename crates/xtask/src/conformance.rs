//! `cargo xtask conformance`: runs the conformance suite on the current build, and maintains the suite.

use compat_tests::conformance::{self as suite, compiled, places, workers};
use compat_tests::jdk::Gc;
use compat_tests::machine::Machine;
use compat_tests::{build, jdk, workspace_root};
use jvmpi_conformance::manifest::Manifest;
use jvmpi_conformance::results::Results;
use jvmpi_conformance::run::{Implementation, PATIENCE, run_all};
use jvmpi_conformance::tried::Tried;
use jvmpi_conformance::{mutation, report};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cross;

/// Runs the suite on every JVM with every collector, or on those that the arguments name: `jdk17`, `zero`, `g1`.
///
/// `--short` runs the first run of each agent, about half of the suite. `--record` adds the results to the record of tried JVMs. `--mutate` removes each function and each event in turn, or
/// only those named after it. `--document` writes the page of tried JVMs. `--workloads` compiles the programs.
/// `--machine` selects another machine's JVMs.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let machine = cross::machine(&mut arguments)?;
    if !machine.is_this() {
        return cross::xtask(machine, "conformance", &arguments);
    }
    let records = cross::take_flag(&mut arguments, "--record");
    let is_short = !records && cross::take_flag(&mut arguments, "--short");
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--workloads") {
        return suite::compile_workloads(&suite_directory().join("workloads.jar"));
    }
    let mut manifest = Manifest::of_the_suite();
    if has("--document") {
        return document_tried(&Tried::of_the_suite());
    }
    if has("--mutate") {
        return mutate(&manifest, &arguments);
    }
    if is_short {
        let mut seen = HashSet::new();
        manifest.runs.retain(|run| seen.insert(run.agent.clone()));
    }
    tried(&manifest, &arguments, records)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn document_tried(tried: &Tried) -> Result<(), String> {
    write(&workspace_root().join("docs/reference/supported-jvms.md"), &tried.page())
}

/// Adds the results of the whole suite to the record, and documents it.
fn record(results: &Results) -> Result<(), String> {
    let date = Command::new("date").args(["-u", "+%F"]).output();
    let date = date.map_err(|error| format!("date: {error}"))?.stdout;
    let jdks: Vec<_> = suite::jdks().into_iter().chain(jdk::zero()).collect();
    let version = |jvm: &str| {
        let of_it = |jdk: &&jdk::Jdk| Some(&*jdk.name()) == jvm.split('/').next();
        jdks.iter().find(of_it).map(|jdk| jdk.build()).unwrap_or_default()
    };
    // Another run may have added to the file since this program was compiled.
    let path = suite_directory().join("tried.json");
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| failed(&error))?;
    let mut tried: Tried = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    let date = String::from_utf8_lossy(&date);
    tried.add(results, Machine::this().name, date.trim(), version);
    write(&path, &tried.to_json())?;
    document_tried(&tried)
}

fn suite_directory() -> PathBuf {
    workspace_root().join("crates/conformance/suite")
}

fn tried(manifest: &Manifest, arguments: &[String], records: bool) -> Result<(), String> {
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
    let is_jvm = |argument: &String| argument == "zero" || argument.starts_with("jdk");
    let some_jvms = arguments.iter().any(is_jvm);
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
    let results = run_all(manifest, compiled()?, &places, &implementation, workers(), &progress);
    print!("{}", report::matrix(&results));
    let directory = build::output_dir().join("conformance");
    for (name, text) in [
        ("results.json", results.to_json(manifest)),
        ("results.xml", report::junit(manifest, &results)),
        ("results.html", report::page(manifest, &results)),
    ] {
        write(&directory.join(name), &text)?;
    }
    if records {
        record(&results)?;
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
