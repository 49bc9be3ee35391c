//! What the dynamic loader knows of the libraries in this process: which one an address lies in,
//! and where their symbols are.

use libloading::os::unix::{Library, RTLD_LAZY};
use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

/// A library that is loaded in this process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LoadedLibrary {
    /// The address at which its file is mapped.
    pub base: usize,
    /// The file as the dynamic loader names it.
    pub path: PathBuf,
}

/// The library in which `address` lies (of code or of data), `None` if in none.
pub fn library_of(address: usize) -> Option<LoadedLibrary> {
    // SAFETY: Dl_info is plain data that is valid when zeroed.
    let mut info = unsafe { mem::zeroed::<libc::Dl_info>() };
    // SAFETY: dladdr only compares the address; `info` is writable.
    let found = unsafe { libc::dladdr(address as *const c_void, &mut info) } != 0;
    (found && !info.dli_fname.is_null()).then(|| LoadedLibrary {
        base: info.dli_fbase as usize,
        // SAFETY: the loader's own string, which lives as long as the library; `info` was filled.
        path: unsafe { path_from(info.dli_fname) },
    })
}

/// The address of a symbol that the library at `path` itself defines. `None` if it does not, or is
/// not loaded.
pub fn symbol_in(path: &Path, symbol: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: a library that is loaded already is not initialised again.
    let library = unsafe { Library::open(Some(path), libc::RTLD_NOLOAD | RTLD_LAZY) }.ok()?;
    let handle = library.into_raw();
    // SAFETY: the library is open.
    let address = unsafe { own_symbol(handle, symbol) };
    // SAFETY: takes back the handle given up above, to close it.
    drop(unsafe { Library::from_raw(handle) });
    address
}

/// `dlsym` without the libraries that the one of `handle` depends on.
///
/// # Safety
/// `handle` is that of an open library.
unsafe fn own_symbol(handle: *mut c_void, name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the caller's promise.
    let (address, path) = unsafe { (symbol(handle, name)?, path_of(handle)?) };
    (library_of(address.as_ptr() as usize)?.path == path).then_some(address)
}

/// `dlsym`: the address of a symbol of a library, or of one that it depends on.
///
/// # Safety
/// `handle` is that of an open library, or stands for several as `RTLD_DEFAULT` does.
pub unsafe fn symbol(handle: *mut c_void, name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the caller's promise; `name` ends with NUL.
    NonNull::new(unsafe { libc::dlsym(handle, name.as_ptr()) })
}

/// The library that this code is in.
pub fn this_library() -> Option<LoadedLibrary> {
    library_of(this_library as *const () as usize)
}

/// Keeps a library loaded until the process ends.
pub fn keep(library: &LoadedLibrary) {
    if let Ok(path) = CString::new(library.path.as_os_str().as_bytes()) {
        // SAFETY: the library is loaded already, so this runs none of its code.
        unsafe {
            libc::dlopen(path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_NODELETE | libc::RTLD_NOW)
        };
    }
}

/// The path of the library that `handle` stands for.
///
/// # Safety
/// `handle` is that of an open library.
pub unsafe fn path_of(handle: *mut c_void) -> Option<PathBuf> {
    /// The public beginning of `struct link_map` in `<link.h>`.
    #[repr(C)]
    struct LinkMap {
        l_addr: usize,
        l_name: *const c_char,
    }
    let mut map = ptr::null::<LinkMap>();
    // SAFETY: the caller promises the handle; RTLD_DI_LINKMAP writes one pointer.
    let result =
        unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast::<c_void>()) };
    // SAFETY: on success it points to the loader's record of the library, which names its file.
    (result == 0).then(|| unsafe { path_from((*map).l_name) })
}

/// # Safety
/// `name` must be a C string.
unsafe fn path_from(name: *const c_char) -> PathBuf {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    Path::new(OsStr::from_bytes(name.to_bytes())).to_path_buf()
}
