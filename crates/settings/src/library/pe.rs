//! Examines a library of Windows: a file in the Portable Executable format.

use super::file::{Bounded, read_file};
use super::{Contents, LibraryError, Machine, check_entry_point};
use object::LittleEndian;
use object::pe::{
    IMAGE_DOS_SIGNATURE, IMAGE_FILE_DLL, IMAGE_NT_OPTIONAL_HDR32_MAGIC, ImageNtHeaders32,
    ImageNtHeaders64,
};
use object::read::pe::{ImageNtHeaders, Import, PeFile, optional_header_magic};
use std::path::Path;

/// The headers of this machine's libraries.
#[cfg(target_pointer_width = "64")]
type Native = ImageNtHeaders64;
#[cfg(target_pointer_width = "32")]
type Native = ImageNtHeaders32;

/// A DLL for this machine.
type Dll<'data> = PeFile<'data, Native, Bounded<'data>>;

/// Examines the bytes of the file of a DLL. Returns an error unless a JVM can load it as an agent.
///
/// # Errors
/// The same as for [`examine`](super::examine).
pub fn examine(path: &Path, data: &[u8]) -> Result<(), LibraryError> {
    let file = parse(path, data)?;
    let characteristics = file.nt_headers().file_header().characteristics;
    if !characteristics.get(LittleEndian).contains(IMAGE_FILE_DLL) {
        return Err(LibraryError::not_shared(path, "an executable program"));
    }
    let exported = exported(&file).map_err(|error| LibraryError::damaged(path, error))?;
    check_entry_point(path, &exported)
}

/// Returns the machine that a PE file was built for.
pub(crate) fn machine(path: &Path, data: &[u8]) -> Result<Machine, LibraryError> {
    fn of<Pe: ImageNtHeaders>(data: Bounded<'_>) -> object::Result<Machine> {
        let file = PeFile::<Pe, _>::parse(data)?;
        let headers = file.nt_headers();
        Ok(Machine::of_pe(headers.file_header(), headers.is_type_64()))
    }
    let data = Bounded(data);
    if !data.0.starts_with(&IMAGE_DOS_SIGNATURE.to_le_bytes()) {
        let what = "is not a PE file: give the agent's DLL for Windows";
        return Err(LibraryError::new(path, what));
    }
    let machine = optional_header_magic(data).and_then(|magic| match magic {
        IMAGE_NT_OPTIONAL_HDR32_MAGIC => of::<ImageNtHeaders32>(data),
        _ => of::<ImageNtHeaders64>(data),
    });
    machine.map_err(|error| LibraryError::damaged(path, error))
}

/// Examines the bytes of the file of an agent's DLL.
///
/// # Errors
/// The errors of [`examine`].
pub fn contents_of(path: &Path, data: &[u8]) -> Result<Contents, LibraryError> {
    examine(path, data)?;
    let Linkage { exported, imported } = linkage_of(path, data)?;
    Ok(Contents::of(&exported, imported.into_iter().map(|(library, _)| library).collect()))
}

/// The parts of a DLL that the loader connects with others.
#[derive(Debug, Default)]
pub struct Linkage {
    /// The symbols that others get from it.
    pub exported: Vec<String>,
    /// The libraries that it needs, each with the symbols that it gets from the library.
    pub imported: Vec<(String, Vec<String>)>,
}

/// Reads the [`Linkage`] of the DLL in this file, which need not be an agent.
///
/// # Errors
/// Fails if the file cannot be read, is not a PE file for this machine's JVMs, or is damaged.
pub fn linkage(path: &Path) -> Result<Linkage, LibraryError> {
    linkage_of(path, &read_file(path)?)
}

/// Returns the address of a symbol that the DLL in this file exports, relative to its beginning in memory.
///
/// # Errors
/// The errors of [`linkage`].
pub fn address_of(path: &Path, symbol: &str) -> Result<Option<u32>, LibraryError> {
    let bytes = read_file(path)?;
    let file = parse(path, &bytes)?;
    let read = || {
        let Some(exports) = file.export_table()? else { return Ok(None) };
        for (pointer, index) in exports.name_iter() {
            if exports.name_from_pointer(pointer)? == symbol.as_bytes() {
                return exports.address_by_index(index).map(Some);
            }
        }
        Ok(None)
    };
    read().map_err(|error| LibraryError::damaged(path, error))
}

/// Reads the headers of a DLL for this machine.
fn parse<'data>(path: &Path, data: &'data [u8]) -> Result<Dll<'data>, LibraryError> {
    LibraryError::check_machine(path, machine(path, data)?)?;
    PeFile::parse(Bounded(data)).map_err(|error| LibraryError::damaged(path, error))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the symbols that a DLL exports.
fn exported(file: &Dll<'_>) -> object::Result<Vec<String>> {
    let Some(exports) = file.export_table()? else { return Ok(Vec::new()) };
    let names = exports.name_iter().map(|(pointer, _)| exports.name_from_pointer(pointer));
    names.map(|name| name.map(text)).collect()
}

fn linkage_of(path: &Path, data: &[u8]) -> Result<Linkage, LibraryError> {
    let file = parse(path, data)?;
    let read = || {
        let mut linkage = Linkage { exported: exported(&file)?, imported: Vec::new() };
        let Some(imports) = file.import_table()? else { return Ok(linkage) };
        let mut descriptors = imports.descriptors()?;
        while let Some(descriptor) = descriptors.next()? {
            let mut symbols = Vec::new();
            // Some linkers leave out the first list.
            let first = descriptor.original_first_thunk.get(LittleEndian);
            let list = if first == 0 { descriptor.first_thunk.get(LittleEndian) } else { first };
            let mut thunks = imports.thunks(list)?;
            while let Some(thunk) = thunks.next::<Native>()? {
                if let Import::Name(_, name) = imports.import::<Native>(thunk)? {
                    symbols.push(text(name));
                }
            }
            let library = text(imports.name(descriptor.name.get(LittleEndian))?);
            linkage.imported.push((library, symbols));
        }
        Ok(linkage)
    };
    read().map_err(|error: object::Error| LibraryError::damaged(path, error))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::library::testing::{AGENT, Directory, complaint};
    use std::fs;
    use std::process::Command;

    const COMPILER: &str = "x86_64-w64-mingw32-gcc";

    /// Compiles C source text for Windows and returns the line about it, empty for an agent. None without a compiler.
    fn line(directory: &Directory, source: &str, arguments: &[&str]) -> Option<(Vec<u8>, String)> {
        let (file, source) = (directory.0.join("x.dll"), directory.write("x.c", source.as_bytes()));
        let mut compiler = Command::new(COMPILER);
        compiler.arg("-o").arg(&file).arg(source).args(arguments);
        let Ok(status) = compiler.status() else {
            println!("skipped: needs {COMPILER}");
            return None;
        };
        assert!(status.success(), "{compiler:?}");
        let data = fs::read(&file).unwrap();
        let line = examine(&file, &data).map_err(|error| complaint(&file, error));
        Some((data, line.err().unwrap_or_default()))
    }

    #[test]
    fn dll_that_exports_no_entry_point_is_refused() {
        let directory = Directory::new("pe");
        let shared = ["-shared"];
        let Some((data, said)) = line(&directory, AGENT, &shared) else { return };
        assert_eq!(said, "");
        for (function, flags, expected) in [
            ("JVM_OnLoad2", shared, "does not export JVM_OnLoad, so it is not"),
            ("Agent_OnLoad", shared, "exports Agent_OnLoad but no JVM_OnLoad"),
            ("JNI_OnLoad", shared, "exports functions of JNI but no JVM_OnLoad"),
            ("_Z10JVM_OnLoadv", shared, "exports JVM_OnLoad under its C++ name"),
            ("main", ["-s"], "is an executable program, not a shared library"),
        ] {
            let source = format!("int {function}(void) {{ return 0; }}\n");
            let (_, said) = line(&directory, &source, &flags).unwrap();
            assert!(said.starts_with(expected), "{said}");
        }
        let contents = contents_of(Path::new("x.dll"), &data).unwrap();
        assert_eq!(contents.machine, Machine::THIS);
        assert_eq!(contents.entry_points, ["JVM_OnLoad", "JVM_OnUnload"]);
        let Linkage { exported, imported } = linkage_of(Path::new("x.dll"), &data).unwrap();
        assert!(exported.iter().any(|name| name == "JVM_OnLoad"));
        let of_kernel = imported.iter().find(|(library, _)| library == "KERNEL32.dll").unwrap();
        assert!(of_kernel.1.iter().any(|name| name == "VirtualQuery"), "{of_kernel:?}");
        assert!(contents.needed.contains(&of_kernel.0));
        // Only the beginning is needed, up to the exports.
        for length in (0..data.len() / 2).step_by(97) {
            let _ = examine(Path::new("x.dll"), &data[..length]);
            let _ = linkage_of(Path::new("x.dll"), &data[..length]);
        }
    }

    #[test]
    fn dll_for_another_machine_and_other_files_are_refused() {
        let path = Path::new("x.dll");
        let said = |data: &[u8]| complaint(path, examine(path, data).unwrap_err());
        let no_pe = "is not a PE file: give the agent's DLL for Windows";
        assert_eq!((said(b""), said(b"\x7fELF")), (no_pe.into(), no_pe.into()));
        assert!(said(b"MZ").starts_with("is damaged ("));
        // The headers of a 32-bit DLL: those of DOS, the signature, the file header and the optional header.
        let mut dll = vec![0; 512];
        dll[..2].copy_from_slice(b"MZ");
        dll[0x3c] = 0x40;
        dll[0x40..0x44].copy_from_slice(b"PE\0\0");
        dll[0x44..0x46].copy_from_slice(&0x14c_u16.to_le_bytes());
        dll[0x54..0x58].copy_from_slice(&[96, 0, 2, 0x21]);
        dll[0x58..0x5a].copy_from_slice(&0x10b_u16.to_le_bytes());
        let said = said(&dll);
        assert!(said.starts_with("is a 32-bit (i386) library but "), "{said}");
        assert!(
            said.contains(" and its JVM are 64-bit (x86-64): rebuild the agent for x86-64"),
            "{said}"
        );
    }
}
