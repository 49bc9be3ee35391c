//! Examines a library of Windows: a file in the Portable Executable format.

use super::file::Bounded;
use super::{Instead, LibraryError, Machine, ON_LOAD, damaged, instead_of};
use object::LittleEndian;
use object::pe::{
    IMAGE_DOS_SIGNATURE, IMAGE_FILE_DLL, IMAGE_NT_OPTIONAL_HDR32_MAGIC, ImageNtHeaders32,
    ImageNtHeaders64,
};
use object::read::pe::{ImageNtHeaders, PeFile, optional_header_magic};
use std::path::Path;

/// Examines the bytes of the file of a DLL. Returns an error unless a JVM can load it as an agent.
///
/// # Errors
/// The same as for [`examine`](super::examine).
pub fn examine(path: &Path, data: &[u8]) -> Result<(), LibraryError> {
    let data = Bounded(data);
    if !data.0.starts_with(&IMAGE_DOS_SIGNATURE.to_le_bytes()) {
        return Err(LibraryError::NotPe { path: path.into() });
    }
    match optional_header_magic(data).map_err(|error| damaged(path, error))? {
        IMAGE_NT_OPTIONAL_HDR32_MAGIC => examine_headers::<ImageNtHeaders32>(path, data),
        _ => examine_headers::<ImageNtHeaders64>(path, data),
    }
}

fn examine_headers<Pe: ImageNtHeaders>(path: &Path, data: Bounded<'_>) -> Result<(), LibraryError> {
    let damaged = |error| damaged(path, error);
    let file = PeFile::<Pe, _>::parse(data).map_err(damaged)?;
    let headers = file.nt_headers();
    let machine = Machine::of_pe(headers.file_header(), headers.is_type_64());
    if machine != Machine::THIS {
        return Err(LibraryError::Foreign { path: path.into(), machine });
    }
    if !headers.file_header().characteristics.get(LittleEndian).contains(IMAGE_FILE_DLL) {
        let what = "an executable program";
        return Err(LibraryError::NotShared { path: path.into(), what });
    }
    let mut instead = Instead::Nothing;
    if let Some(exports) = file.export_table().map_err(damaged)? {
        for (pointer, _) in exports.name_iter() {
            let name = exports.name_from_pointer(pointer).map_err(damaged)?;
            if ON_LOAD.iter().any(|entry| entry.as_bytes() == name) {
                return Ok(());
            }
            instead = instead_of(name, instead);
        }
    }
    Err(LibraryError::NoOnLoad { path: path.into(), instead })
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
        for (source, arguments, expected) in [
            (
                "int JVM_OnLoad2(void) { return 0; }\n",
                &shared,
                "does not export JVM_OnLoad, so it is not",
            ),
            (
                "int Agent_OnLoad(void) { return 0; }\n",
                &shared,
                "exports Agent_OnLoad but no JVM_OnLoad",
            ),
            (
                "int JNI_OnLoad(void) { return 0; }\n",
                &shared,
                "exports functions of JNI but no JVM_OnLoad",
            ),
            (
                "int _Z10JVM_OnLoadv(void) { return 0; }\n",
                &shared,
                "exports JVM_OnLoad under its C++ name",
            ),
            (
                "int main(void) { return 0; }\n",
                &["-s"],
                "is an executable program, not a shared library",
            ),
        ] {
            let (_, said) = line(&directory, source, arguments).unwrap();
            assert!(said.starts_with(expected), "{said}");
        }
        // Only the beginning is needed, up to the exports.
        for length in (0..data.len() / 2).step_by(97) {
            let _ = examine(Path::new("x.dll"), &data[..length]);
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
