//! `cargo fuzz run dump`: see [`targets::dump`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::dump(bytes));
