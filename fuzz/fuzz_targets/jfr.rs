//! `cargo fuzz run jfr`: see [`targets::jfr`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::jfr(bytes));
