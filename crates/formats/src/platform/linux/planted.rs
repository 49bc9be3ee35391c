//! Files that another user has put where this one wants to write.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The error about such a file.
const PLANTED: &str =
    "it belongs to another user, in a directory that everybody may write to; choose another name";

/// The maximum number of links from an output's name to its file, as in Linux.
const MOST_LINKS: usize = 40;

/// Follows the links from the name of an output. Returns the name at their end, and the file of this name if there is
/// one, opened with `O_PATH`. Each name is looked up once: the entry that is checked is the one that is used.
///
/// # Errors
/// Returns `PermissionDenied` if another user has put a link or the file into a directory for everybody, or the error of
/// the system.
pub fn find(path: &Path) -> io::Result<(PathBuf, Option<File>)> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let entry = match open_path(&path, libc::O_NOFOLLOW) {
            Ok(entry) => entry,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((path, None)),
            Err(error) => return Err(error),
        };
        let metadata = entry.metadata()?;
        if is_planted(&path, &metadata) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, PLANTED));
        }
        if !metadata.is_symlink() {
            return Ok((path, Some(entry)));
        }
        if is_in_proc(&entry) {
            // The kernel's link to a pipe or a socket, as /dev/stdout can be, leads to no name.
            let open = open_path(&path, 0)?;
            if !open.metadata()?.is_file() {
                return Ok((path, Some(open)));
            }
        }
        let target = target(&entry)?;
        // The target is relative to the directory of the link, unless it is absolute.
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

/// Returns true if the path names this open file itself, and not a link to it.
#[must_use]
pub fn is_name_of(path: &Path, file: &File) -> bool {
    let identity = |of: Metadata| (of.dev(), of.ino());
    let there = fs::symlink_metadata(path).map(identity);
    there.is_ok_and(|there| file.metadata().is_ok_and(|own| identity(own) == there))
}

/// Returns the options for a new file that only its owner can access.
#[must_use]
pub fn for_the_owner() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Creates a file that only its owner can access. A file of this name, such as an unfinished one, is removed; a link
/// is not followed.
///
/// # Errors
/// Returns the error of the file system.
pub fn create_anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for_the_owner().create_new(true).open(path)
}

/// Opens a file that [`find`] has found, for reading.
///
/// # Errors
/// Returns the error of the system.
pub fn open_to_read(found: &File) -> io::Result<File> {
    File::open(by_descriptor(found))
}

fn by_descriptor(found: &File) -> String {
    format!("/proc/self/fd/{}", found.as_raw_fd())
}

/// Opens a file that [`find`] has found, for writing: at its end if it `keeps` its contents, else as an empty file. It is
/// the same file, even if its name has changed hands. A pipe gets some time for its reader to come.
///
/// # Errors
/// Returns the error of the system, or an error if nobody reads the pipe.
pub fn open_to_write(found: &File, keeps: bool) -> io::Result<File> {
    /// The time in which the reader of a pipe must come.
    const PATIENCE: Duration = Duration::from_secs(3);
    let is_pipe = found.metadata()?.file_type().is_fifo();
    let name = by_descriptor(found);
    let mut options = OpenOptions::new();
    options.write(true).append(keeps).truncate(!keeps);
    // Without this flag, opening a pipe waits for its reader.
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let end = Instant::now() + PATIENCE;
    let file = loop {
        match options.open(&name) {
            Err(error) if is_pipe && error.raw_os_error() == Some(libc::ENXIO) => {
                if Instant::now() >= end {
                    return Err(io::Error::new(error.kind(), "nobody reads this pipe"));
                }
                thread::sleep(Duration::from_millis(20));
            }
            opened => break opened?,
        }
    };
    // SAFETY: the calls take no pointers, and the descriptor is that of the open file.
    let is_blocking = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        flags >= 0 && libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK) == 0
    };
    if is_blocking { Ok(file) } else { Err(io::Error::last_os_error()) }
}

fn open_path(path: &Path, flags: libc::c_int) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | flags).open(path)
}

/// Returns true if this link is one of `/proc`.
fn is_in_proc(link: &File) -> bool {
    // SAFETY: all bits zero are valid for numbers.
    let mut system: libc::statfs = unsafe { mem::zeroed() };
    // SAFETY: the descriptor is that of an open file, and `system` is a local.
    let is_known = unsafe { libc::fstatfs(link.as_raw_fd(), &raw mut system) } == 0;
    // Their types depend on the C library.
    is_known && i128::from(system.f_type) == i128::from(libc::PROC_SUPER_MAGIC)
}

/// Reads an open link.
fn target(link: &File) -> io::Result<PathBuf> {
    let mut target = vec![0; libc::PATH_MAX as usize];
    // SAFETY: the empty path is that of the open link, and the buffer has the given length.
    let length = unsafe {
        let out = target.as_mut_ptr().cast();
        libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), out, target.len())
    };
    target.truncate(usize::try_from(length).map_err(|_| io::Error::last_os_error())?);
    Ok(OsString::from_vec(target).into())
}

/// Returns true if another user has put this entry into a directory that everybody may write to, such as `/tmp`. A link
/// there may lead to a file of this user, and a pipe to the other one. `entry` is the metadata of `path`, with links not followed.
/// A file that others may remove anyway, as the directory is not sticky, is no fault: only its name is used.
///
/// The kernel refuses such files too, but not everywhere: it depends on `fs.protected_symlinks` and
/// `fs.protected_fifos`.
fn is_planted(path: &Path, entry: &Metadata) -> bool {
    // The parent of a name without a slash is empty.
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Ok(directory) = fs::metadata(parent.unwrap_or(Path::new("."))) else { return false };
    let is_shared = directory.mode() & libc::S_IWOTH != 0
        && (directory.mode() & libc::S_ISVTX != 0 || !entry.is_file());
    // SAFETY: geteuid has no precondition.
    let user = unsafe { libc::geteuid() };
    is_shared && ![user, directory.uid()].contains(&entry.uid())
}
