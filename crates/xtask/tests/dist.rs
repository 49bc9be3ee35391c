//! Checks that release archives are reproducible, and that what the README installs from them works on a system with
//! nothing else.

mod harness;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use compat_tests::debian::{self, Distribution};
use compat_tests::machine::{self, Machine};
use compat_tests::tool::run;
use compat_tests::{changes, jdk, text, workspace_root};
use harness::{GIVEN, Result};

/// A case that runs once per machine.
type OfMachine = (&'static str, fn(&Machine) -> Result);

const IN_CLEAN_ROOTS: [OfMachine; 5] = [
    ("archive_works_in_a_clean_root", archive_works_in_a_clean_root),
    ("single_file_works_in_a_clean_root", single_file_works_in_a_clean_root),
    ("wheel_works_in_a_clean_root", wheel_works_in_a_clean_root),
    ("packages_work_in_a_clean_root", packages_work_in_a_clean_root),
    ("rpm_packages_work_in_a_clean_root", rpm_packages_work_in_a_clean_root),
];

/// The files that decide what is in the archives, in addition to the libraries.
const PACKING: [&str; 7] = [
    "packaging",
    "crates/xtask/src/dist",
    "crates/xtask/src/install.rs",
    "crates/xtask/src/product",
    "crates/xtask/tests/dist.rs",
    ":(glob)**/Cargo.toml",
    "README.md",
];

fn main() -> ExitCode {
    let given = env::var_os(GIVEN).map(|_| format!("{GIVEN} names others"));
    let unchanged = if given.is_some() { None } else { changes::unchanged(&PACKING) };
    let missing = |tools: &[&str]| harness::missing(tools).or_else(|| unchanged.clone());
    let packing = missing(&[]).or(given);
    let reading = missing(&["readelf"]);
    let mut trials = vec![
        harness::trial("archives_are_reproducible", packing, archives_are_reproducible),
        harness::trial("symbols_are_in_separate_files", reading, symbols_are_in_separate_files),
        harness::trial(
            "lintian_accepts_the_packages",
            missing(&["lintian"]),
            lintian_accepts_the_packages,
        ),
    ];
    // What is built for Windows has tests of its own.
    for machine in machine::ALL.iter().filter(|machine| !machine.is_windows()) {
        // For musl there are no packages, and pip for glibc refuses the wheel.
        let cases = if machine.is_musl() { &IN_CLEAN_ROOTS[..2] } else { &IN_CLEAN_ROOTS };
        for &(name, case) in cases {
            let name = format!("{}/{name}", machine.name);
            let hindrance = no_roots(machine).or_else(|| unchanged.clone());
            trials.push(harness::trial(name, hindrance, move || case(machine)));
        }
    }
    harness::conclude(trials)
}

/// Returns the reason why the archives for this machine cannot be tested here, if there is one.
fn no_roots(machine: &Machine) -> Option<String> {
    let emulator = machine.emulator();
    let tools = ["apt-get", "dpkg-deb", "python3", "rpm2archive", "unshare"]
        .into_iter()
        .chain(emulator.as_deref());
    let missing = harness::missing(&tools.collect::<Vec<_>>());
    let missing = missing.or_else(|| harness::newest_jdk_for(machine).err());
    // Compiling everything for another machine would take longer than all cases.
    let there = machine.is_this() || env::var_os(GIVEN).is_some();
    let make = || format!("{GIVEN} does not name what dist --machine {} makes", machine.name);
    missing.or_else(|| (!there).then(make)).or_else(|| {
        let first = with_emulator(machine).unwrap_or_else(|| "true".to_owned());
        in_namespace(&first).err().map(|_| "no roots may be made".to_owned())
    })
}

/// Returns shell commands that register the emulator for this machine, if it needs one.
fn with_emulator(machine: &Machine) -> Option<String> {
    machine.emulator().map(|emulator| machine.registration(&emulator))
}

/// Runs shell commands in a namespace in which they may mount directories. Returns their output.
fn in_namespace(script: &str) -> Result<String> {
    let mut unshare = Command::new("unshare");
    run(unshare.args(["--map-root-user", "--mount", "sh", "-e", "-c", script]))
}

fn scratch(name: &str) -> Result<PathBuf> {
    harness::scratch("dist", name)
}

/// Builds the archives, from the libraries that the other tests use too, and copies them to a directory of this name.
fn make(name: &str) -> Result<PathBuf> {
    let directory = scratch(name)?;
    let mut dist = harness::xtask(&["release", "--dry-run"]);
    dist.args(["--compiled-as-usual", "--profile", "checked"]);
    dist.env("SOURCE_DATE_EPOCH", "1000000000").env("DEBEMAIL", "jvmpi@packages.debian.org");
    for path in run(&mut dist)?.lines().map(Path::new) {
        let copy = directory.join(path.file_name().unwrap_or_default());
        fs::copy(path, &copy).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(directory)
}

/// Returns the directory of the archives.
fn made() -> Result<PathBuf> {
    static MADE: OnceLock<Result<PathBuf>> = OnceLock::new();
    match env::var_os(GIVEN) {
        Some(given) => Ok(workspace_root().join(given)),
        None => MADE.get_or_init(|| make("first")).clone(),
    }
}

/// Returns the files in a directory, by name.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let files = fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let mut files: Vec<_> = files.flatten().map(|file| file.path()).collect();
    files.sort();
    Ok(files)
}

/// Returns the archive whose name ends so.
fn found(end: &str) -> Result<PathBuf> {
    let directory = made()?;
    let found = files(&directory)?.into_iter().find(|file| file.to_string_lossy().ends_with(end));
    found.ok_or_else(|| format!("{} has no file …{end}", directory.display()))
}

/// Returns the command of README.md that begins so, for a machine and without its comment.
fn readme(machine: &Machine, start: &str) -> Result<String> {
    let readme = workspace_root().join("README.md");
    let text = fs::read_to_string(&readme).map_err(|e| format!("{}: {e}", readme.display()))?;
    let line = text.lines().find(|line| line.starts_with(start));
    let line = line.ok_or_else(|| format!("README.md has no command {start}"))?;
    let line = line.split(" #").next().unwrap_or(line).trim_end();
    Ok(line
        .replace("x86_64-linux-gnu", &machine.target.replace("-unknown-", "-"))
        .replace("x86_64", &processor(machine))
        .replace("amd64", machine.name))
}

/// Returns the name of the processor in names of wheels and RPM packages.
fn processor(machine: &Machine) -> String {
    machine.target.split('-').next().unwrap_or_default().replace("i586", "i686")
}

/// Returns the files that a command of README.md installs.
fn installed_by(machine: &Machine, start: &str) -> Result<Vec<PathBuf>> {
    let line = readme(machine, start)?;
    let patterns = line.strip_prefix(start).unwrap_or_default();
    let directory = made()?;
    let mut shell = Command::new("sh");
    shell.args(["-ec", &format!("ls -d {patterns}")]).current_dir(&directory);
    let files: Vec<_> = run(&mut shell)?.lines().map(|name| directory.join(name)).collect();
    if files.len() != patterns.split_whitespace().count() {
        return Err(format!("{line} would install {files:?}"));
    }
    Ok(files)
}

/// Runs a command of README.md beside the archives. A path in it is replaced by another.
fn run_from_readme(machine: &Machine, start: &str, path: &str, by: &Path) -> Result {
    let line = readme(machine, start)?;
    if !line.contains(path) {
        return Err(format!("{line} does not contain {path}"));
    }
    let mut shell = Command::new("sh");
    shell.args(["-ec", &line.replace(path, text(by)?)]).current_dir(made()?);
    run(&mut shell).map(drop)
}

/// Returns the archive for a machine whose name ends so after the target.
fn archive(machine: &Machine, end: &str) -> Result<PathBuf> {
    found(&format!("-{}{end}", machine.target.replace("-unknown-", "-")))
}

fn archives_are_reproducible() -> Result {
    let first = files(&made()?)?;
    let second = make("second")?;
    if first.len() < 12 {
        return Err(format!("it has made {first:?}"));
    }
    let is_list = |file: &&PathBuf| file.extension().is_some_and(|end| end == "sha256");
    let sums = first.iter().find(is_list).ok_or("it has made no checksums")?;
    let mut check = Command::new("sha256sum");
    let checked = run(check.args(["--check"]).arg(sums).current_dir(&second))?;
    if checked.lines().count() != first.len() - 1 {
        return Err(format!("not every file has a checksum: {checked}"));
    }
    for path in first {
        let name = path.file_name().unwrap_or_default();
        let [one, other] = [&path, &second.join(name)].map(fs::read);
        if one.is_err() || one.ok() != other.ok() {
            return Err(format!("{} differs", path.display()));
        }
    }
    Ok(())
}

fn symbols_are_in_separate_files() -> Result {
    let directory = scratch("symbols")?;
    for end in [".tar.gz", "-symbols.tar.gz"] {
        unpack(&archive(Machine::this(), end)?, &directory)?;
    }
    for binary in ["lib/libjvmpi.so.1", "lib/libhprof.so", "bin/jvmpi"] {
        let symbols = directory.join(format!("{binary}.debug"));
        let binary = directory.join(binary);
        // Local functions, which are not exported.
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

/// Creates a root directory with the libraries that a JVM and the product need, and nothing else: those of Debian
/// packages, or musl as Alpine has it.
fn clean_root(machine: &Machine, name: &str) -> Result<PathBuf> {
    let root = scratch(&format!("{}-{name}", machine.name))?;
    if machine.is_musl() {
        let [loader, library] = ["ld-musl-x86_64.so.1", "libc.musl-x86_64.so.1"];
        let lib = root.join("lib");
        fs::create_dir(&lib)
            .and_then(|()| fs::copy(Path::new("/lib").join(loader), lib.join(loader)))
            .and_then(|_| std::os::unix::fs::symlink(loader, lib.join(library)))
            .map_err(|e| format!("{}: {e}", lib.display()))?;
    } else {
        let packages = packages(machine)?;
        let files = fs::read_dir(&packages).map_err(|e| format!("{}: {e}", packages.display()))?;
        for file in files.flatten() {
            run(Command::new("dpkg-deb").arg("-x").arg(file.path()).arg(&root))?;
        }
    }
    for directory in ["proc", "dev", "tmp", "jdk", "classes"] {
        fs::create_dir_all(root.join(directory)).map_err(|e| e.to_string())?;
    }
    Ok(root)
}

/// Returns the folder with these packages, which is kept.
fn packages(machine: &Machine) -> Result<PathBuf> {
    let all = jdk::cache().with_file_name("packages");
    fs::create_dir_all(&all).map_err(|e| format!("{}: {e}", all.display()))?;
    let packages = all.join(machine.name);
    let _lock = jdk::lock(&all.join(".lock"))?;
    if !packages.is_dir() {
        let new = scratch(&format!("{}-packages", machine.name))?;
        debian::download(machine, Distribution::System, &debian::LIBRARIES, &new)?;
        run(Command::new("mv").arg(&new).arg(&packages))?;
    }
    Ok(packages)
}

/// Profiles the program `Tasks` with the command at this path of the root, in two ways.
fn profile(machine: &Machine, root: &Path, jvmpi: &str) -> Result {
    let jdk = harness::newest_jdk_for(machine)?;
    let classes = harness::example_classes()?;
    let mut seen = vec![
        ("/proc", "proc"),
        ("/dev", "dev"),
        (text(&jdk.home)?, "jdk"),
        (classes.as_str(), "classes"),
    ];
    let mut script = String::new();
    if let Some(registration) = with_emulator(machine) {
        script += &registration;
        // The emulator is a program of this machine and needs this machine's libraries in the root.
        seen.extend([("/lib64", "lib64"), ("/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")]);
    }
    script += &format!("\ncd '{}'\n", text(root)?);
    for (folder, at) in seen {
        script += &format!("mkdir -p {at}\nmount --rbind '{folder}' {at}\n");
    }
    let java = "/jdk/bin/java -cp /classes Tasks";
    for command in [
        "--version".to_owned(),
        "example /tmp".to_owned(),
        format!("record --alloc --exact -o /tmp/record.txt -- {java}"),
        format!("run hprof:heap=sites,file=/tmp/run.txt -- {java}"),
    ] {
        script += &format!("HOME=/home chroot . {jvmpi} {command}\n");
    }
    let said = in_namespace(&script)?;
    if said.matches(harness::TASKS_SAY.trim_end()).count() != 2 {
        return Err(format!("it has printed {said:?}"));
    }
    if !root.join("tmp/Invoices.java").is_file() {
        return Err("jvmpi example has not written Invoices.java".into());
    }
    ["record.txt", "run.txt"]
        .iter()
        .try_for_each(|name| harness::shows_all_tasks(&root.join("tmp").join(name)))
}

fn archive_works_in_a_clean_root(machine: &Machine) -> Result {
    let root = clean_root(machine, "archive")?;
    run_from_readme(machine, "tar ", "/opt/jvmpi", &root.join("opt/jvmpi"))?;
    profile(machine, &root, "/opt/jvmpi/bin/jvmpi")
}

fn single_file_works_in_a_clean_root(machine: &Machine) -> Result {
    let root = clean_root(machine, "single")?;
    let bin = root.join("usr/local/bin");
    fs::create_dir_all(&bin).map_err(|e| format!("{}: {e}", bin.display()))?;
    run_from_readme(machine, "install ", "/usr/local/bin", &bin)?;
    profile(machine, &root, "/usr/local/bin/jvmpi")
}

fn wheel_works_in_a_clean_root(machine: &Machine) -> Result {
    let root = clean_root(machine, "wheel")?;
    let environment = root.join("opt/venv");
    let wheel = installed_by(machine, "pip install ")?.remove(0);
    let platform = format!("manylinux2014_{}", processor(machine));
    if !wheel.to_string_lossy().ends_with(&format!("-py3-none-{platform}.whl")) {
        return Err(format!("{} is not for {platform}", wheel.display()));
    }
    let installed = if machine.is_this() {
        wheel
    } else {
        // pip refuses a wheel for another processor by its name.
        let name = wheel.file_name().unwrap_or_default().to_string_lossy();
        let any = root.join(name.replace(&platform, "any"));
        fs::copy(&wheel, &any).map_err(|e| format!("{}: {e}", any.display()))?;
        any
    };
    run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&environment))?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "--python"]);
    pip.arg(environment.join("bin/python")).args(["install", "--no-index"]);
    run(pip.arg(&installed))?;
    for file in ["bin/jvmpi", "lib/jvmpi/libhprof.so", "include/jvmpi.h"] {
        if !environment.join(file).is_file() {
            return Err(format!("pip has not installed {file}"));
        }
    }
    profile(machine, &root, "/opt/venv/bin/jvmpi")
}

fn package(machine: &Machine, name: &str) -> Result<PathBuf> {
    let version = env!("CARGO_PKG_VERSION");
    found(&format!("/{name}_{version}-0jvmpi1_{}.deb", machine.name))
}

fn packages_work_in_a_clean_root(machine: &Machine) -> Result {
    let root = clean_root(machine, "package")?;
    // Only that of developers is missing in the README.
    let mut installed = installed_by(machine, "apt install ")?;
    installed.push(package(machine, "libjvmpi-dev")?);
    for package in installed {
        run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&root))?;
    }
    // A program that embeds a JVM is built with these.
    let lib = root.join("usr/lib").join(machine.multiarch());
    let linked = fs::canonicalize(lib.join("libjvmpi.so")).map_err(|e| e.to_string())?;
    if linked != lib.join("libjvmpi.so.1") {
        return Err(format!("libjvmpi.so leads to {}", linked.display()));
    }
    if harness::is_installed("pkg-config") {
        let mut flags = Command::new("pkg-config");
        flags.env("PKG_CONFIG_PATH", lib.join("pkgconfig")).args(["--cflags", "--libs", "jvmpi"]);
        let flags = run(flags.env("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1"))?;
        let directories = flags.split_whitespace().filter_map(|flag| flag.get(2..));
        let directories: Vec<_> =
            directories.map(fs::canonicalize).filter_map(|it| it.ok()).collect();
        if directories != [root.join("usr/include"), lib] {
            return Err(format!("pkg-config prints {flags}"));
        }
    }
    profile(machine, &root, "/usr/bin/jvmpi")
}

fn rpm_packages_work_in_a_clean_root(machine: &Machine) -> Result {
    let root = clean_root(machine, "rpm")?;
    for package in installed_by(machine, "dnf install ")? {
        let mut unpack = Command::new("sh");
        unpack.args(["-ec", "rpm2archive - <\"$1\" | tar -xz -C \"$2\"", "sh"]);
        run(unpack.arg(&package).arg(&root))?;
    }
    profile(machine, &root, "/usr/bin/jvmpi")
}

fn lintian_accepts_the_packages() -> Result {
    let mut lintian = Command::new("lintian");
    lintian.args(["--fail-on", "error,warning"]);
    for name in ["libjvmpi1", "libjvmpi-dev", "jvmpi"] {
        lintian.arg(package(Machine::this(), name)?);
    }
    run(&mut lintian).map(drop)
}
