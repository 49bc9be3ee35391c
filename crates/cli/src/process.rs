//! A running process, by its number.

use own_time::Patience;
use std::ffi::{CStr, OsStr};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A process that is a JVM.
#[derive(Clone, Debug)]
pub struct Process {
    number: libc::pid_t,
    /// The number it has in its own namespace.
    pub own_number: libc::pid_t,
    user: libc::uid_t,
    group: libc::gid_t,
    caught_signals: u64,
}

/// Its number, and in a container the one that it has there.
impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)?;
        if self.own_number == self.number { Ok(()) } else { write!(f, " ({})", self.own_number) }
    }
}

impl Process {
    /// The JVM of this number.
    ///
    /// # Errors
    /// That there is no such process, that it is no JVM, or whose it is if it cannot be looked at.
    pub fn jvm(number: libc::pid_t) -> Result<Self, String> {
        let directory = format!("/proc/{number}");
        let status = fs::read_to_string(format!("{directory}/status"))
            .map_err(|_| format!("there is no process {number}"))?;
        let field = |name: &str| {
            let values = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(values.split_whitespace().collect::<Vec<_>>())
        };
        let process = || {
            // Real, effective, saved, and of the file system.
            let effective = |name| field(name)?.get(1)?.parse().ok();
            Some(Self {
                number,
                own_number: field("NSpid:")?.last()?.parse().ok()?,
                user: effective("Uid:")?,
                group: effective("Gid:")?,
                caught_signals: u64::from_str_radix(field("SigCgt:")?.first()?, 16).ok()?,
            })
        };
        let process = process().ok_or_else(|| format!("{directory}/status is not understood"))?;
        process.is_a_jvm()?;
        Ok(process)
    }

    fn is_a_jvm(&self) -> Result<(), String> {
        let maps = fs::read_to_string(self.directory().join("maps")).map_err(|error| {
            if error.kind() == io::ErrorKind::PermissionDenied {
                let user = name_of(self.user);
                format!(
                    "process {self} belongs to {user}: run jvmpi as {user} (sudo -u {user} jvmpi …)"
                )
            } else {
                format!("there is no process {self} any more")
            }
        })?;
        // A zombie has none.
        if maps.is_empty() {
            return Err(format!("process {self} has ended"));
        }
        let has_libjvm = maps.lines().any(|line| line.ends_with("/libjvm.so"));
        let executable = fs::read_link(self.directory().join("exe")).unwrap_or_default();
        if has_libjvm {
            return Ok(());
        }
        Err(format!("process {self} is no JVM, or none yet: it runs {}", executable.display()))
    }

    /// What the system tells of it.
    pub fn directory(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.number))
    }

    /// The root of the file system as it sees it.
    pub fn root(&self) -> PathBuf {
        self.directory().join("root")
    }

    /// Whether it is still there.
    ///
    /// # Errors
    /// That it has ended.
    pub fn is_alive(&self) -> Result<(), String> {
        match fs::metadata(self.directory()) {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("process {self} has ended")),
        }
    }

    /// True if the process is stopped by a signal, such as SIGSTOP.
    pub fn is_stopped(&self) -> bool {
        let stat = fs::read_to_string(self.directory().join("stat")).unwrap_or_default();
        // Behind the name, which may contain anything.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
    }

    /// So much time of its own, to wait for something that it does.
    pub fn patience(&self, time: Duration) -> Patience {
        Patience::new(time, vec![self.number.unsigned_abs()])
    }

    /// Whether SIGQUIT reaches the JVM, rather than ends it.
    ///
    /// # Errors
    /// That it does not.
    pub fn takes_signals(&self) -> Result<(), String> {
        if self.caught_signals & 1 << (libc::SIGQUIT - 1) != 0 {
            return Ok(());
        }
        Err(format!(
            "the JVM {self} takes no SIGQUIT, by which it is attached to: it is still starting, or was \
             started with -Xrs; start it without"
        ))
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// What the system says.
    pub fn signal(&self, signal: libc::c_int) -> Result<(), String> {
        // SAFETY: kill has no precondition.
        if unsafe { libc::kill(self.number, signal) } == 0 {
            return Ok(());
        }
        Err(format!("process {self}: {}", io::Error::last_os_error()))
    }

    /// Acts as the process's user while it lives: JVMs trust nobody else, older ones not even root.
    ///
    /// # Errors
    /// Whose the process is.
    pub fn as_its_user(&self) -> Result<AsUser, String> {
        // SAFETY: neither has a precondition.
        let own = unsafe { (libc::geteuid(), libc::getegid()) };
        let user = AsUser { own };
        if own != (self.user, self.group) && !become_user(self.user, self.group) {
            let user = name_of(self.user);
            return Err(format!("process {self} belongs to {user}: run jvmpi as {user} or root"));
        }
        Ok(user)
    }

    /// A path of the process as this one sees it.
    pub fn in_its_root(&self, path: &Path) -> PathBuf {
        self.root().join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Whether this process and that one see the same file under this path.
    pub fn sees(&self, path: &Path) -> bool {
        let identity = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
        identity(path).is_some_and(|own| identity(&self.in_its_root(path)) == Some(own))
    }

    /// The path of a library of this name that the process has loaded, whatever the version behind it.
    pub fn loaded(&self, name: &OsStr) -> Option<PathBuf> {
        let maps = fs::read_to_string(self.directory().join("maps")).ok()?;
        // Addresses, permissions, offset, device, inode and path, which may have blanks in it.
        let mut paths = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
        let is_named_so = |path: &&str| {
            let found = Path::new(path).file_name();
            found.is_some_and(|found| without_version(found) == without_version(name))
        };
        paths.find(is_named_so).map(PathBuf::from)
    }
}

/// `libfoo.so` of `libfoo.so.1`.
pub fn without_version(library: &OsStr) -> &[u8] {
    const END: &[u8] = b".so";
    let name = library.as_bytes();
    let end = name.windows(END.len()).position(|bytes| bytes == END);
    end.map_or(name, |end| &name[..end + END.len()])
}

/// See [`Process::as_its_user`].
pub struct AsUser {
    own: (libc::uid_t, libc::gid_t),
}

impl Drop for AsUser {
    fn drop(&mut self) {
        become_user(self.own.0, self.own.1);
    }
}

/// Changes the effective user and group of this process, which root can.
fn become_user(user: libc::uid_t, group: libc::gid_t) -> bool {
    // Only root may change the group, so before it becomes another user or after it is root again.
    // SAFETY: none of these has a precondition.
    unsafe {
        libc::setegid(group);
        libc::seteuid(user);
        libc::setegid(group);
        (libc::geteuid(), libc::getegid()) == (user, group)
    }
}

/// The user's name, or number if there is none.
fn name_of(user: libc::uid_t) -> String {
    // SAFETY: no other thread of this command asks for users, so that nothing overwrites the entry.
    let entry = unsafe { libc::getpwuid(user) };
    if entry.is_null() {
        return format!("user {user}");
    }
    // SAFETY: an entry has a name, which ends with NUL.
    unsafe { CStr::from_ptr((*entry).pw_name) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_do_not_count() {
        for name in ["libfoo.so", "libfoo.so.1", "libfoo.so.1.2.3"] {
            assert_eq!(without_version(OsStr::new(name)), b"libfoo.so");
        }
        assert_eq!(without_version(OsStr::new("libsomething.a")), b"libsomething.a");
    }

    #[test]
    fn what_is_no_jvm_is_said_in_a_line() {
        let number = i32::try_from(std::process::id()).unwrap();
        let line = Process::jvm(number).unwrap_err();
        let start = format!("process {number} is no JVM, or none yet: it runs /");
        assert!(line.starts_with(&start), "{line}");
        // Greater than any that the kernel gives.
        assert_eq!(Process::jvm(i32::MAX).unwrap_err(), "there is no process 2147483647");
    }
}
