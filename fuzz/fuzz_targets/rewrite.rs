//! `cargo fuzz run rewrite`: see [`targets::rewrite`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::rewrite(bytes));
