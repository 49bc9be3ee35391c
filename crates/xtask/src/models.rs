//! `cargo xtask models`: runs the models, in which the shim's own code runs without a JVM, with many schedules.

use std::process::Command;

use compat_tests::workspace_root;

use crate::cases::test_program;

/// The packages whose tests would be compiled with the stand-in, too, but are not run here.
const WITHOUT: [&str; 5] =
    ["compat-tests", "jvmpi-conformance", "jvmpi-hprof", "jvmpi-jvm", "jvmpi-layers"];

/// Optimizing takes longer than the models.
const LESS_OPTIMIZED: [&str; 4] = [
    "profile.checked.package.jvmpi-jvm.opt-level=1",
    "profile.checked.package.jvmpi-jvm.debug=false",
    "profile.checked.package.jvmpi-shim.opt-level=1",
    "profile.checked.package.jvmpi-shim.debug=false",
];

/// Runs the models whose names, below `models`, contain one of the arguments; all if there is none.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut names: Vec<_> = arguments.iter().map(|name| format!("models::{name}")).collect();
    if names.is_empty() {
        names.push("models::".to_owned());
    }
    let mut build = vec!["--lib", "--features", "jvmpi-shim/model"];
    build.extend(WITHOUT.iter().flat_map(|package| ["--exclude", package]));
    build.extend(LESS_OPTIMIZED.iter().flat_map(|setting| ["--config", setting]));
    let program = test_program("shim/src/lib.rs", &build)?;
    let mut models = Command::new(&program);
    let status = models.args(names).current_dir(workspace_root().join("shim")).status();
    let status = status.map_err(|e| format!("{}: {e}", program.display()))?;
    if status.success() { Ok(()) } else { Err("a model has failed".to_owned()) }
}
