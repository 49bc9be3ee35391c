//! Libraries of Linux: files in the ELF format.

use super::file::{Bounded, read_file, unreadable};
use super::machine::Native;
use super::{Contents, LibraryError, Machine, check_entry_point, without_executable_stack};
use object::ReadCache;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader, Sym};
use std::error::Error;
use std::ffi::CString;
use std::fs::File;
use std::path::Path;

/// The parts of a library that the dynamic loader connects with others.
#[derive(Debug, Default)]
pub struct Linkage {
    /// The libraries that it names as needed (DT_NEEDED).
    pub needed: Vec<String>,
    /// The directories that are searched before LD_LIBRARY_PATH (DT_RPATH), and after it (DT_RUNPATH).
    pub search: [Option<String>; 2],
    /// The symbols that it must get from others.
    pub undefined: Vec<NeededSymbol>,
    /// The symbols that others get from it.
    pub defined: Vec<String>,
    /// False if the file has no section headers, without which its symbols are unknown.
    has_sections: bool,
    /// The kind of the file, unless it is a shared library.
    other: Option<&'static str>,
}

/// A symbol that a library imports.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NeededSymbol {
    /// The name.
    pub name: CString,
    /// The required version, for example `GLIBC_2.0`; `None` for an unversioned symbol.
    pub version: Option<CString>,
}

/// Returns the machine that an ELF file was built for.
pub(crate) fn machine(path: &Path, data: &[u8]) -> Result<Machine, LibraryError> {
    let data = Bounded(data);
    let machine = match data.0.strip_prefix(&elf::ELFMAG) {
        Some([1, ..]) => FileHeader32::parse(data).and_then(Machine::of),
        Some([2, ..]) => FileHeader64::parse(data).and_then(Machine::of),
        _ => {
            let what = "is not an ELF file: give the agent's shared library for Linux";
            return Err(LibraryError::new(path, what));
        }
    };
    machine.map_err(|error| LibraryError::damaged(path, error))
}

/// Examines the bytes of a file. Returns an error unless a JVM can load it as an agent.
///
/// # Errors
/// The same as for [`examine`](super::examine).
pub fn examine(path: &Path, data: &[u8]) -> Result<(), LibraryError> {
    contents_of(path, data).map(drop)
}

/// Examines the bytes of the file of an agent's library.
///
/// # Errors
/// The errors of [`examine`](super::examine).
pub fn contents_of(path: &Path, data: &[u8]) -> Result<Contents, LibraryError> {
    let linkage = linkage_of(path, data)?;
    if let Some(what) = linkage.other {
        return Err(LibraryError::not_shared(path, what));
    }
    // A library without section headers still loads; the caller checks its symbols after `dlopen`.
    if linkage.has_sections {
        check_entry_point(path, &linkage.defined)?;
    }
    let has_executable_stack = without_executable_stack(data).is_some();
    Ok(Contents { has_executable_stack, ..Contents::of(&linkage.defined, linkage.needed) })
}

/// Reads the [`Linkage`] of the library in this file, which need not be an agent.
///
/// # Errors
/// Fails if the file cannot be read, is not a library for this machine, or is damaged.
pub fn linkage(path: &Path) -> Result<Linkage, LibraryError> {
    linkage_of(path, &read_file(path)?)
}

/// Reads the [`Linkage`] of the library with these bytes.
///
/// # Errors
/// Fails if the file is not a library for this machine, or is damaged.
pub fn linkage_of(path: &Path, data: &[u8]) -> Result<Linkage, LibraryError> {
    LibraryError::check_machine(path, machine(path, data)?)?;
    read(Bounded(data)).map_err(|error| LibraryError::damaged(path, error))
}

fn read(data: Bounded<'_>) -> Result<Linkage, Box<dyn Error>> {
    /// Names share bytes if one is the end of another, which few are.
    const SHARED: usize = 4;
    let mut left = SHARED * data.0.len();
    let mut counted = |name: &[u8]| -> Result<Vec<u8>, Box<dyn Error>> {
        left = left.checked_sub(name.len()).ok_or("its names overlap")?;
        Ok(name.to_owned())
    };
    let text = |name: Vec<u8>| String::from_utf8_lossy(&name).into_owned();
    let header = Native::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let other = match header.e_type(endian) {
        elf::ET_DYN => None,
        elf::ET_EXEC => Some("an executable program"),
        elf::ET_REL => Some("an object file"),
        elf::ET_CORE => Some("a core dump"),
        _ => Some("an unknown kind of ELF file"),
    };
    let has_sections = !sections.is_empty();
    let mut linkage = Linkage { other, has_sections, ..Linkage::default() };
    let dynamic = sections.dynamic_table(endian, data)?;
    for entry in dynamic.iter() {
        let mut value = || Ok::<_, Box<dyn Error>>(text(counted(dynamic.string(entry)?)?));
        match entry.tag {
            elf::DT_NEEDED => linkage.needed.push(value()?),
            elf::DT_RPATH => linkage.search[0] = Some(value()?),
            elf::DT_RUNPATH => linkage.search[1] = Some(value()?),
            elf::DT_FLAGS_1 if entry.val & elf::DF_1_PIE.0 != 0 => {
                linkage.other = Some("an executable program (PIE)");
            }
            _ => {}
        }
    }
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM)?;
    let versions = sections.versions(endian, data).ok().flatten().unwrap_or_default();
    for (index, symbol) in symbols.enumerate() {
        let is_needed = symbol.is_undefined(endian);
        if symbol.st_bind() == elf::STB_LOCAL || is_needed && symbol.st_bind() != elf::STB_GLOBAL {
            continue;
        }
        let name = counted(symbols.symbol_name(endian, symbol)?)?;
        if is_needed {
            let version = versions.version(versions.version_index(endian, index).index());
            let version = version.ok().flatten().and_then(|it| CString::new(it.name()).ok());
            linkage.undefined.push(NeededSymbol { name: CString::new(name)?, version });
        } else {
            linkage.defined.push(text(name));
        }
    }
    Ok(linkage)
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
    find().map_err(|error: object::Error| LibraryError::damaged(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::testing::{AGENT, Directory, complaint};
    use std::fs;

    /// Each symbol has a name of its own within the same long string.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn overlapping_names_are_refused() {
        let directory = Directory::new("names");
        let mut data = fs::read(directory.library("whole", AGENT)).unwrap();
        let number = |data: &[u8], at: usize, size: usize| {
            data[at..at + size].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
        };
        let (at, size, count) = (number(&data, 40, 8), number(&data, 58, 2), number(&data, 60, 2));
        let is_dynamic_symbols = |index: &usize| number(&data, at + index * size + 4, 4) == 11;
        let symbols = at + (0..count).find(is_dynamic_symbols).unwrap() * size;
        let strings = at + number(&data, symbols + 40, 4) * size;
        // The strings as they were, and behind them a long one.
        let (from, length) = (number(&data, strings + 24, 8), number(&data, strings + 32, 8));
        let old = data[from..from + length].to_vec();
        let mut set = |at: usize, value: usize| {
            data[at..at + 8].copy_from_slice(&(value as u64).to_le_bytes());
        };
        const LONG: usize = 4000;
        const SYMBOLS: usize = 3000;
        let end = fs::metadata(directory.0.join("whole")).unwrap().len() as usize;
        set(strings + 24, end);
        set(strings + 32, length + LONG + 1);
        let table = end + length + LONG + 1;
        set(symbols + 24, table);
        set(symbols + 32, 24 * SYMBOLS);
        data.extend(old);
        data.extend([b'x'; LONG]);
        data.push(0);
        for symbol in 0..SYMBOLS {
            // Global, and defined in the first section.
            data.extend(u32::try_from(length + symbol % 100).unwrap().to_le_bytes());
            data.extend([0x10, 0, 1, 0]);
            data.extend([0; 16]);
        }
        let file = directory.write("file", &data);
        let refusal = complaint(&file, linkage(&file).unwrap_err());
        assert_eq!(refusal, "is damaged (its names overlap): install or build it anew");
    }

    #[test]
    fn symbols_name_what_a_library_gives_and_takes() {
        let directory = Directory::new("linkage");
        let source = "int frob(void), puts(const char *);
             int JVM_OnLoad(void) { return frob() + puts(\"\"); }\n";
        let arguments = ["-shared", "-fPIC", "-Wl,-rpath,$ORIGIN/y"];
        let linkage = linkage(&directory.compile("x", source, &arguments)).unwrap();
        assert!(linkage.search.iter().flatten().eq(["$ORIGIN/y"]), "{linkage:?}");
        assert!(linkage.undefined.iter().any(|symbol| *symbol.name == *c"frob"));
        assert!(linkage.defined.iter().any(|name| name == "JVM_OnLoad"));
        assert!(linkage.needed.iter().any(|name| name.starts_with("libc.so")));
    }
}
