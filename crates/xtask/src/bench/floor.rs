//! The floor agents and their workloads: what the work itself costs over JVMTI, and programs that
//! check their own results. They are no part of this repository.

use std::path::PathBuf;

use compat_tests::{build, workspace_root};

/// Where they lie: the folder that the variable `JVMPI_FLOOR` names, or `shared/floor` beside the
/// repository.
fn directory() -> Result<PathBuf, String> {
    let directory = match std::env::var_os("JVMPI_FLOOR") {
        Some(directory) => PathBuf::from(directory),
        None => workspace_root().join("../shared/floor"),
    };
    if directory.join("agents/floor.h").is_file() {
        return Ok(directory);
    }
    Err(format!("no floor agents in {}; JVMPI_FLOOR names their folder", directory.display()))
}

/// The floor agent of this name, compiled.
pub fn agent(name: &str) -> Result<PathBuf, String> {
    let source = directory()?.join("agents").join(name).with_extension("c");
    let output = build::output_dir().join("floor").join(format!("libfloor-{name}.so"));
    build::c(&source, &output, &[], &["-std=c99", "-O2", "-fPIC", "-shared"], &[])
}

/// The class path of the floor workloads.
pub fn classes() -> Result<String, String> {
    let output = build::output_dir().join("floor/classes");
    build::java(&directory()?.join("workloads"), &output, 11, &[])
}
