//! The parts that only Linux has.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Returns the number of bytes that the other end of the connection has not received. None if that is not known.
pub fn unsent(stream: &TcpStream) -> Option<i32> {
    let mut unsent = 0;
    // SAFETY: the descriptor is that of an open connection, and the kernel writes a number to `unsent`.
    let result = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut unsent) };
    (result == 0).then_some(unsent)
}

/// Makes all threads of the process pass a memory barrier. Returns false if the system does not support that.
pub fn pass_barrier() -> bool {
    let membarrier = |command: libc::c_int| {
        // SAFETY: the call takes numbers and touches no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    };
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
        && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}

/// Returns the CPU time of the process. The C library's function is not used: `faketime` and its like replace it in the
/// process, also for this clock.
pub fn process_clock() -> io::Result<Duration> {
    let clock = libc::CLOCK_PROCESS_CPUTIME_ID;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is a local variable.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Returns freed memory to the system. musl does so without being asked.
pub fn trim_memory() {
    // SAFETY: the function has no precondition.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Returns the name that the VM has given to the current thread.
pub fn thread_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/thread-self/comm").ok()?;
    Some(name.trim().to_owned())
}

/// Returns the path of this library.
pub fn own_path() -> Result<PathBuf, String> {
    let own = own_path as fn() -> Result<PathBuf, String> as *const c_void;
    // SAFETY: a structure of numbers and pointers may be zero.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `found` has room, and the function is in a library.
    if unsafe { libc::dladdr(own, &mut found) } == 0 || found.dli_fname.is_null() {
        return Err("cannot find libhprof.so; give its full path with -agentpath:".into());
    }
    // SAFETY: the loader's name of a loaded library is a string.
    let name = OsStr::from_bytes(unsafe { CStr::from_ptr(found.dli_fname) }.to_bytes());
    std::fs::canonicalize(name).map_err(|e| format!("{}: {e}", name.display()))
}

/// Returns a function of the loaded library of this name, or else of the library at `path`, which stays loaded. The
/// pointer is NULL if the library has no such function.
///
/// # Errors
/// Returns the loader's message if it cannot load the library.
///
/// # Safety
/// The initialization of the library has no requirements.
pub unsafe fn function(loaded: &CStr, path: &Path, name: &CStr) -> Result<*mut c_void, String> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
    // SAFETY: both names are strings, and the caller knows the library.
    let library = unsafe {
        let library = libc::dlopen(loaded.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        if library.is_null() { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) } else { library }
    };
    if library.is_null() {
        // SAFETY: after a failure there is a message, a string.
        return Err(unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned());
    }
    // SAFETY: the library is loaded, and the name is a string.
    Ok(unsafe { libc::dlsym(library, name.as_ptr()) })
}
