//! The command `jvmpi` as root, with other users and containers on the machine.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use compat_tests::{hung, jdk};
use jvmpi_formats::profile;

use crate::prelude::*;

cases![
    attaching_trusts_nothing_in_a_container.only(17),
    container_without_executable_tmp_gets_heap_dumps_and_no_copies.only(17),
    attaching_copies_what_the_user_may_not_read.only(17),
    heap_dump_that_has_no_room_in_a_container_leaves_nothing.only(17),
];

/// The ID of a user that owns no files.
const NOBODY: u32 = 65534;

/// A JVM of another user in a container of its own, in which the libraries are not visible.
struct Container {
    java: Running,
    /// The directory of the libraries, which is empty there.
    libraries: PathBuf,
}

impl Container {
    /// Starts the JVM. `tmp` is an option of the mount at `/tmp`. Prints a line and returns None if this machine cannot
    /// start such a container.
    fn start(vm: &Vm<'_>, tmp: &str) -> Result<Option<Self>, String> {
        let is_possible =
            Command::new("unshare").args(["--mount", "setpriv", "--version"]).output();
        if !is_possible.is_ok_and(|output| output.status.success()) {
            println!("skipped: needs root, unshare, and setpriv");
            return Ok(None);
        }
        let libraries = vm.file("libraries");
        let copy = |from: PathBuf| {
            let to = libraries.join(from.file_name().unwrap_or_default());
            fs::copy(from, to).map_err(|e| format!("{}: {e}", libraries.display()))
        };
        fs::create_dir_all(&libraries).map_err(|e| e.to_string())?;
        copy(build::shim()?)?;
        copy(build::agent("events")?)?;
        // The JVM can read root's files, but can write only its own user's.
        let script = "mount -t tmpfs -o \"$1\" none /tmp; shift; mount -t tmpfs none \"$0\"
            exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+dac_read_search \
                --ambient-caps=+dac_read_search \"$@\"";
        let java = vm.java("Wait")?;
        let directory = java.directory().to_owned();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o777))
            .map_err(|e| e.to_string())?;
        let arguments = ["--mount", "sh", "-ec", script, text(&libraries)?, tmp];
        let java = java.behind(Path::new("unshare"), &arguments)?.ready()?;
        Ok(Some(Self { java, libraries }))
    }

    /// Returns the path, from outside, of a file in the container.
    fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root/{name}", self.java.process()))
    }

    /// Returns the number of directories with copies of libraries.
    fn copies(&self) -> Result<usize, String> {
        let entries = fs::read_dir(self.file("tmp")).map_err(|e| e.to_string())?.flatten();
        let is_one = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("jvmpi-");
        Ok(entries.filter(|entry| is_one(&entry.file_name())).count())
    }

    /// Loads an agent into the JVM; an error is the output of the command.
    fn attach(&self) -> Result<(), String> {
        let agent = format!("{}:events=33", text(&self.libraries.join("libevents.so"))?);
        self.jvmpi(&["run", &agent])
    }

    /// Dumps the JVM's heap to this file; an error is the output of the command.
    fn dump_heap(&self, file: &Path) -> Result<(), String> {
        self.jvmpi(&["heap", "-o", text(file)?])
    }

    fn jvmpi(&self, arguments: &[&str]) -> Result<(), String> {
        let pid = self.java.process();
        let mut jvmpi = Command::new(build::command()?);
        jvmpi.args(arguments).args(["--pid", &pid.to_string()]);
        jvmpi.env("JVMPI_LIBRARY", self.libraries.join("libjvmpi.so"));
        hung::output(&mut jvmpi, Some(pid))?.succeeded().map(drop)
    }

    fn refuses_to_attach(&self, why: &str) -> Result<(), String> {
        let said = self.attach().err().ok_or_else(|| format!("attached, instead of: {why}"))?;
        ensure!(said.starts_with("jvmpi: error: ") && said.contains(why), "not `{why}`: {said}");
        equal("lines", said.lines().count(), 1)
    }
}

/// Links and sockets of another user in the places of the JVM's own are refused.
fn attaching_trusts_nothing_in_a_container(vm: &Vm<'_>) -> Result<(), String> {
    let Some(container) = Container::start(vm, "rw")? else { return Ok(()) };
    let pid = container.java.process();
    let error = |e: std::io::Error| e.to_string();

    let victim = vm.file("victim");
    fs::write(&victim, "precious").map_err(error)?;
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o666)).map_err(error)?;
    let request = container.file(&format!("tmp/.attach_pid{pid}"));
    symlink(&victim, &request).map_err(error)?;
    container.refuses_to_attach("is not a file of the JVM's user; remove it")?;
    equal("victim", contents(&victim)?.as_str(), "precious")?;
    ensure!(request.is_symlink(), "the link is removed");
    fs::remove_file(&request).map_err(error)?;

    let socket = container.file(&format!("tmp/.java_pid{pid}"));
    let listener = UnixListener::bind(&socket).map_err(error)?;
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o600)).map_err(error)?;
    container.refuses_to_attach("is not the JVM's socket")?;
    chown(&socket, Some(NOBODY), Some(NOBODY)).map_err(error)?;
    container.refuses_to_attach(&format!("the socket of process {}", std::process::id()))?;
    drop(listener);
    fs::remove_file(&socket).map_err(error)?;
    ensure!(!request.exists(), "a refusal leaves {}", request.display());

    container.attach()?;
    let maps = contents(format!("/proc/{pid}/maps"))?;
    let loaded = |name: &str| {
        let path = maps
            .lines()
            .find(|line| line.ends_with(name))
            .and_then(|line| Some(&line[line.find("tmp/jvmpi-")?..]));
        path.map(|path| container.file(path)).ok_or_else(|| format!("{name} is not a copy: {maps}"))
    };
    for (path, mode) in [(loaded("/libjvmpi.so")?, 0o600), (loaded("/libevents.so")?, 0o600)] {
        let directory = path.parent().ok_or("no directory")?;
        for (path, mode) in [(directory, 0o700), (&path, mode)] {
            let there = fs::symlink_metadata(path).map_err(error)?;
            equal("mode", (there.mode() & 0o777, there.uid()), (mode, NOBODY))?;
        }
    }
    // A second attach uses the existing copies.
    container.attach()?;
    equal("directories of copies", container.copies()?, 1)?;
    equal("output", container.java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}

/// The JVM cannot execute files in its `/tmp`, and so loads no library from there. The dump belongs to the user of the
/// command, although the JVM of another user has written it.
fn container_without_executable_tmp_gets_heap_dumps_and_no_copies(
    vm: &Vm<'_>,
) -> Result<(), String> {
    let Some(container) = Container::start(vm, "noexec")? else { return Ok(()) };
    container.refuses_to_attach("has not loaded /tmp/jvmpi-")?;
    let file = vm.file("heap.hprof");
    let _ = fs::remove_file(&file);
    container.dump_heap(&file)?;
    let metadata = fs::metadata(&file).map_err(|e| e.to_string())?;
    equal("owner and mode", (metadata.uid(), metadata.mode() & 0o777), (0, 0o600))?;
    let dump = profile::File::open(&file).map_err(|e| e.to_string())?;
    ensure!(dump.problem().is_none(), "{:?}", dump.problem());
    equal("heap dumps", dump.profile().heap_dumps().count(), 1)?;
    equal("directories of copies", container.copies()?, 0)?;
    equal("output", container.java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}

/// Only root can read the libraries, as after `umask 077`, and the JVM belongs to another user.
fn attaching_copies_what_the_user_may_not_read(vm: &Vm<'_>) -> Result<(), String> {
    let error = |e: std::io::Error| e.to_string();
    // A JDK that every user can execute.
    let vm = &vm.on(jdk::with_javac()?);
    let java = vm.java("Wait")?;
    fs::set_permissions(java.directory(), fs::Permissions::from_mode(0o777)).map_err(error)?;
    let as_nobody =
        ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--"];
    let can_start = Command::new("setpriv")
        .args(as_nobody)
        .args(["sh", "-c", "cd \"$0\" && test -r \"$1\" && exec \"$2\" -version"])
        .args([java.directory(), &Path::new(&build::classes(8)?).join("Wait.class")])
        .arg(vm.jdk.java())
        .output();
    if !can_start.is_ok_and(|output| output.status.success()) {
        println!("skipped: needs root, setpriv, and a JDK and a checkout that every user can read");
        return Ok(());
    }
    let libraries = vm.file("libraries");
    fs::create_dir_all(&libraries).map_err(error)?;
    for from in [build::shim()?, build::agent("events")?] {
        let to = libraries.join(from.file_name().unwrap_or_default());
        fs::copy(from, &to).map_err(error)?;
        fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).map_err(error)?;
    }
    let java = java.behind(Path::new("setpriv"), &as_nobody)?.ready()?;
    let container = Container { java, libraries };
    container.attach()?;
    let maps = contents(format!("/proc/{}/maps", container.java.process()))?;
    let copy = maps.lines().find_map(|line| Some(&line[line.find("/tmp/jvmpi-")?..]));
    let copy = Path::new(copy.ok_or("the JVM has loaded no copy")?);
    equal("output", container.java.finish(0)?.stdout.as_str(), "ready\ndone\n")?;
    fs::remove_dir_all(copy.parent().ok_or("no directory")?).map_err(error)
}

fn heap_dump_that_has_no_room_in_a_container_leaves_nothing(vm: &Vm<'_>) -> Result<(), String> {
    let Some(container) = Container::start(vm, "size=500k")? else { return Ok(()) };
    let file = vm.file("heap.hprof");
    let _ = fs::remove_file(&file);
    let said = container.dump_heap(&file).err().ok_or("there was room")?;
    let line = "has not written a heap dump to its /tmp: No space left on device\n";
    ensure!(said.starts_with("jvmpi: error: ") && said.ends_with(line), "{said}");
    ensure!(!file.exists(), "there is a file");
    equal("directories", container.copies()?, 0)?;
    equal("output", container.java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}
