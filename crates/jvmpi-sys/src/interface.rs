//! The function table, and the functions that agents and `libjvmpi` export.

use core::ffi::{c_char, c_void};

use jni_sys::{JNIEnv, JavaVM, jboolean, jint, jlong, jmethodID, jobject};

use crate::{JVMPI_CallTrace, JVMPI_Event, JVMPI_RawMonitor, jobjectID};

/// Expands to `$then! { rows }`, with one row for each function of the table, in its order:
///
/// ```text
/// /// What the function does.
/// fn Name(argument: type, …) -> result, else value;
/// ```
///
/// The value after `else` is the result of a failed call. The names of types and values are those of this crate,
/// `jni_sys` and `core`, and must be in scope.
#[macro_export]
macro_rules! for_each_function {
    ($then:ident) => {
        $then! {
        /// Enables an event for all threads. `arg` is not used.
            fn EnableEvent(event_type: jint, arg: *mut c_void) -> jint, else JVMPI_FAIL;
        /// Disables an event for all threads. `arg` is not used.
            fn DisableEvent(event_type: jint, arg: *mut c_void) -> jint, else JVMPI_FAIL;
        /// Sends one event to the calling thread before returning, even if the event is disabled. `arg` is the
        /// `jobjectID` of a class, thread or object, or a `JVMPI_HeapDumpArg *`. Not in `JVM_OnLoad`.
            fn RequestEvent(event_type: jint, arg: *mut c_void) -> jint, else JVMPI_FAIL;

        /// Writes the innermost frames of the thread `trace.env_id`, at most `depth`.
            fn GetCallTrace(trace: *mut JVMPI_CallTrace, depth: jint), else ();

            /// Ends the process with this exit status; does not return.
            fn ProfilerExit(exit_code: jint), else ();

        /// Creates a reentrant mutex with a condition variable. The name is copied.
            fn RawMonitorCreate(lock_name: *mut c_char) -> JVMPI_RawMonitor, else ptr::null_mut();
            /// Enters the monitor.
            fn RawMonitorEnter(lock_id: JVMPI_RawMonitor), else ();
        /// Exits the monitor.
            fn RawMonitorExit(lock_id: JVMPI_RawMonitor), else ();
        /// Waits up to `ms` milliseconds to be notified, without limit if `ms` is 0. May return early.
            fn RawMonitorWait(lock_id: JVMPI_RawMonitor, ms: jlong), else ();
        /// Wakes all threads that wait on the monitor.
            fn RawMonitorNotifyAll(lock_id: JVMPI_RawMonitor), else ();
        /// Destroys the monitor.
            fn RawMonitorDestroy(lock_id: JVMPI_RawMonitor), else ();

        /// Returns the CPU time of the calling thread in nanoseconds.
            fn GetCurrentThreadCpuTime() -> jlong, else 0;

        /// Suspends a thread. Only in GC-off mode, which must last until every suspended thread is resumed.
            fn SuspendThread(env: *mut JNIEnv), else ();
            /// Resumes a thread.
            fn ResumeThread(env: *mut JNIEnv), else ();
        /// Returns `JVMPI_THREAD_…`, or 0 if there is no such thread.
            fn GetThreadStatus(env: *mut JNIEnv) -> jint, else 0;
        /// Returns true if a suspended thread used CPU time since it was last resumed.
            fn ThreadHasRun(env: *mut JNIEnv) -> jboolean, else false;
            /// Runs `f(NULL)` in a new daemon Java thread. Only in MT mode, from `JVM_INIT_DONE` on.
            /// Returns `JNI_OK` or `JNI_ERR`.
            fn CreateSystemThread(
                name: *mut c_char,
                priority: jint,
                f: Option<unsafe extern "C" fn(arg: *mut c_void)>
            ) -> jint, else JNI_ERR;
        /// Sets the thread-local pointer of a thread. It is NULL at first.
            fn SetThreadLocalStorage(env: *mut JNIEnv, ptr: *mut c_void), else ();
        /// Returns the thread-local pointer of a thread.
            fn GetThreadLocalStorage(env: *mut JNIEnv) -> *mut c_void, else ptr::null_mut();

        /// Enters GC-off mode. Calls nest and are counted for the whole VM.
            fn DisableGC(), else ();
        /// Leaves GC-off mode.
            fn EnableGC(), else ();
        /// Runs a full collection and sends its events. Only in MT mode.
            fn RunGC(), else ();

        /// Returns the Thread object of a thread. Only in GC-off mode.
            fn GetThreadObject(env: *mut JNIEnv) -> jobjectID, else ptr::null_mut();
        /// Returns the class that declares a method. Only in GC-off mode.
            fn GetMethodClass(mid: jmethodID) -> jobjectID, else ptr::null_mut();

        /// Creates a local reference to an object. Since version 1.1. Only in GC-off mode.
            fn jobjectID2jobject(jid: jobjectID) -> jobject, else ptr::null_mut();
        /// Returns the ID of the object that a reference refers to. Since version 1.1. Only in GC-off mode.
            fn jobject2jobjectID(jobj: jobject) -> jobjectID, else ptr::null_mut();

            /// Suspends threads; each result is 0 for success. Since version 1.2.
            fn SuspendThreadList(reqCount: jint, env_list: *mut *mut JNIEnv, results: *mut jint), else ();
            /// Resumes threads; each result is 0 for success. Since version 1.2.
            fn ResumeThreadList(reqCount: jint, env_list: *mut *mut JNIEnv, results: *mut jint), else ();
        }
    };
}

macro_rules! declare {
    ($(
        $(#[doc = $what:literal])*
        fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, else $otherwise:expr;
    )*) => {
    /// The function table, which `GetEnv` returns for a JVMPI version. It belongs to the VM and lives as long as
    /// the VM.
    ///
    /// Unless its comment says otherwise, a function may be called in `JVM_OnLoad`, in MT mode and in GC-off mode,
    /// from any thread that the VM knows.
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct JVMPI_Interface {
        /// The version of the table, one of `JVMPI_VERSION_…`; not lower than the requested version.
            pub version: jint,

        /// The agent's event handler. The agent sets it before `JVM_OnLoad` returns. Several threads may call
        /// it at the same time.
            pub NotifyEvent: Option<unsafe extern "C" fn(event: *mut JVMPI_Event)>,

            $(
                $(#[doc = $what])*
                pub $name: Option<unsafe extern "C" fn($($argument: $type),*) $(-> $result)?>,
            )*
        }
    };
}

for_each_function!(declare);

/// A sample of the CPU time of a thread: an extension of `libjvmpi`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_CpuSample {
    /// The frames; `env_id` is NULL if the thread is not a Java thread.
    pub trace: JVMPI_CallTrace,
    /// The thread's object as in THREAD_START, also after the thread's end. NULL if it is not known.
    pub thread_id: jobjectID,
    /// One of the `JVMPI_CPU_SAMPLE_…` constants.
    pub kind: jint,
    /// The number of intervals of CPU time that the sample stands for, at least 1.
    pub count: jint,
    /// True if the stack has more frames than `trace.frames`.
    pub truncated: jboolean,
}

/// The functions that `GetEnv` returns for [`JVMPI_CPU_SAMPLING_1`](crate::JVMPI_CPU_SAMPLING_1): an extension of
/// `libjvmpi`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_CpuSampling {
    /// Starts a timer on the CPU clock of each thread. Takes the interval in nanoseconds and the largest number of
    /// frames. Returns `JVMPI_SUCCESS`, `JVMPI_FAIL`, or `JVMPI_NOT_AVAILABLE` while another agent samples. In MT
    /// mode, from `JVM_INIT_DONE` on.
    pub StartCpuSamples: Option<unsafe extern "C" fn(interval: jlong, depth: jint) -> jint>,
    /// Ends the timers. Samples that wait are dropped.
    pub StopCpuSamples: Option<unsafe extern "C" fn()>,
    /// Fills in the next sample, whose `trace.frames` has space for `depth` frames, and returns 0. If no sample waits,
    /// returns the number of milliseconds after which the agent should ask again. In GC-off mode, by one thread at a
    /// time.
    pub NextCpuSample:
        Option<unsafe extern "C" fn(sample: *mut JVMPI_CpuSample, depth: jint) -> jint>,
}

/// The type of the function that an agent exports as `JVM_OnLoad`.
///
/// `options` is the text after the first `:` of the agent's option on the command line, or NULL. `reserved` is NULL.
/// Any result other than `JNI_OK` makes the VM exit during startup.
pub type JVM_OnLoad =
    unsafe extern "system" fn(vm: *mut JavaVM, options: *mut c_char, reserved: *mut c_void) -> jint;

/// The type of the function that an agent may export as `JVM_OnUnload`. The VM calls it when it unloads the agent.
pub type JVM_OnUnload = unsafe extern "system" fn(vm: *mut JavaVM);

/// The type of the function `jvmpi_get_interface`, which `libjvmpi` exports for programs that embed a VM.
///
/// It returns `JNI_OK` and sets `*interface_ptr`, or returns a JNI error and sets `*interface_ptr` to NULL.
pub type jvmpi_get_interface = unsafe extern "system" fn(
    vm: *mut JavaVM,
    version: jint,
    interface_ptr: *mut *mut JVMPI_Interface,
) -> jint;
