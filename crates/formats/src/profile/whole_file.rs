//! A file that has its name only while it is whole.

use crate::planted::{create_anew, find, open_to_read, open_to_write};
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// A file that is written next to its place, as `NAME.RANDOM.part`, and renamed when it is complete. Only its owner
/// has access: a profile contains names and values of the program. A place that is no regular file, such as
/// `/dev/stdout` or a pipe, is written to directly.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// The unfinished file, which gets the name.
    Part(PathBuf),
    /// No regular file. It is written to.
    Other(File),
}

impl WholeFile {
    /// Returns a file of this name, or that which a symbolic link of this name leads to. Another process may write
    /// one of this name at the same time.
    ///
    /// # Errors
    /// If it is a directory, or something that another user has put into a directory for everybody.
    pub fn new(path: &Path) -> io::Result<Self> {
        let (path, found) = find(path)?;
        let there = found.as_ref().map(File::metadata).transpose()?;
        let place = match (there, found) {
            (Some(there), _) if there.is_dir() => {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            }
            (Some(there), Some(found)) if !there.is_file() => Place::Other(found),
            // Whatever has the name at the end, it is replaced and not written to.
            _ => {
                let mut name = OsString::from(&path);
                // Seeded like std's maps, from the system's random numbers: nobody can have put a file there.
                let random = RandomState::new().build_hasher().finish();
                name.push(format!(".{random:016x}.part"));
                Place::Part(name.into())
            }
        };
        Ok(Self { path, place })
    }

    /// Returns the path of the unfinished file. None if the file is written in its place.
    pub fn part(&self) -> Option<&Path> {
        match &self.place {
            Place::Part(part) => Some(part),
            Place::Other(_) => None,
        }
    }

    /// Its name when it is whole.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the unfinished file, empty.
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn create(&self) -> io::Result<File> {
        match &self.place {
            Place::Part(part) => create_anew(part),
            Place::Other(found) => open_to_write(found, true),
        }
    }

    /// Creates the unfinished file with the contents of the last complete one.
    ///
    /// # Errors
    /// Returns the error of the file system; `NotFound` if another process has moved the file away.
    pub fn go_on(&self) -> io::Result<File> {
        let Some(part) = self.part() else { return self.create() };
        // Only a file that this one has become: where others may remove it, they may put a link or a pipe there.
        let (_, whole) = find(&self.path)?;
        let is_file = |found: &File| found.metadata().is_ok_and(|there| there.is_file());
        let whole = whole.filter(is_file).ok_or(io::ErrorKind::NotFound)?;
        let mut whole = open_to_read(&whole)?;
        let mut file = create_anew(part)?;
        io::copy(&mut whole, &mut file)?;
        Ok(file)
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn finish(&self) -> io::Result<()> {
        self.part().map_or(Ok(()), |part| fs::rename(part, &self.path))
    }

    /// Returns the directory of the unfinished file. None if the file is written in its place.
    pub fn directory(&self) -> Option<&Path> {
        // The parent of a name without a slash is empty.
        let parent = self.part()?.parent().filter(|parent| !parent.as_os_str().is_empty());
        Some(parent.unwrap_or(Path::new(".")))
    }

    /// Gives the name to another complete file, which is in the same file system. A place that is no regular file gets
    /// a copy.
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn replace_with(&self, whole: &Path) -> io::Result<()> {
        if self.part().is_some() {
            return fs::rename(whole, &self.path);
        }
        io::copy(&mut File::open(whole)?, &mut self.create()?).map(drop)
    }

    /// Removes what is not whole.
    pub fn give_up(&self) {
        if let Some(part) = self.part() {
            // It may have got its name, or may never have been there.
            let _ = fs::remove_file(part);
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{
        FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink,
    };
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use tempfile::TempDir;

    const NOBODY: u32 = 65534;

    /// Returns true if this process can make files of another user. Otherwise prints that the test is skipped.
    fn can_be_two_users() -> bool {
        // SAFETY: geteuid has no precondition.
        let is_root = unsafe { libc::geteuid() } == 0;
        if !is_root {
            println!("skipped: only root can make files of another user");
        }
        is_root
    }

    fn write(file: &WholeFile, text: &str, more: bool) {
        let mut open = if more { file.go_on() } else { file.create() }.unwrap();
        open.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn it_has_its_name_only_while_it_is_whole() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("x.txt");
        let file = WholeFile::new(&path).unwrap();
        write(&file, "a", false);
        assert!(!path.exists());
        file.finish().unwrap();
        write(&file, "b", true);
        assert_eq!(fs::read_to_string(&path).unwrap(), "a");
        file.finish().unwrap();
        write(&file, "c", true);
        file.give_up();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ab");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        fs::remove_file(&path).unwrap();
        assert_eq!(file.go_on().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn it_is_for_its_owner_alone() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("x");
        fs::write(&path, "for everybody").unwrap();
        let file = WholeFile::new(&path).unwrap();
        for more in [false, true] {
            write(&file, "secret", more);
            file.finish().unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn planted_link_is_not_followed() {
        let directory = TempDir::new().unwrap();
        let victim = directory.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let file = WholeFile::new(&directory.path().join("x")).unwrap();
        let other = WholeFile::new(&directory.path().join("x")).unwrap();
        assert_ne!(file.part(), other.part());
        // Another process may see the name afterwards, or guess it.
        for target in [&victim, &directory.path().join("not there")] {
            symlink(target, file.part().unwrap()).unwrap();
            write(&file, "new", false);
            assert!(!file.part().unwrap().is_symlink());
            file.give_up();
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }

    #[test]
    fn files_of_another_user_in_a_shared_directory_are_refused() {
        if !can_be_two_users() {
            return;
        }
        let directory = TempDir::new().unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o1777)).unwrap();
        let victim = directory.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let (link, pipe) = (directory.path().join("link"), directory.path().join("pipe"));
        symlink(&victim, &link).unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for planted in [&link, &pipe] {
            assert!(WholeFile::new(planted).is_ok(), "its own");
            lchown(planted, Some(NOBODY), None).unwrap();
            let error = WholeFile::new(planted).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            assert!(error.to_string().starts_with("it belongs to another user"), "{error}");
        }
        // That user may put anything into a directory of their own.
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
        let file = WholeFile::new(&link).unwrap();
        assert_eq!(file.path(), victim.canonicalize().unwrap());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn link_that_another_user_plants_at_any_moment_is_not_followed() {
        if !can_be_two_users() {
            return;
        }
        // The kernel follows no such link in a sticky directory if it is set up so.
        for mode in [0o777, 0o1777] {
            let directory = TempDir::new().unwrap();
            fs::set_permissions(&directory, fs::Permissions::from_mode(mode)).unwrap();
            let [path, planted, pipe, victim] =
                ["x", "planted", "pipe", "victim"].map(|name| directory.path().join(name));
            fs::write(&victim, "precious").unwrap();
            assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            lchown(&pipe, Some(NOBODY), None).unwrap();
            let reader = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&pipe);
            let done = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        for target in [&pipe, &victim] {
                            let _ = fs::remove_file(&planted);
                            symlink(target, &planted).unwrap();
                            lchown(&planted, Some(NOBODY), None).unwrap();
                            fs::rename(&planted, &path).unwrap();
                        }
                        let _ = fs::remove_file(&path);
                    }
                });
                for _ in 0..10_000 {
                    let Ok(file) = WholeFile::new(&path) else { continue };
                    let written = file.create().and_then(|mut open| open.write_all(b"new"));
                    written.and_then(|()| file.finish()).unwrap();
                    file.give_up();
                }
                done.store(true, Ordering::Relaxed);
            });
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
            let mut got = [0];
            assert!(matches!(reader.unwrap().read(&mut got), Ok(0)), "the pipe got {got:?}");
        }
    }

    #[test]
    fn pipe_is_written_to_even_if_its_name_has_changed_hands() {
        let directory = TempDir::new().unwrap();
        let [path, moved, victim] =
            ["x", "moved", "victim"].map(|name| directory.path().join(name));
        fs::write(&victim, "precious").unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let file = WholeFile::new(&path).unwrap();
        let mut pipe =
            File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
        fs::rename(&path, &moved).unwrap();
        symlink(&victim, &path).unwrap();
        write(&file, "a", false);
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn pipe_without_a_reader_is_an_error() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("x");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = WholeFile::new(&path).unwrap().create().unwrap_err();
        assert_eq!(error.to_string(), "nobody reads this pipe");
    }

    #[test]
    fn output_of_a_shell_is_written_to() {
        // The kernel's link to the pipe has no name.
        let (mut reader, writer) = io::pipe().unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
        let file = WholeFile::new(&path).unwrap();
        write(&file, "a", false);
        file.finish().unwrap();
        drop((file, writer));
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a");
    }

    #[test]
    fn planted_link_behind_an_own_link_is_refused() {
        if !can_be_two_users() {
            return;
        }
        let directory = TempDir::new().unwrap();
        let shared = directory.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
        let [own, planted, victim] =
            [directory.path().join("own"), shared.join("planted"), directory.path().join("victim")];
        symlink("shared/planted", &own).unwrap();
        assert_eq!(WholeFile::new(&own).unwrap().path(), planted);
        symlink(&victim, &planted).unwrap();
        lchown(&planted, Some(NOBODY), None).unwrap();
        let error = WholeFile::new(&own).unwrap_err();
        assert!(error.to_string().starts_with("it belongs to another user"), "{error}");
    }

    #[test]
    fn other_file_gets_the_name() {
        let directory = TempDir::new().unwrap();
        let (path, other) = (directory.path().join("x"), directory.path().join("other"));
        fs::write(&path, "old").unwrap();
        fs::write(&other, "new").unwrap();
        let file = WholeFile::new(&path).unwrap();
        assert_eq!(file.directory(), Some(directory.path()));
        write(&file, "unfinished", false);
        file.replace_with(&other).unwrap();
        file.give_up();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        assert_eq!(WholeFile::new(Path::new("x")).unwrap().directory(), Some(Path::new(".")));
        assert_eq!(WholeFile::new(Path::new("/dev/null")).unwrap().directory(), None);
    }

    #[test]
    fn a_link_stays_one() {
        let directory = TempDir::new().unwrap();
        let (path, link) = (directory.path().join("x"), directory.path().join("link"));
        fs::write(&path, "old").unwrap();
        symlink("x", &link).unwrap();
        let file = WholeFile::new(&link).unwrap();
        write(&file, "new", false);
        file.finish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn directory_or_pipe_is_not_replaced() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = thread::spawn({
            let path = path.clone();
            move || {
                let mut text = String::new();
                File::open(path).unwrap().read_to_string(&mut text).unwrap();
                text
            }
        });
        let file = WholeFile::new(&path).unwrap();
        write(&file, "a", false);
        file.finish().unwrap();
        file.give_up();
        assert_eq!(reader.join().unwrap(), "a");
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
        assert!(WholeFile::new(directory.path()).is_err());
    }
}
