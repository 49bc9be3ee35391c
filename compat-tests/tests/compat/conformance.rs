//! The conformance suite, each of its runs as a test.

use compat_tests::conformance::{COMPILER, compiled, place, zero};
use jvmpi_conformance::manifest::Manifest;
use jvmpi_conformance::report;
use jvmpi_conformance::results::Results;
use jvmpi_conformance::run::{Implementation, PATIENCE, Place, run_all};
use std::fs;

use crate::prelude::*;

cases![
    every_case.on_every_gc().on_every_jdk(),
    suspension_by_jvmti,
    every_case_on_zero.only(COMPILER),
    the_programs_are_those_of_the_sources.only(COMPILER),
];

fn suite_on(place: Place, manifest: &Manifest) -> Result<(), String> {
    let implementation =
        Implementation { library: build::shim()?, between: None, patience: PATIENCE };
    let places = [place];
    // The tests' harness has a second JVM at work.
    let results: Results = run_all(manifest, compiled()?, &places, &implementation, 1, &|_| {});
    ensure!(results.is_good(), "{}", report::matrix(&results));
    Ok(())
}

fn every_case(vm: &Vm<'_>) -> Result<(), String> {
    suite_on(place(vm.jdk, vm.gc), &Manifest::of_the_suite())
}

/// Suspends threads as JVMTI does, and takes their call traces from it.
fn suspension_by_jvmti(vm: &Vm<'_>) -> Result<(), String> {
    let mut manifest = Manifest::of_the_suite();
    manifest.runs.retain(|run| ["suspension", "traces"].contains(&run.name.as_str()));
    equal("runs", manifest.runs.len(), 2)?;
    for run in &mut manifest.runs {
        run.name.push_str("-by-jvmti");
        run.settings = "suspend=jvmti".to_owned();
    }
    suite_on(place(vm.jdk, vm.gc), &manifest)
}

/// A second implementation of the JVM, where Debian's package of it is installed.
fn every_case_on_zero(_: &Vm<'_>) -> Result<(), String> {
    zero().map_or(Ok(()), |zero| suite_on(zero, &Manifest::of_the_suite()))
}

/// The checked-in classes equal the compiler's output of the sources next to them.
fn the_programs_are_those_of_the_sources(vm: &Vm<'_>) -> Result<(), String> {
    let fresh = vm.file("workloads.jar");
    fs::create_dir_all(fresh.parent().unwrap_or(&fresh)).map_err(|e| e.to_string())?;
    compat_tests::conformance::compile_workloads(&fresh)?;
    let own = compat_tests::workspace_root().join("crates/conformance/suite/workloads.jar");
    let bytes = |path| fs::read(path).map_err(|e| format!("{}: {e}", text(path).unwrap_or("")));
    ensure!(bytes(&own)? == bytes(&fresh)?, "run cargo xtask conformance --workloads");
    Ok(())
}
