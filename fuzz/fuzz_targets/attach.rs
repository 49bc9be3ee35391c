//! `cargo +nightly fuzz run attach`: whatever answers for a JVM, its answer is understood or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/cli/src/answer.rs"]
mod answer;

fuzz_target!(|bytes: &[u8]| {
    let _ = answer::understand(&String::from_utf8_lossy(bytes));
});
