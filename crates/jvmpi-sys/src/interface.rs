//! The function table, and the functions that agents and `libjvmpi` export.

use core::ffi::{c_char, c_void};

use jni_sys::{JNIEnv, JavaVM, jboolean, jint, jlong, jmethodID, jobject};

use crate::{JVMPI_CallTrace, JVMPI_Event, JVMPI_RawMonitor, jobjectID};

/// Expands to `$then! { rows }`, with one row for each function of the table, in its order:
///
/// ```text
/// /// What it does.
/// fn Name(argument: type, …) -> result, else value;
/// ```
///
/// The value is what it returns when it fails. Types and values are named as in this crate, in `jni_sys`
/// and in `core`, and have to be imported.
#[macro_export]
macro_rules! for_each_function {
    ($then:ident) => {
        $then! {
            /// Switches an event on for all threads. `arg` is not used.
            fn EnableEvent(event_type: jint, arg: *mut c_void) -> jint, else JVMPI_FAIL;
            /// Switches an event off for all threads. `arg` is not used.
            fn DisableEvent(event_type: jint, arg: *mut c_void) -> jint, else JVMPI_FAIL;
            /// Sends one event to the calling thread before returning, enabled or not. `arg` is the
            /// `jobjectID` of a class, thread or object, or a `JVMPI_HeapDumpArg *`. Not in `JVM_OnLoad`.
            fn RequestEvent(event_type: jint, arg: *mut c_void) -> jint, else JVMPI_FAIL;

            /// Writes the innermost frames, at most `depth`, of the thread `trace.env_id`.
            fn GetCallTrace(trace: *mut JVMPI_CallTrace, depth: jint), else ();

            /// Ends the process with this exit status; does not return.
            fn ProfilerExit(exit_code: jint), else ();

            /// Creates a recursive mutex with a condition; copies the name.
            fn RawMonitorCreate(lock_name: *mut c_char) -> JVMPI_RawMonitor, else ptr::null_mut();
            /// Enters the monitor.
            fn RawMonitorEnter(lock_id: JVMPI_RawMonitor), else ();
            /// Leaves the monitor.
            fn RawMonitorExit(lock_id: JVMPI_RawMonitor), else ();
            /// Waits so many milliseconds to be notified, 0 for ever; may wake early.
            fn RawMonitorWait(lock_id: JVMPI_RawMonitor, ms: jlong), else ();
            /// Wakes all threads that wait.
            fn RawMonitorNotifyAll(lock_id: JVMPI_RawMonitor), else ();
            /// Frees the monitor.
            fn RawMonitorDestroy(lock_id: JVMPI_RawMonitor), else ();

            /// CPU time of the calling thread, in nanoseconds.
            fn GetCurrentThreadCpuTime() -> jlong, else 0;

            /// Suspends a thread. Only in GC-off mode, until every suspended thread is resumed.
            fn SuspendThread(env: *mut JNIEnv), else ();
            /// Resumes a thread.
            fn ResumeThread(env: *mut JNIEnv), else ();
            /// `JVMPI_THREAD_…`; 0 if there is no such thread.
            fn GetThreadStatus(env: *mut JNIEnv) -> jint, else 0;
            /// Whether a suspended thread used CPU time since it was last resumed.
            fn ThreadHasRun(env: *mut JNIEnv) -> jboolean, else false;
            /// Runs `f(NULL)` in a new daemon Java thread. Only in MT mode, from `JVM_INIT_DONE` on.
            /// Returns `JNI_OK` or `JNI_ERR`.
            fn CreateSystemThread(
                name: *mut c_char,
                priority: jint,
                f: Option<unsafe extern "C" fn(arg: *mut c_void)>
            ) -> jint, else JNI_ERR;
            /// Sets a thread's pointer, NULL at first.
            fn SetThreadLocalStorage(env: *mut JNIEnv, ptr: *mut c_void), else ();
            /// Gets a thread's pointer.
            fn GetThreadLocalStorage(env: *mut JNIEnv) -> *mut c_void, else ptr::null_mut();

            /// Begins GC-off mode; calls nest and are counted for the whole VM.
            fn DisableGC(), else ();
            /// Ends GC-off mode.
            fn EnableGC(), else ();
            /// Does a full collection, with its events. Only in MT mode.
            fn RunGC(), else ();

            /// The Thread object of a thread. Only in GC-off mode.
            fn GetThreadObject(env: *mut JNIEnv) -> jobjectID, else ptr::null_mut();
            /// The class that declares a method. Only in GC-off mode.
            fn GetMethodClass(mid: jmethodID) -> jobjectID, else ptr::null_mut();

            /// A new local reference. Since version 1.1. Only in GC-off mode.
            fn jobjectID2jobject(jid: jobjectID) -> jobject, else ptr::null_mut();
            /// The ID of what is referred to. Since version 1.1. Only in GC-off mode.
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
        /// What `GetEnv` returns for a JVMPI version. It belongs to the VM and lives as long as it does.
        ///
        /// Unless its comment says otherwise, a function may be called in `JVM_OnLoad` and in MT and
        /// GC-off mode, from any thread the VM knows.
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct JVMPI_Interface {
            /// `JVMPI_VERSION_…` that the table has; not lower than what was asked.
            pub version: jint,

            /// The agent's handler, to be set before `JVM_OnLoad` returns. Several threads may be in it
            /// at the same time.
            pub NotifyEvent: Option<unsafe extern "C" fn(event: *mut JVMPI_Event)>,

            $(
                $(#[doc = $what])*
                pub $name: Option<unsafe extern "C" fn($($argument: $type),*) $(-> $result)?>,
            )*
        }
    };
}

for_each_function!(declare);

/// The function an agent exports as `JVM_OnLoad`. `options` is what follows the first `:` of the
/// agent's option on the command line, or NULL; `reserved` is NULL. Any result but `JNI_OK` ends
/// the VM's start.
pub type JVM_OnLoad =
    unsafe extern "system" fn(vm: *mut JavaVM, options: *mut c_char, reserved: *mut c_void) -> jint;

/// The function an agent may export as `JVM_OnUnload`, called when the VM unloads the agent.
pub type JVM_OnUnload = unsafe extern "system" fn(vm: *mut JavaVM);

/// The function `libjvmpi` exports as `jvmpi_get_interface`, for a program that embeds the VM.
/// Returns `JNI_OK` and sets `*interface_ptr`, or returns a JNI error and sets it to NULL.
pub type jvmpi_get_interface = unsafe extern "system" fn(
    vm: *mut JavaVM,
    version: jint,
    interface_ptr: *mut *mut JVMPI_Interface,
) -> jint;
