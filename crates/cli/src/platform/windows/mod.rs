//! Windows: its console, its processes, and JVMs that are attached to by a thread of their own.

pub mod attach;
pub mod embedded;
pub mod missing;
pub mod network;
pub mod process;
pub mod program;
pub mod signals;
pub mod system;
