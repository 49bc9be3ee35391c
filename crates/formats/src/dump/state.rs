//! The line of a frame and the state of a thread, as JVMPI has them.

/// The line that is executed in a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "profile", derive(serde::Serialize, serde::Deserialize))]
pub enum Line {
    /// This one.
    Number(u32),
    /// It is not known, or lines were not asked for.
    #[default]
    Unknown,
    /// In compiled code without known lines.
    Compiled,
    /// Of a native method.
    Native,
}

impl Line {
    /// Returns the line that JVMPI and binary files encode as this number.
    pub fn from_code(code: i32) -> Self {
        match code {
            -2 => Self::Compiled,
            -3 => Self::Native,
            1.. => Self::Number(code as u32),
            _ => Self::Unknown,
        }
    }

    /// Returns its number in JVMPI and binary files.
    pub fn code(self) -> i32 {
        match self {
            Self::Number(line) => i32::try_from(line).unwrap_or(-1),
            Self::Unknown => -1,
            Self::Compiled => -2,
            Self::Native => -3,
        }
    }
}

/// The state of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "profile", derive(serde::Serialize, serde::Deserialize))]
pub enum ThreadState {
    /// It runs, or is ready to run; `R`.
    Runnable,
    /// It waits to enter a monitor; `MW`.
    MonitorWait,
    /// It waits to be notified; `CW`.
    CondvarWait,
}
