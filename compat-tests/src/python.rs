//! Packages of the Python package index that tests use.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::jdk;
use crate::tool::tool;

/// The query engine of DuckDB.
pub const DUCKDB: &str = "duckdb==2.0.1";

/// Spark, with its JVM part.
pub const PYSPARK: &str = "pyspark==4.3.0";

/// Returns a command for `python3` that can import these packages. They are downloaded into the user's cache folder once.
pub fn with(packages: &[&str]) -> Result<Command, String> {
    let folders = packages.iter().map(|package| folder(package)).collect::<Result<Vec<_>, _>>()?;
    let path = std::env::join_paths(folders).map_err(|e| e.to_string())?;
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", path);
    Ok(python)
}

/// Returns the folder of a package and of those that it depends on. Programs are in its folder `bin`.
pub fn folder(package: &str) -> Result<PathBuf, String> {
    let all = jdk::cache().with_file_name("python");
    fs::create_dir_all(&all).map_err(|e| format!("{}: {e}", all.display()))?;
    let _lock = jdk::lock(&all.join(".lock"))?;
    let folder = all.join(package);
    if folder.is_dir() {
        return Ok(folder);
    }
    let part = all.join(format!("{package}.part"));
    let _ = fs::remove_dir_all(&part);
    let install = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--target"];
    let part_name = part.to_str().ok_or("the name of the cache folder is not UTF-8")?;
    tool("python3", &[&install[..], &[part_name, package]].concat(), &all)
        .map_err(|_| format!("no {package}: pip cannot install it"))?;
    fs::rename(&part, &folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}
