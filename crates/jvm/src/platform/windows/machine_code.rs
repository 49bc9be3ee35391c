//! The directives around machine code, and the registers of arguments.

/// Returns the name of the register with the argument of this number.
#[macro_export]
macro_rules! argument_register {
    (1) => {
        "rcx"
    };
    (3) => {
        "r8"
    };
    (4) => {
        "r9"
    };
}

/// Begins a function of this name in a section of its own, after directives for its alignment.
#[macro_export]
macro_rules! code_begins {
    ($name:literal, $alignment:literal) => {
        concat!(
            ".section .text$",
            $name,
            ",\"xr\"\n",
            $alignment,
            "\n.globl ",
            $name,
            "\n",
            $name,
            ":"
        )
    };
}

/// Ends what [`code_begins`] has begun.
#[macro_export]
macro_rules! code_ends {
    ($name:literal) => {
        ".text"
    };
}
