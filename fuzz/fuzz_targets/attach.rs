//! `cargo fuzz run attach`: see [`targets::attach`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::attach(bytes));
