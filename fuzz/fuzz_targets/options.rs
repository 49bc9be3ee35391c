//! `cargo fuzz run options`: see [`targets::options`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::options(bytes));
