//! `cargo fuzz run library`: see [`targets::library`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::library(bytes));
