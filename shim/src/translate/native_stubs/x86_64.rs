//! The stubs for x86-64 (System V ABI, "Parameter Passing").
//!
//! Integers go into six registers, floating-point numbers into eight, and what has no place there on the
//! stack, eight bytes each.

use super::{SLOTS, entered, left};
use crate::world::native_methods::TARGETS;
use classfile::Kind;
use std::arch::global_asm;

const INTEGERS: usize = 6;
const FLOATS: usize = 8;

/// The bytes of a stub.
pub const SIZE: usize = 16;

/// How many words of the arguments of a native method with these parameters are on the stack. The
/// environment and the receiver or class come before.
pub fn stack_words(parameters: &[Kind]) -> usize {
    let is_float = |kind: &&Kind| matches!(kind, Kind::Float | Kind::Double);
    let floats = parameters.iter().filter(is_float).count();
    let integers = 2 + parameters.len() - floats;
    integers.saturating_sub(INTEGERS) + floats.saturating_sub(FLOATS)
}

// Each stub passes its slot in r11, which no caller keeps anything in.
global_asm!(
    ".pushsection .text.jvmpi_native_stubs, \"ax\", @progbits",
    ".p2align 6",
    ".globl jvmpi_native_stubs",
    ".hidden jvmpi_native_stubs",
    ".type jvmpi_native_stubs, @function",
    "jvmpi_native_stubs:",
    ".cfi_startproc",
    ".set .Ljvmpi_slot, 0",
    ".rept {slots}",
    "movl $.Ljvmpi_slot, %r11d",
    "jmpq *{targets} + 8 * .Ljvmpi_slot(%rip)",
    ".p2align 4, 0xcc",
    ".set .Ljvmpi_slot, .Ljvmpi_slot + 1",
    ".endr",
    ".cfi_endproc",
    ".size jvmpi_native_stubs, . - jvmpi_native_stubs",

    // Where a stub leads that reports. Below the frame pointer lie rbx and the arguments from registers.
    ".globl jvmpi_native_reporting",
    ".hidden jvmpi_native_reporting",
    ".type jvmpi_native_reporting, @function",
    "jvmpi_native_reporting:",
    ".cfi_startproc",
    "pushq %rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset %rbp, -16",
    "movq %rsp, %rbp",
    ".cfi_def_cfa_register %rbp",
    "pushq %rbx",
    ".cfi_offset %rbx, -24",
    "subq $120, %rsp",
    "movq %rdi, 0(%rsp)",
    "movq %rsi, 8(%rsp)",
    "movq %rdx, 16(%rsp)",
    "movq %rcx, 24(%rsp)",
    "movq %r8, 32(%rsp)",
    "movq %r9, 40(%rsp)",
    "movsd %xmm0, 48(%rsp)",
    "movsd %xmm1, 56(%rsp)",
    "movsd %xmm2, 64(%rsp)",
    "movsd %xmm3, 72(%rsp)",
    "movsd %xmm4, 80(%rsp)",
    "movsd %xmm5, 88(%rsp)",
    "movsd %xmm6, 96(%rsp)",
    "movsd %xmm7, 104(%rsp)",
    "movl %r11d, %ebx",
    "movl %r11d, %edx",
    "callq {entered}",
    // The function is in rax; in rdx how many words are on the stack, and above that what `left` gets.
    "movq %rsp, %r10",
    "movq %rdx, %rbx",
    "movl %edx, %edx",
    "leaq 1(%rdx), %rcx",
    "andq $-2, %rcx",
    "shlq $3, %rcx",
    "subq %rcx, %rsp",
    "testq %rdx, %rdx",
    "jz 2f",
    "1:",
    "movq 8(%rbp, %rdx, 8), %r11",
    "movq %r11, -8(%rsp, %rdx, 8)",
    "decq %rdx",
    "jnz 1b",
    "2:",
    "movq 0(%r10), %rdi",
    "movq 8(%r10), %rsi",
    "movq 16(%r10), %rdx",
    "movq 24(%r10), %rcx",
    "movq 32(%r10), %r8",
    "movq 40(%r10), %r9",
    "movsd 48(%r10), %xmm0",
    "movsd 56(%r10), %xmm1",
    "movsd 64(%r10), %xmm2",
    "movsd 72(%r10), %xmm3",
    "movsd 80(%r10), %xmm4",
    "movsd 88(%r10), %xmm5",
    "movsd 96(%r10), %xmm6",
    "movsd 104(%r10), %xmm7",
    "callq *%rax",
    "leaq -128(%rbp), %rsp",
    "movq %rax, 8(%rsp)",
    "movsd %xmm0, 16(%rsp)",
    "movq 0(%rsp), %rdi",
    "shrq $32, %rbx",
    "movl %ebx, %esi",
    "callq {left}",
    "movq 8(%rsp), %rax",
    "movsd 16(%rsp), %xmm0",
    "addq $120, %rsp",
    "popq %rbx",
    "popq %rbp",
    ".cfi_def_cfa %rsp, 8",
    "retq",
    ".cfi_endproc",
    ".size jvmpi_native_reporting, . - jvmpi_native_reporting",
    ".popsection",
    slots = const SLOTS,
    targets = sym TARGETS,
    entered = sym entered,
    left = sym left,
    options(att_syntax)
);
