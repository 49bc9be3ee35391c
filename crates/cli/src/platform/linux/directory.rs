//! Directories that others can write to: those of a container, or `/tmp`.
//!
//! A path there may lead anywhere, because its owner can put a symbolic link at any place of it at any time. So
//! nothing here is found by a path from this process's own root, and nothing is created through a link.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// An open directory. Its functions return the errors of the system.
#[derive(Debug)]
pub struct Directory(OwnedFd);

/// The flags that open a directory without the permission to read it.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Directory {
    /// Opens a directory of this process's own, or one that the kernel names, such as `/proc/PID/root`.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, path, DIRECTORY, Mode::empty())?))
    }

    /// Opens a directory as seen by processes that have this one as `/`.
    pub fn directory_in_root(&self, path: &Path) -> io::Result<Self> {
        self.in_root(path, DIRECTORY).map(|file| Self(file.into()))
    }

    /// Opens the file that processes with this directory as `/` find under this path. Links are followed as in those
    /// processes, except the last part of the path if `flags` has `O_NOFOLLOW`.
    ///
    /// # Errors
    /// Without `openat2`, links in the path are an error.
    pub fn in_root(&self, path: &Path, flags: OFlags) -> io::Result<File> {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.0, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Ok(opened) => Ok(opened.into()),
            // Before Linux 5.6, or forbidden by a filter that does not know it.
            Err(Errno::NOSYS | Errno::PERM) => self.without_links(path, flags),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a regular file for reading, found as by [`Self::in_root`]. Files of other kinds are refused: opening a
    /// pipe can block for ever, and opening a device can change the machine.
    ///
    /// # Errors
    /// Fails if it is not a regular file.
    pub fn file_in_root(&self, path: &Path) -> io::Result<File> {
        let found = self.in_root(path, OFlags::PATH)?;
        if !found.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // Whatever has the name now, this is the file that was looked at.
        File::open(format!("/proc/self/fd/{}", found.as_raw_fd()))
    }

    fn without_links(&self, path: &Path, flags: OFlags) -> io::Result<File> {
        let mut parts = path.components().filter(|part| *part != Component::RootDir).peekable();
        let mut found = openat(&self.0, ".", DIRECTORY, Mode::empty())?;
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let flags = if parts.peek().is_none() { flags } else { DIRECTORY };
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            found = openat(&found, name, flags, Mode::empty())?;
        }
        Ok(found.into())
    }

    /// Opens the file of this name for its metadata only; a link is not followed.
    pub fn entry(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::empty())?.into())
    }

    /// Creates a file, for its owner alone.
    ///
    /// # Errors
    /// Fails if the name exists already, for example as a link.
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let flags = new | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Creates a directory whose name begins with `prefix`, for its owner alone. Returns the directory and its name.
    pub fn create_directory(&self, prefix: &str) -> io::Result<(Self, PathBuf)> {
        // The hasher has a random seed, so no other user can create all possible names in advance.
        let name = format!("{prefix}{:016x}", RandomState::new().build_hasher().finish());
        mkdirat(&self.0, &name, Mode::RWXU)?;
        // A user who may rename files in this directory can put another in its place, but no link.
        let created = openat(&self.0, &name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
        Ok((Self(created), name.into()))
    }

    /// Returns the names of its files.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = fs::read_dir(format!("/proc/self/fd/{}", self.0.as_raw_fd()))?;
        entries.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// Removes a file, or a directory that is empty.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        let removed = unlinkat(&self.0, name, AtFlags::empty());
        Ok(removed.or_else(|_| unlinkat(&self.0, name, AtFlags::REMOVEDIR))?)
    }
}

/// Returns the directories that may have this user's files, in the order in which they are tried.
pub fn users_directories() -> Vec<PathBuf> {
    let path = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let first = path("XDG_CACHE_HOME").or_else(|| Some(path("HOME")?.join(".cache")));
    let private = [first, path("XDG_RUNTIME_DIR")].into_iter().flatten();
    let user = geteuid().as_raw();
    // All users share this directory. The name need not be secret: another user's directory is refused.
    let shared = env::temp_dir().join(format!("jvmpi-{user}"));
    private.map(|directory| directory.join("jvmpi")).chain([shared]).collect()
}

/// Checks that only this process's user and root can change what is in a directory, or put another in its place. The
/// path must be absolute and without symbolic links.
///
/// # Errors
/// Returns the reason if another user can, or if the directory cannot be examined.
pub fn has_one_user(directory: &Path) -> Result<(), String> {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    let examine = |path: &Path| {
        fs::symlink_metadata(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let user = geteuid().as_raw();
    let own = examine(directory)?;
    if own.uid() != user || own.mode() & 0o077 != 0 || !own.is_dir() {
        return Err("is not a directory for this user alone; remove it".into());
    }
    // In a user namespace without root, `/` belongs to the user who stands for all unknown users.
    let trusted = [user, 0, examine(Path::new("/"))?.uid()];
    for above in directory.ancestors().skip(1) {
        let metadata = examine(above)?;
        // In a sticky directory, only the owner of an entry can rename it.
        let is_shared = metadata.mode() & WRITABLE_BY_OTHERS != 0 && metadata.mode() & STICKY == 0;
        if is_shared || !trusted.contains(&metadata.uid()) {
            return Err(format!("other users can change {}", above.display()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    /// A directory that stands for a container's root, and one outside of it with a file to protect.
    struct Place {
        root: TempDir,
        outside: TempDir,
    }

    impl Place {
        fn new() -> Self {
            let place = Self { root: TempDir::new().unwrap(), outside: TempDir::new().unwrap() };
            fs::create_dir(place.root.path().join("tmp")).unwrap();
            fs::write(place.victim(), "precious").unwrap();
            place
        }

        fn victim(&self) -> PathBuf {
            self.outside.path().join("victim")
        }

        fn opened(&self) -> Directory {
            Directory::open(self.root.path()).unwrap()
        }
    }

    #[test]
    fn absolute_link_stays_in_the_root() {
        let place = Place::new();
        let root = place.opened();
        symlink(place.outside.path(), place.root.path().join("link")).unwrap();
        let missing = root.directory_in_root(Path::new("/link")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        // The same path inside is where the link leads.
        let inside = place.root.path().join(place.outside.path().strip_prefix("/").unwrap());
        fs::create_dir_all(&inside).unwrap();
        let found = root.directory_in_root(Path::new("/link")).unwrap();
        found.create(OsStr::new("file")).unwrap();
        assert!(inside.join("file").is_file());
        assert_eq!(fs::read_dir(place.outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn parent_of_the_root_is_the_root() {
        let place = Place::new();
        fs::write(place.root.path().join("inside"), "yes").unwrap();
        let mut text = String::new();
        let path = Path::new("../../tmp/../../inside");
        place.opened().in_root(path, OFlags::RDONLY).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "yes");
    }

    #[test]
    fn links_are_errors_without_openat2() {
        let place = Place::new();
        let root = place.opened();
        let found = |path: &str| root.without_links(Path::new(path), OFlags::RDONLY);
        fs::write(place.root.path().join("tmp/file"), "yes").unwrap();
        let mut text = String::new();
        found("/tmp/file").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "yes");
        symlink(place.victim(), place.root.path().join("tmp/link")).unwrap();
        symlink(place.outside.path(), place.root.path().join("away")).unwrap();
        for path in ["/tmp/link", "/away/victim", "/tmp/../tmp/file"] {
            assert!(found(path).is_err(), "{path}");
        }
    }

    #[test]
    fn planted_name_is_not_written_to() {
        let place = Place::new();
        let tmp = place.opened().directory_in_root(Path::new("/tmp")).unwrap();
        let planted = place.root.path().join("tmp/name");
        for target in [place.victim(), place.outside.path().join("not there")] {
            symlink(&target, &planted).unwrap();
            let error = tmp.create(OsStr::new("name")).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert!(tmp.entry("name").unwrap().metadata().unwrap().is_symlink());
            fs::remove_file(&planted).unwrap();
        }
        assert_eq!(fs::read_to_string(place.victim()).unwrap(), "precious");
        assert_eq!(fs::read_dir(place.outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_regular_files_are_opened_for_reading() {
        let place = Place::new();
        fs::write(place.root.path().join("tmp/file"), "yes").unwrap();
        let mut text = String::new();
        let file = place.opened().file_in_root(Path::new("/tmp/file"));
        file.unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "yes");
        // Nobody writes to the pipe.
        let pipe = place.root.path().join("tmp/pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let device = Directory::open(Path::new("/")).unwrap();
        for (root, path) in [(&place.opened(), "/tmp/pipe"), (&device, "/dev/null")] {
            let error = root.file_in_root(Path::new(path)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{path}");
        }
    }

    #[test]
    fn created_directory_is_private() {
        let place = Place::new();
        let root = place.opened();
        let (directory, name) = root.create_directory("jvmpi-").unwrap();
        let path = place.root.path().join(&name);
        directory.create(OsStr::new("file")).unwrap().write_all(b"text").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("file"))), (0o700, 0o600));
        assert_ne!(root.create_directory("jvmpi-").unwrap().1, name);
        assert_eq!(directory.names().unwrap(), ["file"]);
        directory.remove(OsStr::new("file")).unwrap();
        root.remove(name.as_os_str()).unwrap();
        assert!(!path.exists());
    }
}
