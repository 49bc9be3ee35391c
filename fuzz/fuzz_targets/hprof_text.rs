//! `cargo fuzz run hprof_text`: see [`targets::hprof_text`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::hprof_text(bytes));
