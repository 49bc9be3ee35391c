//! Examines the file of an agent library without running code from it.
//!
//! Every [`LibraryError`] is one line: which library, what is wrong with it, what to do.

pub mod elf;
mod error;
mod file;
mod machine;
pub mod pe;
mod stack;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use crate::platform::format;
pub use elf::{Linkage, NeededSymbol, linkage, section};
pub use error::{EXECUTABLE_STACK, Fault, LibraryError};
use file::read_file;
pub use machine::Machine;
pub use stack::without_executable_stack;
use std::path::Path;

/// The names of an agent's entry point. HotSpot takes a library with the first one for no JVMTI agent if `-Xrun` names it;
/// one with only the second can be both.
pub const ON_LOAD: [&str; 2] = ["JVM_OnLoad", "jvmpi_OnLoad"];

/// The functions through which a VM calls into the library of an agent.
const ENTRY_POINTS: [&str; 7] = [
    "JVM_OnLoad",
    "jvmpi_OnLoad",
    "JVM_OnUnload",
    "JNI_OnLoad",
    "Agent_OnLoad",
    "Agent_OnAttach",
    "Agent_OnUnload",
];

/// A symbol by which a library opts out of the quirks that its file name would select.
const NO_QUIRKS: &str = "jvmpi_no_quirks";

/// The contents of a library that [`examine`] accepts.
#[derive(Debug)]
pub struct Contents {
    /// The machine that the library was built for.
    pub machine: Machine,
    /// The entry points that it exports.
    pub entry_points: Vec<&'static str>,
    /// True if the library opts out of the quirks for its file name, by exporting the symbol
    /// `jvmpi_no_quirks`.
    pub has_no_quirks: bool,
    /// The libraries that it depends on (`DT_NEEDED`).
    pub needed: Vec<String>,
    /// True if it wants an executable stack.
    pub has_executable_stack: bool,
}

impl Contents {
    /// Returns the contents of a library for this machine that exports and needs these.
    fn of(exported: &[String], needed: Vec<String>) -> Self {
        let is_exported = |name: &&str| exported.iter().any(|exported| exported == name);
        Self {
            machine: Machine::THIS,
            entry_points: ENTRY_POINTS.into_iter().filter(is_exported).collect(),
            has_no_quirks: is_exported(&NO_QUIRKS),
            needed,
            has_executable_stack: false,
        }
    }
}

/// Examines the file of a library, without loading it, and returns an error unless it can be an agent.
///
/// `JVM_OnLoad` must be in the file itself. The libraries that it depends on are not examined; the dynamic loader
/// reports what is missing there.
///
/// # Errors
/// Returns the reason why it cannot be one.
pub fn examine(path: &Path) -> Result<(), LibraryError> {
    format::examine(path, &read_file(path)?)
}

/// Examines the file in the same way, and returns its contents.
///
/// # Errors
/// The errors of [`examine`].
pub fn contents(path: &Path) -> Result<Contents, LibraryError> {
    format::contents_of(path, &read_file(path)?)
}

/// Returns the machine that a library was built for.
///
/// # Errors
/// Fails if there is no library for this system at this path, or if it is damaged.
pub fn machine(path: &Path) -> Result<Machine, LibraryError> {
    format::machine(path, &read_file(path)?)
}

/// Returns an error unless one of the exported symbols is an agent's entry point.
fn check_entry_point(path: &Path, exported: &[String]) -> Result<(), LibraryError> {
    match exported.iter().any(|name| ON_LOAD.contains(&name.as_str())) {
        true => Ok(()),
        false => Err(LibraryError::no_on_load(path, exported)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::testing::{AGENT, Directory, complaint};
    use std::fs;

    fn examine_complaint(path: &Path) -> String {
        complaint(path, examine(path).unwrap_err())
    }

    #[test]
    fn files_other_than_shared_libraries_are_rejected() {
        let directory = Directory::new("no-library");
        let no_elf = "is not an ELF file: give the agent's shared library for Linux";
        let damaged = "is damaged (Invalid ELF header size or alignment): install or build it anew";
        for (content, expected) in [
            (&b""[..], no_elf),
            (b"INPUT(libfoo.so.1)\n", no_elf),
            (b"\x7fELF", no_elf),
            (b"\x7fELF\x02\x01\x01", damaged),
        ] {
            assert_eq!(examine_complaint(&directory.write("file", content)), expected);
        }
        assert_eq!(
            examine_complaint(&directory.0),
            "cannot be read: Is a directory (os error 21): give this user access to it"
        );
        for (flag, what) in [
            ("-c", "an object file"),
            ("-no-pie", "an executable program"),
            ("-pie", "an executable program (PIE)"),
        ] {
            let file = directory.compile("file", "int main(void) { return 0; }\n", &[flag]);
            let expected = format!("is {what}, not a shared library: link the agent with -shared");
            assert_eq!(examine_complaint(&file), expected);
        }
    }

    #[test]
    fn truncated_library_is_rejected() {
        let directory = Directory::new("prefix");
        let content = fs::read(directory.library("whole", AGENT)).unwrap();
        for length in (0..content.len()).step_by(97) {
            let file = directory.write("file", &content[..length]);
            assert!(examine(&file).is_err(), "{length} of {} bytes", content.len());
        }
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    fn error_names_the_foreign_machine() {
        use crate::library::testing::elf_header;
        let directory = Directory::new("machine");
        let mut big_endian = elf_header(2, object::elf::Machine(21_u16.swap_bytes()));
        big_endian[5] = 2;
        let jvm = ", or use a JVM for i386 (Debian's openjdk-17-jre-headless:i386) with the libjvmpi.so \
                   for it (jvmpi_*_i386.deb)";
        for (header, machine, instead) in [
            (elf_header(1, object::elf::EM_386), "32-bit (i386)", jvm),
            (elf_header(1, object::elf::EM_X86_64), "32-bit (x86-64)", ""),
            (elf_header(2, object::elf::EM_AARCH64), "64-bit (AArch64)", ""),
            (big_endian, "64-bit (big-endian PowerPC)", ""),
            (elf_header(2, object::elf::Machine(0xbeef)), "64-bit (machine 48879)", ""),
        ] {
            assert_eq!(
                examine_complaint(&directory.write("file", &header)),
                format!(
                    "is a {machine} library but libjvmpi.so and its JVM are 64-bit (x86-64): \
                     rebuild the agent for x86-64{instead}"
                )
            );
        }
    }

    #[test]
    fn library_without_on_load_is_rejected() {
        let directory = Directory::new("on-load");
        let refusal = |source| examine_complaint(&directory.library("file", source));
        let path = directory.0.join("file");
        assert_eq!(
            refusal("int Agent_OnLoad(void *vm, char *o, void *r) { return 0; }\n"),
            format!(
                "exports Agent_OnLoad but no JVM_OnLoad, so it is a JVMTI agent: load it with \
                 -agentpath:{} itself",
                path.display()
            )
        );
        assert_eq!(
            refusal("int _Z10JVM_OnLoadP7JavaVM_PcPv(void *vm, char *o, void *r) { return 0; }\n"),
            "exports JVM_OnLoad under its C++ name only: declare it extern \"C\" and rebuild the \
             agent"
        );
        let jni = "exports functions of JNI but no JVM_OnLoad: if it asks for JVMPI by GetEnv, start the program \
                   with -agentpath:libjvmpi.so alone, and let the program load it";
        for function in ["JNI_OnLoad", "Java_Main_run"] {
            let source = format!("int {function}(void) {{ return 0; }}\n");
            let file = directory.library("file", &source);
            assert_eq!(examine_complaint(&file), jni);
        }
        let nothing = "does not export JVM_OnLoad, so it is not a JVMPI agent: check that it is the \
                       right library and that nothing hides the symbol";
        for source in [
            "static int JVM_OnLoad(void) { return 0; }\nint (*f)(void) = JVM_OnLoad;\n",
            "int JVM_OnLoad(void);\nint (*f)(void) = JVM_OnLoad;\n",
            "int JVM_OnLoad2(void) { return 0; }\n",
        ] {
            assert_eq!(refusal(source), nothing, "{source}");
        }
    }
}
