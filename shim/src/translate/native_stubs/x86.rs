//! The stubs for x86 (System V ABI, "Parameter Passing"): all arguments are on the stack. Floating-point results
//! are in an FPU register.

use super::SLOTS;
use crate::records::native_methods::TARGETS;
use crate::translate::native_calls::{entered, left};
use std::arch::global_asm;

pub const STUB_SIZE: usize = 4;
pub const GROUP: usize = 32;
pub const GROUP_SIZE: usize = 144;

/// Returns the number of words on the stack for this many arguments of each kind.
pub fn words_on_stack(integers: usize, floats: usize) -> usize {
    integers + floats
}

// Each stub passes its place in the group in cl, and the group its slot in ecx, which callers do not preserve.
global_asm!(
    jvm::code_begins!("jvmpi_native_stubs", ".p2align 6"),
    ".set .Ljvmpi_group, 0",
    ".rept {slots} / {group}",
    ".set .Ljvmpi_place, 0",
    ".rept {group}",
    "movb $.Ljvmpi_place, %cl",
    "jmp 3f",
    ".set .Ljvmpi_place, .Ljvmpi_place + 1",
    ".endr",
    "3:",
    "movzbl %cl, %ecx",
    "leal {group} * .Ljvmpi_group(%ecx), %ecx",
    "jmp .Ljvmpi_groups_end",
    ".set .Ljvmpi_group, .Ljvmpi_group + 1",
    ".org jvmpi_native_stubs + {group_size} * .Ljvmpi_group, 0xcc",
    ".endr",
    ".Ljvmpi_groups_end:",
    "calll 4f",
    "4:",
    ".cfi_adjust_cfa_offset 4",
    "popl %edx",
    ".cfi_adjust_cfa_offset -4",
    "addl $_GLOBAL_OFFSET_TABLE_+(.-4b), %edx",
    "jmpl *{targets}@GOTOFF(%edx, %ecx, 4)",
    jvm::code_ends!("jvmpi_native_stubs"),
    // The target of reporting stubs.
    jvm::code_begins!("jvmpi_native_reporting", ".p2align 4"),
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
    // `entered` has popped the address of the result: the function, the number of words on the stack, and the
    // argument of `left`.
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
    // Tests if the FPU holds a result.
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
    "movl 12(%ebp), %eax",
    "movl %eax, 4(%esp)",
    "movl %ebx, 8(%esp)",
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
    jvm::code_ends!("jvmpi_native_reporting"),
    slots = const SLOTS,
    group = const GROUP,
    group_size = const GROUP_SIZE,
    targets = sym TARGETS,
    entered = sym entered,
    left = sym left,
    options(att_syntax)
);
