//! The JVMPI_Interface tables: thirty functions, one file per group of the specification.
//!
//! The interface passes no context, so each agent has a table of its own, whose functions are
//! compiled for its number.

mod events;
mod gc;
mod ids;
mod process;
mod raw_monitors;
mod threads;
mod traces;

use crate::boundary::guard;
use crate::world::agents::{self, MAX_AGENTS};
use jni_sys::{JNIEnv, jint, jlong, jmethodID, jobject};
use jvmpi_sys::*;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::ptr;

/// One agent's table; the agent writes `NotifyEvent` into it.
#[repr(transparent)]
struct Table(UnsafeCell<JVMPI_Interface>);

// SAFETY: the shim never writes to a table, and reads the one slot that the agent writes as a
// volatile whole.
unsafe impl Sync for Table {}

static TABLES: [Table; MAX_AGENTS] = [
    table::<0>(),
    table::<1>(),
    table::<2>(),
    table::<3>(),
    table::<4>(),
    table::<5>(),
    table::<6>(),
    table::<7>(),
];

/// The function table of the agent with this number, 0 to 7.
pub fn of(agent: usize) -> *mut JVMPI_Interface {
    TABLES[agent].0.get()
}

/// What `NotifyEvent` is until the agent sets it.
unsafe extern "C" fn ignore(_: *mut JVMPI_Event) {}

/// Defines the functions of the table. Each runs its body for the agent that it is compiled for,
/// and returns the value after `else` if the body panics.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:path, else $otherwise:expr;)*) => {$(
        unsafe extern "C" fn $name<const AGENT: usize>($($argument: $type),*) $(-> $result)? {
            // SAFETY: the agent passes what the specification of the function asks for.
            #[allow(unused_unsafe)]
            guard($otherwise, || unsafe { $body(agents::get(AGENT) $(, $argument)*) })
        }
    )*};
}

functions! {
    fn enable_event(event_type: jint, arg: *mut c_void) -> jint = events::enable, else JVMPI_FAIL;
    fn disable_event(event_type: jint, arg: *mut c_void) -> jint = events::disable, else JVMPI_FAIL;
    fn request_event(event_type: jint, arg: *mut c_void) -> jint = events::request, else JVMPI_FAIL;

    fn get_call_trace(trace: *mut JVMPI_CallTrace, depth: jint) = traces::get_call_trace, else ();

    fn profiler_exit(exit_code: jint) = process::profiler_exit, else ();

    fn raw_monitor_create(name: *mut c_char) -> JVMPI_RawMonitor
        = raw_monitors::create, else ptr::null_mut();
    fn raw_monitor_enter(monitor: JVMPI_RawMonitor) = raw_monitors::enter, else ();
    fn raw_monitor_exit(monitor: JVMPI_RawMonitor) = raw_monitors::exit, else ();
    fn raw_monitor_wait(monitor: JVMPI_RawMonitor, ms: jlong) = raw_monitors::wait, else ();
    fn raw_monitor_notify_all(monitor: JVMPI_RawMonitor) = raw_monitors::notify_all, else ();
    fn raw_monitor_destroy(monitor: JVMPI_RawMonitor) = raw_monitors::destroy, else ();

    fn get_current_thread_cpu_time() -> jlong = threads::current_cpu_time, else 0;
    fn suspend_thread(env: *mut JNIEnv) = threads::suspend, else ();
    fn resume_thread(env: *mut JNIEnv) = threads::resume, else ();
    fn get_thread_status(env: *mut JNIEnv) -> jint = threads::status, else 0;
    fn thread_has_run(env: *mut JNIEnv) -> bool = threads::has_run, else false;
    fn create_system_thread(
        name: *mut c_char,
        priority: jint,
        f: Option<unsafe extern "C" fn(*mut c_void)>
    ) -> jint = threads::create_system_thread, else jni_sys::JNI_ERR;
    fn set_thread_local_storage(env: *mut JNIEnv, value: *mut c_void)
        = threads::set_local_storage, else ();
    fn get_thread_local_storage(env: *mut JNIEnv) -> *mut c_void
        = threads::local_storage, else ptr::null_mut();

    fn disable_gc() = gc::disable, else ();
    fn enable_gc() = gc::enable, else ();
    fn run_gc() = gc::run, else ();

    fn get_thread_object(env: *mut JNIEnv) -> jobjectID = ids::of_thread, else ptr::null_mut();
    fn get_method_class(method: jmethodID) -> jobjectID = ids::of_class, else ptr::null_mut();
    fn object_of(id: jobjectID) -> jobject = ids::object, else ptr::null_mut();
    fn id_of(object: jobject) -> jobjectID = ids::id, else ptr::null_mut();

    fn suspend_thread_list(count: jint, envs: *mut *mut JNIEnv, results: *mut jint)
        = threads::suspend_list, else ();
    fn resume_thread_list(count: jint, envs: *mut *mut JNIEnv, results: *mut jint)
        = threads::resume_list, else ();
}

const fn table<const AGENT: usize>() -> Table {
    Table(UnsafeCell::new(JVMPI_Interface {
        version: JVMPI_VERSION_1_2,
        NotifyEvent: Some(ignore),
        EnableEvent: Some(enable_event::<AGENT>),
        DisableEvent: Some(disable_event::<AGENT>),
        RequestEvent: Some(request_event::<AGENT>),
        GetCallTrace: Some(get_call_trace::<AGENT>),
        ProfilerExit: Some(profiler_exit::<AGENT>),
        RawMonitorCreate: Some(raw_monitor_create::<AGENT>),
        RawMonitorEnter: Some(raw_monitor_enter::<AGENT>),
        RawMonitorExit: Some(raw_monitor_exit::<AGENT>),
        RawMonitorWait: Some(raw_monitor_wait::<AGENT>),
        RawMonitorNotifyAll: Some(raw_monitor_notify_all::<AGENT>),
        RawMonitorDestroy: Some(raw_monitor_destroy::<AGENT>),
        GetCurrentThreadCpuTime: Some(get_current_thread_cpu_time::<AGENT>),
        SuspendThread: Some(suspend_thread::<AGENT>),
        ResumeThread: Some(resume_thread::<AGENT>),
        GetThreadStatus: Some(get_thread_status::<AGENT>),
        ThreadHasRun: Some(thread_has_run::<AGENT>),
        CreateSystemThread: Some(create_system_thread::<AGENT>),
        SetThreadLocalStorage: Some(set_thread_local_storage::<AGENT>),
        GetThreadLocalStorage: Some(get_thread_local_storage::<AGENT>),
        DisableGC: Some(disable_gc::<AGENT>),
        EnableGC: Some(enable_gc::<AGENT>),
        RunGC: Some(run_gc::<AGENT>),
        GetThreadObject: Some(get_thread_object::<AGENT>),
        GetMethodClass: Some(get_method_class::<AGENT>),
        jobjectID2jobject: Some(object_of::<AGENT>),
        jobject2jobjectID: Some(id_of::<AGENT>),
        SuspendThreadList: Some(suspend_thread_list::<AGENT>),
        ResumeThreadList: Some(resume_thread_list::<AGENT>),
    }))
}
