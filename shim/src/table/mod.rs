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
use jni_sys::{JNI_ERR, JNIEnv, jboolean, jint, jlong, jmethodID, jobject};
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

/// The bodies of the functions.
mod bodies {
    pub use super::events::{
        disable as DisableEvent, enable as EnableEvent, profiler_exit as ProfilerExit,
        request as RequestEvent,
    };
    pub use super::gc::{disable as DisableGC, enable as EnableGC, run as RunGC};
    pub use super::ids::{
        id as jobject2jobjectID, object as jobjectID2jobject, of_class as GetMethodClass,
        of_thread as GetThreadObject,
    };
    pub use super::raw_monitors::{
        create as RawMonitorCreate, destroy as RawMonitorDestroy, enter as RawMonitorEnter,
        exit as RawMonitorExit, notify_all as RawMonitorNotifyAll, wait as RawMonitorWait,
    };
    pub use super::threads::{
        create_system_thread as CreateSystemThread, current_cpu_time as GetCurrentThreadCpuTime,
        has_run as ThreadHasRun, local_storage as GetThreadLocalStorage, resume as ResumeThread,
        resume_list as ResumeThreadList, set_local_storage as SetThreadLocalStorage,
        status as GetThreadStatus, suspend as SuspendThread, suspend_list as SuspendThreadList,
    };
    pub use super::traces::get_call_trace as GetCallTrace;
}

/// Defines the functions of the table, and `table`, which fills a table with them. Each function runs its body for the
/// agent whose index it is compiled for, and returns the value after `else` if the body panics.
macro_rules! functions {
    ($(
        $(#[doc = $what:literal])*
        fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, else $otherwise:expr;
    )*) => {
        $(
            #[allow(non_snake_case)]
            unsafe extern "C" fn $name<const AGENT: usize>($($argument: $type),*) $(-> $result)? {
            // SAFETY: the agent passes the arguments that the specification of the function requires.
                #[allow(unused_unsafe)]
                guard($otherwise, || unsafe { bodies::$name(agents::get(AGENT) $(, $argument)*) })
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

for_each_function!(functions);
