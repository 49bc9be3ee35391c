//! What the dynamic loader knows of the libraries in this process: which one an address lies in,
//! and where their symbols are.

use libloading::os::unix::{Library, RTLD_LAZY};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::mem;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::slice;

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
    let (address, path) = unsafe { (symbol(handle, name, None)?, path_of(handle)?) };
    (library_of(address.as_ptr() as usize)?.path == path).then_some(address)
}

/// `dlsym` or, for a certain version, `dlvsym`: the address of a symbol of a library, or of one that it
/// depends on. Without a version those are not found that nothing new is linked against.
///
/// # Safety
/// `handle` is that of an open library, or stands for several as `RTLD_DEFAULT` does.
pub unsafe fn symbol(
    handle: *mut c_void,
    name: &CStr,
    version: Option<&CStr>,
) -> Option<NonNull<c_void>> {
    // SAFETY: the caller's promise; both strings end with NUL.
    NonNull::new(unsafe {
        match version {
            None => libc::dlsym(handle, name.as_ptr()),
            Some(version) => libc::dlvsym(handle, name.as_ptr(), version.as_ptr()),
        }
    })
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

/// Loads a library, unless it is loaded already, until the process ends; the addresses that it takes.
pub fn load(path: &Path) -> Option<Range<usize>> {
    // SAFETY: only libraries of the JDK's own are loaded so, which do nothing when they are initialised.
    let library = unsafe { Library::open(Some(path), RTLD_LAZY | libc::RTLD_NODELETE) }.ok()?;
    let handle = library.into_raw();
    // SAFETY: the library is open.
    let map = unsafe { link_map(handle) }?;
    let mut found = (map.l_addr, 0..0);
    // SAFETY: the callback gets the pair, which lives as long as the call.
    unsafe { libc::dl_iterate_phdr(Some(addresses), (&raw mut found).cast::<c_void>()) };
    Some(found.1).filter(|addresses| !addresses.is_empty())
}

/// For `dl_iterate_phdr`: stores what the library at the address `found.0` takes in `found.1`.
///
/// # Safety
/// `info` describes a library; `found` points to such a pair.
unsafe extern "C" fn addresses(
    info: *mut libc::dl_phdr_info,
    _: usize,
    found: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promises; the loader's headers live as long as the library.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<(usize, Range<usize>)>()) };
    if info.dlpi_addr as usize != found.0 || info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: as above.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let end = loaded.map(|header| (header.p_vaddr + header.p_memsz) as usize).max().unwrap_or(0);
    found.1 = found.0..found.0 + end;
    1
}

/// The path of the library that `handle` stands for.
///
/// # Safety
/// `handle` is that of an open library.
pub unsafe fn path_of(handle: *mut c_void) -> Option<PathBuf> {
    // SAFETY: the caller's promise; the map names the library's file.
    unsafe { link_map(handle).map(|map| path_from(map.l_name)) }
}

/// The public beginning of `struct link_map` in `<link.h>`.
#[repr(C)]
struct LinkMap {
    l_addr: usize,
    l_name: *const c_char,
}

/// The loader's record of the library that `handle` stands for.
///
/// # Safety
/// `handle` is that of an open library, which stays open as long as the record is used.
unsafe fn link_map<'a>(handle: *mut c_void) -> Option<&'a LinkMap> {
    let mut map = ptr::null::<LinkMap>();
    // SAFETY: the caller promises the handle; RTLD_DI_LINKMAP writes one pointer.
    let result =
        unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast::<c_void>()) };
    // SAFETY: on success it points to the loader's record of the library.
    if result == 0 { unsafe { map.as_ref() } } else { None }
}

/// # Safety
/// `name` must be a C string.
unsafe fn path_from(name: *const c_char) -> PathBuf {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    Path::new(OsStr::from_bytes(name.to_bytes())).to_path_buf()
}
