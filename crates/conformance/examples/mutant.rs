//! An agent that stands between JVMPI and an agent of the suite, and takes one thing away from it: a
//! function does nothing, or an event is not sent.
//!
//! Its options are `WHAT,LIBRARY` or `WHAT,LIBRARY:OPTIONS`: the name of the function or event, and the
//! agent to start with what it is to get as its options.

use jni_sys::{
    JNI_ERR, JNI_OK, JNIEnv, JNIInvokeInterface_, JavaVM, jboolean, jint, jlong, jmethodID, jobject,
};
use jvmpi_layers::layer::{Layer, Neighbours, Slots, put_on};
use jvmpi_sys::{
    EVENTS, JVM_OnLoad as OnLoad, JVM_OnUnload as OnUnload, JVMPI_CallTrace, JVMPI_Event,
    JVMPI_Interface, JVMPI_REQUESTED_EVENT, JVMPI_RawMonitor, JVMPI_VERSION_1, JVMPI_VERSION_1_2,
    for_each_function, jobjectID,
};
use libloading::os::unix::{Library, RTLD_LAZY};
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem;
use std::ptr;
use std::sync::OnceLock;

/// The name of what is taken away.
struct Mutant {
    function: String,
    event: Option<jint>,
}

macro_rules! mutant {
    ($(
        $(#[doc = $what:literal])*
        fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, else $otherwise:expr;
    )*) => {
        impl Layer for Mutant {
            fn slots() -> &'static Slots<Self> {
                static SLOTS: Slots<Mutant> = Slots::new();
                &SLOTS
            }

            unsafe fn NotifyEvent(&self, next: &Neighbours, event: *mut JVMPI_Event) {
                // SAFETY: as the caller promises.
                unsafe {
                    if self.event != Some((*event).event_type & !JVMPI_REQUESTED_EVENT) {
                        next.NotifyEvent(event);
                    }
                }
            }

            $(
                unsafe fn $name(&self, next: &Neighbours $(, $argument: $type)*) $(-> $result)? {
                    if self.function == stringify!($name) {
                        // SAFETY: the results are numbers and pointers, for which 0 is a value.
                        return unsafe { mem::zeroed() };
                    }
                    // SAFETY: as the caller promises.
                    unsafe { next.$name($($argument),*) }
                }
            )*
        }
    };
}

for_each_function!(mutant);

/// The JavaVM that the agent gets: the real one with another `GetEnv`.
static REAL: OnceLock<usize> = OnceLock::new();
static TABLE: OnceLock<usize> = OnceLock::new();
static AGENT: OnceLock<Library> = OnceLock::new();

unsafe extern "system" fn get_env(_: *mut JavaVM, out: *mut *mut c_void, version: jint) -> jint {
    let real: *mut JavaVM = ptr::with_exposed_provenance_mut(REAL.get().copied().unwrap_or(0));
    // SAFETY: the VM is the one that JVM_OnLoad got; the arguments are the agent's.
    unsafe {
        let result = ((**real).v1_4.GetEnv)(real, out, version);
        if result == JNI_OK && (JVMPI_VERSION_1..=JVMPI_VERSION_1_2).contains(&version) {
            *out = ptr::with_exposed_provenance_mut(TABLE.get().copied().unwrap_or(0));
        }
        result
    }
}

/// Splits the options into the function or event to remove, the agent, and the agent's options.
fn parse(options: &str) -> Option<(&str, &str, Option<&str>)> {
    let (what, rest) = options.split_once(',')?;
    let (library, options) = match rest.split_once(':') {
        Some((library, options)) => (library, Some(options)),
        None => (rest, None),
    };
    Some((what, library, options))
}

/// Starts the agent that the options name, without the function or event that they name.
///
/// # Safety
/// The arguments must be those that the VM passes.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn JVM_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    reserved: *mut c_void,
) -> jint {
    // SAFETY: the VM passes a text or NULL, and itself; the agent's functions have the types of the
    // specification.
    unsafe {
        if options.is_null() {
            return JNI_ERR;
        }
        let options = CStr::from_ptr(options).to_string_lossy().into_owned();
        let Some((what, library, options)) = parse(&options) else { return JNI_ERR };
        let event = EVENTS.iter().find(|event| event.name() == what);
        let mutant = Mutant { function: what.to_owned(), event: event.map(|event| event.number) };

        let mut below: *mut c_void = ptr::null_mut();
        if ((**vm).v1_4.GetEnv)(vm, &raw mut below, JVMPI_VERSION_1_2) != JNI_OK {
            return JNI_ERR;
        }
        let Some(table) = put_on(mutant, 0, below.cast::<JVMPI_Interface>()) else {
            return JNI_ERR;
        };
        let _ = TABLE.set(table.expose_provenance());
        let _ = REAL.set(vm.expose_provenance());
        let mut functions: JNIInvokeInterface_ = ptr::read(*vm);
        functions.v1_4.GetEnv = get_env;
        let own: *const JNIInvokeInterface_ = Box::leak(Box::new(functions));
        let own: *mut JavaVM = Box::leak(Box::new(own));

        let Ok(library) = Library::open(Some(library), RTLD_LAZY) else { return JNI_ERR };
        let library = AGENT.get_or_init(|| library);
        let on_load = library.get::<Option<OnLoad>>(b"JVM_OnLoad\0");
        let Some(on_load) = on_load.ok().and_then(|symbol| *symbol) else { return JNI_ERR };
        let options = options.map(|options| CString::new(options).unwrap_or_default().into_raw());
        on_load(own, options.unwrap_or(ptr::null_mut()), reserved)
    }
}

/// Calls the agent's `JVM_OnUnload`.
///
/// # Safety
/// The argument must be the VM.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn JVM_OnUnload(vm: *mut JavaVM) {
    let Some(library) = AGENT.get() else { return };
    // SAFETY: the function has the type of the specification, the VM is that of JVM_OnLoad.
    unsafe {
        let on_unload = library.get::<Option<OnUnload>>(b"JVM_OnUnload\0");
        if let Some(on_unload) = on_unload.ok().and_then(|symbol| *symbol) {
            on_unload(vm);
        }
    }
}
