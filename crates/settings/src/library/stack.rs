//! Libraries that want an executable stack. glibc 2.41 and later do not load them into a running process.

use super::machine::Native;
use object::elf;
use object::pod::{bytes_of_mut, bytes_of_slice, from_bytes_mut};
use object::read::elf::{FileHeader, ProgramHeader};

/// Returns the bytes of a library for this machine, changed so that it wants no executable stack. None if it wants none
/// already, or if it is damaged.
///
/// On x86, a library of a compiler that wrote no header for the stack wants an executable one, too. The new table of
/// headers is at the end of the file, on a page that no segment maps.
#[must_use]
pub fn without_executable_stack(library: &[u8]) -> Option<Vec<u8>> {
    const LARGEST_PAGE: usize = 1 << 16;
    let header = Native::parse(library).ok()?;
    let endian = header.endian().ok()?;
    let mut headers = header.program_headers(endian, library).ok()?.to_vec();
    let stack = headers.iter_mut().find(|header| header.p_type(endian) == elf::PT_GNU_STACK);
    match stack {
        Some(stack) if !stack.p_flags(endian).contains(elf::PF_X) => return None,
        None if cfg!(target_arch = "aarch64") => return None,
        Some(stack) => stack.p_flags.set(endian, elf::PF_R | elf::PF_W),
        None => {
            let mut stack = *headers.first()?;
            bytes_of_mut(&mut stack).fill(0);
            stack.p_type.set(endian, elf::PT_GNU_STACK);
            stack.p_flags.set(endian, elf::PF_R | elf::PF_W);
            headers.push(stack);
        }
    }
    // The dynamic loader would look for the table where this header has it.
    for itself in headers.iter_mut().filter(|header| header.p_type(endian) == elf::PT_PHDR) {
        itself.p_type.set(endian, elf::PT_NULL);
    }
    let mut changed = library.to_vec();
    changed.resize(library.len().next_multiple_of(LARGEST_PAGE), 0);
    let (header, _) = from_bytes_mut::<Native>(&mut changed).ok()?;
    header.e_phoff.set(endian, library.len().next_multiple_of(LARGEST_PAGE).try_into().ok()?);
    header.e_phnum.set(endian, headers.len().try_into().ok()?);
    changed.extend(bytes_of_slice(&headers));
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::testing::{AGENT, Directory, without_stack_header};
    use std::fs;
    use std::path::Path;

    fn reads_as_before(directory: &Directory, before: &Path) {
        let changed = without_executable_stack(&fs::read(before).unwrap()).unwrap();
        assert_eq!(without_executable_stack(&changed), None);
        let after = directory.write("after", &changed);
        let linkage = |path| format!("{:?}", crate::library::linkage(path).unwrap());
        assert_eq!(linkage(&after), linkage(before));
    }

    #[test]
    fn only_the_headers_change() {
        let directory = Directory::new("stack");
        let plain = directory.compile("plain", AGENT, &["-shared", "-fPIC"]);
        assert_eq!(without_executable_stack(&fs::read(&plain).unwrap()), None);
        let arguments = ["-shared", "-fPIC", "-Wl,-z,execstack"];
        reads_as_before(&directory, &directory.compile("executable", AGENT, &arguments));
        let bytes = without_stack_header(&fs::read(&plain).unwrap());
        if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
            reads_as_before(&directory, &directory.write("no-header", &bytes));
        }
    }

    #[test]
    fn damaged_file_is_left_alone() {
        let directory = Directory::new("damaged-stack");
        let arguments = ["-shared", "-fPIC", "-Wl,-z,execstack"];
        let library = fs::read(directory.compile("whole", AGENT, &arguments)).unwrap();
        for length in 0..200 {
            assert_eq!(without_executable_stack(&library[..length]), None);
        }
    }
}
