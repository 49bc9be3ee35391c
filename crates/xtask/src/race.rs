//! `cargo xtask race`: what runs without a VM and on several threads, under ThreadSanitizer.

use std::process::Command;

use compat_tests::workspace_root;

/// The unit tests of the shim's `world`, and the thread-local data of agents in Rust.
const TESTS: [&[&str]; 2] = [
    &["--package", "jvmpi-shim", "--lib", "--", "world::"],
    &["--package", "jvmpi", "--test", "thread_local_race", "--"],
];

/// Runs the tests under the sanitizer, with a standard library that is built for it too: otherwise all that
/// is behind std's locks would look unordered. A stable compiler can do that where it is allowed what
/// nightly ones are.
pub fn run(arguments: &[String]) -> Result<(), String> {
    TESTS.iter().try_for_each(|tests| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["test", "-Zbuild-std", "--target", "x86_64-unknown-linux-gnu"])
            .args(["--target-dir", "target/race"])
            .args(*tests)
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
    })
}
