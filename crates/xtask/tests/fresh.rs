//! Runs the commands of README.md on a fresh Debian with only Rust and the sources. They must lead to a profile, and every
//! missing tool must be reported in one line. The test `dist` installs the files of a release.

mod harness;

use std::cell::Cell;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use compat_tests::{jdk, text, workspace_root};
use harness::{Case, Result, run};

const TOOLS: &[&str] = &["debootstrap", "unshare", "git"];

const CASES: [Case; 1] = [("a_profile_from_the_sources", TOOLS, a_profile_from_the_sources)];
/// The release of Debian.
const RELEASE: &str = "bookworm";

/// The maximum CPU time to the first profile, including all commands before it and those that fail.
const PATIENCE: Duration = Duration::from_secs(2 * 60);

/// The environment variable that enables these tests, which download Debian packages and compile everything.
const WANTED: &str = "JVMPI_FRESH_MACHINE";

fn main() -> ExitCode {
    harness::run_all(&CASES, hindrance)
}

/// Returns the reason why a case cannot run here, if there is one.
fn hindrance(_: &[&str]) -> Option<String> {
    if env::var_os(WANTED).is_none() {
        return Some(format!("takes minutes, and needs {WANTED}=1"));
    }
    // Needs root, because the packages contain files of several users.
    let mount = run(Command::new("unshare").args(["--mount", "true"]));
    mount.err().map(|_| "no roots may be made".to_owned())
}

fn readme() -> Result<String> {
    let readme = workspace_root().join("README.md");
    fs::read_to_string(&readme).map_err(|e| format!("{}: {e}", readme.display()))
}

fn a_profile_from_the_sources() -> Result {
    let machine = Machine::with_sources()?;
    let readme = readme()?;
    let mut commands = readme.lines().skip_while(|line| !line.starts_with("apt-get install "));
    let (Some(install), Some(demo)) = (commands.next(), commands.next()) else {
        return Err("README.md has no apt-get line followed by a command".into());
    };

    machine.lacks(demo, "error: linker `cc` not found")?;
    machine.runs("apt-get update")?;
    machine.runs("apt-get install gcc libc6-dev")?;
    machine.lacks(demo, "openjdk-17-jdk-headless")?;
    machine.runs(install)?;
    machine.runs(demo)?;
    machine.has("src/target/demo/report.html", "Demo")?;
    machine.was_in_time()
}

/// A root directory with Debian, in which `/src` is the working directory.
struct Machine {
    /// The directory with the changes to the root (the overlay's upper layer).
    directory: PathBuf,
    debian: PathBuf,
    /// The mounted folders: a folder of this machine, and its path in the root.
    seen: Vec<(PathBuf, &'static str)>,
    /// The CPU time of all commands so far.
    taken: Cell<Duration>,
}

impl Machine {
    fn new() -> Result<Self> {
        let directory = harness::scratch("fresh", RELEASE)?;
        let debian = jdk::cache().with_file_name(format!("debian-{RELEASE}"));
        if !debian.is_dir() {
            let new = harness::scratch("fresh", "debian")?;
            run(Command::new("debootstrap").args(["--variant=minbase", RELEASE]).arg(&new))?;
            run(Command::new("mv").arg(&new).arg(&debian))?;
        }
        for path in ["upper/src", "upper/etc", "work", "root"].map(|path| directory.join(path)) {
            fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        // For name resolution.
        run(Command::new("cp").args(["-L", "/etc/resolv.conf"]).arg(directory.join("upper/etc")))?;
        Ok(Self { directory, debian, seen: Vec::new(), taken: Cell::default() })
    }

    /// Mounts a folder of this machine at a path in the root.
    fn sees(&mut self, folder: PathBuf, at: &'static str) -> Result {
        let point = self.directory.join("upper").join(at);
        for path in [&folder, &point] {
            fs::create_dir_all(path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        self.seen.push((folder, at));
        Ok(())
    }

    /// Creates a root with Rust in `/rust` and the sources in `/src`.
    fn with_sources() -> Result<Self> {
        let mut machine = Self::new()?;
        let mut rustc = Command::new("rustc");
        let [rust, _] = run(rustc.args(["--print", "sysroot"]).current_dir(workspace_root()))?;
        machine.sees(PathBuf::from(rust.trim()), "rust")?;
        let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
        let cargo = cargo.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
        let registry = cargo.ok_or("neither CARGO_HOME nor HOME is set")?.join("registry");
        machine.sees(registry, "cargo/registry")?;
        let packages = jdk::cache().with_file_name("packages").join("apt");
        machine.sees(packages, "var/cache/apt/archives")?;
        let mut sources = Command::new("git");
        let to = format!("{}/", text(&machine.directory.join("upper/src"))?);
        sources.args(["checkout-index", "--all", "--prefix", &to]);
        run(sources.current_dir(workspace_root()))?;
        Ok(machine)
    }

    /// Runs a command that must succeed.
    fn runs(&self, line: &str) -> Result {
        let apt = "apt-get -qq --yes -o APT::Install-Recommends=false -o APT::Sandbox::User=root ";
        let line = line.replace("apt-get ", apt);
        let mut script = format!(
            "cd '{}'
             mount -t overlay overlay -o lowerdir='{}',upperdir=upper,workdir=work root
             cd root
             mount --rbind /proc proc
             mount --rbind /dev dev\n",
            text(&self.directory)?,
            text(&self.debian)?,
        );
        for (folder, at) in &self.seen {
            script += &format!("mount --bind '{}' '{at}'\n", text(folder)?);
        }
        script +=
            "status=0\nchroot . sh -e -c \"$LINE\" || status=$?\ntimes > ../times\nexit $status";
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "sh", "-e", "-c", &script]).env_clear();
        unshare.env("LINE", format!("cd /src\n{line}"));
        unshare.env("PATH", "/rust/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        unshare.env("HOME", "/root").env("DEBIAN_FRONTEND", "noninteractive");
        // The crates come from the mounted registry.
        unshare.env("CARGO_HOME", "/cargo").env("CARGO_NET_OFFLINE", "true");
        let ended = run(&mut unshare);
        let times = self.directory.join("times");
        let times = fs::read_to_string(&times).map_err(|e| format!("{}: {e}", times.display()))?;
        let children = times.lines().nth(1).unwrap_or_default();
        let both: Option<Vec<_>> = children.split(' ').map(duration).collect();
        let both: Duration = both.ok_or_else(|| format!("unexpected times: {times}"))?.iter().sum();
        self.taken.set(self.taken.get() + both);
        println!("{both:>8.1?} of CPU time: {line}");
        ended.map(drop)
    }

    /// Runs a command that must fail with this message.
    fn lacks(&self, line: &str, message: &str) -> Result {
        match self.runs(line) {
            Ok(()) => Err(format!("{line} succeeds")),
            Err(why) if why.contains(message) => Ok(()),
            Err(why) => Err(format!("{line} does not say {message:?}:\n{why}")),
        }
    }

    fn was_in_time(&self) -> Result {
        let taken = self.taken.get();
        println!("{taken:>8.1?} of CPU time to the first profile");
        if taken < PATIENCE {
            Ok(())
        } else {
            Err(format!("the first profile takes {taken:?} of CPU time"))
        }
    }

    /// Checks that a file created in the root contains this text.
    fn has(&self, file: &str, what: &str) -> Result {
        let path = self.directory.join("upper").join(file);
        let content = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        if content.contains(what) { Ok(()) } else { Err(format!("{file} does not contain {what}")) }
    }
}

/// Parses a duration as the shell's `times` prints it: `1m23.45s`.
fn duration(time: &str) -> Option<Duration> {
    let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
    let seconds: f64 = seconds.parse().ok()?;
    Some(Duration::from_secs_f64(minutes.parse::<f64>().ok()? * 60.0 + seconds))
}
