//! Checks that the packages can be published to a registry.

mod harness;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitCode};

use compat_tests::{target_dir, workspace_root};
use harness::{Case, Result, run};
use serde_json::Value;

/// The crates that people use.
const PUBLIC: [&str; 6] =
    ["jvmpi", "jvmpi-classfile", "jvmpi-cli", "jvmpi-formats", "jvmpi-jvmti-sys", "jvmpi-sys"];
/// The crates that are published only because one of [`PUBLIC`] needs them. Their manifests say so.
const INTERNAL: [&str; 7] = [
    "jvmpi-conformance",
    "jvmpi-cpu-timeout",
    "jvmpi-jvm",
    "jvmpi-layers",
    "jvmpi-parquet",
    "jvmpi-report",
    "jvmpi-settings",
];

fn main() -> ExitCode {
    let answers = run(cargo(workspace_root()).args(["info", "--quiet", "libc"]));
    let hindrance = harness::missing(&[]).or(answers.err().map(|_| "no registry".to_owned()));
    let cases: [Case; 3] = [
        (
            "published_crates_are_those_that_people_use",
            &[],
            published_crates_are_those_that_people_use,
        ),
        ("fuzz_targets_have_a_current_lock_file", &[], fuzz_targets_have_a_current_lock_file),
        ("packages_are_complete", &[], packages_are_complete),
    ];
    let trial = |(name, _, case): Case| harness::trial(name, hindrance.clone(), case);
    harness::conclude(cases.map(trial).into())
}

fn cargo(directory: &Path) -> Command {
    let mut cargo = compat_tests::cargo();
    cargo.current_dir(directory);
    cargo
}

/// Reads the lock file of the fuzz targets, which are no member of the workspace, so that no other build reads it.
fn fuzz_targets_have_a_current_lock_file() -> Result {
    let mut metadata = cargo(&workspace_root().join("fuzz"));
    run(metadata.args(["metadata", "--quiet", "--locked", "--format-version=1"])).map(drop)
}

fn published_crates_are_those_that_people_use() -> Result {
    let mut metadata = cargo(workspace_root());
    metadata.args(["metadata", "--quiet", "--no-deps", "--locked", "--format-version=1"]);
    let [metadata, _] = run(&mut metadata)?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|e| e.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    // `"publish": null` means that any registry may have it.
    let published = packages.iter().filter(|package| package["publish"].is_null());
    let published: BTreeMap<_, _> =
        published.filter_map(|package| Some((package["name"].as_str()?, package))).collect();
    let expected: BTreeSet<_> = PUBLIC.into_iter().chain(INTERNAL).collect();
    if !published.keys().eq(&expected) {
        return Err(format!("published are {:?}, not {expected:?}", published.keys()));
    }

    for (name, package) in &published {
        let is_internal = INTERNAL.contains(name);
        let description = package["description"].as_str().unwrap_or_default();
        if description.is_empty() || description.starts_with("Internal ") != is_internal {
            return Err(format!("{name} is described as {description:?}"));
        }
        let fields = ["readme", "rust_version", "keywords", "categories"].map(|it| &package[it]);
        // All compile for Linux only, but docs.rs may choose others.
        let targets = &package["metadata"]["docs"]["rs"]["targets"];
        let is_missing = |it: &&Value| it.is_null() || it.as_array().is_some_and(Vec::is_empty);
        if fields.into_iter().chain([targets]).any(|field| is_missing(&field)) {
            return Err(format!("the manifest of {name} is not complete: {package}"));
        }
    }
    Ok(())
}

/// Packs all crates. A job of CI also compiles each from its package, which takes minutes.
fn packages_are_complete() -> Result {
    let mut publish = cargo(workspace_root());
    publish.args(["publish", "--workspace", "--dry-run", "--allow-dirty", "--no-verify"]);
    let [_, said] = run(publish.arg("--target-dir").arg(target_dir().join("publish")))?;
    if said.contains("warning: manifest") {
        return Err(format!("a manifest is not complete:\n{said}"));
    }
    let names: Vec<_> = said
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("Packaging ")?.split(' ').next())
        .collect();
    if names.len() != PUBLIC.len() + INTERNAL.len() {
        return Err(format!("packed are {names:?}"));
    }
    for name in names {
        let mut list = cargo(workspace_root());
        let [files, _] =
            run(list.args(["package", "--quiet", "--list", "--allow-dirty", "--package", name]))?;
        if let Some(missing) = ["LICENSE-MIT", "LICENSE-APACHE"]
            .iter()
            .find(|it| !files.lines().any(|file| file == **it))
        {
            return Err(format!("{name} has no {missing}"));
        }
    }
    Ok(())
}
