//! The loader's knowledge of the DLLs in this process: which one an address is in, and where symbols are.

pub use crate::platform::types::LoadedLibrary;
use std::ffi::{CStr, OsStr, OsString, c_void};
use std::io;
use std::ops::Range;
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use windows_sys::Win32::Foundation::{HMODULE, MAX_PATH};
use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_PIN,
    GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, GetModuleFileNameW, GetModuleHandleExW,
    GetModuleHandleW, GetProcAddress, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS,
    LOAD_WITH_ALTERED_SEARCH_PATH, LoadLibraryExW,
};
use windows_sys::Win32::System::ProcessStatus::{K32GetModuleInformation, MODULEINFO};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

pub fn library_of(address: usize) -> Option<LoadedLibrary> {
    let module = module_of(address, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT)?;
    path_of(module).map(|path| LoadedLibrary { base: module.addr(), path })
}

fn module_of(address: usize, flag: u32) -> Option<HMODULE> {
    // 0 would stand for the program.
    if address == 0 {
        return None;
    }
    let flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | flag;
    let address: *const u16 = ptr::without_provenance(address);
    let mut module = ptr::null_mut();
    // SAFETY: with this flag the system only compares the address.
    let found = unsafe { GetModuleHandleExW(flags, address, &raw mut module) } != 0;
    (found && !module.is_null()).then_some(module)
}

/// Returns the path of a loaded library.
fn path_of(module: HMODULE) -> Option<PathBuf> {
    // Long paths have up to 32767 characters.
    [MAX_PATH, 1 << 15].into_iter().find_map(|size| {
        let mut path = vec![0_u16; size as usize];
        // SAFETY: the buffer has this size, and the loader knows its modules.
        let length = unsafe { GetModuleFileNameW(module, path.as_mut_ptr(), size) };
        let is_whole = 0 < length && length < size;
        is_whole.then(|| OsString::from_wide(&path[..length as usize]).into())
    })
}

pub fn symbol_in(path: &Path, symbol: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the string ends with NUL.
    let module = unsafe { GetModuleHandleW(wide(path.as_os_str()).as_ptr()) };
    let address = symbol_of(module, symbol)?;
    // An export may be that of another library.
    let owner = module_of(address.addr().get(), GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT);
    (owner == Some(module)).then_some(address)
}

fn symbol_of(module: HMODULE, symbol: &CStr) -> Option<NonNull<c_void>> {
    if module.is_null() {
        return None;
    }
    // SAFETY: the module is loaded, and the name ends with NUL.
    let address = unsafe { GetProcAddress(module, symbol.as_ptr().cast()) }?;
    NonNull::new(address as *mut c_void)
}

/// Returns the function of another library that is called by a jump at this address, or else the address: that of an
/// imported function can be the address of such a jump.
///
/// # Safety
/// There is code at this address.
pub unsafe fn imported_by(function: *mut c_void) -> *mut c_void {
    const JUMP: usize = 6;
    // SAFETY: as the caller promises, and no function is shorter than 16 bytes with what follows it.
    let code = unsafe { function.cast::<[u8; JUMP]>().read() };
    let [0xff, 0x25, offset @ ..] = code else { return function };
    let offset = i32::from_le_bytes(offset) as isize;
    // SAFETY: the jump reads its target there.
    unsafe { function.byte_add(JUMP).byte_offset(offset).cast::<*mut c_void>().read_unaligned() }
}

pub fn this_library() -> Option<LoadedLibrary> {
    library_of(this_library as *const () as usize)
}

pub fn keep(library: &LoadedLibrary) {
    module_of(library.base, GET_MODULE_HANDLE_EX_FLAG_PIN);
}

/// Loads a library until the process ends, unless it is already loaded. Returns the addresses that it occupies.
pub fn load(path: &Path) -> Option<Range<usize>> {
    // SAFETY: this is called only for the JDK's own libraries, which have no initializers with side effects.
    let Opened(module) = unsafe { Opened::open(path.as_os_str()) }.ok()?;
    let mut info =
        MODULEINFO { lpBaseOfDll: ptr::null_mut(), SizeOfImage: 0, EntryPoint: ptr::null_mut() };
    let size = size_of::<MODULEINFO>() as u32;
    // SAFETY: the module is loaded, and the structure is a local variable.
    let is_known =
        unsafe { K32GetModuleInformation(GetCurrentProcess(), module, &raw mut info, size) } != 0;
    is_known.then(|| module.addr()..module.addr() + info.SizeOfImage as usize)
}

pub struct Opened(HMODULE);

impl Opened {
    /// Loads a library. A name without a separator is searched where the program and the system have their libraries. The
    /// error is the file and the system's message.
    ///
    /// # Safety
    /// The initializers of the library may run now, on this thread.
    pub unsafe fn open(file: &OsStr) -> Result<Self, OsString> {
        let is_path = file.as_encoded_bytes().iter().any(|byte| b"/\\".contains(byte));
        // The libraries that this one needs are where the JVM would find them, or in the same directory.
        let ways: &[_] = if is_path {
            &[0, LOAD_WITH_ALTERED_SEARCH_PATH]
        } else {
            &[LOAD_LIBRARY_SEARCH_DEFAULT_DIRS]
        };
        let name = wide(file);
        let mut error = None;
        for way in ways {
            // SAFETY: as the caller promises; the name ends with NUL.
            let module = unsafe { LoadLibraryExW(name.as_ptr(), ptr::null_mut(), *way) };
            if !module.is_null() {
                return Ok(Self(module));
            }
            error = Some(io::Error::last_os_error());
        }
        let mut message = file.to_owned();
        message.push(error.map(|error| format!(": {error}")).unwrap_or_default());
        Err(message)
    }

    /// Returns None: libraries are loaded from files only.
    ///
    /// # Safety
    /// None is needed.
    pub unsafe fn from_contents(_: &[u8], _: &Path) -> Option<Result<Self, OsString>> {
        None
    }

    /// Returns the address of a symbol in the library.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        symbol_of(self.0, name)
    }

    /// Returns true if the library has this symbol. Symbols have no versions here.
    pub fn finds(&self, name: &CStr, _version: Option<&CStr>) -> bool {
        self.symbol(name).is_some()
    }

    pub fn path(&self) -> Option<PathBuf> {
        path_of(self.0)
    }
}

/// Returns the text with a NUL at its end. The loader takes `/` for a part of a name.
fn wide(text: &OsStr) -> Vec<u16> {
    let words = text.encode_wide().map(|word| if word == u16::from(b'/') { 0x5c } else { word });
    words.chain([0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_their_symbols_are_found() {
        let own = this_library().unwrap();
        assert_eq!(own.path, std::env::current_exe().unwrap());
        assert_eq!(library_of(0), None);
        let kernel = Path::new("kernel32.dll");
        let address = symbol_in(kernel, c"GetModuleHandleExW").unwrap();
        let library = library_of(address.addr().get()).unwrap();
        assert!(library.base < address.addr().get());
        keep(&library);
        let range = load(&library.path).unwrap();
        assert!(range.start == library.base && range.contains(&address.addr().get()));
        assert_eq!(symbol_in(kernel, c"JVM_OnLoad"), None);
        assert_eq!(symbol_in(Path::new("nothing.dll"), c"JVM_OnLoad"), None);
    }

    #[test]
    fn jump_to_an_imported_function_is_followed() {
        // The jump reads the word behind it.
        let mut code = [0xcc_u8; 16];
        code[..6].copy_from_slice(&[0xff, 0x25, 2, 0, 0, 0]);
        code[8..].copy_from_slice(&0x1234_usize.to_le_bytes());
        let start: *mut c_void = code.as_mut_ptr().cast();
        // SAFETY: these are 16 bytes that look like code.
        unsafe {
            assert_eq!(imported_by(start).addr(), 0x1234);
            start.cast::<u8>().write(0x90);
            assert_eq!(imported_by(start), start);
        }
    }

    #[test]
    fn missing_library_is_reported_with_its_name() {
        // SAFETY: there is no such library.
        let error = unsafe { Opened::open(OsStr::new(r"C:\no\thing.dll")) }.err().unwrap();
        assert!(error.to_string_lossy().starts_with(r"C:\no\thing.dll: "), "{error:?}");
        // SAFETY: the library is one of the system and loaded already.
        let opened = unsafe { Opened::open(OsStr::new("kernel32.dll")) }.ok().unwrap();
        assert!(opened.finds(c"GetModuleHandleW", None) && !opened.finds(c"JVM_OnLoad", None));
        assert_eq!(opened.symbol(c"JVM_OnLoad"), None);
        assert!(opened.path().unwrap().ends_with("kernel32.dll"));
    }
}
