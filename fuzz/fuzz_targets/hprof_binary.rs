//! `cargo fuzz run hprof_binary`: see [`targets::hprof_binary`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::hprof_binary(bytes));
