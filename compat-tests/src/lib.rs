//! The parts of the compatibility tests, and of the demo and benchmarks of `cargo xtask`: JDKs, compiled
//! agents and workloads, JVM runs, and the reports that agents write.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

pub mod build;
pub mod case;
pub mod changes;
#[cfg(feature = "conformance")]
pub mod conformance;
mod cpu_timeout;
pub mod debian;
pub mod echo;
pub mod hung;
pub mod jdk;
pub mod machine;
pub mod programs;
pub mod python;
pub mod report;
pub mod run;
pub mod soak;
pub mod spinning;
pub mod sql;
mod stacks;
pub mod tool;

/// Returns the root of the workspace, the folder of `jvmpi.h`. It is the workspace of the package that Cargo runs,
/// so a copied checkout tests itself. Without Cargo, it is the workspace in which this program was compiled.
pub fn workspace_root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let running = std::env::var_os(MANIFEST_DIR).map(PathBuf::from);
        let compiled = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = running.as_deref().and_then(root_above).or_else(|| root_above(compiled));
        root.expect("the crate lies in the workspace").to_owned()
    });
    &ROOT
}

/// Cargo sets this variable to the folder of the package whose program it runs.
pub const MANIFEST_DIR: &str = "CARGO_MANIFEST_DIR";

fn root_above(directory: &Path) -> Option<&Path> {
    let is_root = |path: &&Path| path.join("jvmpi.h").is_file() && path.join("shim").is_dir();
    directory.ancestors().find(is_root)
}

/// Returns a call of the Cargo that runs this program, in the workspace's root. It does not inherit the variables that
/// describe this program's package: build scripts that read them, such as that of `ring`, would run again for each
/// package that calls Cargo.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(describes_a_package) {
            cargo.env_remove(name);
        }
    }
    cargo.current_dir(workspace_root());
    cargo
}

fn describes_a_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| variable.starts_with(prefix))
}

/// Returns Cargo's target directory, which gets all compiled and written files.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => workspace_root().join(dir),
        None => workspace_root().join("target"),
    }
}

/// Returns the folder of the files that depend on the machine: Cargo's folders of the profiles, and others. It is
/// the target directory, or its subfolder `CARGO_BUILD_TARGET` if that variable is set.
pub fn machine_dir() -> PathBuf {
    target_dir().join(std::env::var_os("CARGO_BUILD_TARGET").unwrap_or_default())
}

/// Returns the text of a file.
pub fn contents(path: impl AsRef<Path>) -> Result<String, String> {
    let path = path.as_ref();
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Returns the path as text.
pub fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn root_is_found_above_each_package_of_a_copy() {
        let copy = std::env::temp_dir().join(format!("jvmpi-root-{}", std::process::id()));
        let packages = ["compat-tests", "crates/xtask"].map(|package| copy.join(package));
        packages.iter().for_each(|package| fs::create_dir_all(package).unwrap());
        assert_eq!(root_above(&packages[0]), None);
        fs::create_dir(copy.join("shim")).unwrap();
        fs::write(copy.join("jvmpi.h"), "").unwrap();
        for package in &packages {
            assert_eq!(root_above(package), Some(&*copy));
        }
        fs::remove_dir_all(&copy).unwrap();
    }
}
