//! Finds the `jvmti.h` files of the JDKs on this machine.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// A JDK's `include` directory.
pub struct Headers {
    /// The directory that holds `jvmti.h` and `jni.h`.
    pub include: PathBuf,
    /// The text of `jvmti.h`.
    pub text: String,
}

impl Headers {
    /// Finds the headers of `JAVA_HOME`, of the `java` on `PATH`, and of `/usr/lib/jvm/*`.
    pub fn find() -> Vec<Headers> {
        let mut homes: Vec<PathBuf> =
            env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
        let path = env::var_os("PATH").unwrap_or_default();
        homes.extend(
            env::split_paths(&path)
                .filter_map(|dir| dir.join("java").canonicalize().ok())
                .filter_map(|java| Some(java.parent()?.parent()?.to_path_buf())),
        );
        if let Ok(entries) = fs::read_dir("/usr/lib/jvm") {
            homes.extend(entries.flatten().map(|entry| entry.path()));
        }

        let mut includes: Vec<PathBuf> =
            homes.iter().filter_map(|home| home.join("include").canonicalize().ok()).collect();
        includes.sort();
        includes.dedup();
        includes
            .into_iter()
            .filter_map(|include| {
                let text = fs::read_to_string(include.join("jvmti.h")).ok()?;
                Some(Headers { include, text })
            })
            .collect()
    }

    /// Returns the `-I` arguments for a compiler. `jni.h` includes the `jni_md.h` of the platform.
    pub fn include_args(&self) -> [String; 2] {
        let flag = |dir: &Path| format!("-I{}", dir.display());
        [flag(&self.include), flag(&self.include.join("linux"))]
    }

    /// Returns the major version in `JVMTI_VERSION`, which is written as `0x30000000 + (25 * 0x10000) + ...`.
    pub fn major_version(&self) -> i32 {
        let (before, _) = self.text.split_once(" * 0x10000)").expect("no JVMTI_VERSION in jvmti.h");
        let (_, major) = before.rsplit_once('(').expect("JVMTI_VERSION has an unexpected form");
        major.trim().parse().expect("JVMTI_VERSION has an unexpected form")
    }
}
