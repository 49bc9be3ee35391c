//! The stubs for x86-64. The code that reports calls depends on the calling convention.

#[cfg_attr(unix, path = "system_v.rs")]
#[cfg_attr(windows, path = "win64.rs")]
mod convention;

use super::SLOTS;
use crate::records::native_methods::TARGETS;
pub use convention::words_on_stack;
use std::arch::global_asm;

pub const STUB_SIZE: usize = 4;
pub const GROUP: usize = 32;
pub const GROUP_SIZE: usize = 152;

// Each stub passes its place in the group in al, and the group its slot in r11. Callers keep no value in rax and
// r11.
global_asm!(
    jvm::code_begins!("jvmpi_native_stubs", ".p2align 6"),
    ".set .Ljvmpi_group, 0",
    ".rept {slots} / {group}",
    ".set .Ljvmpi_place, 0",
    ".rept {group}",
    "movb $.Ljvmpi_place, %al",
    "jmp 3f",
    ".set .Ljvmpi_place, .Ljvmpi_place + 1",
    ".endr",
    "3:",
    "movzbl %al, %eax",
    "leal {group} * .Ljvmpi_group(%rax), %r11d",
    "leaq {targets}(%rip), %rax",
    "jmpq *(%rax, %r11, 8)",
    ".set .Ljvmpi_group, .Ljvmpi_group + 1",
    ".org jvmpi_native_stubs + {group_size} * .Ljvmpi_group, 0xcc",
    ".endr",
    jvm::code_ends!("jvmpi_native_stubs"),
    slots = const SLOTS,
    group = const GROUP,
    group_size = const GROUP_SIZE,
    targets = sym TARGETS,
    options(att_syntax)
);
