//! The errors of a file ([`Error`]) and of one method's edits ([`Skip`]).

use std::fmt;

/// The reason why a class file, or one structure of it, cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The file does not start with `0xCAFEBABE` (JVMS §4.1).
    BadMagic(u32),
    /// The version is below 45, the first class file version.
    BadVersion(u16),
    /// The bytes end inside the named part.
    Truncated {
        /// The incomplete structure.
        part: &'static str,
    },
    /// Bytes remain after the named part.
    TrailingBytes {
        /// The structure that ended early.
        part: &'static str,
    },
    /// A constant pool entry has a tag that JVMS §4.4 does not list.
    BadConstantTag {
        /// The entry's index.
        index: u16,
        /// The tag at this index.
        tag: u8,
    },
    /// There is no constant of the expected kind at an index.
    BadConstant {
        /// The requested index.
        index: u16,
        /// The expected kind.
        expected: &'static str,
    },
    /// A field or method descriptor breaks the grammar of JVMS §4.3.
    BadDescriptor,
    /// A byte is no instruction of a class file (JVMS §6.5).
    BadOpcode {
        /// Its index in the code array.
        bci: u16,
        /// The byte.
        opcode: u8,
    },
    /// `code_length` is 0 or above 65,535 (JVMS §4.7.3).
    BadCodeLength(u32),
    /// A branch, or an entry of a table, points outside the code array.
    BadBci(u32),
    /// A `StackMapTable` frame has a reserved type, an unknown verification type, or removes
    /// locals that are not there (JVMS §4.7.4).
    BadFrame,
    /// A type annotation's target or value breaks JVMS §4.7.16 and §4.7.20, or values nest
    /// deeper than 64 levels.
    BadAnnotation,
    /// An instruction takes more values from the operand stack than it has, or names a constant of
    /// the wrong kind.
    BadInstruction {
        /// Its index in the code array.
        bci: u16,
    },
    /// The constant pool would exceed 65,534 entries, or a string 65,535 bytes (JVMS §4.1, §4.4.7).
    ConstantPoolFull,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BadMagic(magic) => write!(f, "not a class file: magic is {magic:#010x}"),
            Self::BadVersion(major) => write!(f, "class file version {major} does not exist"),
            Self::Truncated { part } => write!(f, "{part} is truncated"),
            Self::TrailingBytes { part } => write!(f, "bytes left over behind {part}"),
            Self::BadConstantTag { index, tag } => {
                write!(f, "constant {index} has the unknown tag {tag}")
            }
            Self::BadConstant { index, expected } => {
                write!(f, "constant {index} is not a {expected}")
            }
            Self::BadDescriptor => write!(f, "malformed descriptor"),
            Self::BadOpcode { bci, opcode } => {
                write!(f, "byte {opcode:#04x} at index {bci} is no instruction")
            }
            Self::BadCodeLength(length) => write!(f, "code of {length} bytes"),
            Self::BadBci(bci) => write!(f, "index {bci} lies outside the code"),
            Self::BadFrame => write!(f, "malformed stack map frame"),
            Self::BadAnnotation => write!(f, "malformed type annotation"),
            Self::BadInstruction { bci } => {
                write!(f, "the instruction at index {bci} does not fit its operands")
            }
            Self::ConstantPoolFull => write!(f, "the constant pool is full"),
        }
    }
}

impl std::error::Error for Error {}

/// The reason why a method with edits was left unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Skip {
    /// The code would exceed 65,535 bytes (JVMS §4.7.3; 65,535 and 255 before version 45.3), or
    /// the method would have more exception handlers or stack slots than a u2 can count.
    TooLarge,
    /// The class has no room for the constants that the edits need.
    ConstantPoolFull,
    /// An edit names an index at which no instruction starts.
    NotAnInstruction {
        /// The index.
        bci: u16,
    },
    /// An edit names an index that is not in [`Code::catches`](crate::Code::catches).
    NotAHandler {
        /// The index.
        bci: u16,
    },
    /// A piece of inserted code, or the body of its guard, does not restore the height of the
    /// operand stack.
    Unbalanced,
    /// A new frame is needed at a place for which the method's own `StackMapTable` gives no frame.
    UnknownFrame {
        /// The index of the instruction before or after which the frame would stand.
        bci: u16,
    },
    /// The method's code or one of its tables cannot be read.
    Malformed(Error),
}

impl From<Error> for Skip {
    fn from(error: Error) -> Self {
        match error {
            Error::ConstantPoolFull => Self::ConstantPoolFull,
            error => Self::Malformed(error),
        }
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooLarge => write!(f, "the method would become too large"),
            Self::ConstantPoolFull => Error::ConstantPoolFull.fmt(f),
            Self::NotAnInstruction { bci } => write!(f, "no instruction starts at index {bci}"),
            Self::NotAHandler { bci } => {
                write!(f, "no handler that could have code before it is at index {bci}")
            }
            Self::Unbalanced => write!(f, "inserted code changes the height of the stack"),
            Self::UnknownFrame { bci } => write!(f, "no stack map frame leads to index {bci}"),
            Self::Malformed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Skip {}
