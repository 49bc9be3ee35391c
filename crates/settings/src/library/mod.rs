//! Examines the file of an agent library without running code from it.
//!
//! Every [`LibraryError`] is one line: which library, what is wrong with it, what to do.

mod contents;
mod error;
mod file;
mod machine;
pub mod pe;
mod stack;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use crate::platform;
pub use contents::{Contents, Linkage, contents, contents_of, linkage, linkage_of};
pub use error::{EXECUTABLE_STACK, Instead, LibraryError};
pub(crate) use file::Bounded;
use file::{read_file, unreadable};
pub use machine::Machine;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{Endianness, ReadCache, ReadRef};
pub use stack::without_executable_stack;
use std::ffi::CString;
use std::fs::File;
use std::path::Path;

/// The names of an agent's entry point. HotSpot takes a library with the first one for no JVMTI agent if `-Xrun` names it;
/// one with only the second can be both.
pub const ON_LOAD: [&str; 2] = ["JVM_OnLoad", "jvmpi_OnLoad"];

/// Examines the file of a library, without loading it, and returns an error unless it can be an agent.
///
/// `JVM_OnLoad` must be in the file itself. The libraries that it depends on are not examined; the dynamic loader
/// reports what is missing there.
///
/// # Errors
/// Returns any variant except [`LibraryError::NotFound`] and [`LibraryError::Unloadable`].
pub fn examine(path: &Path) -> Result<(), LibraryError> {
    platform::examine_bytes(path, Bounded(&read_file(path)?))
}

pub(crate) fn examine_elf_file(path: &Path, data: Bounded<'_>) -> Result<(), LibraryError> {
    match bits(path, data)? {
        32 => examine_elf::<FileHeader32<Endianness>>(path, data),
        _ => examine_elf::<FileHeader64<Endianness>>(path, data),
    }
}

/// Returns the machine that a library was built for.
///
/// # Errors
/// Fails if there is no library for this system at this path, or if it is damaged.
pub fn machine(path: &Path) -> Result<Machine, LibraryError> {
    platform::machine_of_bytes(path, Bounded(&read_file(path)?))
}

/// Returns the contents of a section of an ELF file for this machine, or `None` if it has no section of this name.
///
/// # Errors
/// Fails if there is no such ELF file at this path, or if it is damaged.
pub fn section(path: &Path, name: &str) -> Result<Option<Vec<u8>>, LibraryError> {
    // The command looks for sections in itself at each start. Most of its file need not be read.
    let data = &ReadCache::new(File::open(path).map_err(|error| unreadable(path, error))?);
    let find = || {
        let header = Native::parse(data)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, data)?;
        let found = sections.section_by_name(endian, name.as_bytes());
        found.map(|(_, section)| section.data(endian, data).map(<[u8]>::to_vec)).transpose()
    };
    find().map_err(|error| damaged(path, error))
}

/// Returns the class of an ELF file: 32 or 64 bits.
pub(crate) fn bits(path: &Path, data: Bounded<'_>) -> Result<u8, LibraryError> {
    match data.0.strip_prefix(&elf::ELFMAG) {
        Some([1, ..]) => Ok(32),
        Some([2, ..]) => Ok(64),
        _ => Err(LibraryError::NotElf { path: path.into() }),
    }
}

pub(crate) fn damaged(path: &Path, error: object::Error) -> LibraryError {
    LibraryError::Damaged { path: path.into(), what: error.to_string() }
}

fn examine_elf<'data, Elf: FileHeader<Endian = Endianness>>(
    path: &Path,
    data: impl ReadRef<'data>,
) -> Result<(), LibraryError> {
    let damaged = |error| damaged(path, error);
    let header = Elf::parse(data).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;

    let machine = Machine::of(Ok(header)).map_err(damaged)?;
    if machine != Machine::THIS {
        return Err(LibraryError::Foreign { path: path.into(), machine });
    }
    if header.e_type(endian) != elf::ET_DYN {
        let what = match header.e_type(endian) {
            elf::ET_EXEC => "an executable program",
            elf::ET_REL => "an object file",
            elf::ET_CORE => "a core dump",
            _ => "an unknown kind of ELF file",
        };
        return Err(LibraryError::NotShared { path: path.into(), what });
    }

    let sections = header.sections(endian, data).map_err(damaged)?;
    if sections.is_empty() {
        // A library without section headers still loads; the caller checks its symbols after `dlopen`.
        return Ok(());
    }
    let dynamic = sections.dynamic_table(endian, data).map_err(damaged)?;
    let is_program = |flags: u64| flags & elf::DF_1_PIE.0 != 0;
    if dynamic.iter().any(|entry| entry.tag == elf::DT_FLAGS_1 && is_program(entry.val)) {
        let what = "an executable program (PIE)";
        return Err(LibraryError::NotShared { path: path.into(), what });
    }
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM).map_err(damaged)?;
    let mut instead = Instead::Nothing;
    for symbol in symbols.iter().filter(|symbol| !symbol.is_undefined(endian)) {
        match symbols.symbol_name(endian, symbol).map_err(damaged)? {
            name if ON_LOAD.iter().any(|entry| entry.as_bytes() == name) => return Ok(()),
            name => instead = instead_of(name, instead),
        }
    }
    Err(LibraryError::NoOnLoad { path: path.into(), instead })
}

/// Returns what a library without `JVM_OnLoad` is that exports a symbol of this name, after others.
fn instead_of(name: &[u8], before: Instead) -> Instead {
    match name {
        b"Agent_OnLoad" => Instead::AgentOnLoad,
        name if [&b"_Z10JVM_OnLoad"[..], b"?JVM_OnLoad@@"]
            .iter()
            .any(|mangled| name.starts_with(mangled)) =>
        {
            Instead::Mangled
        }
        name if before == Instead::Nothing
            && (name == b"JNI_OnLoad" || name.starts_with(b"Java_")) =>
        {
            Instead::Jni
        }
        _ => before,
    }
}

/// The ELF file header of this machine's libraries.
#[cfg(target_pointer_width = "64")]
type Native = FileHeader64<Endianness>;
#[cfg(target_pointer_width = "32")]
type Native = FileHeader32<Endianness>;

/// A symbol that a library imports.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NeededSymbol {
    /// The name.
    pub name: CString,
    /// The required version, for example `GLIBC_2.0`; `None` for an unversioned symbol.
    pub version: Option<CString>,
}

/// Returns the symbols that a library imports; none if the file cannot be read.
pub fn needed_symbols(path: &Path) -> Vec<NeededSymbol> {
    undefined_symbols(path).unwrap_or_default()
}

fn undefined_symbols(path: &Path) -> Option<Vec<NeededSymbol>> {
    let bytes = read_file(path).ok()?;
    let data = Bounded(&bytes);
    let header = Native::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM).ok()?;
    let versions = sections.versions(endian, data).ok()?.unwrap_or_default();
    let needed = symbols
        .enumerate()
        .filter(|(_, symbol)| symbol.is_undefined(endian) && symbol.st_bind() == elf::STB_GLOBAL);
    let needed = needed.filter_map(|(index, symbol)| {
        let name = CString::new(symbols.symbol_name(endian, symbol).ok()?).ok()?;
        let version = versions.version(versions.version_index(endian, index).index()).ok()?;
        let version = version.and_then(|version| CString::new(version.name()).ok());
        Some(NeededSymbol { name, version })
    });
    Some(needed.filter(|symbol| !symbol.name.is_empty()).collect())
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
        let mut big_endian = elf_header(2, elf::Machine(21_u16.swap_bytes()));
        big_endian[5] = 2;
        let jvm = ", or use a JVM for i386 (Debian's openjdk-17-jre-headless:i386) with the libjvmpi.so \
                   for it (jvmpi_*_i386.deb)";
        for (header, machine, instead) in [
            (elf_header(1, elf::EM_386), "32-bit (i386)", jvm),
            (elf_header(1, elf::EM_X86_64), "32-bit (x86-64)", ""),
            (elf_header(2, elf::EM_AARCH64), "64-bit (AArch64)", ""),
            (big_endian, "64-bit (big-endian PowerPC)", ""),
            (elf_header(2, elf::Machine(0xbeef)), "64-bit (machine 48879)", ""),
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
