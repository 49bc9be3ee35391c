//! The dynamic loader's knowledge of the libraries in this process: which library an address is in, and where symbols
//! are.

pub use crate::platform::types::LoadedLibrary;
use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_void};
use std::fs::{self, File};
use std::io::Write;
use std::mem;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

/// Returns the library that contains `address` (of code or data), if any.
pub fn library_of(address: usize) -> Option<LoadedLibrary> {
    // SAFETY: Dl_info is plain data that is valid when zeroed.
    let mut info = unsafe { mem::zeroed::<libc::Dl_info>() };
    // SAFETY: dladdr only compares the address; `info` is writable.
    let found = unsafe { libc::dladdr(address as *const c_void, &mut info) } != 0;
    (found && !info.dli_fname.is_null()).then(|| LoadedLibrary {
        base: info.dli_fbase as usize,
        // SAFETY: dladdr filled in `info`. The string is the loader's and lives as long as the library.
        path: unsafe { path_from(info.dli_fname) },
    })
}

/// Returns the address of a symbol that the library at `path` itself defines. `None` if it does not define the symbol,
/// or is not loaded.
pub fn symbol_in(path: &Path, symbol: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the library is already loaded, so its initializers do not run.
    let library = unsafe { Library::open(Some(path), libc::RTLD_NOLOAD | RTLD_LAZY) }.ok()?;
    let handle = library.into_raw();
    // SAFETY: the library is open.
    let address = unsafe { own_symbol(handle, symbol) };
    // SAFETY: the handle is from `into_raw` above and is closed once.
    drop(unsafe { Library::from_raw(handle) });
    address
}

/// Calls `dlsym`, ignoring the libraries that the one of `handle` depends on.
///
/// # Safety
/// `handle` belongs to an open library.
unsafe fn own_symbol(handle: *mut c_void, name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: as the caller promises.
    let (address, path) = unsafe { (symbol(handle, name, None)?, path_of(handle)?) };
    (library_of(address.as_ptr() as usize)?.path == path).then_some(address)
}

/// Returns the address of a symbol in a library or its dependencies, by `dlsym` or, with a version, by `dlvsym`.
/// Symbol versions that the library keeps only for old programs are not found without a version. musl has no `dlvsym`
/// and ignores versions when it links, too.
///
/// # Safety
/// `handle` belongs to an open library, or is a special value such as `RTLD_DEFAULT`.
unsafe fn symbol(
    handle: *mut c_void,
    name: &CStr,
    version: Option<&CStr>,
) -> Option<NonNull<c_void>> {
    // SAFETY: as the caller promises; both strings are NUL-terminated.
    NonNull::new(unsafe {
        match version {
            None => libc::dlsym(handle, name.as_ptr()),
            #[cfg(not(target_env = "musl"))]
            Some(version) => libc::dlvsym(handle, name.as_ptr(), version.as_ptr()),
            #[cfg(target_env = "musl")]
            Some(_) => libc::dlsym(handle, name.as_ptr()),
        }
    })
}

/// Returns the function: the address of an imported function is its own.
///
/// # Safety
/// None is needed.
pub unsafe fn imported_by(function: *mut c_void) -> *mut c_void {
    function
}

/// Returns the library that contains this code.
pub fn this_library() -> Option<LoadedLibrary> {
    library_of(this_library as *const () as usize)
}

/// Keeps a library loaded until the process ends.
pub fn keep(library: &LoadedLibrary) {
    if let Ok(path) = CString::new(library.path.as_os_str().as_bytes()) {
        // SAFETY: the library is already loaded, so none of its code runs.
        unsafe {
            libc::dlopen(path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_NODELETE | libc::RTLD_NOW)
        };
    }
}

/// Loads a library until the process ends, unless it is already loaded. Returns the addresses that its file is mapped to.
pub fn load(path: &Path) -> Option<Range<usize>> {
    // SAFETY: this is called only for the JDK's own libraries, which have no initializers with side effects.
    unsafe { Library::open(Some(path), RTLD_LAZY | libc::RTLD_NODELETE) }.ok()?;
    let path = fs::canonicalize(path).ok()?;
    let maps = fs::read("/proc/self/maps").ok()?;
    let maps = String::from_utf8_lossy(&maps);
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    let addresses = |line: &str| {
        let (start, end) = line.split_once(' ')?.0.split_once('-')?;
        Some(number(start)?..number(end)?)
    };
    let lines = maps.lines().filter(|line| line.contains(&*path.to_string_lossy()));
    let mut parts = lines.filter_map(addresses);
    let first = parts.next()?;
    Some(first.start..parts.next_back().map_or(first.end, |last| last.end))
}

/// Returns the path of the library with this handle.
///
/// # Safety
/// `handle` belongs to an open library.
unsafe fn path_of(handle: *mut c_void) -> Option<PathBuf> {
    // SAFETY: as the caller promises; the record contains the library's file name.
    unsafe { link_map(handle).map(|map| path_from(map.l_name)) }
}

/// A library that stays loaded until the process ends.
pub struct Opened(*mut c_void);

impl Opened {
    /// Loads a library and resolves all its symbols. A name without a `/` is searched. The error is the loader's message.
    ///
    /// # Safety
    /// The initializers of the library may run now, on this thread.
    pub unsafe fn open(file: &OsStr) -> Result<Self, OsString> {
        // SAFETY: as the caller promises.
        match unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) } {
            Ok(library) => Ok(Self(library.into_raw())),
            Err(libloading::Error::DlOpen { source }) => Err(source.to_string().into()),
            Err(other) => Err(other.to_string().into()),
        }
    }

    /// Loads a library from its contents, like [`Self::open`]. The loader knows it by this path. None if there is no
    /// memory for it.
    ///
    /// # Safety
    /// The same as for [`Self::open`].
    pub unsafe fn from_contents(contents: &[u8], path: &Path) -> Option<Result<Self, OsString>> {
        // SAFETY: the name is a constant, and the descriptor is new. The C library has a function for this call only since
        // glibc 2.27.
        let mut file = unsafe {
            let memory = c"agent".as_ptr();
            match libc::syscall(libc::SYS_memfd_create, memory, libc::MFD_CLOEXEC) {
                -1 => return None,
                number => File::from_raw_fd(number as RawFd),
            }
        };
        file.write_all(contents).ok()?;
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: as the caller promises.
        let opened = unsafe { Self::open(OsStr::new(&name)) };
        let map = opened.as_ref().ok().and_then(|library| {
            // SAFETY: the library is never closed, so the loader does not free the name, which is leaked below. No other
            // thread knows the library yet.
            unsafe { link_map(library.0) }
        });
        if let Some(map) = map {
            map.l_name = path.into_raw();
        }
        Some(opened)
    }

    /// Returns the address of a symbol in the library or its dependencies.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the library is never closed.
        unsafe { symbol(self.0, name, None) }
    }

    /// Returns true if the loader finds this symbol for the library.
    pub fn finds(&self, name: &CStr, version: Option<&CStr>) -> bool {
        // SAFETY: the library is never closed.
        let is_in = |place| unsafe { symbol(place, name, version) }.is_some();
        is_in(self.0) || is_in(libc::RTLD_DEFAULT)
    }

    /// Returns the path by which the loader knows the library.
    pub fn path(&self) -> Option<PathBuf> {
        // SAFETY: the library is never closed.
        unsafe { path_of(self.0) }
    }
}

/// The public beginning of `struct link_map` in `<link.h>`.
#[repr(C)]
struct LinkMap {
    l_addr: usize,
    l_name: *const c_char,
}

#[cfg(not(target_env = "musl"))]
use libc::{RTLD_DI_LINKMAP, dlinfo};

/// musl declares this in its `<dlfcn.h>`, but the crate libc does not.
#[cfg(target_env = "musl")]
const RTLD_DI_LINKMAP: libc::c_int = 2;
#[cfg(target_env = "musl")]
unsafe extern "C" {
    fn dlinfo(handle: *mut c_void, request: libc::c_int, info: *mut c_void) -> libc::c_int;
}

/// Returns the loader's record of the library with this handle.
///
/// # Safety
/// `handle` belongs to an open library, which stays open while the record is used.
unsafe fn link_map<'a>(handle: *mut c_void) -> Option<&'a mut LinkMap> {
    let mut map = ptr::null_mut::<LinkMap>();
    // SAFETY: as the caller promises; RTLD_DI_LINKMAP writes one pointer.
    let result = unsafe { dlinfo(handle, RTLD_DI_LINKMAP, (&raw mut map).cast::<c_void>()) };
    // SAFETY: on success `map` points to the loader's record.
    if result == 0 { unsafe { map.as_mut() } } else { None }
}

/// # Safety
/// `name` is a NUL-terminated string.
unsafe fn path_from(name: *const c_char) -> PathBuf {
    // SAFETY: as the caller promises.
    let name = unsafe { CStr::from_ptr(name) };
    Path::new(OsStr::from_bytes(name.to_bytes())).to_path_buf()
}
