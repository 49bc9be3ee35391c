//! Loading an agent into a running JVM and dumping its heap, by HotSpot's own protocol.
//!
//! A JVM that is to be attached to opens a socket, `/tmp/.java_pidN`, when it finds a file
//! `/tmp/.attach_pidN` as it gets SIGQUIT. There it takes one command in each connection. `N` is the number
//! that the process has in its own namespace, and `/tmp` its own: both matter if it runs in a container.

use super::directory::Directory;
use super::process::{Process, without_version};
use crate::answer::{understand, understand_dump};
use crate::commands::{ARGUMENTS, DUMP, Dump, MOST_ANSWER};
use crate::waiting::{self, Waiting};
use rustix::fs::OFlags;
use rustix::process::Signal;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The version of the protocol, which all JVMs from JDK 6 on understand.
const PROTOCOL: &[u8] = b"1";
/// The maximum length of an argument.
const LONGEST: usize = 1024;

/// The age up to which a JVM may be starting.
const START: Duration = Duration::from_secs(30);

/// The CPU time that a JVM may take to open its socket. A JVM that hangs never does so. The JDK's own tools wait as
/// long in real time.
const PATIENCE: Duration = Duration::from_secs(10);

/// Loads the first of these libraries into the JVM, once with each of the options from `commands`. `commands` gets the
/// paths of all libraries as the JVM sees them. The JVM gets copies of libraries that it does not see, as in a
/// container, or that its user may not read.
///
/// # Errors
/// Returns the reason why the libraries cannot be copied or the JVM cannot be reached, or the JVM's own message.
pub fn load_agent(
    process: &Process,
    libraries: &[&Path],
    commands: impl FnOnce(&[PathBuf]) -> Result<Vec<OsString>, String>,
    waiting: &Waiting,
) -> Result<(), String> {
    // Both need the rights that this process has now.
    let view = View::of(process)?;
    let sources = libraries.iter().map(|library| view.source(library));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let _user = process.as_its_user()?;
    let agent = libraries.get(1).and_then(|library| library.file_name());
    let is_again = agent.is_some_and(|name| process.loaded(name).is_some());
    let mut connected = Some(view.connect(waiting)?);
    let mut copies = None;
    let paths = sources.into_iter().map(|source| match source {
        Source::Loaded(path) => Ok(path),
        Source::File { path, is_seen: true, .. } if view.is_readable(&path) => Ok(path),
        Source::File { path, file, .. } => {
            let place = match &mut copies {
                Some(place) => place,
                none => none.insert(Temporary::create(&view)?),
            };
            place.add(path.file_name().unwrap_or_default(), file)
        }
    });
    let paths = paths.collect::<io::Result<Vec<_>>>().map_err(|error| {
        format!(
            "the JVM {process} cannot read the libraries, and they cannot be copied to its /tmp: {error}"
        )
    })?;
    let library = &paths[0];
    for options in commands(&paths)? {
        // The JVM may be asked later to load the same libraries again.
        copies.iter_mut().for_each(|copies| copies.is_kept = true);
        let arguments = [library.as_os_str(), OsStr::new("true"), &options];
        let command = command_of("load", &arguments);
        let answer = waiting.for_start(process, || {
            // A connection takes one command.
            let socket = match connected.take() {
                Some(socket) => socket,
                None => view.connect(waiting)?,
            };
            ask(waiting, process, socket, command.clone(), MOST_ANSWER)
        })?;
        understand(&answer).map_err(|why| {
            copies.iter_mut().for_each(|copies| copies.is_kept = copies.is_loaded_by(process));
            let another = "; if another recording of it is running, end that one first";
            let another = is_again.then_some(another);
            let remark = another.or_else(|| process.other_libc()).unwrap_or_default();
            format!("the JVM {process} has not loaded {}: {why}{remark}", library.display())
        })?;
    }
    Ok(())
}

/// Makes the JVM write a dump, and returns the dump's path in `directory`, which is private and empty. The JVM writes into
/// `directory` itself if it sees it and its user is that of this process. Otherwise it writes to its `/tmp`, and the dump
/// is copied.
///
/// # Errors
/// Returns the reason why the JVM cannot be reached, or why there is no dump.
pub fn dump(
    process: &Process,
    directory: &Path,
    what: Dump,
    waiting: &Waiting,
) -> Result<PathBuf, String> {
    let (view, name) = (View::of(process)?, what.name());
    let path = directory.join(DUMP);
    let cannot_copy = |error| format!("cannot copy the {name} to {}: {error}", path.display());
    let is_direct = process.is_of_this_user() && view.sees(directory);
    // A file of this process's own user.
    let copy = if is_direct { None } else { Some(new_file(&path).map_err(cannot_copy)?) };
    let _user = process.as_its_user()?;
    not_stopped(process)?;
    let socket = view.connect(waiting)?;
    let temporary = copy.is_some().then(|| Temporary::create(&view)).transpose();
    let temporary = temporary.map_err(|error| {
        format!("the JVM {process} cannot write the {name} to its /tmp: {error}")
    })?;
    let place = match &temporary {
        None => directory.parent().unwrap_or(directory).display().to_string(),
        Some(_) => "its /tmp".into(),
    };
    let seen = temporary.as_ref().map_or(path.clone(), |temporary| temporary.path().join(DUMP));
    let (command, arguments) = what.command(&seen);
    let arguments = arguments.each_ref().map(|argument| &**argument);
    let command = command_of(command, &arguments);
    let answer = ask(waiting, process, socket, command, MOST_ANSWER)?;
    understand_dump(&answer)
        .map_err(|why| format!("the JVM {process} has not written a {name} to {place}: {why}"))?;
    if let (Some(copy), Some(temporary)) = (copy, &temporary) {
        let dump = temporary.directory.file_in_root(Path::new(DUMP)).map_err(cannot_copy)?;
        let (length, most) = (dump.metadata().map_err(cannot_copy)?.len(), MOST * process.memory());
        if length > most {
            return Err(format!(
                "the {name} of the JVM {process} has {length} bytes, more than the objects of a JVM of this size \
                 can need ({most}): it is not copied"
            ));
        }
        let copied =
            waiting::result_of(|| waiting.check(process), move || copy_dump(dump, length, copy));
        copied?.map_err(cannot_copy)?;
    }
    Ok(path)
}

/// Has the JVM execute a command without arguments, whose answer has at most `most` bytes.
///
/// # Errors
/// Returns the reason why there is no answer.
pub fn execute(
    process: &Process,
    waiting: &Waiting,
    command: &str,
    most: usize,
) -> Result<String, String> {
    let view = View::of(process)?;
    let _user = process.as_its_user()?;
    not_stopped(process)?;
    let socket = view.connect(waiting)?;
    ask(waiting, process, socket, command_of(command, &[OsStr::new(""); ARGUMENTS]), most)
}

/// The maximum size of a dump, as a multiple of the JVM's memory. The records of small objects are about three times as
/// long as the objects.
const MOST: u64 = 8;

/// Copies this many bytes of a dump. The process that writes it may still do so.
fn copy_dump(dump: File, length: u64, mut copy: File) -> io::Result<()> {
    match io::copy(&mut dump.take(length), &mut copy)? {
        copied if copied == length => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Returns the bytes of a command to a JVM.
fn command_of(name: &str, arguments: &[&OsStr; ARGUMENTS]) -> Vec<u8> {
    let mut command = [PROTOCOL, b"\0", name.as_bytes(), b"\0"].concat();
    for argument in arguments {
        command.extend(argument.as_bytes());
        command.push(0);
    }
    command
}

/// The file system as a JVM sees it.
struct View<'a> {
    process: &'a Process,
    root: Directory,
}

/// A library for a JVM.
enum Source {
    /// The JVM has loaded it from this path.
    Loaded(PathBuf),
    /// This process sees it under this path, and perhaps the JVM does too.
    File { path: PathBuf, file: File, is_seen: bool },
}

impl<'a> View<'a> {
    fn of(process: &'a Process) -> Result<Self, String> {
        let path = process.directory().join("root");
        let root =
            Directory::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { process, root })
    }

    /// Finds the source of a library, given by the path under which this process sees it.
    fn source(&self, library: &Path) -> Result<Source, String> {
        let name = library.file_name().unwrap_or_default();
        if let Some(loaded) = self.process.loaded(name)
            && self.is_the_same(&loaded, library)
        {
            return Ok(Source::Loaded(loaded));
        }
        let file = File::open(library).and_then(|file| Ok((identity(file.metadata()?), file)));
        let (own, file) = file.map_err(|error| format!("{}: {error}", library.display()))?;
        let seen = self.root.in_root(library, OFlags::PATH).and_then(|file| file.metadata());
        let is_seen = seen.is_ok_and(|seen| identity(seen) == own);
        Ok(Source::File { path: library.to_owned(), file, is_seen })
    }

    /// Returns true if the JVM finds this directory under the same path, and a path in it is not too long for an
    /// argument.
    fn sees(&self, directory: &Path) -> bool {
        let seen = self.root.in_root(directory, OFlags::PATH).and_then(|file| file.metadata());
        let is_seen = || Some(identity(seen.ok()?) == identity(fs::metadata(directory).ok()?));
        directory.as_os_str().len() + DUMP.len() < LONGEST && is_seen() == Some(true)
    }

    /// Returns true if this process, with the rights that it has now, can read a file that the JVM sees.
    fn is_readable(&self, library: &Path) -> bool {
        self.root.file_in_root(library).is_ok()
    }

    /// Returns true if a library that is loaded will do. Of libjvmpi.so there can be but one, whatever its version.
    fn is_the_same(&self, loaded: &Path, library: &Path) -> bool {
        if without_version(library.file_name().unwrap_or_default()) == b"libjvmpi.so" {
            return true;
        }
        let Ok(content) = fs::read(library) else { return false };
        // It may have become anything else by now, such as a pipe or a huge file.
        let Ok(there) = self.root.file_in_root(loaded) else { return false };
        let length = content.len() as u64;
        let is_as_long = there.metadata().is_ok_and(|there| there.len() == length);
        let mut read = Vec::new();
        is_as_long && there.take(length).read_to_end(&mut read).is_ok() && read == content
    }

    /// Returns the `/tmp` in which the JVM opens its socket.
    fn tmp(&self) -> io::Result<Directory> {
        self.root.directory_in_root(Path::new("/tmp"))
    }

    /// Connects to the JVM. Makes it open its socket first if it has not done so.
    fn connect(&self, waiting: &Waiting) -> Result<UnixStream, String> {
        let process = self.process;
        match self.connection(waiting)? {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(format!("{}: {error}", self.socket()));
            }
            // There is none, or one that a JVM has left which had the same number.
            Err(_) => {}
        }
        process.is_hotspot()?;
        process.may_be_attached_to()?;
        let is_ready = || {
            // Before it starts this thread, a JVM forgets signals, and removes its socket as another process's.
            let may_be_starting = process.age().is_some_and(|age| age < START);
            let has_started = !may_be_starting || process.has_thread("Service Thread");
            Ok((has_started && process.takes_signals().is_ok()).then_some(()))
        };
        while self.wait_for(waiting, is_ready)?.is_none() {
            process.takes_signals()?;
        }
        // A stopped JVM would print a thread dump when it continues: no command waits for the socket by then.
        not_stopped(process)?;
        let _request = Request::make(self)?;
        process.signal(Signal::QUIT)?;
        let opened = self.wait_for(waiting, || Ok(self.connection(waiting)?.ok()))?;
        opened.ok_or_else(|| {
            format!(
                "the JVM {process} has not opened {} within {} s: it hangs; restart it, or start it with the agent",
                self.socket(),
                PATIENCE.as_secs()
            )
        })
    }

    /// Waits until `look` finds something. None if the JVM has used [`PATIENCE`] before.
    ///
    /// # Errors
    /// Returns the error of `look`, or the reason why the wait is over.
    fn wait_for<T>(
        &self,
        waiting: &Waiting,
        look: impl Fn() -> Result<Option<T>, String>,
    ) -> Result<Option<T>, String> {
        let mut patience = self.process.patience(PATIENCE);
        loop {
            if let Some(found) = look()? {
                return Ok(Some(found));
            }
            self.process.is_alive()?;
            not_stopped(self.process)?;
            waiting.check(self.process)?;
            if patience.left().is_zero() {
                return Ok(None);
            }
            thread::sleep(waiting::LOOK);
        }
    }

    /// Returns the path of the JVM's socket, as the JVM sees it.
    fn socket(&self) -> String {
        format!("/tmp/.java_pid{}", self.process.own_number)
    }

    /// Connects to the JVM's socket. The inner result is an error if the socket does not exist or the connection fails.
    ///
    /// # Errors
    /// Fails if the file of that name is not the JVM's socket, or if the wait is over.
    fn connection(&self, waiting: &Waiting) -> Result<io::Result<UnixStream>, String> {
        let process = self.process;
        let name = self.socket();
        let found = self.tmp().and_then(|tmp| tmp.entry(name.trim_start_matches("/tmp/")));
        let (file, metadata) =
            match found.and_then(|file| file.metadata().map(|metadata| (file, metadata))) {
                Ok(found) => found,
                Err(error) => return Ok(Err(error)),
            };
        let is_socket = metadata.file_type().is_socket();
        if !is_socket || metadata.uid() != process.user() || metadata.mode() & 0o077 != 0 {
            let in_the_way = "is not the JVM's socket, or others may write to it; remove it";
            return Err(format!("{name}, as the JVM {process} sees it, {in_the_way}"));
        }
        // The file behind the name may have been replaced; this path leads to the checked socket.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // The call waits without an end while the queue of the socket is full.
        let go_on = || waiting.check(process);
        let connected = waiting::result_of(go_on, move || UnixStream::connect(path))?;
        if let Ok(stream) = &connected {
            let listener = listener(stream).map_err(|error| format!("{name}: {error}"))?;
            if listener != process.number() {
                return Err(format!(
                    "{name} is the socket of process {listener}, not of the JVM {process}; end that process, or \
                     remove the file"
                ));
            }
        }
        Ok(connected)
    }
}

/// Sends a command and reads the answer to its end. A JVM sends no more than `most` bytes.
///
/// # Errors
/// Returns the reason if there is no answer or the wait is over.
fn ask(
    waiting: &Waiting,
    process: &Process,
    mut socket: UnixStream,
    command: Vec<u8>,
    most: usize,
) -> Result<String, String> {
    waiting.for_answer(process, most, move || socket.write_all(&command).map(|()| socket))
}

/// Returns the values that identify a file.
fn identity(file: Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Returns the process that opened the socket to which this one is connected; 0 if it has no number here. The function of
/// rustix for that requires a number.
fn listener(stream: &UnixStream) -> io::Result<libc::pid_t> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both are locals, and the first is as long as the second says.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(peer.pid) } else { Err(io::Error::last_os_error()) }
}

fn not_stopped(process: &Process) -> Result<(), String> {
    if !process.is_stopped() {
        return Ok(());
    }
    Err(format!("the JVM {process} is stopped by a signal; continue it with kill -CONT {process}"))
}

/// A new directory in the `/tmp` of a JVM, which is for its user alone. Removed with its files unless it is kept.
struct Temporary {
    directory: Directory,
    /// The name that it has in `/tmp`, and `/tmp`.
    name: PathBuf,
    tmp: Directory,
    is_kept: bool,
}

impl Temporary {
    fn create(view: &View<'_>) -> io::Result<Self> {
        let tmp = view.tmp()?;
        let (directory, name) = tmp.create_directory("jvmpi-")?;
        Ok(Self { directory, name, tmp, is_kept: false })
    }

    /// Returns its path as the JVM sees it.
    fn path(&self) -> PathBuf {
        Path::new("/tmp").join(&self.name)
    }

    /// Copies a library into it; returns the library's path as the JVM sees it.
    fn add(&self, name: &OsStr, mut library: File) -> io::Result<PathBuf> {
        let mut copy = self.directory.create(name)?;
        library.rewind()?;
        io::copy(&mut library, &mut copy)?;
        Ok(self.path().join(name))
    }

    /// Returns true if the JVM has loaded a library of the same name as a file in it.
    fn is_loaded_by(&self, process: &Process) -> bool {
        let names = self.directory.names().unwrap_or_default();
        names.iter().any(|name| process.loaded(name).is_some())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        // Another process may have removed files, or put something there.
        for file in self.directory.names().unwrap_or_default() {
            let _ = self.directory.remove(&file);
        }
        let _ = self.tmp.remove(self.name.as_os_str());
    }
}

/// The file in `/tmp` that makes a JVM open its socket; removed when it is not needed any more. A JVM looks into its
/// working directory first, but while it is starting, that is another one for a moment.
struct Request {
    place: Directory,
    name: String,
    /// Another command may have made it, or have left it.
    is_ours: bool,
}

impl Request {
    fn make(view: &View<'_>) -> Result<Self, String> {
        let name = format!(".attach_pid{}", view.process.own_number);
        let created = view.tmp().and_then(|place| match place.create(OsStr::new(&name)) {
            Ok(_) => Ok((place, true)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok((place, false)),
            Err(error) => Err(error),
        });
        let (place, is_ours) = created.map_err(|error| {
            format!("cannot create /tmp/{name}, which attaching needs: {error}")
        })?;
        let request = Self { place, name, is_ours };
        if is_ours || request.is_of(view.process.user()) {
            return Ok(request);
        }
        Err(format!("/tmp/{} is not a file of the JVM's user; remove it", request.name))
    }

    fn is_of(&self, user: libc::uid_t) -> bool {
        let metadata = self.place.entry(&self.name).and_then(|file| file.metadata());
        metadata.is_ok_and(|there| there.is_file() && there.uid() == user)
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.is_ours {
            // The JVM may have removed it.
            let _ = self.place.remove(OsStr::new(&self.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dump_that_grows_is_copied_up_to_its_length() {
        const LENGTH: u64 = 1_000_000;
        let [dump, copy] = [(); 2].map(|()| tempfile::NamedTempFile::new().unwrap());
        fs::write(&dump, vec![b'x'; 2 * LENGTH as usize]).unwrap();
        let copied = |length| copy_dump(dump.reopen().unwrap(), length, copy.reopen().unwrap());
        copied(LENGTH).unwrap();
        assert_eq!(copy.path().metadata().unwrap().len(), LENGTH);
        assert_eq!(copied(3 * LENGTH).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn answer_that_is_too_long_is_refused() {
        const MOST: usize = 64 << 10;
        for (length, is_taken) in [(MOST, true), (MOST + 1, false), (100 * MOST, false)] {
            let (socket, mut peer) = UnixStream::pair().unwrap();
            let jvm = thread::spawn(move || {
                peer.read_exact(&mut [0; 4]).unwrap();
                // Fails when the command takes no more.
                let _ = peer.write_all(&vec![b'x'; length]);
            });
            let (waiting, command) = (Waiting::default(), b"load".to_vec());
            let answer = ask(&waiting, &Process::this(), socket, command, MOST);
            assert_eq!(answer.is_ok(), is_taken, "{length} bytes");
            jvm.join().unwrap();
        }
    }
}
