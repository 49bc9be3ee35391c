//! `cargo xtask test`: every test of the workspace, on every JDK that can be had.

use std::process::Command;

use compat_tests::{jdk, workspace_root};

/// Fetches the JDKs and runs `cargo test`, built as the library is that the compatibility tests load:
/// optimized, with debug assertions.
pub fn run(arguments: &[String]) -> Result<(), String> {
    if let Err(why) = jdk::fetch() {
        if jdk::found().is_empty() {
            return Err(why);
        }
        eprintln!("warning: {why}\nwarning: tests on the JDKs that are missing will be skipped");
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "--workspace", "--profile", "checked"])
        .args(arguments)
        .current_dir(workspace_root())
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if status.success() { Ok(()) } else { Err("tests failed".to_owned()) }
}
