//! `cargo xtask race`: what of the shim runs without a VM, under ThreadSanitizer.

use std::process::Command;

use compat_tests::workspace_root;

/// Runs the unit tests of the shim's `world` under the sanitizer. A stable compiler has it too, but
/// the standard library comes compiled without it; what that synchronizes is told it in `race.supp`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let root = workspace_root();
    let suppressions = root.join("crates/xtask/src/race.supp");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "--package", "jvmpi-shim", "--lib"])
        .args(["--target", "x86_64-unknown-linux-gnu", "--target-dir", "target/race"])
        // The sanitizer delivers signals late.
        .args(["--", "world::", "--skip", "interruption"])
        .args(arguments)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer")
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .env("TSAN_OPTIONS", format!("suppressions={}", suppressions.display()))
        .current_dir(root)
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if status.success() { Ok(()) } else { Err("there are races, or a test failed".to_owned()) }
}
