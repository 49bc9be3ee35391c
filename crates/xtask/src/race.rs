//! `cargo xtask race`: what of the shim runs without a VM, under ThreadSanitizer.

use std::process::Command;

use compat_tests::workspace_root;

/// Runs the unit tests of the shim's `world` under the sanitizer, with a standard library that is built
/// for it too: otherwise all that is behind std's locks would look unordered. A stable compiler can do
/// that where it is allowed what nightly ones are.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "-Zbuild-std", "--package", "jvmpi-shim", "--lib"])
        .args(["--target", "x86_64-unknown-linux-gnu", "--target-dir", "target/race"])
        // The sanitizer delivers signals late.
        .args(["--", "world::", "--skip", "interruption"])
        .args(arguments)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=thread")
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .current_dir(workspace_root())
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if status.success() {
        return Ok(());
    }
    Err("there are races, a test failed, or std's sources are missing, which `rustup component add \
         rust-src` fetches"
        .to_owned())
}
