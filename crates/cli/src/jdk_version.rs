//! The version of a JDK, by its files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Returns the version of the JDK in this directory, such as `Java 17.0.9`.
pub fn version_of_jdk(home: &Path) -> Option<String> {
    version_in(File::open(home.join("release")).ok()?)
}

/// Returns the version in the file `release` of a JDK.
pub fn version_in(release: File) -> Option<String> {
    const LARGEST: u64 = 1 << 16;
    let mut text = String::new();
    release.take(LARGEST).read_to_string(&mut text).ok()?;
    let version = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(format!("Java {}", version.trim_matches('"')))
}
