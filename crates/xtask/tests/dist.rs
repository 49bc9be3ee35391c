//! The archives: made twice they are the same, and what is in them works where nothing else is.

mod harness;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use compat_tests::machine::Machine;
use compat_tests::{debian, jdk, text};
use harness::{Case, Result};

const CASES: [Case; 4] = [
    ("archives_are_the_same_each_time", &["dpkg-deb"], archives_are_the_same_each_time),
    ("symbols_lie_beside", &["dpkg-deb", "readelf"], symbols_lie_beside),
    ("the_archive_in_a_clean_root", &["apt-get", "unshare"], the_archive_in_a_clean_root),
    ("the_package_in_a_clean_root", &["apt-get", "unshare"], the_package_in_a_clean_root),
];

fn main() -> ExitCode {
    harness::run_all(&CASES, |tools| {
        let in_root = tools.contains(&"unshare");
        (in_root && !may_have_roots()).then(|| "no roots may be made".to_owned())
    })
}

/// Whether this process may mount directories, in a namespace of its own.
fn may_have_roots() -> bool {
    in_namespace("true").is_ok()
}

fn in_namespace(script: &str) -> Result<String> {
    let mut unshare = Command::new("unshare");
    run(unshare.args(["--map-root-user", "--mount", "sh", "-e", "-c", script]))
}

/// Runs a program to its end, which must be a good one; what it has printed.
fn run(command: &mut Command) -> Result<String> {
    harness::run(command).map(|[out, _]| out)
}

fn scratch(name: &str) -> Result<PathBuf> {
    harness::scratch("dist", name)
}

/// Makes the archives of the libraries that the other tests use too, in a directory of this name.
fn make(name: &str) -> Result<[PathBuf; 3]> {
    let directory = scratch(name)?;
    let mut dist = Command::new(env!("CARGO_BIN_EXE_xtask"));
    dist.args(["dist", "--compiled-as-usual", "--profile", "checked"]);
    dist.env("SOURCE_DATE_EPOCH", "1000000000");
    let mut made = Vec::new();
    for path in run(&mut dist)?.lines().map(Path::new) {
        let copy = directory.join(path.file_name().unwrap_or_default());
        fs::copy(path, &copy).map_err(|e| format!("{}: {e}", path.display()))?;
        made.push(copy);
    }
    made.try_into().map_err(|made| format!("it has made {made:?}"))
}

/// The archive, that of its symbols, and the package.
fn made() -> Result<&'static [PathBuf; 3]> {
    static MADE: OnceLock<Result<[PathBuf; 3]>> = OnceLock::new();
    MADE.get_or_init(|| make("first")).as_ref().map_err(String::clone)
}

fn archives_are_the_same_each_time() -> Result {
    let read = |paths: &[PathBuf; 3]| -> Result<Vec<_>> {
        paths.iter().map(|path| fs::read(path).map_err(|e| e.to_string())).collect()
    };
    let first = read(made()?)?;
    let second = read(&make("second")?)?;
    for (path, (first, second)) in made()?.iter().zip(first.iter().zip(&second)) {
        if first != second {
            return Err(format!("{} differs", path.display()));
        }
    }
    Ok(())
}

fn symbols_lie_beside() -> Result {
    let [archive, symbols, _] = made()?;
    let directory = scratch("symbols")?;
    for archive in [archive, symbols] {
        unpack(archive, &directory)?;
    }
    for binary in ["lib/libjvmpi.so.1", "lib/libhprof.so", "bin/jvmpi"] {
        let symbols = directory.join(format!("{binary}.debug"));
        let binary = directory.join(binary);
        // Functions that are not exported.
        let has = |file: &Path| -> Result<bool> {
            let names = run(Command::new("readelf").args(["-sW"]).arg(file))?;
            Ok(names.contains("FUNC    LOCAL"))
        };
        if has(&binary)? || !has(&symbols)? {
            return Err(format!("the symbols of {} are not where they belong", binary.display()));
        }
        let link = run(Command::new("readelf").args(["-p", ".gnu_debuglink"]).arg(&binary))?;
        let name = symbols.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !link.contains(&name) {
            return Err(format!("{} does not name {name}: {link}", binary.display()));
        }
    }
    Ok(())
}

fn unpack(archive: &Path, to: &Path) -> Result {
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(archive).args(["--strip-components=1", "-C"]).arg(to);
    run(&mut tar).map(drop)
}

/// A root with the packages of Debian that a JVM and the product need, and nothing else.
fn clean_root(name: &str) -> Result<PathBuf> {
    const NEEDED: [&str; 4] = ["libc6", "libgcc-s1", "libstdc++6", "zlib1g"];
    let machine = Machine::this();
    let packages = jdk::cache().with_file_name("packages").join(machine.name);
    if !packages.is_dir() {
        let new = scratch("packages")?;
        debian::download(machine, &NEEDED, &new)?;
        fs::create_dir_all(packages.parent().unwrap_or(&packages)).map_err(|e| e.to_string())?;
        run(Command::new("mv").arg(&new).arg(&packages))?;
    }
    let root = scratch(name)?;
    let files = fs::read_dir(&packages).map_err(|e| format!("{}: {e}", packages.display()))?;
    for file in files.flatten() {
        run(Command::new("dpkg-deb").arg("-x").arg(file.path()).arg(&root))?;
    }
    for directory in ["proc", "dev", "tmp", "jdk", "classes"] {
        fs::create_dir_all(root.join(directory)).map_err(|e| e.to_string())?;
    }
    Ok(root)
}

/// Profiles the program `Tasks` by what is installed in this folder of the root.
fn profile(root: &Path, installed: &str) -> Result {
    let jdk = harness::newest_jdk()?;
    let classes = harness::example_classes()?;
    let said = match Machine::this().emulator() {
        None => in_namespace(&format!(
            "cd '{root}'
             mount --rbind /proc proc
             mount --rbind /dev dev
             mount --bind '{jdk}' jdk
             mount --bind '{classes}' classes
             chroot . {installed}/bin/jvmpi --version
             chroot . {installed}/bin/jvmpi record --alloc -o /tmp/profile.txt -- /jdk/bin/java -cp /classes Tasks",
            root = text(root)?,
            jdk = text(&jdk.home)?,
        ))?,
        // A program of another machine cannot start others.
        Some(emulator) => run(Command::new("sh").args(["-e", "-c"]).arg(format!(
            "{emulator} -L '{root}' '{root}{installed}/bin/jvmpi' --version
             {emulator} -L '{root}' '{java}' '-agentpath:{root}{installed}/lib/libjvmpi.so=hprof:heap=sites,file={root}/tmp/profile.txt' -cp '{classes}' Tasks",
            root = text(root)?,
            java = text(&jdk.java())?,
        )))?,
    };
    if !said.contains(harness::TASKS_SAY.trim_end()) {
        return Err(format!("it has printed {said:?}"));
    }
    harness::shows_all_tasks(&root.join("tmp/profile.txt"))
}

fn the_archive_in_a_clean_root() -> Result {
    let root = clean_root("archive")?;
    fs::create_dir_all(root.join("opt/jvmpi")).map_err(|e| e.to_string())?;
    unpack(&made()?[0], &root.join("opt/jvmpi"))?;
    profile(&root, "/opt/jvmpi")
}

fn the_package_in_a_clean_root() -> Result {
    let root = clean_root("package")?;
    let package = &made()?[2];
    let field = |name: &str| run(Command::new("dpkg-deb").arg("-f").arg(package).arg(name));
    let depends = field("Depends")?;
    if !depends.starts_with("libc6 (>= 2.") || !depends.contains("libgcc-s1") {
        return Err(format!("it depends on {depends}"));
    }
    run(Command::new("dpkg-deb").arg("-x").arg(package).arg(&root))?;
    profile(&root, "/usr")
}
