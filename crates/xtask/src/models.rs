//! `cargo xtask models`: runs the models, in which the shim's own code runs without a JVM, with many schedules.

use compat_tests::cargo;

/// Runs the models whose names, below `models`, contain one of the arguments; all if there is none.
///
/// They have a target directory of their own, because the flag applies to all packages.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut names: Vec<_> = arguments.iter().map(|name| format!("models::{name}")).collect();
    if names.is_empty() {
        names.push("models::".to_owned());
    }
    let status = cargo()
        .args(["test", "--package", "jvmpi-shim", "--lib", "--target-dir", "target/models", "--"])
        .args(names)
        .env("RUSTFLAGS", "--cfg model")
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if status.success() { Ok(()) } else { Err("a model has failed".to_owned()) }
}
