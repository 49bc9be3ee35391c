//! Checks that the packages can be published to a registry, and that the command that Cargo installs from them works.

mod harness;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use compat_tests::{build, changes, target_dir, text, workspace_root};
use harness::{Result, run};
use serde_json::Value;

/// The files that decide how the command is compiled from its package, in addition to its sources.
const MANIFESTS: [&str; 3] =
    [":(glob)**/Cargo.toml", "Cargo.lock", "crates/xtask/tests/publish.rs"];

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
    // It compiles the command once more.
    let installing = hindrance.clone().or_else(|| changes::unchanged(&MANIFESTS));
    harness::conclude(vec![
        harness::trial(
            "published_crates_are_those_that_people_use",
            hindrance.clone(),
            published_crates_are_those_that_people_use,
        ),
        harness::trial(
            "fuzz_targets_have_a_current_lock_file",
            hindrance,
            fuzz_targets_have_a_current_lock_file,
        ),
        harness::trial(
            "installed_command_records_a_profile",
            installing,
            installed_command_records_a_profile,
        ),
    ])
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

    // The crates that a public one needs, directly or through others.
    let mut needed: BTreeSet<&str> = PUBLIC.into();
    let mut left = Vec::from(PUBLIC);
    while let Some(name) = left.pop() {
        for need in published[name]["dependencies"].as_array().into_iter().flatten() {
            let Some(need) = need["name"].as_str().filter(|_| need["kind"].is_null()) else {
                continue;
            };
            if published.contains_key(need) && needed.insert(need) {
                left.push(need);
            }
        }
    }
    for (name, package) in &published {
        let is_internal = INTERNAL.contains(name);
        let description = package["description"].as_str().unwrap_or_default();
        if description.is_empty() || description.starts_with("Internal ") != is_internal {
            return Err(format!("{name} is described as {description:?}"));
        }
        if !needed.contains(name) {
            return Err(format!("no public crate needs {name}: add publish = false"));
        }
        let there = |value: &Value| match value {
            Value::Array(list) => !list.is_empty(),
            value => value.as_str().is_some_and(|text| !text.is_empty()),
        };
        for field in
            ["license", "readme", "documentation", "rust_version", "keywords", "categories"]
        {
            if !there(&package[field]) {
                return Err(format!("{name} has no {field}"));
            }
        }
        // All compile for Linux only, but docs.rs may choose others.
        if !there(&package["metadata"]["docs"]["rs"]["targets"]) {
            return Err(format!("{name} does not name its targets to docs.rs"));
        }
    }
    Ok(())
}

/// Installs the command like `cargo install jvmpi-cli` after the packages are published. The command then records a
/// profile with the libraries that the other tests use.
fn installed_command_records_a_profile() -> Result {
    let packages = unpacked()?;
    let root = harness::scratch("publish", "root")?;
    let mut install = cargo(&packages);
    // These settings compile fastest. The target directory is not shared with other kinds of builds.
    install.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    install.args(["install", "--quiet", "--locked", "--debug", "--target-dir"]);
    install.arg(packages.with_file_name("target")).arg("--root").arg(&root);
    run(install.arg("--path").arg(packages.join("jvmpi-cli")))?;
    let installed = fs::read_dir(root.join("bin")).map_err(|e| e.to_string())?.flatten();
    let installed: BTreeSet<_> = installed.map(|file| file.file_name()).collect();
    if !installed.iter().eq(["jvmpi"]) {
        return Err(format!("installed are {installed:?}"));
    }

    // HPROF is in the folder of the shim.
    build::hprof()?;
    let profile = root.join("profile.txt");
    let mut record = Command::new(root.join("bin/jvmpi"));
    record.env("JVMPI_LIBRARY", build::shim()?);
    record.args(["record", "--alloc", "--exact", "-o", text(&profile)?, "--"]);
    record.arg(harness::newest_jdk()?.java()).args(["-cp", &harness::example_classes()?, "Tasks"]);
    let [said, _] = run(&mut record)?;
    if !said.contains(harness::TASKS_SAY) {
        return Err(format!("it has printed {said:?}"));
    }
    harness::shows_all_tasks(&profile)
}

/// Unpacks all packages that can be published into a workspace. The workspace takes these packages from there, and
/// everything else from the registry.
fn unpacked() -> Result<PathBuf> {
    // The packages are compiled when they are installed, not here.
    let target = target_dir();
    let arguments = ["--no-verify", "--allow-dirty", "--target-dir", text(&target)?];
    let mut publish = cargo(workspace_root());
    publish.args(["publish", "--workspace", "--dry-run"]).args(arguments);
    let [_, said] = run(&mut publish)?;
    if said.contains("warning: manifest") {
        return Err(format!("a manifest is not complete:\n{said}"));
    }
    let packaged: Vec<_> = said
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("Packaging "))
        .filter_map(|line| line.split(' ').next())
        .collect();
    let mut package = cargo(workspace_root());
    package.args(["package", "--quiet"]).args(arguments);
    run(package.args(packaged.iter().flat_map(|name| ["--package", name])))?;

    let directory = harness::scratch("publish", "packages")?;
    let version = env!("CARGO_PKG_VERSION");
    let mut manifest =
        String::from("[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n[patch.crates-io]\n");
    for name in &packaged {
        let archive = target.join(format!("package/{name}-{version}.crate"));
        // Cargo gives all files of a package the same time, by which the build here would not see what has changed.
        run(Command::new("tar").arg("-xmf").arg(&archive).arg("-C").arg(&directory))?;
        let unpacked = directory.join(format!("{name}-{version}"));
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let [there, ours] =
                [unpacked.join(licence), workspace_root().join(licence)].map(fs::read);
            if there.is_err() || there.ok() != ours.ok() {
                return Err(format!("{name} has no {licence}, or another"));
            }
        }
        fs::rename(&unpacked, directory.join(name))
            .map_err(|e| format!("{}: {e}", unpacked.display()))?;
        manifest += &format!("{name} = {{ path = \"{name}\" }}\n");
    }
    let file = |name: &str| directory.join(name);
    fs::write(file("Cargo.toml"), manifest).map_err(|e| e.to_string())?;
    fs::copy(workspace_root().join("Cargo.lock"), file("Cargo.lock")).map_err(|e| e.to_string())?;
    // Removes the workspace members that are not published from the lock file.
    run(cargo(&directory).args(["update", "--workspace", "--quiet"]))?;
    Ok(directory)
}
