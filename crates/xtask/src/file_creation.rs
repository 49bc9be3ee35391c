//! Part of `cargo xtask check-layers`: checks that the product creates files only where other users cannot interfere.
//!
//! If a file is created by its name alone, another user may have planted a file or a link with that name.

use compat_tests::workspace_root;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The calls that follow links and use existing files.
const CALLS: [&str; 7] = [
    "File::create(",
    "fs::write(",
    "fs::copy(",
    "create_dir(",
    "create_dir_all(",
    ".create(true)",
    "temp_dir().join",
];

/// The crates whose code does not run on users' machines.
const NOT_FOR_USERS: [&str; 2] = ["demo", "xtask"];

/// The allowed calls: the file, the call, and the reason.
const EXCEPTIONS: [(&str, &str, &str); 10] = [
    ("crates/cli/src/doctor/probe.rs", "fs::write(", "in a temporary directory of its own"),
    (
        "crates/cli/src/platform/linux/directory.rs",
        "temp_dir().join",
        "refused if it is another user's",
    ),
    ("crates/cli/src/generated.rs", "create_dir_all(", "the directory that the user names"),
    ("crates/conformance/src/compile.rs", "create_dir_all(", RUN),
    ("crates/conformance/src/compile.rs", "fs::write(", RUN),
    ("crates/conformance/src/run.rs", "File::create(", RUN),
    ("crates/conformance/src/run.rs", "create_dir_all(", RUN),
    ("crates/conformance/src/run.rs", "fs::write(", RUN),
    ("crates/parquet/src/place.rs", "create_dir_all(", "the directory that the user names"),
    ("crates/parquet/src/place.rs", "create_dir(", "that directory; another user's is refused"),
];

const RUN: &str = "in the directory of the run: one of its own, or that which the user names";

/// Returns the faults in all source files of the product.
pub fn faults() -> Result<Vec<String>, String> {
    let root = workspace_root();
    let failed = |e: std::io::Error| e.to_string();
    let mut sources = vec![root.join("shim/src")];
    for entry in fs::read_dir(root.join("crates")).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !NOT_FOR_USERS.iter().any(|name| entry.file_name() == *name) {
            sources.push(entry.path().join("src"));
        }
    }
    let mut faults = Vec::new();
    let mut unused: BTreeSet<_> =
        EXCEPTIONS.into_iter().map(|(file, call, _)| (file, call)).collect();
    let mut found = |path: &Path, call: &'static str| {
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        match EXCEPTIONS.iter().find(|(file, of, _)| *file == name && *of == call) {
            Some((file, call, _)) => _ = unused.remove(&(*file, *call)),
            None => {
                let line = format!("{name} calls {call}…): use WholeFile, tempfile or Directory");
                faults.push(line);
            }
        }
    };
    sources.iter().try_for_each(|source| look(source, &mut found)).map_err(failed)?;
    faults.extend(unused.into_iter().map(|(file, call)| format!("{file} does not call {call}…)")));
    Ok(faults)
}

fn look(source: &Path, found: &mut impl FnMut(&Path, &'static str)) -> std::io::Result<()> {
    for entry in fs::read_dir(source)? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            look(&path, found)?;
        } else if path.extension().is_some_and(|it| it == "rs")
            && !["tests", "testing"].contains(&&*stem)
        {
            let text = fs::read_to_string(&path)?;
            in_text(&text).for_each(|call| found(&path, call));
        }
    }
    Ok(())
}

/// Returns the calls in a file. Tests, which come last, are skipped.
fn in_text(text: &str) -> impl Iterator<Item = &'static str> {
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    // `NewFile::create` does not count as `File::create`.
    let is_whole = |at: usize, call: &str| {
        let before = code[..at].chars().next_back();
        call.starts_with('.') || !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    };
    CALLS.into_iter().filter(move |call| code.match_indices(call).any(|(at, _)| is_whole(at, call)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_code_are_found_and_those_in_tests_are_not() {
        let text = "fn a() { fs::write(a, b); }\n\n#[cfg(test)]\nmod tests { File::create(a); }\n";
        assert!(in_text(text).eq(["fs::write("]));
        let safe = "OpenOptions::new().create_new(true); NewFile::create(a)";
        assert_eq!(in_text(safe).count(), 0);
    }

    #[test]
    fn product_creates_files_only_where_it_is_safe() {
        assert_eq!(faults().unwrap(), Vec::<String>::new());
    }
}
