//! `cargo fuzz run trace`: see [`targets::trace`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::trace(bytes));
