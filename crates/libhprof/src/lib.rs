//! `libhprof.so`: what HPROF defines for C. A crate of its own, as Cargo optimizes no library across crates that is
//! one for Rust too.

use hprof as _;
