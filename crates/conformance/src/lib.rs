//! The conformance suite: agents in C and programs in Java that try whether a JVM has JVMPI as its
//! specification says, one numbered case for each rule.
//!
//! What is tried stands in [`suite/manifest.toml`](manifest); this crate compiles the agents, runs
//! them and says what came out. It knows nothing of `libjvmpi.so` but its path.

pub mod compile;
pub mod document;
pub mod header;
pub mod manifest;
pub mod mutation;
pub mod report;
pub mod results;
pub mod run;
