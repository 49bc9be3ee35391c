//! Names of files in C strings.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::ptr;
use std::str;
use windows_sys::Win32::Globalization::{CP_ACP, MultiByteToWideChar, WideCharToMultiByte};
use windows_sys::Win32::Storage::FileSystem::GetShortPathNameW;

pub const SHIM: &str = "jvmpi.dll";
pub const LOADED_SHIM: &str = SHIM;

/// Returns a string that the VM has passed, in the code page of the system.
pub fn of_system(text: &[u8]) -> Cow<'_, OsStr> {
    match str::from_utf8(text) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(OsStr::new(text)),
        _ => Cow::Owned(of_code_page(text)),
    }
}

/// Returns the name of a file as the VM expects it, in the code page of the system. None if neither the name nor the short
/// name that the file has is in the code page.
pub fn to_system(name: &OsStr) -> Option<Vec<u8>> {
    if name.is_ascii() {
        return Some(name.as_encoded_bytes().to_vec());
    }
    to_code_page(name).or_else(|| to_code_page(&short_name(name)?))
}

fn short_name(name: &OsStr) -> Option<OsString> {
    let name: Vec<u16> = name.encode_wide().chain([0]).collect();
    let mut short = vec![0; 1 << 15];
    // SAFETY: the name ends with NUL, and the buffer has the given length.
    let length =
        unsafe { GetShortPathNameW(name.as_ptr(), short.as_mut_ptr(), short.len() as u32) };
    short.get(..length as usize).filter(|name| !name.is_empty()).map(OsString::from_wide)
}

fn to_code_page(name: &OsStr) -> Option<Vec<u8>> {
    let words: Vec<u16> = name.encode_wide().collect();
    // No character has more than two bytes for a word, or three in UTF-8.
    let mut text = vec![0; 3 * words.len()];
    let (length, room) = (words.len() as i32, text.len() as i32);
    // SAFETY: both buffers have the given lengths.
    let count = unsafe {
        let (to, none) = (text.as_mut_ptr(), ptr::null_mut());
        WideCharToMultiByte(CP_ACP, 0, words.as_ptr(), length, to, room, ptr::null(), none)
    };
    text.truncate(usize::try_from(count).unwrap_or(0));
    // The code page has other characters in place of those that it lacks.
    (of_code_page(&text) == name).then_some(text)
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
    fn text_is_read_and_written_in_the_code_page_of_the_system() {
        assert_eq!(&*of_system(b"agent"), "agent");
        // Each code page has a character for this byte.
        let name = of_system(b"a\xe9");
        assert_eq!(name.encode_wide().count(), 2);
        assert_eq!(to_system(&name).unwrap(), b"a\xe9");
        assert_eq!(to_system(OsStr::new(r"C:\a b")).unwrap(), br"C:\a b");
        // No code page has letters of all these scripts.
        let (cyrillic, greek, hebrew) = ("\u{436}", "\u{3c8}", "\u{5d0}");
        let other = OsString::from([cyrillic, greek, hebrew].concat());
        assert_eq!(to_system(&other), None);
    }
}
