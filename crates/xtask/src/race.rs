//! `cargo xtask race`: runs the models, and multithreaded tests that need no VM under ThreadSanitizer.

use compat_tests::cargo;

use crate::models;

/// The unit tests of the shim's modules with shared state, and the test of thread-local data in the crate `jvmpi`.
const TESTS: [&[&str]; 2] = [
    &[
        "--package",
        "jvmpi-shim",
        "--lib",
        "--",
        "classes::",
        "gc::",
        "records::",
        "suspension::",
        "sync::",
        "threads::",
    ],
    &["--package", "jvmpi", "--test", "thread_local_race", "--"],
];

/// Runs the models, and the tests under the sanitizer.
///
/// The standard library is compiled with the sanitizer too; otherwise accesses protected by std's locks would be
/// reported as races. `RUSTC_BOOTSTRAP` lets a stable compiler do this.
pub fn run(arguments: &[String]) -> Result<(), String> {
    models::run(&[])?;
    TESTS.iter().try_for_each(|tests| {
        let status = cargo()
            .args(["test", "-Zbuild-std", "--target", "x86_64-unknown-linux-gnu"])
            .args(["--target-dir", "target/race"])
            .args(*tests)
            .args(arguments)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", "-Zsanitizer=thread")
            .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
            .status()
            .map_err(|e| format!("cargo: {e}"))?;
        if status.success() {
            return Ok(());
        }
        Err("a race was found, a test failed, or the sources of std are missing (rustup component add \
             rust-src)"
            .to_owned())
    })
}
