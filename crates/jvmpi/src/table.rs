//! The functions of the VM.

use crate::EventType;
use jni_sys::{JNI_OK, JNIEnv, JavaVM, jboolean, jint, jlong, jmethodID, jobject};
use jvmpi_sys::*;
use std::ffi::{c_char, c_void};
use std::fmt;
use std::ptr;

/// The VM's functions, as safe ones where they can be called at any time by any thread. Those that a
/// thread may call only in some modes are functions of a [`Context`](crate::Context), which goes by
/// this name too (it dereferences to it).
#[derive(Clone, Copy)]
pub struct Jvmpi(&'static Table);

// SAFETY: the functions may be called by any thread; where there is a rule, the caller keeps it.
unsafe impl Send for Jvmpi {}
// SAFETY: as above.
unsafe impl Sync for Jvmpi {}

type SuspendList = unsafe extern "C" fn(jint, *mut *mut JNIEnv, *mut jint);

macro_rules! table {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The table as it was when the agent was loaded; an entry that the VM leaves empty stops the agent
        /// from being loaded.
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
            /// Reads the VM's table, whose entries up to this version are there; the name of one that is
            /// NULL otherwise.
            ///
            /// # Safety
            /// `interface` is a table of this version.
            unsafe fn read(
                vm: *mut JavaVM,
                version: jint,
                interface: *const JVMPI_Interface,
            ) -> Result<Self, &'static str> {
                /// The function, if the table has it in this version.
                macro_rules! since {
                    ($since:ident, $function:ident) => {
                        if version >= $since {
                            // SAFETY: the table reaches that far.
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
    /// The interface of this VM, in the newest version that it has, and where it wants the agent's
    /// handler.
    ///
    /// # Safety
    /// `vm` is the VM that calls `JVM_OnLoad`.
    pub(crate) unsafe fn get(vm: *mut JavaVM) -> Result<(Self, *mut JVMPI_Interface), String> {
        for version in [JVMPI_VERSION_1_2, JVMPI_VERSION_1_1, JVMPI_VERSION_1] {
            let mut interface = ptr::null_mut();
            // SAFETY: as the caller promises, and there is room for a pointer.
            if unsafe { ((**vm).v1_2.GetEnv)(vm, &mut interface, version) } != JNI_OK {
                continue;
            }
            let interface: *mut JVMPI_Interface = interface.cast();
            if interface.is_null() {
                continue;
            }
            // SAFETY: the VM says that it is one of this version.
            let table = unsafe { Table::read(vm, version, interface) }
                .map_err(|name| format!("this VM has JVMPI without {name}"))?;
            // It lives as long as the agent, which is never unloaded.
            return Ok((Self(Box::leak(Box::new(table))), interface));
        }
        Err("this VM has no JVMPI: load the agent through libjvmpi.so".to_owned())
    }

    pub(crate) fn table(self) -> &'static Table {
        self.0
    }

    /// `JVMPI_VERSION_…` that the VM has.
    pub fn version(self) -> i32 {
        self.0.version
    }

    /// The VM, for the functions of JNI.
    pub fn java_vm(self) -> *mut JavaVM {
        self.0.vm
    }

    /// EnableEvent: from now on all threads send it.
    pub fn enable(self, event: EventType) -> Result<(), EventError> {
        // SAFETY: may be called at any time; the second argument is not used.
        EventError::check(
            unsafe { (self.0.EnableEvent)(event as jint, ptr::null_mut()) },
            event.name(),
        )
    }

    /// DisableEvent: no thread sends it any more. A handler that runs already goes on.
    pub fn disable(self, event: EventType) -> Result<(), EventError> {
        // SAFETY: as above.
        EventError::check(
            unsafe { (self.0.DisableEvent)(event as jint, ptr::null_mut()) },
            event.name(),
        )
    }

    /// GetCurrentThreadCpuTime: that of the calling thread, in nanoseconds.
    #[inline]
    pub fn current_thread_cpu_time(self) -> i64 {
        // SAFETY: may be called at any time.
        unsafe { (self.0.GetCurrentThreadCpuTime)() }
    }

    /// ProfilerExit: ends the process with this exit status. No event follows.
    pub fn profiler_exit(self, exit_code: i32) -> ! {
        // SAFETY: may be called at any time.
        unsafe { (self.0.ProfilerExit)(exit_code) };
        // It does not return. A VM in which it does must not go on with an agent that has given up.
        std::process::abort()
    }
}

impl fmt::Debug for Jvmpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Jvmpi {{ version: {:#x} }}", self.0.version)
    }
}

/// Why an event was not enabled, disabled or sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventError {
    /// This VM does not have the event.
    NotAvailable(&'static str),
    /// It has, but could not do what was asked: there is no such object, for example.
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
            Self::NotAvailable(event) => write!(f, "this VM has no {event}"),
            Self::Failed(event) => write!(f, "{event} failed in the VM"),
        }
    }
}

impl std::error::Error for EventError {}
