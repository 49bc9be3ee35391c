//! The version of a JDK, by its files.

use std::fs::File;
use std::io::Read;

/// Returns the version in the file `release` of a JDK, such as `Java 17.0.9`.
pub fn version_in(release: File) -> Option<String> {
    const LARGEST: u64 = 1 << 16;
    let mut text = String::new();
    release.take(LARGEST).read_to_string(&mut text).ok()?;
    let version = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(format!("Java {}", version.trim_matches('"')))
}
