//! `cargo +nightly fuzz run hprof_control`: no bytes from a front end and no options make HPROF panic,
//! and what it reads of commands is written as it was.

#![no_main]

use jvmpi_formats::hprof::control::Command;
use jvmpi_formats::hprof::options::Request;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Ok(Some(command)) = Command::read(&mut rest) {
        let mut written = Vec::new();
        command.write(&mut written, 0).unwrap();
        let again = Command::read(&mut written.as_slice()).unwrap().unwrap();
        let mut twice = Vec::new();
        again.write(&mut twice, 0).unwrap();
        assert_eq!(written, twice);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Request::parse(text, 1);
    }
});
