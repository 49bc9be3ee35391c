//! Lists the components of the product as a CycloneDX SBOM, and collects their licenses. cargo-cyclonedx (0.5) writes an
//! SBOM for each package, and an archive has the components of three. cargo-about (0.9) too collects the licenses of one
//! package, in two minutes, with those of macros and of each source file of ring.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use compat_tests::tool::run;
use compat_tests::{cargo, workspace_root};
use serde_json::{Value, json};

use super::build::{Build, VERSION, time};

/// The packages that are built.
const ROOTS: [&str; 3] = ["jvmpi-shim", "jvmpi-hprof", "jvmpi-cli"];

/// A package from the registry or from the workspace.
struct Component {
    name: String,
    version: String,
    license: String,
    /// The checksum of a package from the registry; packages of the workspace have none.
    checksum: Option<String>,
    directory: PathBuf,
}

/// The components of the product.
pub struct Components(Vec<Component>);

impl Components {
    /// Determines the components of a build.
    pub fn of(build: &Build) -> Result<Self, String> {
        let mut cargo = cargo();
        cargo.args(["metadata", "--locked", "--format-version=1", "--filter-platform"]);
        let metadata = run(cargo.arg(build.machine.target))?;
        let metadata: Value = serde_json::from_str(&metadata).map_err(|e| e.to_string())?;
        let packages = metadata["packages"].as_array().ok_or("no packages in cargo metadata")?;
        let lock = workspace_root().join("Cargo.lock");
        let lock = fs::read_to_string(&lock).map_err(|e| format!("{}: {e}", lock.display()))?;
        let component = |[name, version, license]: [String; 3]| {
            let is_it =
                |it: &&Value| it["name"] == name.as_str() && it["version"] == version.as_str();
            let package = packages.iter().find(is_it);
            let manifest = package.and_then(|it| it["manifest_path"].as_str());
            let directory = manifest.and_then(|path| Path::new(path).parent());
            let directory = directory.ok_or_else(|| format!("cargo metadata lacks {name}"))?.into();
            let checksum = checksum(&lock, &name, &version);
            Ok(Component { name, version, license, checksum, directory })
        };
        let linked = linked(&ROOTS, build.machine.target)?;
        linked.into_iter().map(component).collect::<Result<_, String>>().map(Self)
    }

    /// Returns the list as CycloneDX 1.5.
    pub fn bill(&self) -> Result<String, String> {
        let rust = run(Command::new("rustc").arg("--version").current_dir(workspace_root()))?;
        let rust = rust.split(' ').nth(1).unwrap_or_default().to_owned();
        let std = format!("pkg:generic/rust-std@{rust}");
        let mut components: Vec<Value> = self.0.iter().map(Component::entry).collect();
        components.push(json!({
            "type": "library",
            "bom-ref": std,
            "name": "rust-std",
            "version": rust,
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
            "purl": std,
        }));
        let all: Vec<_> = components.iter().map(|component| &component["bom-ref"]).collect();
        let dependencies = json!([{"ref": "jvmpi", "dependsOn": all}]);
        let bill = json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": metadata()?,
            "components": components,
            "dependencies": dependencies,
        });
        Ok(format!("{bill:#}\n"))
    }

    /// Returns the licenses of all third-party components; identical texts appear once.
    pub fn licences(&self) -> Result<String, String> {
        let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut list = String::from("The programs and libraries have these packages in them:\n\n");
        for component in self.0.iter().filter(|component| component.checksum.is_some()) {
            let Component { name, version, license, directory, .. } = component;
            list += &format!("{name} {version}: {license}\n");
            let mut found = licence_texts(directory)?;
            if found.is_empty() {
                // Its own package leaves the text out.
                let path = workspace_root().join("packaging/licences").join(name);
                let text = fs::read_to_string(&path);
                found.push(
                    text.map_err(|e| {
                        format!("{name} has no licence text: {}: {e}", path.display())
                    })?,
                );
            }
            for text in found {
                texts.entry(text).or_default().insert(format!("{name} {version}"));
            }
        }
        list += "\nand Rust's own library: MIT OR Apache-2.0. The description at the top of HPROF's text files is that \
                 of JDK 8: BSD-3-Clause.\n";
        let description = include_str!("../../../formats/src/profile/text/preamble.txt");
        let notice = description.split("\n\n\n").next().unwrap_or_default().to_owned();
        texts.entry(notice).or_default().insert("description of HPROF's text files".to_owned());
        let mut texts: Vec<_> = texts.into_iter().collect();
        texts.sort_by(|a, b| a.1.cmp(&b.1));
        for (text, packages) in texts {
            let packages: Vec<_> = packages.into_iter().collect();
            list += &format!("\n{:=<72}\n{}\n\n{}\n", "", packages.join(", "), text.trim_end());
        }
        Ok(list)
    }
}

/// Returns the part about the list itself and the product.
fn metadata() -> Result<Value, String> {
    let cargo = run(cargo().arg("--version"))?;
    let cargo = cargo.split(' ').nth(1).unwrap_or_default();
    let tool = |name: &str, version: &str| json!({"type": "application", "name": name, "version": version});
    let mut metadata = json!({
        "tools": {"components": [tool("cargo", cargo), tool("jvmpi's cargo xtask", VERSION)]},
        "component": {
            "type": "application",
            "bom-ref": "jvmpi",
            "name": "jvmpi",
            "version": VERSION,
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
        },
    });
    // Sources without a history have no time.
    if let Ok(time) = time() {
        let mut date = Command::new("date");
        let date = run(date.args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d", &format!("@{time}")]))?;
        metadata["timestamp"] = date.trim().into();
    }
    Ok(metadata)
}

impl Component {
    fn entry(&self) -> Value {
        let reference = format!("pkg:cargo/{}@{}", self.name, self.version);
        let mut entry = json!({
            "type": "library",
            "bom-ref": reference,
            "name": self.name,
            "version": self.version,
            "licenses": [{"expression": self.license}],
        });
        if let Some(checksum) = &self.checksum {
            entry["purl"] = reference.into();
            entry["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
        }
        entry
    }
}

/// Returns the name, version and license of each package that is linked into these on this target, themselves included.
fn linked(roots: &[&str], target: &str) -> Result<BTreeSet<[String; 3]>, String> {
    let mut cargo = cargo();
    cargo.args([
        "tree",
        "--locked",
        "--edges=normal,no-proc-macro",
        "--prefix=none",
        "--no-dedupe",
    ]);
    cargo.args(["--format={p}\t{l}", "--target", target]);
    let tree = run(cargo.args(roots.iter().flat_map(|root| ["--package", root])))?;
    // "name vVERSION", for our own with the path behind it.
    let package = |line: &str| {
        let (package, license) = line.split_once('\t')?;
        let mut words = package.split(' ');
        let [name, version] = [words.next()?, words.next()?.trim_start_matches('v')];
        Some([name.to_owned(), version.to_owned(), license.replace('/', " OR ")])
    };
    Ok(tree.lines().filter_map(package).collect())
}

/// Returns the checksum of a package in `Cargo.lock`.
fn checksum(lock: &str, name: &str, version: &str) -> Option<String> {
    let head = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    let package = lock.split_once(&head)?.1.split("[[package]]").next()?;
    let sum = package.split_once("checksum = \"")?.1.split('"').next()?;
    Some(sum.to_owned())
}

fn licence_texts(directory: &Path) -> Result<Vec<String>, String> {
    let error = |e: std::io::Error| format!("{}: {e}", directory.display());
    let mut texts = Vec::new();
    for entry in fs::read_dir(directory).map_err(error)?.flatten() {
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let known = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE"];
        if known.iter().any(|known| name.starts_with(known)) && entry.path().is_file() {
            texts.push(fs::read_to_string(entry.path()).map_err(error)?);
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    use compat_tests::machine::Machine;

    #[test]
    fn bill_lists_linked_packages_with_the_checksums_of_foreign_ones() {
        let build = Build { profile: "dev".into(), machine: Machine::this(), anywhere: None };
        let bill = Components::of(&build).unwrap().bill().unwrap();
        let bill: Value = serde_json::from_str(&bill).unwrap();
        let components = bill["components"].as_array().unwrap();
        let find = |name| components.iter().find(|it| it["name"] == name);
        // A dependency of a dependency is part of the product; macros, build scripts and tests are not.
        for name in ROOTS {
            assert!(find(name).unwrap()["hashes"].is_null());
        }
        for name in ["libc", "rustc-demangle"] {
            assert_eq!(find(name).unwrap()["hashes"][0]["content"].as_str().unwrap().len(), 64);
        }
        assert!(["serde_derive", "cc", "proptest"].into_iter().all(|name| find(name).is_none()));
    }

    #[test]
    fn all_packages_in_the_libraries_are_listed_as_reviewed() {
        const LIST: &str = include_str!("../../../../packaging/REVIEWED.md");
        let rows = LIST.lines().filter(|line| line.starts_with("| ")).skip(1);
        let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
        let listed: BTreeSet<[String; 3]> =
            cells.map(|cells| [1, 2, 3].map(|at| cells[at].to_owned())).collect();
        let targets = ["x86_64", "i586", "aarch64"].map(|it| format!("{it}-unknown-linux-gnu"));
        let linked = targets.iter().flat_map(|target| linked(&ROOTS[..2], target).unwrap());
        let linked: BTreeSet<_> = linked.filter(|[name, ..]| !name.starts_with("jvmpi")).collect();
        let missing: Vec<_> = linked.difference(&listed).collect();
        let stale: Vec<_> = listed.difference(&linked).collect();
        assert!(
            missing.is_empty() && stale.is_empty(),
            "packaging/REVIEWED.md lacks {missing:?}, and has {stale:?} without need"
        );
    }
}
