//! The command `jvmpi` as root, beside other users and containers.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use compat_tests::run::{Running, Vm};
use compat_tests::{build, hung, text};

use crate::assert::equal;
use crate::cases;

cases![attaching_trusts_nothing_in_a_container.only(17)];

/// A user who owns nothing.
const NOBODY: u32 = 65534;

/// A JVM of another user in a container of its own, which does not see the libraries.
struct Container {
    java: Running,
    /// The directory of the libraries, which is empty there.
    libraries: PathBuf,
}

impl Container {
    /// None, and a line, where this cannot be tried.
    fn start(vm: &Vm<'_>) -> Result<Option<Self>, String> {
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
        // The JVM reads what is root's, but writes only what is its user's.
        let script = "mount -t tmpfs none /tmp; mount -t tmpfs none \"$0\"
            exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+dac_read_search \
                --ambient-caps=+dac_read_search \"$@\"";
        let java = vm.java("Wait")?;
        let directory = java.directory().to_owned();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o777))
            .map_err(|e| e.to_string())?;
        let arguments = ["--mount", "sh", "-ec", script, text(&libraries)?];
        let mut java = java.behind(Path::new("unshare"), &arguments)?.start()?;
        java.wait_for("ready")?;
        Ok(Some(Self { java, libraries }))
    }

    /// A path of the container.
    fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root/{name}", self.java.process()))
    }

    /// Has the JVM load an agent; the error is what the command says.
    fn attach(&self) -> Result<(), String> {
        let pid = self.java.process();
        let agent = format!("{}:events=33", text(&self.libraries.join("libevents.so"))?);
        let mut jvmpi = Command::new(build::command()?);
        jvmpi.args(["run", "--pid", &pid.to_string(), &agent]);
        jvmpi.env("JVMPI_LIBRARY", self.libraries.join("libjvmpi.so"));
        let output = hung::output(&mut jvmpi, Some(pid))?;
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn refuses_to_attach(&self, why: &str) -> Result<(), String> {
        let said = self.attach().err().ok_or_else(|| format!("attached, instead of: {why}"))?;
        ensure!(said.starts_with("jvmpi: error: ") && said.contains(why), "not `{why}`: {said}");
        equal("lines", said.lines().count(), 1)
    }
}

/// Links and sockets that somebody has put where the JVM's own are expected.
fn attaching_trusts_nothing_in_a_container(vm: &Vm<'_>) -> Result<(), String> {
    let Some(container) = Container::start(vm)? else { return Ok(()) };
    let pid = container.java.process();
    let error = |e: std::io::Error| e.to_string();

    let victim = vm.file("victim");
    fs::write(&victim, "precious").map_err(error)?;
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o666)).map_err(error)?;
    let request = container.java.directory().join(format!(".attach_pid{pid}"));
    symlink(&victim, &request).map_err(error)?;
    container.refuses_to_attach("is not a file of the JVM's user; remove it")?;
    equal("victim", fs::read_to_string(&victim).map_err(error)?.as_str(), "precious")?;
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
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).map_err(error)?;
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
    // With what the JVM has now, without further copies.
    container.attach()?;
    let entries = fs::read_dir(container.file("tmp")).map_err(error)?.flatten();
    let copies = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("jvmpi-"));
    equal("directories of copies", copies.count(), 1)?;
    equal("output", container.java.finish(0)?.stdout.as_str(), "ready\ndone\n")
}
