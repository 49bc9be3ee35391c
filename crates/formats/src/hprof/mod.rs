//! The two sides of HPROF's interface that front ends use: its options and its commands.

pub mod control;
pub mod options;
