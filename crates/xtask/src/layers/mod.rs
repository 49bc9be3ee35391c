//! `cargo xtask check-layers`: no files of a crate import each other in a circle, and the imports of the shim run down.
//!
//! A layer is a module of the shim's root with all files in it. Tests may import from everywhere.

mod imports;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use compat_tests::workspace_root;
use imports::{Arrows, Module, arrows_in};

/// The modules from top to bottom. Each may import those in lower rows, and none of its own row.
const LAYERS: [&[&str]; 12] = [
    &["lib", "models"],
    &["load"],
    &["table"],
    &["dumps"],
    &["translate"],
    &["notify", "instrument"],
    &["gc"],
    &["classes"],
    &["suspension"],
    &["threads"],
    &["sync"],
    &["records"],
];

/// The folder of the crate that has [`LAYERS`].
const SHIM: &str = "shim/src";

/// Fails and lists the faults: circles of imports, imports of the shim that do not lead down, missing modules of
/// [`LAYERS`], and missing files that `docs/explanation/architecture.md` names.
pub fn run(_: &[String]) -> Result<(), String> {
    let root = workspace_root();
    let mut crates = Vec::new();
    find_crates(root, &mut crates)?;
    let mut faults = missing_files()?;
    let mut files = 0;
    for source in &crates {
        let folder = source.strip_prefix(root).unwrap_or(source).to_string_lossy();
        let arrows = arrows_in(source)?;
        files += arrows.len();
        if folder == SHIM {
            faults.extend(imports_that_run_up(&arrows));
            faults.extend(missing_modules(&arrows));
        }
        faults.extend(faults_of_circles(&arrows).iter().map(|fault| format!("{folder}: {fault}")));
    }
    if faults.is_empty() {
        println!(
            "{files} files in {} crates: the shim's imports run down, and no files import each other in a circle",
            crates.len()
        );
        Ok(())
    } else {
        Err(format!("{} faults in the layers:\n{}", faults.len(), faults.join("\n")))
    }
}

/// Finds the folders with a `lib.rs` or a `main.rs`. Tests of several files are crates too.
fn find_crates(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    if ["lib.rs", "main.rs"].iter().any(|root| folder.join(root).is_file()) {
        found.push(folder.to_owned());
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let is_source = name != "target" && !name.to_string_lossy().starts_with('.');
        if is_source && entry.file_type().map_err(failed)?.is_dir() {
            find_crates(&entry.path(), found)?;
        }
    }
    Ok(())
}

/// Returns the imports between files that lead to each other.
fn faults_of_circles(arrows: &Arrows) -> Vec<String> {
    let pairs = arrows.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to)));
    let in_circle = pairs.filter(|(from, to)| reached_from(to, arrows).contains(from));
    in_circle.map(|(from, to)| format!("{} imports {} in a circle", name(from), name(to))).collect()
}

fn reached_from<'a>(module: &'a Module, arrows: &'a Arrows) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next = vec![module];
    while let Some(module) = next.pop() {
        next.extend(arrows[module].iter().filter(|to| reached.insert(*to)));
    }
    reached
}

/// Returns the imports from a layer above or beside.
fn imports_that_run_up(arrows: &Arrows) -> Vec<String> {
    let all = arrows.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to)));
    let up = all.filter(|(from, to)| !runs_down(from, to));
    up.map(|(from, to)| format!("{} imports {}", name(from), name(to))).collect()
}

/// Returns the modules of [`LAYERS`] that have no file.
fn missing_modules(arrows: &Arrows) -> Vec<String> {
    let is_there = |layer: &str| arrows.keys().any(|module| layer_of(module) == layer);
    let missing = LAYERS.iter().copied().flatten().filter(|layer| !is_there(layer));
    missing.map(|layer| format!("there is no module {layer}")).collect()
}

/// Returns the files that `docs/explanation/architecture.md` names and that are not there, below the root or the shim's
/// source.
fn missing_files() -> Result<Vec<String>, String> {
    let root = workspace_root();
    let path = root.join("docs/explanation/architecture.md");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let in_code = text.split('`').skip(1).step_by(2);
    let files = in_code.filter(|name| name.contains('/') && name.ends_with(".rs"));
    let places = [root.to_owned(), root.join("crates"), root.join("shim/src")];
    let is_missing = |name: &&str| !places.iter().any(|place| place.join(name).is_file());
    Ok(files
        .filter(is_missing)
        .map(|name| format!("docs/explanation/architecture.md names {name}"))
        .collect())
}

fn name(module: &Module) -> String {
    if module.is_empty() { "lib".to_owned() } else { module.join("/") }
}

fn runs_down(from: &Module, to: &Module) -> bool {
    let height = |layer: &str| LAYERS.iter().position(|layers| layers.contains(&layer));
    let (from, to) = (layer_of(from), layer_of(to));
    from == to || height(from).zip(height(to)).is_some_and(|(from, to)| from < to)
}

/// Returns the layer of a module.
fn layer_of(module: &Module) -> &str {
    module.first().map_or("lib", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circle_is_a_fault() {
        let module = |name: &str| vec![name.to_owned()];
        let imports = |from: &str, to: &str| (module(from), BTreeSet::from([module(to)]));
        let arrows = Arrows::from([imports("a", "b"), imports("b", "a"), imports("c", "a")]);
        let faults = ["a imports b in a circle", "b imports a in a circle"];
        assert_eq!(faults_of_circles(&arrows), faults);
    }
}
