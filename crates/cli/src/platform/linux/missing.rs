//! Libraries and symbols that a library needs and that are not there.
//!
//! They are looked for in files, as the dynamic loader would. `ldd` is no help: it has the loader load the library, which
//! then runs the libraries that DT_AUDIT and DT_DEPAUDIT name.

use crate::agent::library_path;
use crate::check::Missing;
use jvmpi_settings::library::{Linkage, linkage};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// More libraries, and directories in a search path, than any agent needs. A library that names more of both would
/// keep the command busy for hours.
const MOST: usize = 1000;

/// Finds what the library needs and does not get, and so for the libraries that it needs.
pub fn of(path: &Path) -> Missing {
    let cache = Cache::read();
    let mut missing = Missing::default();
    let mut loaded: Vec<(PathBuf, Linkage)> = Vec::new();
    let mut known = HashSet::new();
    loaded.extend(linkage(path).ok().map(|linkage| (path.to_owned(), linkage)));
    let mut next = 0;
    while let Some((requirer, linkage_of_requirer)) = loaded.get(next) {
        let mut found = Vec::new();
        for name in &linkage_of_requirer.needed {
            if is_library_of_the_vm(name) || known.len() >= MOST || !known.insert(name.clone()) {
                continue;
            }
            let of_root = &loaded[0];
            match cache.find(name, (requirer, linkage_of_requirer), (&of_root.0, &of_root.1)) {
                Some(library) => found.push(library),
                None => missing.libraries.push(name.clone()),
            }
        }
        loaded.extend(found);
        next += 1;
        if loaded.len() > MOST {
            break;
        }
    }
    let linkages = || loaded.iter().map(|(_, linkage)| linkage);
    let defined = linkages().flat_map(|linkage| &linkage.defined);
    let defined: HashSet<&str> = defined.map(String::as_str).collect();
    let undefined: BTreeSet<&str> = linkages()
        .flat_map(|linkage| &linkage.undefined)
        .filter_map(|symbol| symbol.name.to_str().ok())
        .filter(|symbol| !defined.contains(symbol) && !is_of_the_vm(symbol))
        .collect();
    // With a library, all that it defines is missing.
    if missing.libraries.is_empty() {
        missing.symbols = undefined.into_iter().map(str::to_owned).collect();
    }
    missing
}

/// Returns true if the JVM's library, which is loaded before any agent, defines the symbol.
fn is_of_the_vm(symbol: &str) -> bool {
    symbol.starts_with("JNI_") || symbol.starts_with("JVM_")
}

/// Returns true if the JVM loads the library before any agent.
fn is_library_of_the_vm(name: &str) -> bool {
    name == "libjvm.so"
}

/// Returns true if the loader of musl takes itself for this library, as it contains all parts of the C library.
fn is_musl(name: &str) -> bool {
    const PARTS: [&str; 7] = ["c", "pthread", "rt", "m", "dl", "util", "xnet"];
    let part = name.strip_prefix("lib").and_then(|name| name.split('.').next());
    part.is_some_and(|part| PARTS.contains(&part)) && name.contains('.')
}

/// The paths of libraries by their names, which `ldconfig` has collected.
struct Cache(HashMap<String, Vec<PathBuf>>);

impl Cache {
    /// Parses lines as `libm.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libm.so.6`. musl has no cache.
    fn read() -> Self {
        let printed = Command::new("/sbin/ldconfig").arg("-p").output();
        let printed = printed.map(|output| output.stdout).unwrap_or_default();
        let mut paths: HashMap<String, Vec<PathBuf>> = HashMap::new();
        for line in String::from_utf8_lossy(&printed).lines() {
            if let Some((name, path)) = line.split_once(" => ") {
                let name = name.trim_start().split(' ').next().unwrap_or_default();
                paths.entry(name.to_owned()).or_default().push(path.into());
            }
        }
        Self(paths)
    }

    /// Finds the library of this name that `requirer` gets, in a process that loaded `root` first. The loader takes the
    /// first library for this machine.
    fn find(
        &self,
        name: &str,
        (requirer, linkage_of_requirer): (&Path, &Linkage),
        root: (&Path, &Linkage),
    ) -> Option<(PathBuf, Linkage)> {
        let load = |path: PathBuf| linkage(&path).ok().map(|linkage| (path, linkage));
        if cfg!(target_env = "musl") && is_musl(name) {
            return load(format!("/lib/ld-musl-{}.so.1", std::env::consts::ARCH).into());
        }
        if name.contains('/') {
            return load(expanded(name, requirer)?);
        }
        let [rpath, runpath] = &linkage_of_requirer.search;
        let mut directories = Vec::new();
        // DT_RUNPATH makes DT_RPATH be ignored, also those of the libraries that led here.
        if runpath.is_none() {
            directories.extend(search_path(rpath, requirer));
            let [rpath, runpath] = &root.1.search;
            if runpath.is_none() {
                directories.extend(search_path(rpath, root.0));
            }
        }
        directories.extend(library_path());
        directories.extend(search_path(runpath, requirer));
        let cached = self.0.get(name).into_iter().flatten().cloned();
        // Without a cache, as with musl, the loader has but these.
        let last =
            ["/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from);
        let named = directories.into_iter().map(|directory| directory.join(name));
        let last = last.into_iter().map(|directory| directory.join(name));
        named.chain(cached).chain(last).find_map(load)
    }
}

/// Returns the directories of a search path of this library.
fn search_path(path: &Option<String>, library: &Path) -> Vec<PathBuf> {
    let entries = path.iter().flat_map(|path| path.split(':')).take(MOST);
    entries.filter_map(|entry| expanded(entry, library)).collect()
}

/// Returns the directory of an entry of a library's search path. None if it is relative to an unknown directory.
fn expanded(entry: &str, library: &Path) -> Option<PathBuf> {
    let origin = library.parent()?.to_str()?;
    let path = entry.replace("${ORIGIN}", origin).replace("$ORIGIN", origin);
    (!path.is_empty() && !path.contains('$')).then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvmpi_settings::library::testing::Directory;
    use std::fs;

    #[test]
    fn musl_is_every_part_of_the_c_library() {
        for name in ["libc.so", "libc.musl-x86_64.so.1", "libpthread.so.0", "libm.so.6"] {
            assert!(is_musl(name), "{name}");
        }
        assert!(!is_musl("libcount.so") && !is_musl("libgcc_s.so.1"));
    }

    fn missing_names(missing: Missing) -> (Vec<String>, Vec<String>) {
        (missing.libraries, missing.symbols)
    }

    #[test]
    fn symbols_of_the_vm_and_of_needed_libraries_are_not_missing() {
        if std::env::var_os("JVMPI_EMULATOR").is_some() {
            println!("skipped: the loader's cache is not the emulated machine's");
            return;
        }
        let directory = Directory::new("symbols");
        directory.library("libother.so", "int other(void) { return 1; }\n");
        let source = "int frob(void), other(void), JNI_GetCreatedJavaVMs(void); double cos(double);
             int JVM_OnLoad(int n) { return frob() + other() + JNI_GetCreatedJavaVMs() + (int)cos(n); }\n";
        let place = directory.0.to_str().unwrap();
        let flags = ["-shared", "-fPIC", "-L", place, "-lother", "-lm", "-Wl,-rpath,$ORIGIN"];
        let file = directory.compile("libfoo.so", source, &flags);
        assert_eq!(missing_names(of(&file)), (vec![], vec!["frob".into()]));
        fs::remove_file(directory.0.join("libother.so")).unwrap();
        assert_eq!(missing_names(of(&file)), (vec!["libother.so".into()], vec![]));
        // No library, and none that could be waited for.
        directory.write("libother.so", b"text");
        assert_eq!(missing_names(of(&file)).0, ["libother.so"]);
    }

    /// The loader itself would run the constructor of the library that DT_DEPAUDIT names.
    #[test]
    fn audit_library_is_not_run() {
        let directory = Directory::new("audit");
        let ran = directory.0.join("ran");
        let audit = format!(
            "#include <stdio.h>
             __attribute__((constructor)) static void run(void) {{ fclose(fopen(\"{}\", \"w\")); }}
             unsigned la_version(unsigned version) {{ return version; }}\n",
            ran.display()
        );
        let audit = directory.library("libaudit.so", &audit);
        let source = "int JVM_OnLoad(void *vm, char *o, void *r) { return 0; }\n";
        let depaudit = format!("-Wl,--depaudit={}", audit.display());
        let file = directory.compile("libfoo.so", source, &["-shared", "-fPIC", &depaudit]);
        assert!(of(&file).libraries.is_empty());
        assert!(!ran.exists(), "the audit library was run");
    }

    #[test]
    fn search_path_has_no_more_entries_than_an_agent_needs() {
        let library = Path::new("/opt/libfoo.so");
        let path = search_path(&Some("$ORIGIN/a::/b:$LIB/c".into()), library);
        assert_eq!(path, [Path::new("/opt/a"), Path::new("/b")]);
        assert_eq!(search_path(&Some("/:".repeat(5 * MOST)), library).len(), MOST);
        assert!(search_path(&None, library).is_empty());
    }
}
