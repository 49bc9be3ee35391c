//! Names of files in C strings.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::windows::ffi::OsStringExt;
use std::str;
use windows_sys::Win32::Globalization::{CP_ACP, MultiByteToWideChar};

/// The file name of the library that loads JVMPI agents, and the name by which the loader knows it.
pub const SHIM: &str = "jvmpi.dll";
pub const LOADED_SHIM: &str = SHIM;

/// Returns a string that the VM has passed, in the code page of the system.
pub fn of_system(text: &[u8]) -> Cow<'_, OsStr> {
    match str::from_utf8(text) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(OsStr::new(text)),
        _ => Cow::Owned(of_code_page(text)),
    }
}

fn of_code_page(text: &[u8]) -> OsString {
    // No character has more words than bytes.
    let mut words = vec![0_u16; text.len()];
    let length = text.len() as i32;
    // SAFETY: both buffers have the given length.
    let count = unsafe {
        MultiByteToWideChar(CP_ACP, 0, text.as_ptr(), length, words.as_mut_ptr(), length)
    };
    OsString::from_wide(&words[..usize::try_from(count).unwrap_or(0)])
}

/// Splits `file:options`. The options are None without a colon. The colon of a drive, as in `C:\agent.dll` and
/// `\\?\C:\agent.dll`, is part of the file.
pub fn file_and_options(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let prefix = if text.starts_with(br"\\?\") { 4 } else { 0 };
    let drive = match &text[prefix..] {
        [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic() => prefix + 2,
        _ => 0,
    };
    match text[drive..].iter().position(|byte| *byte == b':') {
        Some(colon) => (&text[..drive + colon], Some(&text[drive + colon + 1..])),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colon_of_a_drive_is_part_of_the_file() {
        let split = |text: &'static str| {
            let (file, options) = file_and_options(text.as_bytes());
            let text = |bytes| str::from_utf8(bytes).unwrap();
            (text(file), options.map(text))
        };
        assert_eq!(split(r"C:\a b\ev.dll:x=C:\y"), (r"C:\a b\ev.dll", Some(r"x=C:\y")));
        assert_eq!(split(r"\\?\C:\ev.dll:x"), (r"\\?\C:\ev.dll", Some("x")));
        assert_eq!(split("z:/ev.dll"), ("z:/ev.dll", None));
        assert_eq!(split("z:/ev.dll:"), ("z:/ev.dll", Some("")));
        assert_eq!(split("e:opts"), ("e", Some("opts")));
        assert_eq!(split("ev"), ("ev", None));
        assert_eq!(split(r"dir\ev.dll:a:b"), (r"dir\ev.dll", Some("a:b")));
    }

    #[test]
    fn text_is_read_in_the_code_page_of_the_system() {
        assert_eq!(&*of_system(b"agent"), "agent");
        // Each code page has a character for this byte.
        assert_eq!(of_system(b"a\xe9").encode_wide_length(), 2);
    }

    trait Length {
        fn encode_wide_length(&self) -> usize;
    }

    impl Length for OsStr {
        fn encode_wide_length(&self) -> usize {
            use std::os::windows::ffi::OsStrExt;
            self.encode_wide().count()
        }
    }
}
