//! Loading an agent into a running JVM, by HotSpot's own protocol.
//!
//! A JVM that is to be attached to opens a socket, `/tmp/.java_pidN`, when it finds a file
//! `.attach_pidN` in its working directory or in `/tmp` as it gets SIGQUIT. There it takes one
//! command in each connection. `N` is the number that the process has in its own namespace, and
//! `/tmp` its own: both matter if it runs in a container.

use crate::process::{Process, without_version};
use crate::waiting::Waiting;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The version of the protocol, which all JVMs from JDK 6 on understand.
const PROTOCOL: &[u8] = b"1";
/// How many arguments a command of this version has.
const ARGUMENTS: usize = 3;

/// How much time of its own a JVM may take to open its socket. Nothing shows that one never will, because it was
/// told not to by `-XX:+DisableAttachMechanism`, or hangs; the JDK's own tools wait as long, on the clock.
const PATIENCE: Duration = Duration::from_secs(10);

/// The paths under which the process sees these libraries. Of those that it does not, as it runs in a
/// container, it gets copies in its `/tmp`.
///
/// # Errors
/// Why they cannot be copied.
pub fn visible(process: &Process, libraries: &[&Path]) -> Result<Vec<PathBuf>, String> {
    let mut directory: Option<PathBuf> = None;
    let mut place = |library: &&Path| {
        let loaded = process.loaded(library.file_name().unwrap_or_default());
        if let Some(loaded) = loaded.filter(|loaded| is_the_same(process, loaded, library)) {
            return Ok(loaded);
        }
        if process.sees(library) {
            return Ok(library.to_path_buf());
        }
        let directory = match &mut directory {
            Some(directory) => directory,
            none => none.insert(new_directory(process)?),
        };
        copy(process, library, directory)
    };
    libraries.iter().map(&mut place).collect::<io::Result<_>>().map_err(|error| {
        format!(
            "the JVM {process} does not see the libraries, and gets no copies in its /tmp: {error}"
        )
    })
}

/// Whether a library that is loaded will do. Of libjvmpi.so there can be but one, whatever its version.
fn is_the_same(process: &Process, loaded: &Path, library: &Path) -> bool {
    let content = fs::read(library).ok();
    without_version(library.file_name().unwrap_or_default()) == b"libjvmpi.so"
        || content.is_some() && content == fs::read(process.in_its_root(loaded)).ok()
}

/// A directory in the `/tmp` of the process that was not there before: anybody can write to `/tmp`.
fn new_directory(process: &Process) -> io::Result<PathBuf> {
    for number in 0.. {
        let directory = PathBuf::from(format!("/tmp/jvmpi-{}-{number}", std::process::id()));
        match fs::create_dir(process.in_its_root(&directory)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|()| directory),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn copy(process: &Process, library: &Path, directory: &Path) -> io::Result<PathBuf> {
    let place = directory.join(library.file_name().unwrap_or_default());
    fs::copy(library, process.in_its_root(&place)).map(|_| place)
}

/// Has the JVM load the agent library of this path, which is seen as the JVM sees it, with these
/// options.
///
/// # Errors
/// What is in the way, or the JVM's own words.
pub fn load_agent(
    process: &Process,
    library: &Path,
    options: &OsStr,
    waiting: &Waiting,
) -> Result<(), String> {
    let _user = process.as_its_user()?;
    let mut socket = connect(process, waiting)?;
    let arguments = [b"load", library.as_os_str().as_bytes(), b"true", options.as_bytes()];
    const { assert!(ARGUMENTS + 1 == 4) };
    let mut command = [PROTOCOL, b"\0"].concat();
    for argument in arguments {
        command.extend(argument);
        command.push(0);
    }
    let answer = waiting.ask(process, &mut socket, &command)?;
    understand(&String::from_utf8_lossy(&answer))
        .map_err(|why| format!("the JVM {process} has not loaded {}: {why}", library.display()))
}

/// The result of a `load`: a line with 0 if the JVM has executed it, then what it has to say: `0`
/// for the agent's own result, behind `return code: ` since JDK 9.
fn understand(answer: &str) -> Result<(), String> {
    let (result, said) = answer.split_once('\n').unwrap_or((answer, ""));
    let said = said.trim();
    let code = said.strip_prefix("return code: ").unwrap_or(said);
    match (result.trim(), code) {
        ("0", "0" | "") => Ok(()),
        ("0", code) if code.parse::<i32>().is_ok() => {
            Err("it has refused; its standard error says why".into())
        }
        ("", "") => Err("it ended before it answered".into()),
        _ => Err(said.lines().next().unwrap_or("it does not say why").to_owned()),
    }
}

/// A connection with the JVM, which opens its socket now if it has not done so before.
fn connect(process: &Process, waiting: &Waiting) -> Result<UnixStream, String> {
    let socket = process.root().join(format!("tmp/.java_pid{}", process.own_number));
    match waiting.connect(process, &socket)? {
        Ok(stream) => return Ok(stream),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(format!("{}: {error}", socket.display()));
        }
        // There is none, or one that a JVM has left which had the same number.
        Err(_) => {}
    }
    process.takes_signals()?;
    // A stopped JVM would print a thread dump when it continues: nobody waits for the socket by then.
    not_stopped(process)?;
    let _request = Request::make(process)?;
    process.signal(libc::SIGQUIT)?;
    let mut patience = process.patience(PATIENCE);
    loop {
        if let Ok(stream) = waiting.connect(process, &socket)? {
            return Ok(stream);
        }
        process.is_alive()?;
        not_stopped(process)?;
        waiting.check(process)?;
        if patience.left().is_zero() {
            return Err(format!(
                "the JVM {process} has not opened {} within {} s: it hangs, or was started with \
                 -XX:+DisableAttachMechanism; start it anew without, or with the agent",
                socket.display(),
                PATIENCE.as_secs()
            ));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn not_stopped(process: &Process) -> Result<(), String> {
    if !process.is_stopped() {
        return Ok(());
    }
    Err(format!("the JVM {process} is stopped by a signal; continue it with kill -CONT {process}"))
}

/// The file that makes a JVM open its socket; removed when it is not needed any more.
struct Request(PathBuf);

impl Request {
    fn make(process: &Process) -> Result<Self, String> {
        let name = format!(".attach_pid{}", process.own_number);
        let places = [process.directory().join("cwd"), process.root().join("tmp")];
        let mut failure = None;
        for path in places.map(|place| place.join(&name)) {
            match File::create(&path) {
                Ok(_) => return Ok(Self(path)),
                Err(error) => failure = Some(format!("{}: {error}", path.display())),
            }
        }
        Err(failure.unwrap_or_default())
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        // The JVM may have removed it.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_all_versions_are_understood() {
        for answer in ["0\n0\n", "0\nreturn code: 0\n", "0\n"] {
            assert_eq!(understand(answer), Ok(()), "{answer:?}");
        }
        let refused = Err("it has refused; its standard error says why".to_owned());
        assert_eq!(understand("0\nreturn code: -1\n"), refused);
        assert_eq!(understand("0\n102\n"), refused);
        let missing = "/x.so was not loaded.\nno such file";
        assert_eq!(understand(&format!("0\n{missing}")), Err("/x.so was not loaded.".into()));
        assert_eq!(understand(&format!("100\n{missing}")), Err("/x.so was not loaded.".into()));
        assert!(understand("").is_err());
    }
}
