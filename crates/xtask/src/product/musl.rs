//! Builds binaries for musl that need no library but musl's.
//!
//! Rust links libgcc_s dynamically, to unwind stacks. Debian has none for musl, and on Alpine it is a package that a JVM
//! does not need. Rust's own standard library for musl comes with an unwinder for static programs, which is linked in
//! place of libgcc_s.

use std::path::{Path, PathBuf};

use compat_tests::machine::Machine;
use compat_tests::text;

use super::script::{file, script};

/// Returns a linker for this machine. It is created in `directory`, with its files.
///
/// # Errors
/// Fails if the compiler or Rust's standard library for musl is missing, or if a file cannot be created.
pub fn linker(machine: &Machine, directory: &Path) -> Result<PathBuf, String> {
    machine.can_be_compiled_for()?;
    let unwinder = machine.library_of_rust()?.join("self-contained/libunwind.a");
    if !unwinder.is_file() {
        return Err(format!("no {}: rustup target add {}", unwinder.display(), machine.target));
    }
    let directory = directory.join(machine.name);
    file(&directory, "libgcc_s.so", &format!("INPUT ( {} )\n", text(&unwinder)?))?;
    script(&directory, &format!("{} -L'{}' \"$@\"", machine.compiler(), text(&directory)?))
}
