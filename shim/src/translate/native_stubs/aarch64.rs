//! The stubs for AArch64 (AAPCS64, "Parameter passing").
//!
//! Eight registers hold integers and eight hold floating-point numbers. The remaining arguments are on the
//! stack, eight bytes each.

use super::SLOTS;
use crate::records::native_methods::TARGETS;
use crate::translate::native_calls::{entered, left};
use std::arch::global_asm;

pub const STUB_SIZE: usize = 8;
// All stubs share one end.
pub const GROUP: usize = 1;
pub const GROUP_SIZE: usize = STUB_SIZE;

/// Returns the number of words on the stack for this many arguments of each kind.
pub fn words_on_stack(integers: usize, floats: usize) -> usize {
    integers.saturating_sub(8) + floats.saturating_sub(8)
}

// Each stub passes its slot in w16. Between a call and the function, w16 and x17 are free.
global_asm!(
    jvm::code_begins!("jvmpi_native_stubs", ".p2align 6"),
    ".set .Ljvmpi_slot, 0",
    ".rept {slots}",
    "movz w16, #.Ljvmpi_slot",
    "b 3f",
    ".set .Ljvmpi_slot, .Ljvmpi_slot + 1",
    ".endr",
    "3:",
    "adrp x17, {targets}",
    "add x17, x17, :lo12:{targets}",
    "ldr x17, [x17, x16, lsl #3]",
    "br x17",
    jvm::code_ends!("jvmpi_native_stubs"),
    // The target of reporting stubs. The register arguments are saved above the saved registers.
    jvm::code_begins!("jvmpi_native_reporting", ".p2align 2"),
    // The slot's data was written before the stub's target was set to this code.
    "dmb ishld",
    "stp x29, x30, [sp, #-160]!",
    ".cfi_def_cfa_offset 160",
    ".cfi_offset x29, -160",
    ".cfi_offset x30, -152",
    "mov x29, sp",
    ".cfi_def_cfa_register x29",
    "str x19, [sp, #16]",
    ".cfi_offset x19, -144",
    "stp x0, x1, [sp, #32]",
    "stp x2, x3, [sp, #48]",
    "stp x4, x5, [sp, #64]",
    "stp x6, x7, [sp, #80]",
    "stp d0, d1, [sp, #96]",
    "stp d2, d3, [sp, #112]",
    "stp d4, d5, [sp, #128]",
    "stp d6, d7, [sp, #144]",
    "mov w2, w16",
    "bl {entered}",
    // x0 is the function. The low half of x1 is the number of words on the stack, the high half is for
    // `left`.
    "mov x16, x0",
    "mov x19, x1",
    "mov w9, w1",
    "add x10, x9, #1",
    "and x10, x10, #-2",
    "sub sp, sp, x10, lsl #3",
    "cbz x9, 2f",
    "add x11, x29, #160",
    "mov x12, sp",
    "1:",
    "sub x9, x9, #1",
    "ldr x13, [x11, x9, lsl #3]",
    "str x13, [x12, x9, lsl #3]",
    "cbnz x9, 1b",
    "2:",
    "ldp x0, x1, [x29, #32]",
    "ldp x2, x3, [x29, #48]",
    "ldp x4, x5, [x29, #64]",
    "ldp x6, x7, [x29, #80]",
    "ldp d0, d1, [x29, #96]",
    "ldp d2, d3, [x29, #112]",
    "ldp d4, d5, [x29, #128]",
    "ldp d6, d7, [x29, #144]",
    "blr x16",
    "mov sp, x29",
    "str x0, [sp, #48]",
    "str d0, [sp, #56]",
    "ldp x0, x1, [sp, #32]",
    "lsr x2, x19, #32",
    "bl {left}",
    "ldr x0, [sp, #48]",
    "ldr d0, [sp, #56]",
    "ldr x19, [sp, #16]",
    ".cfi_restore x19",
    "ldp x29, x30, [sp], #160",
    ".cfi_restore x29",
    ".cfi_restore x30",
    ".cfi_def_cfa sp, 0",
    "ret",
    jvm::code_ends!("jvmpi_native_reporting"),
    slots = const SLOTS,
    targets = sym TARGETS,
    entered = sym entered,
    left = sym left,
);
