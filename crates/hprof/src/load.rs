//! The entry points of the library. As a JVMTI agent HPROF brings `libjvmpi.so` from its own directory, which loads it
//! as a JVMPI agent.

use crate::agent::Hprof;
use crate::message::error;
use jvm::platform::dynamic_loader::{Opened, symbol_in, this_library};
use jvm::platform::names::{LOADED_SHIM, SHIM, to_system};
use jvmpi::export::Loaded;
use jvmpi::sys::JVMPI_Event;
use jvmpi::sys::jni_sys::{JNI_ERR, JavaVM, jint};
use std::ffi::{CStr, CString, c_char, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

/// An entry point of `libjvmpi.so`, or of this library.
type OnLoad = unsafe extern "system" fn(*mut JavaVM, *mut c_char, *mut c_void) -> jint;

static LOADED: Loaded<Hprof> = Loaded::new();

unsafe extern "C" fn notify_event(event: *mut JVMPI_Event) {
    // SAFETY: only the VM calls this function, and it passes a valid event.
    unsafe { LOADED.notify_event(event) }
}

/// Loads HPROF as a JVMPI agent. If it were named `JVM_OnLoad`, HotSpot would call it for `-Xrunhprof`, at a time when
/// it gives no agent its capabilities; so it calls [`Agent_OnLoad`].
///
/// # Safety
/// `libjvmpi.so` calls this with valid arguments.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn jvmpi_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the caller passes the arguments that `on_load` requires.
    unsafe { LOADED.on_load(vm, options, "hprof", notify_event) }
}

/// The entry point for `-agentlib:hprof`, `-Xrunhprof` and `-agentpath:/path/libhprof.so`.
///
/// # Safety
/// The VM calls this with valid arguments.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: as the caller promises.
    unsafe { bring(c"Agent_OnLoad", vm, options) }
}

/// The entry point for a running VM: `jcmd PID JVMTI.agent_load /path/libhprof.so OPTIONS`.
///
/// # Safety
/// The VM calls this with valid arguments.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: as the caller promises.
    unsafe { bring(c"Agent_OnAttach", vm, options) }
}

/// Calls an entry point of `libjvmpi.so`, which then calls [`jvmpi_OnLoad`] of this library.
///
/// # Safety
/// `vm` is the VM of this process, which calls the entry point `name` of this library with `options`.
unsafe fn bring(name: &CStr, vm: *mut JavaVM, options: *mut c_char) -> jint {
    let found = own_path().and_then(|own| Ok((entry_point(&own, name)?, own)));
    let (on_load, own) = match found {
        Ok(found) => found,
        Err(why) => {
            error(&why);
            return JNI_ERR;
        }
    };
    // SAFETY: the caller promises NULL or a string.
    let options = if options.is_null() { c"" } else { unsafe { CStr::from_ptr(options) } };
    let Some(own_name) = to_system(own.as_os_str()) else {
        error(&format!("the code page lacks letters of {}; move HPROF", own.display()));
        return JNI_ERR;
    };
    let agent = [&*own_name, b":", options.to_bytes()].concat();
    let Ok(agent) = CString::new(agent) else { return JNI_ERR };
    // SAFETY: this is the entry point that the VM would call; it copies the string.
    unsafe { on_load(vm, agent.as_ptr().cast_mut(), ptr::null_mut()) }
}

/// Returns the path of this library.
fn own_path() -> Result<PathBuf, String> {
    let own = this_library().ok_or("cannot find HPROF; give its full path with -agentpath:")?;
    fs::canonicalize(&own.path).map_err(|e| format!("{}: {e}", own.path.display()))
}

/// Returns an entry point of `libjvmpi.so`: the one that is loaded, or the one beside this library. It stays loaded.
fn entry_point(own: &Path, name: &CStr) -> Result<OnLoad, String> {
    let beside = own.with_file_name(SHIM);
    let found = match symbol_in(Path::new(LOADED_SHIM), name) {
        Some(found) => Some(found),
        // SAFETY: the initialization of libjvmpi.so has no requirements.
        None => unsafe { Opened::open(beside.as_os_str()) }
            .map_err(|why| {
                let (own, why) = (own.file_name().unwrap_or_default().display(), why.display());
                format!("cannot load {SHIM}, which must be beside {own}: {why}")
            })?
            .symbol(name),
    };
    let found =
        found.ok_or_else(|| format!("{} has no {}", beside.display(), name.to_string_lossy()))?;
    // SAFETY: libjvmpi.so exports these functions with this type.
    Ok(unsafe { std::mem::transmute::<NonNull<c_void>, OnLoad>(found) })
}
