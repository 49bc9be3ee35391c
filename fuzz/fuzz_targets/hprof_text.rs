//! `cargo +nightly fuzz run hprof_text`: no text makes its reader panic, nor those that write what was read.

#![no_main]

use jvmpi_formats::profile::{Error, File, Format, TextWriter, write_stacks};
use libfuzzer_sys::fuzz_target;
use std::io;

fuzz_target!(|bytes: &[u8]| {
    // Past the lines that a mutation would only break.
    let text = [b"JAVA PROFILE 1.0.1, created x\n\n--------\n\n", bytes].concat();
    let file = File::from_bytes(text).unwrap();
    for dump in file.profile().heap_dumps() {
        let _ = file.heap(dump).records(|_| Ok::<(), Error>(()));
    }
    let mut writer = TextWriter::new(io::sink(), file.profile()).unwrap();
    file.write(&mut writer).unwrap();
    for format in [Format::Collapsed, Format::Speedscope, Format::Pprof] {
        write_stacks(file.profile(), format, None, &mut io::sink()).unwrap();
    }
});
