//! The parts of the command that depend on the operating system. Each system has a folder with the same modules, and
//! functions of the same names and types. A system that lacks something says so by the function's own result.

#[cfg(unix)]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use linux::*;
#[cfg(windows)]
pub use windows::*;
