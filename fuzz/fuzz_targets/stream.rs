//! `cargo fuzz run stream`: see [`targets::stream`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::stream(bytes));
