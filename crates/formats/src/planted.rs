//! Files that another user has put where this one wants to write.

use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The error about such a file.
#[derive(Debug)]
pub struct Planted;

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it belongs to another user, in a directory that everybody may write to; choose another name")
    }
}

impl std::error::Error for Planted {}

/// Returns true if another user has put this entry into a directory that everybody may write to, such as `/tmp`. A link
/// there may lead to a file of this user, and a pipe to the other one. `entry` is the metadata of `path`, with links not followed.
///
/// The kernel refuses such files too, but not everywhere: it depends on `fs.protected_symlinks` and
/// `fs.protected_fifos`.
#[must_use]
pub fn is_planted(path: &Path, entry: &Metadata) -> bool {
    const SHARED: u32 = libc::S_ISVTX | libc::S_IWOTH;
    // The parent of a name without a slash is empty.
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Ok(directory) = fs::metadata(parent.unwrap_or(Path::new("."))) else { return false };
    // SAFETY: geteuid has no precondition.
    let user = unsafe { libc::geteuid() };
    directory.mode() & SHARED == SHARED && ![user, directory.uid()].contains(&entry.uid())
}
