//! Libraries and symbols that a library needs and that are not there, looked for in files.

use crate::agent::library_path;
use crate::check::Missing;
use jvmpi_settings::library::pe::{Linkage, linkage};
use std::collections::{BTreeSet, HashMap};
use std::env;
use std::path::{Path, PathBuf};

/// More libraries than any agent needs.
const MOST: usize = 1000;

/// Finds what the library needs and does not get, and so for the libraries that it needs. Those of the system are taken to
/// be complete.
pub fn of(path: &Path) -> Missing {
    let system = env::var_os("SystemRoot").map(|root| PathBuf::from(root).join("System32"));
    let beside = path.parent().map(Path::to_owned);
    let directories: Vec<_> =
        beside.into_iter().chain(system.clone()).chain(library_path()).collect();
    let mut missing = Missing::default();
    let mut symbols = BTreeSet::new();
    let mut exports: HashMap<String, Option<Vec<String>>> = HashMap::new();
    let mut next: Vec<Linkage> = linkage(path).into_iter().collect();
    while let Some(Linkage { imported, .. }) = next.pop() {
        for (library, wanted) in imported {
            let name = library.to_ascii_lowercase();
            if is_always_there(&name) {
                continue;
            }
            if !exports.contains_key(&name) {
                if exports.len() >= MOST {
                    return missing;
                }
                let mut candidates = directories.iter().map(|place| place.join(&library));
                let found = candidates.find_map(|path| Some((linkage(&path).ok()?, path)));
                let exported = found.map(|(linkage, path)| {
                    let exported = linkage.exported.clone();
                    if path.parent() != system.as_deref() {
                        next.push(linkage);
                    }
                    exported
                });
                if exported.is_none() {
                    missing.libraries.push(library.clone());
                }
                exports.insert(name.clone(), exported);
            }
            if let Some(Some(exported)) = exports.get(&name) {
                let wanted = wanted.into_iter().filter(|symbol| !exported.contains(symbol));
                symbols.extend(wanted.map(|symbol| format!("{symbol} of {library}")));
            }
        }
    }
    missing.symbols = symbols.into_iter().collect();
    missing
}

/// Returns true if the JVM loads the library before any agent, or if the name stands for libraries of the system.
fn is_always_there(name: &str) -> bool {
    name == "jvm.dll" || ["api-ms-win-", "ext-ms-"].iter().any(|set| name.starts_with(set))
}
