//! Reads the contents of an agent's library.

use super::file::{Bounded, read_file};
use super::{LibraryError, Machine, Native, examine_elf_file, without_executable_stack};
use crate::platform;
use object::elf;
use object::read::elf::{FileHeader, Sym};
use std::cell::Cell;
use std::path::Path;

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

/// The contents of a library that [`examine`](super::examine) accepts.
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
    pub(super) fn of(exported: &[String], needed: Vec<String>) -> Self {
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

/// The parts of a library that the dynamic loader connects with others.
#[derive(Debug, Default)]
pub struct Linkage {
    /// The libraries that it names as needed (DT_NEEDED).
    pub needed: Vec<String>,
    /// The directories that are searched before LD_LIBRARY_PATH (DT_RPATH), and after it (DT_RUNPATH).
    pub search: [Option<String>; 2],
    /// The symbols that it must get from others.
    pub undefined: Vec<String>,
    /// The symbols that others get from it.
    pub defined: Vec<String>,
}

/// Examines the file of an agent's library without loading it.
///
/// # Errors
/// The errors of [`examine`](super::examine).
pub fn contents(path: &Path) -> Result<Contents, LibraryError> {
    platform::contents_of_bytes(path, &read_file(path)?)
}

/// Examines the bytes of the file of an agent's library.
///
/// # Errors
/// The errors of [`examine`](super::examine).
pub fn contents_of(path: &Path, data: &[u8]) -> Result<Contents, LibraryError> {
    let data = Bounded(data);
    examine_elf_file(path, data)?;
    read(data).map_err(|what| LibraryError::Damaged { path: path.into(), what })
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
    let damaged =
        |error: object::Error| LibraryError::Damaged { path: path.into(), what: error.to_string() };
    let data = Bounded(data);
    let header = Native::parse(data).map_err(damaged)?;
    let machine = Machine::of(Ok(header)).map_err(damaged)?;
    if machine != Machine::THIS {
        return Err(LibraryError::Foreign { path: path.into(), machine });
    }
    linkage_in(header, data).map_err(|what| LibraryError::Damaged { path: path.into(), what })
}

fn linkage_in(header: &Native, data: Bounded<'_>) -> Result<Linkage, String> {
    /// Names share bytes if one is the end of another, which few are.
    const SHARED: usize = 4;
    let failed = |error: object::Error| error.to_string();
    let length = Cell::new(0);
    let text = |bytes: &[u8]| {
        length.set(length.get() + bytes.len());
        String::from_utf8_lossy(bytes).into_owned()
    };
    let is_too_much = || length.get() > SHARED * data.0.len();
    let endian = header.endian().map_err(failed)?;
    let sections = header.sections(endian, data).map_err(failed)?;
    let mut linkage = Linkage::default();
    let dynamic = sections.dynamic_table(endian, data).map_err(failed)?;
    for entry in dynamic.iter() {
        let value = || dynamic.string(entry).map(text).map_err(failed);
        match entry.tag {
            elf::DT_NEEDED => linkage.needed.push(value()?),
            elf::DT_RPATH => linkage.search[0] = Some(value()?),
            elf::DT_RUNPATH => linkage.search[1] = Some(value()?),
            _ => {}
        }
        if is_too_much() {
            return Err("its names overlap".into());
        }
    }
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM).map_err(failed)?;
    for symbol in symbols.iter().filter(|symbol| symbol.st_bind() != elf::STB_LOCAL) {
        let name = || symbols.symbol_name(endian, symbol).map(text).map_err(failed);
        if !symbol.is_undefined(endian) {
            linkage.defined.push(name()?);
        } else if symbol.st_bind() == elf::STB_GLOBAL {
            linkage.undefined.push(name()?);
        }
        if is_too_much() {
            return Err("its names overlap".into());
        }
    }
    Ok(linkage)
}

fn read(data: Bounded<'_>) -> Result<Contents, String> {
    let header = Native::parse(data).map_err(|error| error.to_string())?;
    let linkage = linkage_in(header, data)?;
    let has_executable_stack = without_executable_stack(data.0).is_some();
    Ok(Contents { has_executable_stack, ..Contents::of(&linkage.defined, linkage.needed) })
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
        assert!(linkage.undefined.iter().any(|name| name == "frob"));
        assert!(linkage.defined.iter().any(|name| name == "JVM_OnLoad"));
        assert!(linkage.needed.iter().any(|name| name.starts_with("libc.so")));
    }
}
