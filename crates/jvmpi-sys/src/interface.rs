//! The function table, and the functions that agents and `libjvmpi` export.

use core::ffi::{c_char, c_void};

use jni_sys::{JNIEnv, JavaVM, jboolean, jint, jlong, jmethodID, jobject};

use crate::{JVMPI_CallTrace, JVMPI_Event, JVMPI_RawMonitor, jobjectID};

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

    /// Switches an event on for all threads. `arg` is not used.
    pub EnableEvent: Option<unsafe extern "C" fn(event_type: jint, arg: *mut c_void) -> jint>,
    /// Switches an event off for all threads. `arg` is not used.
    pub DisableEvent: Option<unsafe extern "C" fn(event_type: jint, arg: *mut c_void) -> jint>,
    /// Sends one event to the calling thread before returning, enabled or not. `arg` is the
    /// `jobjectID` of a class, thread or object, or a `JVMPI_HeapDumpArg *`. Not in `JVM_OnLoad`.
    pub RequestEvent: Option<unsafe extern "C" fn(event_type: jint, arg: *mut c_void) -> jint>,

    /// Writes the innermost frames, at most `depth`, of the thread `trace.env_id`.
    pub GetCallTrace: Option<unsafe extern "C" fn(trace: *mut JVMPI_CallTrace, depth: jint)>,

    /// Ends the process with this exit status; does not return.
    pub ProfilerExit: Option<unsafe extern "C" fn(exit_code: jint)>,

    /// Creates a recursive mutex with a condition; copies the name.
    pub RawMonitorCreate: Option<unsafe extern "C" fn(lock_name: *mut c_char) -> JVMPI_RawMonitor>,
    /// Enters the monitor.
    pub RawMonitorEnter: Option<unsafe extern "C" fn(lock_id: JVMPI_RawMonitor)>,
    /// Leaves the monitor.
    pub RawMonitorExit: Option<unsafe extern "C" fn(lock_id: JVMPI_RawMonitor)>,
    /// Waits so many milliseconds to be notified, 0 for ever; may wake early.
    pub RawMonitorWait: Option<unsafe extern "C" fn(lock_id: JVMPI_RawMonitor, ms: jlong)>,
    /// Wakes all threads that wait.
    pub RawMonitorNotifyAll: Option<unsafe extern "C" fn(lock_id: JVMPI_RawMonitor)>,
    /// Frees the monitor.
    pub RawMonitorDestroy: Option<unsafe extern "C" fn(lock_id: JVMPI_RawMonitor)>,

    /// CPU time of the calling thread, in nanoseconds.
    pub GetCurrentThreadCpuTime: Option<unsafe extern "C" fn() -> jlong>,

    /// Suspends a thread. Only in GC-off mode, until every suspended thread is resumed.
    pub SuspendThread: Option<unsafe extern "C" fn(env: *mut JNIEnv)>,
    /// Resumes a thread.
    pub ResumeThread: Option<unsafe extern "C" fn(env: *mut JNIEnv)>,
    /// `JVMPI_THREAD_…`; 0 if there is no such thread.
    pub GetThreadStatus: Option<unsafe extern "C" fn(env: *mut JNIEnv) -> jint>,
    /// Whether a suspended thread used CPU time since it was last resumed.
    pub ThreadHasRun: Option<unsafe extern "C" fn(env: *mut JNIEnv) -> jboolean>,
    /// Runs `f(NULL)` in a new daemon Java thread. Only in MT mode, from `JVM_INIT_DONE` on.
    /// Returns `JNI_OK` or `JNI_ERR`.
    pub CreateSystemThread: Option<
        unsafe extern "C" fn(
            name: *mut c_char,
            priority: jint,
            f: Option<unsafe extern "C" fn(arg: *mut c_void)>,
        ) -> jint,
    >,
    /// Sets a thread's pointer, NULL at first.
    pub SetThreadLocalStorage: Option<unsafe extern "C" fn(env: *mut JNIEnv, ptr: *mut c_void)>,
    /// Gets a thread's pointer.
    pub GetThreadLocalStorage: Option<unsafe extern "C" fn(env: *mut JNIEnv) -> *mut c_void>,

    /// Begins GC-off mode; calls nest and are counted for the whole VM.
    pub DisableGC: Option<unsafe extern "C" fn()>,
    /// Ends GC-off mode.
    pub EnableGC: Option<unsafe extern "C" fn()>,
    /// Does a full collection, with its events. Only in MT mode.
    pub RunGC: Option<unsafe extern "C" fn()>,

    /// The Thread object of a thread. Only in GC-off mode.
    pub GetThreadObject: Option<unsafe extern "C" fn(env: *mut JNIEnv) -> jobjectID>,
    /// The class that declares a method. Only in GC-off mode.
    pub GetMethodClass: Option<unsafe extern "C" fn(mid: jmethodID) -> jobjectID>,

    /// A new local reference. Since version 1.1. Only in GC-off mode.
    pub jobjectID2jobject: Option<unsafe extern "C" fn(jid: jobjectID) -> jobject>,
    /// The ID of what is referred to. Since version 1.1. Only in GC-off mode.
    pub jobject2jobjectID: Option<unsafe extern "C" fn(jobj: jobject) -> jobjectID>,

    /// Suspends threads; each result is 0 for success. Since version 1.2.
    pub SuspendThreadList: Option<
        unsafe extern "C" fn(reqCount: jint, env_list: *mut *mut JNIEnv, results: *mut jint),
    >,
    /// Resumes threads; each result is 0 for success. Since version 1.2.
    pub ResumeThreadList: Option<
        unsafe extern "C" fn(reqCount: jint, env_list: *mut *mut JNIEnv, results: *mut jint),
    >,
}

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
