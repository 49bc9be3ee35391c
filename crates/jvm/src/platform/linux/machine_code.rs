//! The directives around machine code, and the registers of arguments.

/// Returns the name of the register with the argument of this number, for x86-64.
#[macro_export]
macro_rules! argument_register {
    (1) => {
        "rdi"
    };
    (3) => {
        "rdx"
    };
    (4) => {
        "rcx"
    };
}

/// Begins a function of this name in a section of its own, after directives for its alignment.
#[macro_export]
macro_rules! code_begins {
    ($name:literal, $alignment:literal) => {
        concat!(
            ".pushsection .text.",
            $name,
            ",\"ax\",%progbits\n",
            $alignment,
            "\n.globl ",
            $name,
            "\n.hidden ",
            $name,
            "\n.type ",
            $name,
            ", %function\n",
            $name,
            ":\n.cfi_startproc"
        )
    };
}

/// Ends what [`code_begins`] has begun.
#[macro_export]
macro_rules! code_ends {
    ($name:literal) => {
        concat!(".cfi_endproc\n.size ", $name, ", . - ", $name, "\n.popsection")
    };
}
