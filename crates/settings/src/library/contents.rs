//! Reads the contents of an agent's library.

use super::file::{Bounded, read_file};
use super::{Instead, LibraryError, Machine, Native, examine_elf_file, without_executable_stack};
use crate::platform;
use jvmpi_sys::{JVMPI_VERSION_1, JVMPI_VERSION_1_1, JVMPI_VERSION_1_2};
use object::elf;
use object::read::elf::{FileHeader, SectionHeader, Sym};
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

    /// Returns true if a VM loads the library as an agent. Returns false if the program loads it, and it
    /// asks for JVMPI by `GetEnv`.
    #[must_use]
    pub fn is_agent(&self) -> bool {
        super::ON_LOAD.iter().any(|name| self.entry_points.contains(name))
    }
}

/// The parts of a library that the dynamic loader connects with others.
#[derive(Debug, Default)]
pub struct Linkage {
    /// The name under which it is loaded (DT_SONAME).
    pub name: Option<String>,
    /// The libraries that it names as needed (DT_NEEDED).
    pub needed: Vec<String>,
    /// The directories that are searched before LD_LIBRARY_PATH (DT_RPATH), and after it (DT_RUNPATH).
    pub search: [Option<String>; 2],
    /// The symbols that it must get from others.
    pub undefined: Vec<String>,
    /// The symbols that others get from it.
    pub defined: Vec<String>,
}

/// Examines the file of a library without loading it. The library is an agent, or a JNI library that seems to ask for
/// JVMPI.
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
    let refused = match examine_elf_file(path, data) {
        Ok(()) => None,
        Err(error @ LibraryError::NoOnLoad { instead: Instead::Jni, .. }) => Some(error),
        Err(error) => return Err(error),
    };
    let damaged = |what| LibraryError::Damaged { path: path.into(), what };
    let contents = read(data).map_err(damaged)?;
    match refused {
        Some(error) if !names_a_version(data).map_err(damaged)? => Err(error),
        _ => Ok(contents),
    }
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
            elf::DT_SONAME => linkage.name = Some(value()?),
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

/// Returns true if an x86 instruction in the library's code has a version of JVMPI, as passed to `GetEnv`, as a
/// constant.
fn names_a_version(data: Bounded<'_>) -> Result<bool, String> {
    if !cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
        return Ok(false);
    }
    let failed = |error: object::Error| error.to_string();
    let header = Native::parse(data).map_err(failed)?;
    let endian = header.endian().map_err(failed)?;
    let sections = header.sections(endian, data).map_err(failed)?;
    let is_code = |section: &&<Native as FileHeader>::SectionHeader| {
        section.sh_flags(endian).contains(elf::SHF_EXECINSTR)
    };
    let code: Result<Vec<&[u8]>, _> =
        sections.iter().filter(is_code).map(|section| section.data(endian, data)).collect();
    let code = code.map_err(failed)?;
    // Otherwise a file with thousands of sections would take thousands of times its size.
    if code.iter().map(|bytes| bytes.len()).sum::<usize>() > data.0.len() {
        return Err("its sections of code overlap".into());
    }
    let versions = [JVMPI_VERSION_1, JVMPI_VERSION_1_1, JVMPI_VERSION_1_2].map(i32::to_le_bytes);
    let has_one = |bytes: &&[u8]| bytes.windows(4).any(|four| versions.iter().any(|v| four == v));
    Ok(code.iter().any(has_one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::testing::{AGENT, Directory, complaint};
    use std::fs;

    /// Each section alone is valid, but together they are larger than the file.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn overlapping_sections_of_code_are_refused() {
        let directory = Directory::new("overlapping");
        let source = "int JNI_OnLoad(void *vm, void *reserved) { return 0x10000002; }\n";
        let mut data = fs::read(directory.library("whole", source)).unwrap();
        let number = |data: &[u8], at: usize, size: usize| {
            data[at..at + size].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
        };
        // e_shoff, e_shentsize and e_shnum.
        let (at, size, count) = (number(&data, 40, 8), number(&data, 58, 2), number(&data, 60, 2));
        let section = |index: usize| at + index * size;
        // sh_flags has SHF_EXECINSTR.
        let is_code = |index: &usize| data[section(*index) + 8] & 4 != 0;
        let text =
            (0..count).filter(is_code).max_by_key(|index| number(&data, section(*index) + 32, 8));
        let mut text = data[section(text.unwrap())..][..size].to_vec();
        let whole = data.len() as u64;
        text[24..32].fill(0);
        text[32..40].copy_from_slice(&whole.to_le_bytes());
        // Those behind the table would be moved otherwise.
        let mut table = data[at..section(count)].to_vec();
        for _ in 0..1500 {
            table.extend(&text);
        }
        let new = data.len() as u64;
        data[40..48].copy_from_slice(&new.to_le_bytes());
        data[60..62].copy_from_slice(&u16::try_from(count + 1500).unwrap().to_le_bytes());
        data.extend(table);
        let file = directory.write("file", &data);
        let refusal = complaint(&file, contents(&file).unwrap_err());
        assert_eq!(refusal, "is damaged (its sections of code overlap): install or build it anew");
    }

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
        let arguments = ["-shared", "-fPIC", "-Wl,-soname,libx.so.1", "-Wl,-rpath,$ORIGIN/y"];
        let linkage = linkage(&directory.compile("x", source, &arguments)).unwrap();
        assert_eq!(linkage.name.as_deref(), Some("libx.so.1"));
        assert!(linkage.search.iter().flatten().eq(["$ORIGIN/y"]), "{linkage:?}");
        assert!(linkage.undefined.iter().any(|name| name == "frob"));
        assert!(linkage.defined.iter().any(|name| name == "JVM_OnLoad"));
        assert!(linkage.needed.iter().any(|name| name.starts_with("libc.so")));
    }
}
