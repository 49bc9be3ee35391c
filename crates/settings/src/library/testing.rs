//! Helpers for tests: directories, and libraries compiled into them.

#![allow(clippy::disallowed_methods, reason = "for tests only")]

use super::LibraryError;
pub use object::elf;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

/// The source text of an agent in C.
pub const AGENT: &str = "int JVM_OnLoad(void *vm, char *o, void *r) { return 7; }\n\
                     void JVM_OnUnload(void *vm) {}\n";

/// Returns a library without its header for the stack, as old compilers wrote it.
pub fn without_stack_header(library: &[u8]) -> Vec<u8> {
    let mut changed = library.to_vec();
    let header = elf::PT_GNU_STACK.0.to_ne_bytes();
    let at = library.windows(4).position(|bytes| bytes == header).unwrap();
    changed[at..at + 4].fill(0);
    changed
}

/// A directory that is removed when the test ends.
pub struct Directory(
    /// Its path.
    pub PathBuf,
);

impl Directory {
    /// Creates a directory for the test with this name.
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("jvmpi-{}-{test}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file and returns its path.
    pub fn write(&self, file: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(file);
        fs::write(&path, content).unwrap();
        path
    }

    /// Compiles C source text to the file `file`.
    pub fn compile(&self, file: &str, source: &str, arguments: &[&str]) -> PathBuf {
        let path = self.0.join(file);
        let source = self.write(&format!("{file}.c"), source.as_bytes());
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        let status = cc.arg("-o").arg(&path).arg(source).args(arguments).status().unwrap();
        assert!(status.success(), "{cc:?}");
        path
    }

    /// Compiles C source text to a shared library.
    pub fn library(&self, file: &str, source: &str) -> PathBuf {
        self.compile(file, source, &["-shared", "-fPIC"])
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Returns the ELF header of a shared library with the given class and machine.
pub fn elf_header(class: u8, machine: elf::Machine) -> Vec<u8> {
    let mut header = vec![0; 64];
    header[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
    header[16..18].copy_from_slice(&elf::ET_DYN.0.to_le_bytes());
    header[18..20].copy_from_slice(&machine.0.to_le_bytes());
    header
}

/// Returns the error's line without the path at its start.
pub fn complaint(path: &Path, error: LibraryError) -> String {
    let line = error.to_string();
    line.strip_prefix(&format!("{} ", path.display())).expect(&line).to_string()
}
