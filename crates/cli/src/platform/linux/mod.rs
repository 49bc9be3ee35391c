//! Linux: `/proc`, signals, and JVMs that are attached to by a socket.

pub mod attach;
pub mod directory;
pub mod embedded;
pub mod missing;
pub mod network;
pub mod process;
pub mod program;
pub mod signals;
pub mod system;
