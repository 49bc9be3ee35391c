//! `cargo fuzz run page`: see [`targets::page`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::page(bytes));
