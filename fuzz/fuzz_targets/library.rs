//! `cargo +nightly fuzz run library`: no bytes make the reader of agent libraries panic, or take more memory than they
//! have.

#![no_main]

use jvmpi_settings::library::{contents_of, linkage_of};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    // The head of a library for this machine, or whatever the bytes are.
    let mut library = bytes.to_vec();
    if let [first, ..] = bytes
        && first % 4 != 0
        && library.len() > 64
    {
        library[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0");
    }
    let path = Path::new("libfuzz.so");
    if let Ok(contents) = contents_of(path, &library) {
        let code: usize = contents.code.iter().map(|code| code.bytes.len()).sum();
        assert!(code <= library.len());
    }
    let _ = linkage_of(path, &library);
});
