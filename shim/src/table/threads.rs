//! GetCurrentThreadCpuTime, SuspendThread, SuspendThreadList, ResumeThread, ResumeThreadList,
//! GetThreadStatus, ThreadHasRun, CreateSystemThread, SetThreadLocalStorage, GetThreadLocalStorage.

use crate::classes;
use crate::records::agents::Agent;
use crate::records::phase::{self, Phase};
use crate::suspension::{self, sampling, thread_state};
use crate::threads::{self, Thread, agent_clock};
use crate::translate::subscriptions;
use jni_sys::{JNI_ERR, JNI_OK, JNIEnv, jint, jlong};
use jvm::Jni;
use jvm::platform::os_priority;
use jvmpi_sys::{JVMPI_MAXIMUM_PRIORITY, JVMPI_MINIMUM_PRIORITY};
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;
use std::{iter, ptr, slice};

/// Returns the CPU time of the current thread in nanoseconds, or elapsed time if the agent's settings say so.
pub fn current_cpu_time(agent: &Agent) -> jlong {
    agent_clock::now(agent)
}

/// Returns the thread with this environment if agents may suspend it: not the current one, and not hidden.
fn other(env: *mut JNIEnv) -> Option<Arc<Thread>> {
    if !phase::vm_answers() || threads::is_current(env) {
        return None;
    }
    threads::by_env(env).filter(|thread| !thread.is_hidden())
}

pub fn suspend(agent: &Agent, env: *mut JNIEnv) {
    prepare_to_suspend();
    suspension::suspend(agent, iter::once(other(env)), |_, _| ());
}

/// Prepares the shim for the first suspension by an agent.
pub fn prepare_to_suspend() {
    prepare(suspension::prepare);
}

/// Runs a preparation for the sampling signal. If it returns true, all methods must have IDs first.
pub fn prepare(prepare: impl FnOnce() -> bool) {
    let Some((jni, _)) = threads::current_answered() else { return };
    if prepare()
        && let Err(error) = give_method_ids(jni)
    {
        log::warn!("some methods may be missing in call traces: {error}");
    }
}

/// Gives IDs to the methods of all classes, now and when further classes are loaded, before a signal handler needs them.
fn give_method_ids(jni: Jni) -> jvm::Result<()> {
    subscriptions::update()?;
    for class in classes::all_loaded(jni)? {
        jni.frame(4, |jni| class.object(jni).map(|o| drop(jvm::get().jvmti.class_methods(o))));
    }
    Ok(())
}

pub fn resume(agent: &Agent, env: *mut JNIEnv) {
    if let Some(thread) = other(env) {
        suspension::resume(agent, &thread);
        subscriptions::catch_up();
    }
}

/// # Safety
/// `envs` and `results` are NULL or have `count` elements.
pub unsafe fn suspend_list(agent: &Agent, count: jint, envs: *mut *mut JNIEnv, results: *mut jint) {
    // SAFETY: as the caller promises.
    let Some((envs, results)) = (unsafe { lists(count, envs, results) }) else { return };
    prepare_to_suspend();
    let threads = envs.iter().map(|env| other(*env));
    suspension::suspend(agent, threads, |i, done| results[i] = list_result(done));
}

/// # Safety
/// `envs` and `results` are NULL or have `count` elements.
pub unsafe fn resume_list(agent: &Agent, count: jint, envs: *mut *mut JNIEnv, results: *mut jint) {
    // SAFETY: as the caller promises.
    let Some((envs, results)) = (unsafe { lists(count, envs, results) }) else { return };
    for (env, result) in envs.iter().zip(results) {
        *result = list_result(other(*env).is_some_and(|thread| suspension::resume(agent, &thread)));
    }
    subscriptions::catch_up();
}

/// Returns the result of the list functions for one thread: 0 for success.
fn list_result(done: bool) -> jint {
    if done { 0 } else { 1 }
}

/// # Safety
/// `envs` and `results` are NULL or have `count` elements.
unsafe fn lists<'a>(
    count: jint,
    envs: *mut *mut JNIEnv,
    results: *mut jint,
) -> Option<(&'a [*mut JNIEnv], &'a mut [jint])> {
    if count <= 0 || envs.is_null() || results.is_null() {
        return None;
    }
    // SAFETY: neither is NULL, so the caller promises `count` elements in both.
    Some(unsafe {
        (
            slice::from_raw_parts(envs, count as usize),
            slice::from_raw_parts_mut(results, count as usize),
        )
    })
}

/// Returns the status of JVMPI 1.1: one of three states, with flags. A suspension by the agent itself does not show.
/// The status of an unknown thread is 0.
pub fn status(_: &Agent, env: *mut JNIEnv) -> jint {
    if !phase::vm_answers() {
        return 0;
    }
    let status = |thread: &Thread| {
        Some(thread_state::status(thread, thread_state::without_suspension(thread)?))
    };
    threads::with_env(env, status).flatten().unwrap_or(0)
}

pub fn has_run(agent: &Agent, env: *mut JNIEnv) -> bool {
    let Some(thread) = other(env) else { return false };
    if thread.suspension.is_requested() {
        return suspension::has_run(&thread);
    }
    prepare(sampling::prepare);
    let is_runnable = || {
        let state = thread_state::without_suspension(&thread);
        state.is_some_and(|state| thread_state::is_runnable(&thread, state))
    };
    sampling::has_run(agent, &thread, is_runnable)
}

/// # Safety
/// `name` is NULL or a NUL-terminated string, and `f` may be called on another thread.
pub unsafe fn create_system_thread(
    _: &Agent,
    name: *mut c_char,
    priority: jint,
    f: Option<unsafe extern "C" fn(*mut c_void)>,
) -> jint {
    // The VM must be able to run Java code, which it can from JVM_INIT_DONE on.
    if phase::now() < Phase::Live {
        return JNI_ERR;
    }
    let (Some(f), Some((jni, _))) = (f, threads::current_answered()) else { return JNI_ERR };
    // SAFETY: as the caller promises.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    let priority = priority.clamp(JVMPI_MINIMUM_PRIORITY, JVMPI_MAXIMUM_PRIORITY);
    let run = move |_| {
        if priority == JVMPI_MAXIMUM_PRIORITY {
            os_priority::favour_current_thread();
        }
        // SAFETY: the caller promises that the function may run on another thread. The argument is NULL, as in every
        // VM.
        unsafe { f(ptr::null_mut()) }
    };
    match jvm::start_thread(jni, name, priority, |_| Ok(()), run) {
        Ok(()) => JNI_OK,
        Err(error) => {
            log::warn!("system thread {name:?} cannot be started: {error}");
            JNI_ERR
        }
    }
}

pub fn set_local_storage(agent: &Agent, env: *mut JNIEnv, value: *mut c_void) {
    threads::with_env(env, |thread| thread.set_local_storage(agent, value));
}

pub fn local_storage(agent: &Agent, env: *mut JNIEnv) -> *mut c_void {
    threads::with_env(env, |thread| thread.local_storage(agent)).unwrap_or(ptr::null_mut())
}
