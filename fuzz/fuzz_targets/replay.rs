//! `cargo fuzz run replay`: see [`targets::replay`].

#![no_main]

use std::sync::atomic::AtomicU8;
use std::{ptr, slice};

// The fuzzer's counters are a section of the program, between two symbols of the linker's. The compiler declares these
// symbols for itself: a second declaration in Rust would hide the counters from the fuzzer.
std::arch::global_asm!(
    ".pushsection .data.rel.ro, \"aw\"",
    ".balign 8",
    "jvmpi_fuzz_counters:",
    ".quad __start___sancov_cntrs",
    ".quad __stop___sancov_cntrs",
    ".popsection",
    ".globl jvmpi_fuzz_counters",
);

unsafe extern "C" {
    #[link_name = "jvmpi_fuzz_counters"]
    static BOUNDS: [usize; 2];
}

fn counters() -> &'static [AtomicU8] {
    // SAFETY: the bounds are those above; bytes are valid as atomic ones, and are never unmapped.
    unsafe {
        let [begin, end] = BOUNDS;
        slice::from_raw_parts(ptr::with_exposed_provenance(begin), end - begin)
    }
}

libfuzzer_sys::fuzz_target!(
    init: targets::replay::count_in_children(counters()),
    |bytes: &[u8]| targets::replay(bytes)
);
