//! `cargo xtask models`: runs the models, in which the shim's own code runs without a JVM, with many schedules.

use std::process::Command;

use compat_tests::workspace_root;

use crate::cases::test_program;

/// Runs the models whose names, below `models`, contain one of the arguments; all if there is none.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut names: Vec<_> = arguments.iter().map(|name| format!("models::{name}")).collect();
    if names.is_empty() {
        names.push("models::".to_owned());
    }
    let program = test_program("shim/src/lib.rs", &["--lib", "--features", "jvmpi-shim/model"])?;
    let mut models = Command::new(&program);
    let status = models.args(names).current_dir(workspace_root().join("shim")).status();
    let status = status.map_err(|e| format!("{}: {e}", program.display()))?;
    if status.success() { Ok(()) } else { Err("a model has failed".to_owned()) }
}
