//! The command `jvmpi` in a container, and a JVM in another one, as `docs/howto/containers.md` describes them.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use compat_tests::hung;
use compat_tests::tool::copy_program;

use crate::prelude::*;

cases![a_jvm_in_a_container_is_recorded_from_other_containers.only(17)];

/// The user and the group of the JVM.
const USER: &str = "10001:10001";

/// A JVM with processes, files and a network of its own, in a root with nothing but the JDK, the C library and
/// libgcc_s, which the libraries need.
struct Container {
    unshare: Child,
    /// The number of the JVM outside the container. Inside it is 1.
    jvm: u32,
    root: PathBuf,
}

impl Container {
    fn start(vm: &Vm<'_>) -> Result<Self, String> {
        let root = new_root(vm, "app", &[&vm.jdk.java(), &vm.jdk.libjvm(), &build::shim()?])?;
        let script = "mount --bind \"$1\" \"$0/jdk\"; mount --bind \"$2\" \"$0/classes\"
            mount -t proc proc \"$0/proc\"; ip link set lo up
            exec chroot --userspec=\"$3\" \"$0\" /jdk/bin/java -cp /classes Wait";
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--net", "--mount", "--fork", "--kill-child", "sh", "-ec", script]);
        unshare.args([&root, &vm.jdk.home, Path::new(&build::classes(8)?)]).arg(USER);
        unshare.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut unshare = unshare.spawn().map_err(|e| format!("unshare: {e}"))?;
        let mut line = String::new();
        let output = unshare.stdout.as_mut().ok_or("no output")?;
        BufReader::new(output).read_line(&mut line).map_err(|e| e.to_string())?;
        let children = contents(format!("/proc/{0}/task/{0}/children", unshare.id()))?;
        let jvm = children.trim().parse().map_err(|e| format!("{children:?}: {e}"))?;
        ensure!(line == "ready\n", "the JVM has printed {line:?}");
        Ok(Self { unshare, jvm, root })
    }

    /// Records the JVM in a container with this root and these rights. Returns the errors of the command.
    fn record(
        &self,
        root: &Path,
        rights: &Rights,
        file: &str,
    ) -> Result<Result<(), String>, String> {
        let (mut enter, pid) = if rights.is_in_pod {
            let mut enter = Command::new("nsenter");
            enter.args(["--target", &self.jvm.to_string(), "--pid", "--net"]);
            (enter, 1)
        } else {
            (Command::new("env"), self.jvm)
        };
        enter.args(["unshare", "--mount", "sh", "-ec"]);
        let script =
            "mount -t proc proc \"$0/proc\"; mount --rbind /dev \"$0/dev\"; exec setpriv \"$@\"";
        enter.arg(script).arg(root);
        // `chroot` needs one capability more, and loses all if the user is not root.
        let capabilities = format!("--bounding-set=-all,+sys_chroot,{}", rights.capabilities);
        enter.args([&capabilities, "chroot"]);
        if rights.is_user {
            enter.arg(format!("--userspec={USER}"));
        }
        enter.arg(root);
        enter.args([
            "/jvmpi",
            "record",
            "--wall",
            "--pid",
            &pid.to_string(),
            "-d",
            "0.5",
            "-o",
            file,
        ]);
        enter.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        Ok(hung::output(&mut enter, Some(self.jvm))?.succeeded().map(drop))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

/// The rights of a container with the command.
#[derive(Debug)]
struct Rights {
    /// True for the processes and the network of the JVM's container, false for all processes and another network.
    is_in_pod: bool,
    /// True for the user of the JVM without capabilities, false for root.
    is_user: bool,
    /// The capabilities in the notation of `setpriv`.
    capabilities: &'static str,
}

/// Creates the root of a container, with the C library for these files and writable directories.
fn new_root(vm: &Vm<'_>, name: &str, files: &[&Path]) -> Result<PathBuf, String> {
    let root = vm.file(name);
    let error = |e: std::io::Error| format!("{}: {e}", root.display());
    let _ = fs::remove_dir_all(&root);
    for directory in ["proc", "dev", "jdk", "classes", "tmp", "out"] {
        fs::create_dir_all(root.join(directory)).map_err(error)?;
    }
    for directory in ["tmp", "out"] {
        let everybody = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(root.join(directory), everybody).map_err(error)?;
    }
    let needed = Command::new("ldd").args(files).output().map_err(|e| format!("ldd: {e}"))?;
    let needed = String::from_utf8_lossy(&needed.stdout).into_owned();
    let paths = needed.split_whitespace().filter_map(|word| word.strip_prefix('/'));
    for path in paths.filter(|path| !path.ends_with(':')) {
        let copy = root.join(path);
        fs::create_dir_all(copy.parent().unwrap_or(&root)).map_err(error)?;
        copy_program(&Path::new("/").join(path), &copy)?;
    }
    Ok(root)
}

/// Makes the command with its libraries as a single file, as `cargo xtask dist` does.
fn single_file(to: &Path) -> Result<(), String> {
    let command = build::command()?;
    let mut objcopy = Command::new("objcopy");
    for (name, library) in [("libjvmpi.so", build::shim()?), ("libhprof.so", build::hprof()?)] {
        objcopy.arg(format!("--add-section=.jvmpi.{name}={}", text(&library)?));
    }
    let made = objcopy.arg(&command).arg(to).status().map_err(|e| format!("objcopy: {e}"))?;
    ensure!(made.success(), "objcopy: {made}");
    Ok(())
}

/// The JVM's user needs no capability in the same pod. Root needs exactly those that the page lists.
fn a_jvm_in_a_container_is_recorded_from_other_containers(vm: &Vm<'_>) -> Result<(), String> {
    let probe =
        "mount -t proc proc /proc && ip link set lo up && setpriv --version && nsenter --version
        objcopy --version && ldd --version";
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--net", "--mount", "--fork", "sh", "-ec", probe]);
    if !unshare.output().is_ok_and(|output| output.status.success()) {
        println!("skipped: needs root, unshare, nsenter, setpriv, ip, objcopy, and ldd");
        return Ok(());
    }
    let root = new_root(vm, "jvmpi", &[&build::command()?, &build::shim()?])?;
    single_file(&root.join("jvmpi"))?;
    let container = Container::start(vm)?;

    let rights = |is_in_pod, is_user, capabilities| Rights { is_in_pod, is_user, capabilities };
    let cases = [
        (rights(true, true, "+setuid,+setgid"), None),
        (rights(true, false, "+sys_ptrace,+setuid,+setgid"), None),
        (rights(true, false, "+setuid,+setgid"), Some("give it CAP_SYS_PTRACE")),
        (rights(true, false, "+sys_ptrace"), Some("run jvmpi as user 10001 or root")),
        (rights(false, false, "+sys_admin,+sys_ptrace,+setuid,+setgid"), None),
        (rights(false, false, "+sys_ptrace,+setuid,+setgid"), Some("cannot open a port")),
    ];
    for (number, (rights, refusal)) in cases.iter().enumerate() {
        let case = format!("{rights:?}");
        // The first one writes into the container of the JVM.
        let (file, seen) = if number == 0 {
            let name = "tmp/profile.collapsed";
            (format!("/proc/1/root/{name}"), container.root.join(name))
        } else {
            let name = format!("out/{number}.collapsed");
            (format!("/{name}"), root.join(name))
        };
        match (container.record(&root, rights, &file)?, refusal) {
            (Ok(()), None) => {
                let stacks = contents(&seen)?;
                ensure!(stacks.contains("Wait.main"), "{case}: {stacks}");
            }
            (Err(said), Some(why)) => ensure!(said.contains(why), "{case}: {said}"),
            (Ok(()), Some(why)) => return Err(format!("{case}: recorded, instead of: {why}")),
            (Err(said), None) => return Err(format!("{case}: {said}")),
        }
    }
    Ok(())
}
