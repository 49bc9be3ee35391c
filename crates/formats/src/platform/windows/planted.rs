//! The files that an output goes to. The directories of Windows for temporary files belong to one user each, so none are
//! planted. New files get the access rights of their directory.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::mem;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::path::{Path, PathBuf};
use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_APPEND_DATA, FILE_FLAG_BACKUP_SEMANTICS, FILE_READ_ATTRIBUTES,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, GetFileInformationByHandle, ReOpenFile,
};

/// Returns the name of an output, and the file of this name if there is one, opened for its attributes only. Links are
/// followed.
///
/// # Errors
/// Returns the error of the system.
pub fn find(path: &Path) -> io::Result<(PathBuf, Option<File>)> {
    let mut options = OpenOptions::new();
    // Directories need the flag.
    options.access_mode(FILE_READ_ATTRIBUTES).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    match options.open(path) {
        Ok(found) => Ok((path.to_owned(), Some(found))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((path.to_owned(), None)),
        Err(error) => Err(error),
    }
}

/// Returns true if the path names this open file.
#[must_use]
pub fn is_name_of(path: &Path, file: &File) -> bool {
    let there = find(path).ok().and_then(|(_, there)| there);
    there.is_some_and(|there| identity(&there).is_some_and(|there| identity(file) == Some(there)))
}

/// Returns the numbers of a file's volume and of the file.
fn identity(file: &File) -> Option<[u32; 3]> {
    // SAFETY: all bits zero are valid for numbers.
    let mut facts: BY_HANDLE_FILE_INFORMATION = unsafe { mem::zeroed() };
    // SAFETY: the handle is that of an open file, and the structure is a local variable.
    let is_known = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut facts) } != 0;
    is_known.then_some([facts.dwVolumeSerialNumber, facts.nFileIndexHigh, facts.nFileIndexLow])
}

/// Returns the options for a new file.
#[must_use]
pub fn for_the_owner() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    options
}

/// Creates a file. A file of this name, such as an unfinished one, is removed. One that is still open gets another name
/// first: Windows keeps the name of an open file until it is closed.
///
/// # Errors
/// Returns the error of the file system.
pub fn create_anew(path: &Path) -> io::Result<File> {
    let mut other = path.as_os_str().to_owned();
    other.push(format!(".{:016x}.old", RandomState::new().build_hasher().finish()));
    match fs::rename(path, &other).and_then(|()| fs::remove_file(&other)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for_the_owner().create_new(true).open(path)
}

/// Opens a file that [`find`] has found, for reading.
///
/// # Errors
/// Returns the error of the system.
pub fn open_to_read(found: &File) -> io::Result<File> {
    reopen(found, GENERIC_READ)
}

/// Opens a file that [`find`] has found, for writing: at its end if it `keeps` its contents, else as an empty file.
///
/// # Errors
/// Returns the error of the system.
pub fn open_to_write(found: &File, keeps: bool) -> io::Result<File> {
    if keeps {
        return reopen(found, FILE_APPEND_DATA);
    }
    let file = reopen(found, GENERIC_WRITE)?;
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(file)
}

fn reopen(found: &File, access: u32) -> io::Result<File> {
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    // SAFETY: the handle is that of an open file.
    let file = unsafe { ReOpenFile(found.as_raw_handle(), access, share, 0) };
    if file == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is new.
    Ok(unsafe { File::from_raw_handle(file) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn open_file_can_be_created_anew() {
        let directory = std::env::temp_dir().join(format!("jvmpi-anew-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("x.part");
        let mut old = create_anew(&path).unwrap();
        let mut new = create_anew(&path).unwrap();
        old.write_all(b"old").unwrap();
        new.write_all(b"new").unwrap();
        assert!(is_name_of(&path, &new) && !is_name_of(&path, &old));
        drop((old, new));
        let (_, found) = find(&path).unwrap();
        open_to_write(found.as_ref().unwrap(), true).unwrap().write_all(b"er").unwrap();
        let mut text = String::new();
        open_to_read(&found.unwrap()).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "newer");
        let (_, found) = find(&path).unwrap();
        drop(open_to_write(&found.unwrap(), false).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
        assert!(find(&directory).unwrap().1.unwrap().metadata().unwrap().is_dir());
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        fs::remove_dir_all(&directory).unwrap();
        assert!(find(&path).unwrap().1.is_none());
    }
}
