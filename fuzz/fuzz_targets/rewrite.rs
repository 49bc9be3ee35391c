//! `cargo +nightly fuzz run rewrite`: no file makes the rewriter panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/classfile/tests/support/exercise.rs"]
mod exercise;

fuzz_target!(|bytes: &[u8]| {
    exercise::exercise(bytes);
});
