//! The conformance suite: agents in C and programs in Java that test whether a JVM implements JVMPI as specified, with
//! one numbered case per rule.
//!
//! ```
//! use jvmpi_conformance::manifest::Manifest;
//!
//! let manifest = Manifest::of_the_suite();
//! let is_about_thread_end = |rule: &&str| rule.contains("THREAD_END");
//! let rules: Vec<&str> = manifest.cases().map(|case| case.rule.as_str()).filter(is_about_thread_end).collect();
//! assert!(!rules.is_empty());
//! println!("{}", rules.join("\n"));
//! ```
//!
//! The cases are listed in [`suite/manifest.toml`](manifest). This crate compiles the agents, runs them and reports the
//! results. All it knows about `libjvmpi.so` is its path.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod compile;
pub mod document;
pub mod header;
pub mod manifest;
pub mod mutation;
pub mod report;
pub mod results;
pub mod run;
pub mod tried;
