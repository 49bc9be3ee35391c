//! `cargo fuzz run hprof_control`: see [`targets::hprof_control`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::hprof_control(bytes));
