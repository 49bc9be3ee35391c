//! `libjvmpi.so`, as Cargo installs it.

use jvmpi_shim as _;

/// Nobody calls it: what comes of this is a library.
fn main() {}
