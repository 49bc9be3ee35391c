//! A fresh Debian with nothing but Rust and these sources: the commands of README.md lead to a profile, and
//! what is missing on the way is said in a line.

mod harness;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use compat_tests::{jdk, text, workspace_root};
use harness::{Case, Result, run};

const CASES: [Case; 1] = [(
    "a_profile_on_a_fresh_machine",
    &["debootstrap", "unshare", "git"],
    a_profile_on_a_fresh_machine,
)];

/// Packages of Debian are fetched and everything is compiled anew: who wants that sets this variable.
const WANTED: &str = "JVMPI_FRESH_MACHINE";

fn main() -> ExitCode {
    harness::run_all(&CASES, |_| {
        if env::var_os(WANTED).is_none() {
            return Some(format!("takes minutes, and needs {WANTED}=1"));
        }
        // As root: the packages have files of several users.
        let mount = run(Command::new("unshare").args(["--mount", "true"]));
        mount.err().map(|_| "no roots may be made".to_owned())
    })
}

fn a_profile_on_a_fresh_machine() -> Result {
    let machine = Machine::new()?;
    let readme = workspace_root().join("README.md");
    let readme = fs::read_to_string(&readme).map_err(|e| format!("{}: {e}", readme.display()))?;
    let mut commands = readme.lines().skip_while(|line| !line.starts_with("apt-get install "));
    let (Some(install), Some(demo)) = (commands.next(), commands.next()) else {
        return Err("README.md has no commands to install and to begin with".into());
    };

    machine.lacks(demo, "error: linker `cc` not found")?;
    machine.runs("apt-get update")?;
    machine.runs("apt-get install gcc libc6-dev")?;
    machine.lacks(demo, "openjdk-17-jdk-headless")?;
    machine.runs(install)?;
    let said = machine.runs(demo)?;
    let page = machine.directory.join("upper/src/target/demo/report.html");
    let page = fs::read_to_string(&page).map_err(|e| format!("{}: {e}\n{said}", page.display()))?;
    if page.contains("Demo") { Ok(()) } else { Err(format!("the page has no Demo in it\n{said}")) }
}

/// A root with Debian, Rust in `/rust` and the sources in `/src`.
struct Machine {
    /// What is changed in the root.
    directory: PathBuf,
    debian: PathBuf,
    packages: PathBuf,
    rust: String,
    registry: PathBuf,
}

impl Machine {
    fn new() -> Result<Self> {
        let directory = harness::scratch("fresh", "machine")?;
        let cache = |name: &str| jdk::cache().with_file_name(name);
        let (debian, packages) = (cache("debian-12"), cache("packages/apt"));
        if !debian.is_dir() {
            let new = harness::scratch("fresh", "debian")?;
            run(Command::new("debootstrap").args(["--variant=minbase", "bookworm"]).arg(&new))?;
            run(Command::new("mv").arg(&new).arg(&debian))?;
        }
        let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
        let cargo = cargo.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
        let registry = cargo.ok_or("neither CARGO_HOME nor HOME is set")?.join("registry");
        let mut rustc = Command::new("rustc");
        let [rust, _] = run(rustc.args(["--print", "sysroot"]).current_dir(workspace_root()))?;
        let own = ["upper/src", "upper/rust", "upper/cargo/registry", "upper/etc", "work", "root"];
        for path in own.map(|path| directory.join(path)).iter().chain([&packages]) {
            fs::create_dir_all(path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        let mut sources = Command::new("git");
        let to = format!("{}/", text(&directory.join("upper/src"))?);
        sources.args(["checkout-index", "--all", "--prefix", &to]);
        run(sources.current_dir(workspace_root()))?;
        // The network's names.
        run(Command::new("cp").args(["-L", "/etc/resolv.conf"]).arg(directory.join("upper/etc")))?;
        Ok(Self { directory, debian, packages, rust: rust.trim().to_owned(), registry })
    }

    fn command(&self, line: &str) -> Result<Command> {
        let line = line.replace(
            "apt-get ",
            "apt-get -qq --yes -o APT::Install-Recommends=false -o APT::Sandbox::User=root ",
        );
        let script = format!(
            "cd '{directory}'
             mount -t overlay overlay -o lowerdir='{debian}',upperdir=upper,workdir=work root
             cd root
             mount --rbind /proc proc
             mount --rbind /dev dev
             mount --bind '{rust}' rust
             mount --bind '{registry}' cargo/registry
             mount --bind '{packages}' var/cache/apt/archives
             chroot . sh -e -c \"$LINE\"",
            directory = text(&self.directory)?,
            debian = text(&self.debian)?,
            rust = self.rust,
            registry = text(&self.registry)?,
            packages = text(&self.packages)?,
        );
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "sh", "-e", "-c", &script]).env_clear();
        unshare.env("LINE", format!("cd /src\n{line}"));
        unshare.env("PATH", "/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root");
        // The crates of the registry are there.
        unshare.env("CARGO_HOME", "/cargo").env("CARGO_NET_OFFLINE", "true");
        unshare.env("DEBIAN_FRONTEND", "noninteractive");
        Ok(unshare)
    }

    /// What a command prints that succeeds.
    fn runs(&self, line: &str) -> Result<String> {
        run(&mut self.command(line)?).map(|[out, _]| out)
    }

    /// The command fails, and says this.
    fn lacks(&self, line: &str, message: &str) -> Result {
        match self.runs(line) {
            Ok(out) => Err(format!("{line} succeeds:\n{out}")),
            Err(why) if why.contains(message) => Ok(()),
            Err(why) => Err(format!("{line} does not say {message:?}:\n{why}")),
        }
    }
}
