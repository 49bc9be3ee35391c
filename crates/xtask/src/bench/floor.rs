//! Floor agents and their workloads. A floor agent does the minimal work for an event over JVMTI. A workload checks its
//! own results. They are not part of this repository.

use std::path::PathBuf;

use compat_tests::build;

/// Returns the folder of the floor agents.
fn directory() -> Result<PathBuf, String> {
    let directory = std::env::var_os("JVMPI_FLOOR").map(PathBuf::from).unwrap_or_default();
    if directory.join("agents/floor.h").is_file() {
        return Ok(directory);
    }
    Err(format!("no floor agents in {}; set JVMPI_FLOOR to their folder", directory.display()))
}

/// Compiles the floor agent of this name.
pub fn agent(name: &str) -> Result<PathBuf, String> {
    let source = directory()?.join("agents").join(name).with_extension("c");
    let output = build::output_dir().join("floor").join(format!("libfloor-{name}.so"));
    build::c(&source, &output, &[], &["-std=c99", "-O2", "-fPIC", "-shared"], &[])
}

/// Compiles the workloads and returns their class path.
pub fn classes() -> Result<String, String> {
    let output = build::output_dir().join("floor/classes");
    build::java(&directory()?.join("workloads"), &output, 11, &[])
}
