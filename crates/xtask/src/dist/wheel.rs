//! Builds the wheel for pip: a zip archive with the command, the libraries and the header, in the format of PEP 427.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use compat_tests::machine::Machine;
use compat_tests::workspace_root;
use flate2::{Compression, write::DeflateEncoder};
use sha2::{Digest, Sha256};

use crate::product::{DOCUMENTATION, VERSION};

/// The program, and the mode of ordinary files.
const PROGRAM: u32 = 0o755;
const DATA: u32 = 0o644;

/// The files of the tree in the wheel. pip installs `scripts` in `bin` and `data` in the root of an environment.
const FILES: [(&str, &str, u32); 5] = [
    ("bin/jvmpi", "data/scripts/jvmpi", PROGRAM),
    ("lib/libjvmpi.so.1", "data/data/lib/jvmpi/libjvmpi.so", DATA),
    ("lib/libhprof.so", "data/data/lib/jvmpi/libhprof.so", DATA),
    ("include/jvmpi.h", "data/data/include/jvmpi.h", DATA),
    ("share/man/man1/jvmpi.1", "data/data/share/man/man1/jvmpi.1", DATA),
];
const LICENSES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-LICENCES"];

/// A file of the wheel.
struct File {
    name: String,
    content: Vec<u8>,
    mode: u32,
}

/// Builds the wheel of the files in this tree.
pub fn build(machine: &Machine, tree: &Path, directory: &Path) -> Result<PathBuf, String> {
    let own = format!("jvmpi-{VERSION}");
    let read = |path: PathBuf| fs::read(&path).map_err(|e| format!("{}: {e}", path.display()));
    let mut files = Vec::new();
    for (from, to, mode) in FILES {
        let content = read(tree.join(from))?;
        files.push(File { name: format!("{own}.{to}"), content, mode });
    }
    let information = |name: &str| format!("{own}.dist-info/{name}");
    let documentation = tree.join(DOCUMENTATION);
    for name in LICENSES {
        let (name, content) =
            (information(&format!("licenses/{name}")), read(documentation.join(name))?);
        files.push(File { name, content, mode: DATA });
    }
    let bill = read(documentation.join("sbom.cdx.json"))?;
    files.push(File { name: information("sboms/jvmpi.cdx.json"), content: bill, mode: DATA });
    let page = workspace_root().join("crates/cli/README.md");
    let page = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    let tag = format!("py3-none-{}", platform(machine)?);
    for (name, text) in [
        ("METADATA", metadata(&page)),
        (
            "WHEEL",
            format!(
                "Wheel-Version: 1.0\nGenerator: jvmpi {VERSION}\nRoot-Is-Purelib: false\nTag: {tag}\n"
            ),
        ),
    ] {
        files.push(File { name: information(name), content: text.into(), mode: DATA });
    }
    // pip reads the record last, and PEP 427 puts the other information before it.
    files.sort_by_key(|file| (file.name.contains(".dist-info/"), file.name.clone()));
    let name = information("RECORD");
    files.push(File { content: record(&files, &name).into(), name, mode: DATA });
    let path = directory.join(format!("{own}-{tag}.whl"));
    fs::write(&path, zip(&files)?).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

/// Returns the tag of a platform with the glibc version that the binaries need.
fn platform(machine: &Machine) -> Result<&'static str, String> {
    Ok(match machine.name {
        "amd64" => "manylinux2014_x86_64",
        "i386" => "manylinux2014_i686",
        "arm64" => "manylinux2014_aarch64",
        "musl" => "musllinux_1_2_x86_64",
        other => return Err(format!("wheels have no name for {other}")),
    })
}

fn metadata(page: &str) -> String {
    let mut text = format!(
        "Metadata-Version: 2.4\n\
         Name: jvmpi\n\
         Version: {VERSION}\n\
         Summary: Profiles Java programs, and runs JVMPI agents on current JVMs\n\
         Keywords: java,jvm,jvmpi,profiler,hprof\n\
         Classifier: Environment :: Console\n\
         Classifier: Operating System :: POSIX :: Linux\n\
         Classifier: Programming Language :: Java\n\
         Classifier: Programming Language :: Rust\n\
         Classifier: Topic :: Software Development :: Debuggers\n\
         License-Expression: MIT OR Apache-2.0\n"
    );
    for name in LICENSES {
        _ = writeln!(text, "License-File: {name}");
    }
    _ = write!(text, "Description-Content-Type: text/markdown\n\n{page}");
    text
}

/// Returns the record: each file with its checksum and length, itself without.
fn record(files: &[File], own: &str) -> String {
    let mut text = String::new();
    for File { name, content, .. } in files {
        let checksum = base64(&Sha256::digest(content));
        _ = writeln!(text, "{name},sha256={checksum},{}", content.len());
    }
    _ = writeln!(text, "{own},,");
    text
}

/// Encodes bytes with the URL-safe alphabet, without padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        for digit in 0..=three.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63]));
        }
    }
    text
}

/// Returns a zip archive of the files. All have the earliest time of the format, 1980-01-01, so that the same files
/// yield the same archive.
fn zip(files: &[File]) -> Result<Vec<u8>, String> {
    const LOCAL: u32 = 0x0403_4b50;
    const ENTRY: u32 = 0x0201_4b50;
    const END: u32 = 0x0605_4b50;
    /// Unix, whose modes the entry has, and version 2.0 of the format.
    const MADE_BY: u16 = 3 << 8 | NEEDED;
    const NEEDED: u16 = 20;
    const DEFLATE: u16 = 8;
    const DATE: u16 = 1 << 5 | 1;
    const REGULAR_FILE: u32 = 0o100_000;

    let length = |length: usize| u32::try_from(length).map_err(|_| "a wheel of 4 GiB".to_owned());
    let (mut out, mut entries) = (Vec::new(), Vec::new());
    for File { name, content, mode } in files {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).map_err(|e| e.to_string())?;
        let compressed = encoder.finish().map_err(|e| e.to_string())?;
        let offset = length(out.len())?;
        // The version, no flags, the method, the time and date, the checksum and the lengths.
        let mut head = Vec::new();
        for number in [NEEDED, 0, DEFLATE, 0, DATE] {
            head.extend(number.to_le_bytes());
        }
        let [small, large] = [length(compressed.len())?, length(content.len())?];
        for number in [crc32fast::hash(content), small, large, length(name.len())?] {
            // The length of the name, and 0 as the length of what follows the name.
            head.extend(number.to_le_bytes());
        }
        out.extend(LOCAL.to_le_bytes());
        out.extend(&head);
        out.extend(name.as_bytes());
        out.extend(compressed);
        entries.extend(ENTRY.to_le_bytes());
        entries.extend(MADE_BY.to_le_bytes());
        entries.extend(&head);
        // No comment, the first disk, and the attributes of a binary file.
        entries.extend([0; 6]);
        entries.extend(((REGULAR_FILE | mode) << 16).to_le_bytes());
        entries.extend(offset.to_le_bytes());
        entries.extend(name.as_bytes());
    }
    let (offset, size) = (length(out.len())?, length(entries.len())?);
    let count = u16::try_from(files.len()).map_err(|_| "too many files")?;
    out.extend(entries);
    out.extend(END.to_le_bytes());
    // This is the first and only disk.
    out.extend([0; 4]);
    out.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    out.extend([size.to_le_bytes(), offset.to_le_bytes()].concat());
    // No comment.
    out.extend([0; 2]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648, and the two digits that differ from its other alphabet.
    #[test]
    fn base64_is_url_safe_and_without_padding() {
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "-_8");
    }
}
