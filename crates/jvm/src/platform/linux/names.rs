//! Names of files in C strings.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The file name of the library that loads JVMPI agents, and the name by which the loader knows it.
pub const SHIM: &str = "libjvmpi.so";
pub const LOADED_SHIM: &str = "libjvmpi.so.1";

/// Returns a string that the VM has passed, in the encoding of the system.
pub fn of_system(text: &[u8]) -> Cow<'_, OsStr> {
    Cow::Borrowed(OsStr::from_bytes(text))
}

/// Returns the name of a file as the VM expects it, in the encoding of the system.
pub fn to_system(name: &OsStr) -> Option<Vec<u8>> {
    Some(name.as_bytes().to_vec())
}

/// Splits `file:options`. The options are None without a colon.
pub fn file_and_options(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = text.splitn(2, |byte| *byte == b':');
    (parts.next().unwrap_or_default(), parts.next())
}
