//! The stubs for x86 (System V ABI, "Parameter Passing"): all arguments are on the stack, and
//! floating-point results in a register of the coprocessor.

use super::{SLOTS, entered, left};
use crate::world::native_methods::TARGETS;
use classfile::Kind;
use std::arch::global_asm;

/// The bytes of a stub.
pub const SIZE: usize = 16;

/// How many words of the arguments of a native method with these parameters are on the stack. The
/// environment and the receiver or class come before.
pub fn stack_words(parameters: &[Kind]) -> usize {
    2 + parameters.iter().map(|kind| usize::from(kind.slots())).sum::<usize>()
}

// Each stub passes its slot in ecx, which no caller keeps anything in.
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
    "movl $.Ljvmpi_slot, %ecx",
    "jmp 3f",
    ".p2align 4, 0xcc",
    ".set .Ljvmpi_slot, .Ljvmpi_slot + 1",
    ".endr",
    "3:",
    "calll 4f",
    "4:",
    ".cfi_adjust_cfa_offset 4",
    "popl %edx",
    ".cfi_adjust_cfa_offset -4",
    "addl $_GLOBAL_OFFSET_TABLE_+(.-4b), %edx",
    "jmpl *{targets}@GOTOFF(%edx, %ecx, 4)",
    ".cfi_endproc",
    ".size jvmpi_native_stubs, . - jvmpi_native_stubs",

    // Where a stub leads that reports.
    ".globl jvmpi_native_reporting",
    ".hidden jvmpi_native_reporting",
    ".type jvmpi_native_reporting, @function",
    "jvmpi_native_reporting:",
    ".cfi_startproc",
    "pushl %ebp",
    ".cfi_def_cfa_offset 8",
    ".cfi_offset %ebp, -8",
    "movl %esp, %ebp",
    ".cfi_def_cfa_register %ebp",
    "pushl %ebx",
    ".cfi_offset %ebx, -12",
    "pushl %esi",
    ".cfi_offset %esi, -16",
    "subl $64, %esp",
    "andl $-16, %esp",
    "leal 16(%esp), %eax",
    "movl %eax, 0(%esp)",
    "movl 8(%ebp), %eax",
    "movl %eax, 4(%esp)",
    "movl 12(%ebp), %eax",
    "movl %eax, 8(%esp)",
    "movl %ecx, 12(%esp)",
    "calll {entered}",
    // Which has taken the address of the result from the stack: the function, how many words are on the
    // stack, and what `left` gets.
    "subl $4, %esp",
    "movl 16(%esp), %eax",
    "movl 20(%esp), %ecx",
    "movl 24(%esp), %ebx",
    "movl %esp, %esi",
    "leal 15(, %ecx, 4), %edx",
    "andl $-16, %edx",
    "subl %edx, %esp",
    "5:",
    "movl 4(%ebp, %ecx, 4), %edx",
    "movl %edx, -4(%esp, %ecx, 4)",
    "decl %ecx",
    "jnz 5b",
    "calll *%eax",
    "movl %esi, %esp",
    "movl %eax, 28(%esp)",
    "movl %edx, 32(%esp)",
    // Whether the coprocessor has a result.
    "fxam",
    "fnstsw %ax",
    "andw $0x4500, %ax",
    "cmpw $0x4100, %ax",
    "setne 48(%esp)",
    "je 6f",
    "fstpt 36(%esp)",
    "6:",
    "movl 8(%ebp), %eax",
    "movl %eax, 0(%esp)",
    "movl %ebx, 4(%esp)",
    "calll {left}",
    "cmpb $0, 48(%esp)",
    "je 7f",
    "fldt 36(%esp)",
    "7:",
    "movl 28(%esp), %eax",
    "movl 32(%esp), %edx",
    "leal -8(%ebp), %esp",
    "popl %esi",
    "popl %ebx",
    "popl %ebp",
    ".cfi_def_cfa %esp, 4",
    "retl",
    ".cfi_endproc",
    ".size jvmpi_native_reporting, . - jvmpi_native_reporting",
    ".popsection",
    slots = const SLOTS,
    targets = sym TARGETS,
    entered = sym entered,
    left = sym left,
    options(att_syntax)
);
