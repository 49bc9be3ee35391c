//! `libjvmpi.so`: what the shim defines for C.

use jvmpi_shim as _;
