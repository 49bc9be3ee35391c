//! What is in a library that can be an agent.

use crate::{LibraryError, Machine, Native, examine};
use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader, Sym};
use std::fs;
use std::path::Path;

/// The functions through which a VM enters the library of an agent.
const ENTRY_POINTS: [&str; 5] =
    ["JVM_OnLoad", "JVM_OnUnload", "Agent_OnLoad", "Agent_OnAttach", "Agent_OnUnload"];

/// The symbol of a library for which there are no quirks, whatever its name.
const NO_QUIRKS: &str = "jvmpi_no_quirks";

/// What a look into a library shows that [`examine`] does not refuse.
#[derive(Debug)]
pub struct Contents {
    /// What it was built for.
    pub machine: Machine,
    /// The functions through which a VM enters it.
    pub entry_points: Vec<&'static str>,
    /// Whether it says, by a symbol, that it is not the library that is known to need settings under its
    /// name.
    pub has_no_quirks: bool,
    /// The libraries that it names as needed.
    pub needed: Vec<String>,
    /// Its machine code, a piece for each executable segment.
    pub code: Vec<Code>,
}

/// A piece of machine code.
#[derive(Debug)]
pub struct Code {
    /// Where it lies relative to the library's base.
    pub address: u64,
    /// The instructions.
    pub bytes: Vec<u8>,
}

/// Looks into the file of an agent's library without loading it.
///
/// # Errors
/// As [`examine`].
pub fn contents(path: &Path) -> Result<Contents, LibraryError> {
    examine(path)?;
    let data =
        fs::read(path).map_err(|error| LibraryError::Unreadable { path: path.into(), error })?;
    read::<Native>(&data)
        .map_err(|error| LibraryError::Damaged { path: path.into(), what: error.to_string() })
}

fn read<Elf: FileHeader<Endian = Endianness>>(data: &[u8]) -> object::Result<Contents> {
    let header = Elf::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;

    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM)?;
    let mut defined = Vec::new();
    for symbol in symbols.iter().filter(|symbol| !symbol.is_undefined(endian)) {
        defined.push(symbols.symbol_name(endian, symbol)?);
    }
    let is_defined = |name: &&str| defined.contains(&name.as_bytes());

    let mut needed = Vec::new();
    let dynamic = sections.dynamic_table(endian, data)?;
    for entry in dynamic.iter().filter(|entry| entry.tag == elf::DT_NEEDED) {
        needed.push(String::from_utf8_lossy(dynamic.string(entry)?).into_owned());
    }

    let mut code = Vec::new();
    for section in sections.iter() {
        if section.sh_flags(endian).contains(elf::SHF_EXECINSTR) {
            let bytes = section.data(endian, data)?.to_vec();
            code.push(Code { address: section.sh_addr(endian).into(), bytes });
        }
    }

    Ok(Contents {
        machine: Machine::THIS,
        entry_points: ENTRY_POINTS.into_iter().filter(is_defined).collect(),
        has_no_quirks: is_defined(&NO_QUIRKS),
        needed,
        code,
    })
}
