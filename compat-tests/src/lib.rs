//! What the compatibility tests, and the demo and benchmarks of `cargo xtask`, are made of: JDKs,
//! compiled agents and workloads, JVM runs, and the reports that agents write.

use std::path::{Path, PathBuf};

pub mod build;
pub mod conformance;
pub mod debian;
pub mod hangs;
pub mod hung;
pub mod jdk;
pub mod machine;
mod patience;
pub mod programs;
pub mod report;
pub mod run;
pub mod soak;
pub mod spinning;
pub mod stacks;
pub mod watchdog;

/// The root of the workspace, where `jvmpi.h` lies.
#[must_use]
pub fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace")
}

/// Cargo's target directory, in which everything that is compiled or written here goes.
#[must_use]
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => workspace_root().join(dir),
        None => workspace_root().join("target"),
    }
}

/// Where Cargo puts what it compiles, in a folder for each profile, and where everything else goes that is for
/// the machine: the target directory, or the folder in it of the target for which `CARGO_BUILD_TARGET` has all
/// programs compiled.
#[must_use]
pub fn machine_dir() -> PathBuf {
    target_dir().join(std::env::var_os("CARGO_BUILD_TARGET").unwrap_or_default())
}

/// The path as text.
///
/// # Errors
/// If it is not UTF-8: the JVM's options are passed as text here.
pub fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))
}
