//! The libraries as `cargo install jvmpi-libraries` puts them beside the command: as programs, for which it has
//! no other place and no other name. A JVM, its agents and the settings of these know them by the names of
//! libraries, so they get a directory in which they have them.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The libraries, without the ending that Cargo's programs do not have.
const LIBRARIES: [&str; 2] = ["libjvmpi", "libhprof"];

/// The directory of the libraries that lie beside the command. None if they do not.
///
/// # Errors
/// Why it cannot be made.
pub fn libraries(beside: &Path) -> Result<Option<PathBuf>, String> {
    if !LIBRARIES.iter().all(|library| beside.join(library).is_file()) {
        return Ok(None);
    }
    let directory =
        cache().ok_or("neither XDG_CACHE_HOME nor HOME names a directory for the libraries")?;
    let placed = fs::create_dir_all(&directory)
        .and_then(|()| LIBRARIES.iter().try_for_each(|library| place(library, beside, &directory)));
    placed.map_err(|error| {
        format!("the libraries get no place in {}: {error}", directory.display())
    })?;
    Ok(Some(directory))
}

/// A directory of the user's for this version.
fn cache() -> Option<PathBuf> {
    let absolute =
        |variable| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("jvmpi/libraries").join(env!("CARGO_PKG_VERSION")))
}

/// Copies a library, unless it is there. A JVM that has an older one loaded keeps that.
fn place(library: &str, from: &Path, to: &Path) -> io::Result<()> {
    let content = fs::read(from.join(library))?;
    let place = to.join(library).with_extension("so");
    if fs::read(&place).is_ok_and(|there| there == content) {
        return Ok(());
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(library).permissions(fs::Permissions::from_mode(0o644));
    let mut new = builder.tempfile_in(to)?;
    new.write_all(&content)?;
    new.persist(&place)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_replaced_only_by_another_content() {
        let root = tempfile::TempDir::new().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        for directory in [&from, &to] {
            fs::create_dir_all(directory).unwrap();
        }
        let placed = |content: &str| {
            use std::os::unix::fs::MetadataExt;
            fs::write(from.join("libfoo"), content).unwrap();
            place("libfoo", &from, &to).unwrap();
            assert_eq!(fs::read_to_string(to.join("libfoo.so")).unwrap(), content);
            assert_eq!(fs::read_dir(&to).unwrap().count(), 1);
            fs::metadata(to.join("libfoo.so")).unwrap().ino()
        };
        let first = placed("one");
        assert_eq!(placed("one"), first);
        // A JVM may have the first one loaded.
        let kept = fs::File::open(to.join("libfoo.so")).unwrap();
        assert_ne!(placed("two"), first);
        drop(kept);
    }
}
