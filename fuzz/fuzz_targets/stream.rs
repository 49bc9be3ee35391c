//! `cargo +nightly fuzz run stream`: no bytes make the command's reader of streams panic, in whatever pieces they
//! come.

#![no_main]

use jvmpi_formats::profile::StreamReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = |size: usize| {
        let mut reader = StreamReader::default();
        let mut count = 0;
        let is_read = bytes.chunks(size).try_for_each(|piece| reader.take(piece, |_| count += 1));
        (is_read.is_ok(), count, reader.into_profile().traces.len())
    };
    assert_eq!(read(1), read(bytes.len().max(1)));
});
