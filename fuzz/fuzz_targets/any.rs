//! `JVMPI_FUZZ=NAME cargo fuzz run any`: runs the fuzz target of this name.

#![no_main]

use std::sync::LazyLock;
use std::sync::atomic::AtomicU8;
use std::{env, ptr, slice};
use targets::{ALL, Target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = env::var("JVMPI_FUZZ").unwrap_or_default();
    ALL.iter().find(|(target, _)| *target == name).expect("JVMPI_FUZZ names a target").1
});

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
    |bytes: &[u8]| TARGET(bytes)
);
