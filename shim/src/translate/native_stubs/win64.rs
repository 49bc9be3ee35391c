//! The calling convention of Windows ("x64 calling convention").
//!
//! The first four arguments are in registers, each in one for its kind. The caller leaves 32 bytes on the stack for
//! them, above its return address. The remaining arguments follow, eight bytes each.

use crate::translate::native_calls::{entered, left};
use std::arch::global_asm;

/// Returns the number of words on the stack for this many arguments of each kind.
pub fn words_on_stack(integers: usize, floats: usize) -> usize {
    (integers + floats).saturating_sub(4)
}

// The target of reporting stubs. The integers lie in the caller's 32 bytes, at 16(%rbp). Below the frame pointer lie the
// floating-point numbers, the result of `entered` at -48(%rbp), that of the function, and 32 bytes for calls.
global_asm!(
    jvm::code_begins!("jvmpi_native_reporting", ".p2align 4"),
    ".seh_proc jvmpi_native_reporting",
    "pushq %rbp",
    ".seh_pushreg %rbp",
    "movq %rsp, %rbp",
    ".seh_setframe %rbp, 0",
    "subq $96, %rsp",
    ".seh_stackalloc 96",
    ".seh_endprologue",
    "movq %rcx, 16(%rbp)",
    "movq %rdx, 24(%rbp)",
    "movq %r8, 32(%rbp)",
    "movq %r9, 40(%rbp)",
    "movsd %xmm0, -8(%rbp)",
    "movsd %xmm1, -16(%rbp)",
    "movsd %xmm2, -24(%rbp)",
    "movsd %xmm3, -32(%rbp)",
    "movl %r11d, %r9d",
    "movq %rdx, %r8",
    "movq %rcx, %rdx",
    "leaq -48(%rbp), %rcx",
    "callq {entered}",
    // The function, then the number of words on the stack, then what is for `left`.
    "movq -48(%rbp), %rax",
    "movl -40(%rbp), %edx",
    "leaq 1(%rdx), %rcx",
    "andq $-2, %rcx",
    "shlq $3, %rcx",
    "subq %rcx, %rsp",
    "testq %rdx, %rdx",
    "jz 2f",
    "1:",
    "movq 40(%rbp, %rdx, 8), %r11",
    "movq %r11, 24(%rsp, %rdx, 8)",
    "decq %rdx",
    "jnz 1b",
    "2:",
    "movq 16(%rbp), %rcx",
    "movq 24(%rbp), %rdx",
    "movq 32(%rbp), %r8",
    "movq 40(%rbp), %r9",
    "movsd -8(%rbp), %xmm0",
    "movsd -16(%rbp), %xmm1",
    "movsd -24(%rbp), %xmm2",
    "movsd -32(%rbp), %xmm3",
    "callq *%rax",
    "leaq -96(%rbp), %rsp",
    "movq %rax, -56(%rbp)",
    "movsd %xmm0, -64(%rbp)",
    "movq 16(%rbp), %rcx",
    "movq 24(%rbp), %rdx",
    "movl -36(%rbp), %r8d",
    "callq {left}",
    "movq -56(%rbp), %rax",
    "movsd -64(%rbp), %xmm0",
    "addq $96, %rsp",
    "popq %rbp",
    "retq",
    ".seh_endproc",
    jvm::code_ends!("jvmpi_native_reporting"),
    entered = sym entered,
    left = sym left,
    options(att_syntax)
);
