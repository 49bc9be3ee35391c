//! Directories for temporary files.

use std::env;
use std::path::Path;
use tempfile::TempDir;

/// Creates a temporary directory whose name begins with this prefix, for this user alone. So no other user can put code
/// or data into it.
///
/// # Errors
/// Returns one line if the directory cannot be created.
pub fn temporary(prefix: &str) -> Result<TempDir, String> {
    temporary_in(&env::temp_dir(), prefix)
}

/// Creates such a directory in this one.
///
/// # Errors
/// Returns one line if the directory cannot be created.
pub fn temporary_in(place: &Path, prefix: &str) -> Result<TempDir, String> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let failed = |error| format!("no directory in {}: {error}", place.display());
    builder.tempdir_in(place).map_err(failed)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// The bits are those that the call asks for, so that no umask matters.
    #[test]
    fn temporary_directory_is_new_and_for_its_owner_alone() {
        let (one, other) = (temporary("jvmpi-test-").unwrap(), temporary("jvmpi-test-").unwrap());
        assert_ne!(one.path(), other.path());
        let metadata = fs::symlink_metadata(one.path()).unwrap();
        assert_eq!((metadata.is_dir(), metadata.permissions().mode() & 0o777), (true, 0o700));
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists());
    }
}
