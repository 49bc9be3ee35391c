//! The JVMPI_Interface tables: thirty functions, one file per group of the specification.
//!
//! The interface passes no context, so each agent has a table of its own, whose functions are compiled for the agent's
//! index.

pub mod cpu_samples;
mod events;
mod gc;
mod ids;
mod raw_monitors;
pub mod threads;
mod traces;

use crate::records::agents::{self, MAX_AGENTS};
use jni_sys::{JNIEnv, jint, jlong, jmethodID, jobject};
use jvm::boundary::guard;
use jvmpi_sys::*;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::ptr;

/// The table of one agent, which writes `NotifyEvent` into it.
#[repr(transparent)]
struct Table(UnsafeCell<JVMPI_Interface>);

// SAFETY: the shim never writes to a table, and reads the one entry that the agent writes as a volatile whole.
unsafe impl Sync for Table {}

/// Makes an array of what a function that is compiled for an agent's index returns for each agent.
macro_rules! of_each_agent {
    ($table:ident) => {
        [
            $table::<0>(),
            $table::<1>(),
            $table::<2>(),
            $table::<3>(),
            $table::<4>(),
            $table::<5>(),
            $table::<6>(),
            $table::<7>(),
        ]
    };
}
use of_each_agent;

static TABLES: [Table; MAX_AGENTS] = of_each_agent!(table);

/// Returns the function table of the agent with this index, 0 to 7.
pub fn of(agent: usize) -> *mut JVMPI_Interface {
    TABLES[agent].0.get()
}

/// The initial `NotifyEvent`, until the agent sets its own.
unsafe extern "C" fn ignore(_: *mut JVMPI_Event) {}

/// Defines the functions of the table, and `table`, which fills a table with them. Each function runs its body for the
/// agent whose index it is compiled for, and returns the value after `else` if the body panics.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:path, else $otherwise:expr;)*) => {
        $(
            #[allow(non_snake_case)]
            unsafe extern "C" fn $name<const AGENT: usize>($($argument: $type),*) $(-> $result)? {
            // SAFETY: the agent passes the arguments that the specification of the function requires.
                #[allow(unused_unsafe)]
                guard($otherwise, || unsafe { $body(agents::get(AGENT) $(, $argument)*) })
            }
        )*

        const fn table<const AGENT: usize>() -> Table {
            Table(UnsafeCell::new(JVMPI_Interface {
                version: JVMPI_VERSION_1_2,
                NotifyEvent: Some(ignore),
                $($name: Some($name::<AGENT>),)*
            }))
        }
    };
}

functions! {
    fn EnableEvent(event_type: jint, arg: *mut c_void) -> jint = events::enable, else JVMPI_FAIL;
    fn DisableEvent(event_type: jint, arg: *mut c_void) -> jint = events::disable, else JVMPI_FAIL;
    fn RequestEvent(event_type: jint, arg: *mut c_void) -> jint = events::request, else JVMPI_FAIL;

    fn GetCallTrace(trace: *mut JVMPI_CallTrace, depth: jint) = traces::get_call_trace, else ();

    fn ProfilerExit(exit_code: jint) = events::profiler_exit, else ();

    fn RawMonitorCreate(name: *mut c_char) -> JVMPI_RawMonitor
        = raw_monitors::create, else ptr::null_mut();
    fn RawMonitorEnter(monitor: JVMPI_RawMonitor) = raw_monitors::enter, else ();
    fn RawMonitorExit(monitor: JVMPI_RawMonitor) = raw_monitors::exit, else ();
    fn RawMonitorWait(monitor: JVMPI_RawMonitor, ms: jlong) = raw_monitors::wait, else ();
    fn RawMonitorNotifyAll(monitor: JVMPI_RawMonitor) = raw_monitors::notify_all, else ();
    fn RawMonitorDestroy(monitor: JVMPI_RawMonitor) = raw_monitors::destroy, else ();

    fn GetCurrentThreadCpuTime() -> jlong = threads::current_cpu_time, else 0;
    fn SuspendThread(env: *mut JNIEnv) = threads::suspend, else ();
    fn ResumeThread(env: *mut JNIEnv) = threads::resume, else ();
    fn GetThreadStatus(env: *mut JNIEnv) -> jint = threads::status, else 0;
    fn ThreadHasRun(env: *mut JNIEnv) -> bool = threads::has_run, else false;
    fn CreateSystemThread(
        name: *mut c_char,
        priority: jint,
        f: Option<unsafe extern "C" fn(*mut c_void)>
    ) -> jint = threads::create_system_thread, else jni_sys::JNI_ERR;
    fn SetThreadLocalStorage(env: *mut JNIEnv, value: *mut c_void)
        = threads::set_local_storage, else ();
    fn GetThreadLocalStorage(env: *mut JNIEnv) -> *mut c_void
        = threads::local_storage, else ptr::null_mut();

    fn DisableGC() = gc::disable, else ();
    fn EnableGC() = gc::enable, else ();
    fn RunGC() = gc::run, else ();

    fn GetThreadObject(env: *mut JNIEnv) -> jobjectID = ids::of_thread, else ptr::null_mut();
    fn GetMethodClass(method: jmethodID) -> jobjectID = ids::of_class, else ptr::null_mut();
    fn jobjectID2jobject(id: jobjectID) -> jobject = ids::object, else ptr::null_mut();
    fn jobject2jobjectID(object: jobject) -> jobjectID = ids::id, else ptr::null_mut();

    fn SuspendThreadList(count: jint, envs: *mut *mut JNIEnv, results: *mut jint)
        = threads::suspend_list, else ();
    fn ResumeThreadList(count: jint, envs: *mut *mut JNIEnv, results: *mut jint)
        = threads::resume_list, else ();
}
