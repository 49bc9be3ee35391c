//! `cargo +nightly fuzz run page`: of no file that can be read is the page, the flame graph or the list of stacks not made,
//! and nothing in them can do anything to a terminal or a browser.

#![no_main]

use jvmpi_formats::profile::{File, Format, write_stacks};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let head: &[u8] = match first % 3 {
        0 => b"JAVA PROFILE 1.0.2\0\0\0\0\x04\0\0\0\0\0\0\0\0",
        1 => b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0",
        _ => b"JAVA PROFILE 1.0.1, created x\n\n--------\n",
    };
    let file = File::from_bytes([head, rest].concat()).unwrap();
    let mut page = Vec::new();
    // Heaps that are too large are refused.
    let _ = report::write_files(&[("<x>", &file)], &mut page);
    for format in [Format::Collapsed, Format::Svg, Format::Pprof, Format::Speedscope] {
        let mut out = Vec::new();
        write_stacks(file.profile(), format, None, &mut out).unwrap();
        if matches!(format, Format::Collapsed | Format::Svg) {
            let text = String::from_utf8(out).unwrap();
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        }
    }
});
