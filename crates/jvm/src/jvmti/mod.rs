//! Wrappers of JVMTI functions that return Rust values. There is one file for each group of functions in the
//! specification; this file has the common parts, errors, capabilities, events and properties.

pub mod classes;
pub mod extensions;
pub mod heap;
mod methods;
mod monitors;
mod threads;

use crate::lock::assert_none_held;
use jni_sys::{jint, jlong};
use jvmpi_jvmti_sys::*;
use std::ffi::{CStr, CString, c_char};
use std::mem::{MaybeUninit, size_of};
use std::ops::Deref;
use std::{fmt, ptr, slice};

/// A JVMTI error code other than `JVMTI_ERROR_NONE`, or [`Error::NO_IDS`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(pub jvmtiError);

/// The result of a wrapped JVMTI function.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// No ID is left for an object. The code is one that no JVMTI function returns.
    pub const NO_IDS: Self = Self(JVMTI_ERROR_MAX + 1);

    /// Converts the result code of a JVMTI function.
    pub fn check(code: jvmtiError) -> Result<()> {
        if code == JVMTI_ERROR_NONE { Ok(()) } else { Err(Self(code)) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NO_IDS {
            f.write_str("no object IDs are left")
        } else {
            write!(f, "JVMTI error {}", self.0)
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.to_string()
    }
}

/// A JVMTI environment of the shim, which all threads share.
#[derive(Clone, Copy)]
pub struct Jvmti(pub(super) *mut jvmtiEnv);

// SAFETY: a JVMTI environment may be used by every thread (JVMTI specification, "Environments").
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

/// Calls a function of the JVMTI function table.
macro_rules! jvmti {
    ($jvmti:expr, $slot:ident $(, $argument:expr)*) => {{
        $crate::lock::assert_none_held();
        // SAFETY: `Jvmti::new` promises a live environment. Functions newer than the VM are beyond the end of its
        // table; none newer than JDK 11 is called without a version check. Pointers are to locals or are valid as
        // the caller promises. JVMTI checks references itself.
        unsafe {
            match (**$jvmti.0).$slot {
                Some(function) => $crate::Error::check(function($jvmti.0 $(, $argument)*)),
                None => Err($crate::Error(jvmpi_jvmti_sys::JVMTI_ERROR_NOT_AVAILABLE)),
            }
        }
    }};
}

pub(super) use jvmti;

/// Returns what a call writes to the place that it gets.
fn written<T: Copy>(call: impl FnOnce(*mut T) -> Result<()>) -> Result<T> {
    let mut value = MaybeUninit::zeroed();
    call(value.as_mut_ptr())?;
    // SAFETY: JVMTI has written the value: a number, a pointer or a structure of these, whose bytes may also be zero.
    Ok(unsafe { value.assume_init() })
}

/// The results of [`functions`].
type Action = Result<()>;
type Value<T> = Result<T>;
type Array<T> = Result<Allocated<T>>;

/// Defines methods of [`Jvmti`] that only call a function of the JVMTI function table. Its last arguments are places
/// for the result, if it has one.
macro_rules! functions {
    ($(
        $(#[$doc:meta])*
        $visible:vis fn $name:ident($($argument:ident: $type:ty),*) -> $kind:ident $(<$result:ty>)?
            = $slot:ident($($passed:expr),*);
    )*) => {
        impl Jvmti {$(
            $(#[$doc])*
            $visible fn $name(self $(, $argument: $type)*) -> $crate::jvmti::$kind $(<$result>)? {
                functions!(@ $kind, self, $slot $(, $passed)*)
            }
        )*}
    };
    (@ Action, $jvmti:ident, $slot:ident $(, $passed:expr)*) => {
        jvmti!($jvmti, $slot $(, $passed)*)
    };
    (@ Value, $jvmti:ident, $slot:ident $(, $passed:expr)*) => {
        $crate::jvmti::written(|value| jvmti!($jvmti, $slot $(, $passed)*, value))
    };
    (@ Array, $jvmti:ident, $slot:ident $(, $passed:expr)*) => {
        $jvmti.allocated(|count, array| jvmti!($jvmti, $slot $(, $passed)*, count, array))
    };
}

use functions;

/// An array or a string that JVMTI allocated; deallocated when dropped.
pub struct Allocated<T> {
    jvmti: Jvmti,
    start: *mut T,
    length: usize,
}

impl<T> Allocated<T> {
    /// Returns the address, for passing it to JVMTI.
    pub(super) fn start(&self) -> *mut T {
        self.start
    }
}

impl<T> Deref for Allocated<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: JVMTI filled `length` elements at `start`, which this value owns.
        unsafe { slice::from_raw_parts(self.start, self.length) }
    }
}

impl<T> Drop for Allocated<T> {
    fn drop(&mut self) {
        self.jvmti.deallocate(self.start.cast());
    }
}

functions! {
    pub(crate) fn potential_capabilities() -> Value<jvmtiCapabilities> = GetPotentialCapabilities();
    pub(crate) fn add_capabilities(capabilities: &jvmtiCapabilities) -> Action
        = AddCapabilities(capabilities);
    pub(crate) fn relinquish_capabilities(capabilities: &jvmtiCapabilities) -> Action
        = RelinquishCapabilities(capabilities);
    /// Sends the events of this type for everything that already exists, on this thread.
    pub fn generate_events(event: jvmtiEvent) -> Action = GenerateEvents(event);
    pub fn phase() -> Value<jvmtiPhase> = GetPhase();
}

impl Jvmti {
    /// # Safety
    /// `env` is a JVMTI environment that is never disposed of.
    pub unsafe fn new(env: *mut jvmtiEnv) -> Self {
        Self(env)
    }

    /// Disposes of the environment.
    ///
    /// # Safety
    /// The environment is not used any more.
    pub(crate) unsafe fn dispose(self) {
        // The VM keeps what it cannot dispose of.
        let _ = jvmti!(self, DisposeEnvironment);
    }

    // Memory

    fn allocate(self, size: usize) -> Result<*mut u8> {
        written(|memory| jvmti!(self, Allocate, size as jlong, memory))
    }

    /// Copies bytes to memory that JVMTI can take ownership of. Returns its address and length.
    pub fn copy(self, bytes: &[u8]) -> Option<(*mut u8, jint)> {
        let length = jint::try_from(bytes.len()).ok()?;
        let memory = self.allocate(bytes.len()).ok()?;
        // SAFETY: Allocate has just returned this many bytes, and there is no other pointer to them.
        unsafe { memory.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Some((memory, length))
    }

    /// Frees memory that JVMTI allocated. NULL has no effect.
    pub(crate) fn deallocate(self, memory: *mut u8) {
        let result = jvmti!(self, Deallocate, memory);
        debug_assert!(result.is_ok());
    }

    pub(super) fn array<T>(self, start: *mut T, length: jint) -> Allocated<T> {
        Allocated { jvmti: self, start, length: usize::try_from(length).unwrap_or(0) }
    }

    /// Returns the array that a call allocates and whose length and address it writes to the given places.
    pub(super) fn allocated<T>(
        self,
        call: impl FnOnce(&mut jint, &mut *mut T) -> Result<()>,
    ) -> Result<Allocated<T>> {
        let (mut length, mut start) = (0, ptr::null_mut());
        call(&mut length, &mut start)?;
        Ok(self.array(start, length))
    }

    /// Copies a string that JVMTI allocated, and frees the original. NULL becomes "".
    fn string(self, text: *mut c_char) -> CString {
        if text.is_null() {
            return CString::default();
        }
        // SAFETY: JVMTI strings are NUL-terminated.
        let copy = unsafe { CStr::from_ptr(text) }.to_owned();
        self.deallocate(text.cast());
        copy
    }

    // Capabilities, events, phase

    pub fn set_callbacks(self, callbacks: &jvmtiEventCallbacks) -> Result<()> {
        let size = size_of::<jvmtiEventCallbacks>() as jint;
        jvmti!(self, SetEventCallbacks, callbacks, size)
    }

    pub fn set_notification(self, event: jvmtiEvent, on: bool) -> Result<()> {
        assert_none_held();
        let mode = if on { JVMTI_ENABLE } else { JVMTI_DISABLE };
        // SAFETY: the environment is live, and NULL means all threads. Called outside the macro
        // because the C function is variadic.
        unsafe {
            match (**self.0).SetEventNotificationMode {
                Some(function) => Error::check(function(self.0, mode, event, ptr::null_mut())),
                None => Err(Error(JVMTI_ERROR_NOT_AVAILABLE)),
            }
        }
    }

    /// Returns a system property of the VM, if it is set.
    pub fn system_property(self, name: &CStr) -> Option<CString> {
        let get = |value: *mut _| jvmti!(self, GetSystemProperty, name.as_ptr(), value);
        written(get).ok().map(|value| self.string(value))
    }

    /// Returns the Java version, for example 17; 0 if the VM does not report it.
    pub fn feature_version(self) -> u32 {
        let version = self.system_property(c"java.vm.specification.version");
        version.and_then(|text| text.to_str().ok()?.parse().ok()).unwrap_or(0)
    }
}
