//! Lists the components of the product as a CycloneDX SBOM, and collects their licenses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use compat_tests::{cargo, workspace_root};
use serde_json::{Value, json};

use super::build::{Build, VERSION, run, time};

/// The packages that are built.
const ROOTS: [&str; 3] = ["jvmpi-shim", "jvmpi-hprof", "jvmpi-cli"];

/// A package from the registry or from the workspace.
struct Component {
    name: String,
    version: String,
    license: String,
    /// True for a package of the workspace.
    own: bool,
    checksum: Option<String>,
    directory: String,
    /// The Cargo package IDs of its dependencies.
    needs: Vec<String>,
}

/// The components of the product, by Cargo package ID.
pub struct Components(BTreeMap<String, Component>);

impl Components {
    /// Determines the components of a build.
    pub fn of(build: &Build) -> Result<Self, String> {
        let mut cargo = cargo();
        cargo.args(["metadata", "--locked", "--format-version=1", "--filter-platform"]);
        cargo.arg(build.machine.target);
        let metadata = serde_json::from_str(&run(&mut cargo)?).map_err(|e| e.to_string())?;
        let lock = workspace_root().join("Cargo.lock");
        let lock = fs::read_to_string(&lock).map_err(|e| format!("{}: {e}", lock.display()))?;
        Self::read(&metadata, &checksums(&lock))
            .ok_or_else(|| "unexpected output of cargo metadata".into())
    }

    fn read(metadata: &Value, checksums: &BTreeMap<[&str; 2], &str>) -> Option<Self> {
        let by_id = |list: &'_ Value| -> Option<BTreeMap<String, Value>> {
            let list = list.as_array()?;
            list.iter().map(|each| Some((each["id"].as_str()?.to_owned(), each.clone()))).collect()
        };
        let packages = by_id(&metadata["packages"])?;
        let nodes = by_id(&metadata["resolve"]["nodes"])?;
        let is_root =
            |package: &Value| package["name"].as_str().is_some_and(|name| ROOTS.contains(&name));
        let mut left: Vec<_> =
            packages.iter().filter(|(_, it)| is_root(it)).map(|(id, _)| id.clone()).collect();
        let mut found = BTreeMap::new();
        while let Some(id) = left.pop() {
            if found.contains_key(&id) {
                continue;
            }
            let package = packages.get(&id)?;
            let text = |key: &str| package[key].as_str().map(String::from);
            let [name, version] = [text("name")?, text("version")?];
            let needs: Vec<_> = nodes.get(&id)?["deps"]
                .as_array()?
                .iter()
                .filter(|need| becomes_part(need))
                .filter_map(|need| need["pkg"].as_str().map(String::from))
                .filter(|need| packages.get(need).is_some_and(|package| !is_macro(package)))
                .collect();
            left.extend(needs.iter().cloned());
            let checksum = checksums.get(&[&*name, &*version]).map(|sum| (*sum).to_owned());
            let directory = Path::new(package["manifest_path"].as_str()?).parent()?;
            let component = Component {
                license: text("license").unwrap_or_default().replace('/', " OR "),
                own: package["source"].is_null(),
                directory: directory.to_str()?.to_owned(),
                name,
                version,
                checksum,
                needs,
            };
            found.insert(id, component);
        }
        Some(Self(found))
    }

    /// Returns the list as CycloneDX 1.5.
    pub fn bill(&self) -> Result<String, String> {
        let rust = run(Command::new("rustc").arg("--version").current_dir(workspace_root()))?;
        let rust = rust.split(' ').nth(1).unwrap_or_default().to_owned();
        let std = format!("pkg:generic/rust-std@{rust}");
        let mut components: Vec<Value> = self.0.values().map(Component::entry).collect();
        components.push(json!({
            "type": "library",
            "bom-ref": std,
            "name": "rust-std",
            "version": rust,
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
            "purl": std,
        }));
        let mut dependencies: Vec<Value> = vec![json!({
            "ref": "jvmpi",
            "dependsOn": self.0.values().filter(|it| ROOTS.contains(&&*it.name))
                .map(Component::reference).collect::<Vec<_>>(),
        })];
        dependencies.extend(self.0.values().map(|component| {
            let needs = component.needs.iter().filter_map(|id| self.0.get(id));
            let mut needs: Vec<_> = needs.map(Component::reference).collect();
            needs.push(std.clone());
            json!({"ref": component.reference(), "dependsOn": needs})
        }));
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
        for component in self.0.values().filter(|component| !component.own) {
            let Component { name, version, license, directory, .. } = component;
            list += &format!("{name} {version}: {license}\n");
            let mut found = licence_texts(Path::new(directory))?;
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
    fn reference(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }

    fn entry(&self) -> Value {
        let mut entry = json!({
            "type": "library",
            "bom-ref": self.reference(),
            "name": self.name,
            "version": self.version,
            "licenses": [{"expression": self.license}],
        });
        if !self.own {
            entry["purl"] = self.reference().into();
        }
        if let Some(checksum) = &self.checksum {
            entry["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
        }
        entry
    }
}

/// Returns true for a normal dependency, which becomes part of the product, unlike build and test dependencies.
fn becomes_part(need: &Value) -> bool {
    let kinds = need["dep_kinds"].as_array();
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
}

/// Returns true if a package consists of procedural macros only.
fn is_macro(package: &Value) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    targets.filter_map(|target| target["kind"][0].as_str()).any(|kind| kind == "proc-macro")
}

/// Returns the checksums in `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<[&str; 2], &str> {
    let value = |package: &'_ str, key: &str| -> Option<(usize, usize)> {
        let start = package.find(&format!("\n{key} = \""))? + key.len() + 5;
        Some((start, start + package[start..].find('"')?))
    };
    let packages = lock.split("[[package]]").skip(1).filter_map(|package| {
        let [name, version, sum] = ["name", "version", "checksum"].map(|key| value(package, key));
        let text = |range: Option<(usize, usize)>| range.map(|(start, end)| &package[start..end]);
        Some(([text(name)?, text(version)?], text(sum)?))
    });
    packages.collect()
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

    fn components() -> Components {
        let build = Build { profile: "dev".into(), machine: Machine::this(), anywhere: None };
        Components::of(&build).unwrap()
    }

    #[test]
    fn only_linked_dependencies_are_listed() {
        let Components(found) = components();
        let names: BTreeSet<_> = found.values().map(|it| it.name.as_str()).collect();
        // A dependency of a dependency is part of the product; macros, build scripts and tests are not.
        assert!(ROOTS.iter().chain(&["libc", "rustc-demangle"]).all(|name| names.contains(name)));
        assert!(["serde_derive", "cc", "proptest"].iter().all(|name| !names.contains(name)));
        let of_registry = found.values().filter(|it| !it.own);
        of_registry.for_each(|it| assert!(it.checksum.is_some(), "{} {}", it.name, it.version));
    }

    /// Returns the name, version and license of each package from the registry that is linked into the two libraries
    /// on this target.
    fn linked(target: &str) -> BTreeSet<[String; 3]> {
        let mut cargo = cargo();
        cargo.args([
            "tree",
            "--locked",
            "-pjvmpi-shim",
            "-pjvmpi-hprof",
            "--edges=normal,no-proc-macro",
        ]);
        cargo.args(["--prefix=none", "--no-dedupe", "--format={p} {l}", "--target", target]);
        let tree = run(&mut cargo).unwrap();
        // "name vVERSION LICENSE", or "name vVERSION (/path) LICENSE" for our own.
        let packages = tree.lines().filter(|line| !line.is_empty() && !line.contains(" (/"));
        let parts = packages.map(|line| line.splitn(3, ' ').collect::<Vec<_>>());
        parts
            .map(|it| {
                [it[0].into(), it[1].trim_start_matches('v').into(), it[2].replace('/', " OR ")]
            })
            .collect()
    }

    #[test]
    fn all_packages_in_the_libraries_are_listed_as_reviewed() {
        const LIST: &str = include_str!("../../../../packaging/REVIEWED.md");
        let rows = LIST.lines().filter(|line| line.starts_with("| ")).skip(1);
        let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
        let listed: BTreeSet<[String; 3]> =
            cells.map(|cells| [1, 2, 3].map(|at| cells[at].to_owned())).collect();
        let targets = ["x86_64", "i586", "aarch64"].map(|it| format!("{it}-unknown-linux-gnu"));
        let linked: BTreeSet<_> = targets.iter().flat_map(|target| linked(target)).collect();
        let missing: Vec<_> = linked.difference(&listed).collect();
        let stale: Vec<_> = listed.difference(&linked).collect();
        assert!(
            missing.is_empty() && stale.is_empty(),
            "packaging/REVIEWED.md lacks {missing:?}, and has {stale:?} without need"
        );
    }

    #[test]
    fn all_references_in_the_bill_resolve() {
        let bill: Value = serde_json::from_str(&components().bill().unwrap()).unwrap();
        let list = |value: &Value| value.as_array().unwrap().clone();
        let mut there: Vec<_> =
            list(&bill["components"]).iter().map(|it| it["bom-ref"].clone()).collect();
        there.push(bill["metadata"]["component"]["bom-ref"].clone());
        for dependency in list(&bill["dependencies"]) {
            assert!(there.contains(&dependency["ref"]), "{dependency}");
            let needs = list(&dependency["dependsOn"]);
            assert!(needs.iter().all(|need| there.contains(need)), "{dependency}");
        }
    }
}
