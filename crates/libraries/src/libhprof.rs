//! `libhprof.so`, as Cargo installs it.

use hprof as _;

/// Nobody calls it: what comes of this is a library.
fn main() {}
