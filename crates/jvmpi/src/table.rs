//! The function table of the VM.

use crate::EventType;
use jni_sys::{JNI_OK, JNIEnv, JavaVM, jboolean, jint, jlong, jmethodID, jobject};
use jvmpi_sys::*;
use std::ffi::{c_char, c_void};
use std::fmt;
use std::num::NonZeroU32;
use std::ptr;

/// The functions of the VM that any thread may call at any time. Functions that only some modes permit belong
/// to [`Context`](crate::Context), which dereferences to this type.
#[derive(Clone, Copy)]
pub struct Jvmpi(&'static Table);

// SAFETY: any thread may call the functions; the functions of `Context` restrict those with a mode.
unsafe impl Send for Jvmpi {}
// SAFETY: as above.
unsafe impl Sync for Jvmpi {}

type SuspendList = unsafe extern "C" fn(jint, *mut *mut JNIEnv, *mut jint);

macro_rules! table {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// A copy of the table, made when the agent was loaded. If the VM leaves a required entry empty, the
        /// load fails.
        #[allow(non_snake_case)]
        pub struct Table {
            pub vm: *mut JavaVM,
            pub version: jint,
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            pub jobjectID2jobject: Option<unsafe extern "C" fn(jobjectID) -> jobject>,
            pub jobject2jobjectID: Option<unsafe extern "C" fn(jobject) -> jobjectID>,
            pub SuspendThreadList: Option<SuspendList>,
        }

        impl Table {
            /// Reads the entries that a table of this version has. Returns the name of a required entry
            /// that is NULL.
            ///
            /// # Safety
            /// `interface` is a table of this version.
            unsafe fn read(
                vm: *mut JavaVM,
                version: jint,
                interface: *const JVMPI_Interface,
            ) -> Result<Self, &'static str> {
                /// Reads an entry if tables of this version have it.
                macro_rules! since {
                    ($since:ident, $function:ident) => {
                        if version >= $since {
                            // SAFETY: a table of this version is long enough for the entry.
                            unsafe { ptr::addr_of!((*interface).$function).read() }
                        } else {
                            None
                        }
                    };
                }
                Ok(Self {
                    vm,
                    version,
                    $($name: since!(JVMPI_VERSION_1, $name).ok_or(stringify!($name))?,)*
                    jobjectID2jobject: since!(JVMPI_VERSION_1_1, jobjectID2jobject),
                    jobject2jobjectID: since!(JVMPI_VERSION_1_1, jobject2jobjectID),
                    SuspendThreadList: since!(JVMPI_VERSION_1_2, SuspendThreadList),
                })
            }
        }
    };
}

table! {
    EnableEvent: fn(jint, *mut c_void) -> jint;
    DisableEvent: fn(jint, *mut c_void) -> jint;
    RequestEvent: fn(jint, *mut c_void) -> jint;
    GetCallTrace: fn(*mut JVMPI_CallTrace, jint);
    ProfilerExit: fn(jint);
    RawMonitorCreate: fn(*mut c_char) -> JVMPI_RawMonitor;
    RawMonitorEnter: fn(JVMPI_RawMonitor);
    RawMonitorExit: fn(JVMPI_RawMonitor);
    RawMonitorWait: fn(JVMPI_RawMonitor, jlong);
    RawMonitorNotifyAll: fn(JVMPI_RawMonitor);
    RawMonitorDestroy: fn(JVMPI_RawMonitor);
    GetCurrentThreadCpuTime: fn() -> jlong;
    SuspendThread: fn(*mut JNIEnv);
    ResumeThread: fn(*mut JNIEnv);
    GetThreadStatus: fn(*mut JNIEnv) -> jint;
    ThreadHasRun: fn(*mut JNIEnv) -> jboolean;
    CreateSystemThread: fn(*mut c_char, jint, Option<unsafe extern "C" fn(*mut c_void)>) -> jint;
    SetThreadLocalStorage: fn(*mut JNIEnv, *mut c_void);
    GetThreadLocalStorage: fn(*mut JNIEnv) -> *mut c_void;
    DisableGC: fn();
    EnableGC: fn();
    RunGC: fn();
    GetThreadObject: fn(*mut JNIEnv) -> jobjectID;
    GetMethodClass: fn(jmethodID) -> jobjectID;
}

impl Jvmpi {
    /// Returns the newest version of the interface that the VM offers, and the VM's table, into which the agent
    /// writes its handler.
    ///
    /// # Safety
    /// `vm` is the VM that is calling `JVM_OnLoad`.
    pub(crate) unsafe fn get(vm: *mut JavaVM) -> Result<(Self, *mut JVMPI_Interface), String> {
        for version in [JVMPI_VERSION_1_2, JVMPI_VERSION_1_1, JVMPI_VERSION_1] {
            let mut interface = ptr::null_mut();
            // SAFETY: as the caller promises, and `interface` has room for a pointer.
            if unsafe { ((**vm).v1_2.GetEnv)(vm, &mut interface, version) } != JNI_OK {
                continue;
            }
            let interface: *mut JVMPI_Interface = interface.cast();
            if interface.is_null() {
                continue;
            }
            // SAFETY: the VM returned the table for this version.
            let table = unsafe { Table::read(vm, version, interface) }
                .map_err(|name| format!("the JVMPI function table of this VM lacks {name}"))?;
            // Leaked because the agent is never unloaded.
            return Ok((Self(Box::leak(Box::new(table))), interface));
        }
        Err("this VM does not have JVMPI; load the agent through jvmpi".to_owned())
    }

    pub(crate) fn table(self) -> &'static Table {
        self.0
    }

    /// Returns the version of the interface: one of the `JVMPI_VERSION_…` constants.
    pub fn version(self) -> i32 {
        self.0.version
    }

    /// Returns the VM, for calls of JNI functions.
    pub fn java_vm(self) -> *mut JavaVM {
        self.0.vm
    }

    /// EnableEvent: enables an event for all threads.
    pub fn enable(self, event: EventType) -> Result<(), EventError> {
        self.enable_with(event, ptr::null_mut())
    }

    /// EnableEvent: enables OBJECT_ALLOC for samples only. The program allocates `interval` bytes between two sample
    /// points on average, and the object that contains a sample point is reported. This is an extension of
    /// libjvmpi.so. Fails if allocations are already reported with another interval.
    pub fn enable_sampled_allocations(self, interval: NonZeroU32) -> Result<(), EventError> {
        let interval = ptr::without_provenance_mut(interval.get() as usize);
        self.enable_with(EventType::ObjectAlloc, interval)
    }

    fn enable_with(self, event: EventType, arg: *mut c_void) -> Result<(), EventError> {
        // SAFETY: EnableEvent may be called at any time. It does not dereference the second argument.
        EventError::check(unsafe { (self.0.EnableEvent)(event as jint, arg) }, event.name())
    }

    /// DisableEvent: disables an event for all threads. A handler that is already running continues.
    pub fn disable(self, event: EventType) -> Result<(), EventError> {
        // SAFETY: as above.
        EventError::check(
            unsafe { (self.0.DisableEvent)(event as jint, ptr::null_mut()) },
            event.name(),
        )
    }

    /// GetCurrentThreadCpuTime: returns the CPU time of the calling thread, in nanoseconds.
    #[inline]
    pub fn current_thread_cpu_time(self) -> i64 {
        // SAFETY: GetCurrentThreadCpuTime may be called at any time.
        unsafe { (self.0.GetCurrentThreadCpuTime)() }
    }

    /// ProfilerExit: ends the process with this exit status. No further events are sent.
    pub fn profiler_exit(self, exit_code: i32) -> ! {
        // SAFETY: ProfilerExit may be called at any time.
        unsafe { (self.0.ProfilerExit)(exit_code) };
        // ProfilerExit does not return. If some VM returns, do not let the agent continue after all.
        std::process::abort()
    }
}

impl fmt::Debug for Jvmpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Jvmpi {{ version: {:#x} }}", self.0.version)
    }
}

/// The reason why an event was not enabled, disabled or sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventError {
    /// This VM does not support the event.
    NotAvailable(&'static str),
    /// The VM supports the event but failed, for example because there is no such object.
    Failed(&'static str),
}

impl EventError {
    pub(crate) fn check(result: jint, event: &'static str) -> Result<(), Self> {
        match result {
            JVMPI_SUCCESS => Ok(()),
            JVMPI_NOT_AVAILABLE => Err(Self::NotAvailable(event)),
            _ => Err(Self::Failed(event)),
        }
    }
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAvailable(event) => write!(f, "this VM does not support {event}"),
            Self::Failed(event) => write!(f, "the VM failed to enable, disable or send {event}"),
        }
    }
}

impl std::error::Error for EventError {}
