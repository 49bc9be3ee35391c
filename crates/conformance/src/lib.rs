//! The conformance suite: agents in C and programs in Java that test whether a JVM implements JVMPI as specified, with
//! one numbered case per rule.
//!
//! The cases are listed in [`suite/manifest.toml`](manifest). This crate compiles the agents, runs them and reports the
//! results. All it knows about `libjvmpi.so` is its path.

pub mod compile;
pub mod document;
pub mod header;
pub mod manifest;
pub mod mutation;
pub mod own_time;
pub mod report;
pub mod results;
pub mod run;
