//! The state of a thread: as agents see it, whether the thread executes Java code, and which virtual thread a carrier
//! executes if virtual threads are not threads of their own.
//!
//! JVMTI shows a carrier as a waiting thread, whose stack ends where the virtual thread's begins.

use crate::records::virtual_thread;
use crate::threads::{self, Thread};
use jni_sys::jint;
use jvm::lock::Memo;
use jvm::thread_state::ThreadState;
use jvm::types::*;
use jvm::{MountedVirtualThread, capabilities};
use jvmpi_sys::*;

static MOUNTED: Memo<Option<MountedVirtualThread>> = Memo::new();

/// Locates the VM's function that finds virtual threads, and thread states. Called before a thread is suspended.
pub fn prepare() {
    if let Some(jni) = jvm::get().jni() {
        threads::locate_states(jni);
    }
    const SINCE: u32 = 21;
    let find = || {
        let jvm = jvm::get();
        if jvm.feature_version() < SINCE || virtual_thread::are_threads() {
            return Ok(None);
        }
        capabilities::take_virtual_threads(jvm.jvmti)?;
        jvm.jvmti.mounted_virtual_thread()
    };
    MOUNTED.get_or_find(|| {
        find().unwrap_or_else(|error| {
            log::warn!("virtual threads are not sampled, only their carriers: {error}");
            None
        })
    });
}

/// Calls `f` with the virtual thread that is mounted on the thread, which has this JVMTI state. None if there is none.
pub fn with_mounted<R>(thread: jthread, state: jint, f: impl FnOnce(jthread) -> R) -> Option<R> {
    let mounted = MOUNTED.get()?.as_ref().filter(|_| is_carrier(state))?;
    jvm::get().jni()?.frame(4, |_| mounted.get(thread).map(f))
}

/// Calls `f` with the thread and false, or with the virtual thread mounted on it and true. None if the thread has
/// ended.
pub fn with<R>(thread: &Thread, mut f: impl FnMut(jthread, bool) -> R) -> Option<R> {
    let object = thread.object()?;
    let state = || jvm::get().jvmti.thread_state(object.get()).unwrap_or(0);
    let state = if MOUNTED.get().is_some_and(Option::is_some) { state() } else { 0 };
    let of_mounted = with_mounted(object.get(), state, |mounted| f(mounted, true));
    Some(of_mounted.unwrap_or_else(|| f(object.get(), false)))
}

/// Returns true if a thread with this state has a virtual thread mounted: JVMTI gives no reason for its wait.
pub fn is_carrier(state: jint) -> bool {
    const WAITS: u32 = JVMTI_THREAD_STATE_WAITING_INDEFINITELY as u32;
    const REASONS: u32 = JVMTI_THREAD_STATE_IN_OBJECT_WAIT as u32
        | JVMTI_THREAD_STATE_PARKED as u32
        | JVMTI_THREAD_STATE_SLEEPING as u32;
    state as u32 & (WAITS | REASONS) == WAITS
}

/// Returns true if the thread, or the virtual thread mounted on it, executes Java code or code of the VM, and is
/// neither in a native method nor waiting.
pub fn executes_java(thread: &Thread) -> bool {
    if thread.is_displaced() {
        return false;
    }
    let vm_state = thread.vm_state();
    // HotSpot blocks platform threads for a moment at safepoints. JVMTI shows these as runnable.
    let is_known = |state: &ThreadState| thread.is_virtual() || !state.is_blocked();
    if let Some(state) = vm_state.filter(is_known) {
        return state.executes();
    }
    let executes_java = |state| {
        state & JVMTI_THREAD_STATE_RUNNABLE != 0 && state & JVMTI_THREAD_STATE_IN_NATIVE == 0
    };
    let state_of = |object| jvm::get().jvmti.thread_state(object).unwrap_or(0);
    let Some(object) = thread.object() else { return false };
    let state = state_of(object.get());
    let of_mounted = || with_mounted(object.get(), state, state_of);
    executes_java(state) || vm_state.is_none() && of_mounted().is_some_and(executes_java)
}

/// Returns the thread's JVMTI state; None if it is unknown.
pub fn jvmti_state(thread: &Thread) -> Option<jint> {
    jvm::get().jvmti.thread_state(thread.object()?.get()).ok()
}

/// Returns the thread's CPU time; None if it is unknown.
pub fn cpu_time(thread: &Thread) -> Option<i64> {
    thread.cpu_time().or_else(|| {
        let object = thread.object()?;
        jvm::get().jvmti.thread_cpu_time(object.get()).ok()
    })
}

/// Returns the thread's JVMTI state, without a suspension by an agent. None if it is unknown.
pub fn without_suspension(thread: &Thread) -> Option<jint> {
    let state = jvmti_state(thread)?;
    let hidden = if thread.suspension.is_ours() { JVMTI_THREAD_STATE_SUSPENDED } else { 0 };
    Some(state & !hidden)
}

/// Returns the `JVMPI_THREAD_…` status of a thread with this state. A thread that waits at a raw monitor,
/// which the shim implements, runs native code for the VM.
pub fn status(thread: &Thread, state: jint) -> jint {
    let status = status_of(state, virtual_thread::are_threads());
    match thread.status_at_raw_monitor() {
        Some(waits) if status & STATES == JVMPI_THREAD_RUNNABLE => status & !STATES | waits,
        _ => status,
    }
}

/// Returns true if agents see a thread with this state as runnable.
pub fn is_runnable(thread: &Thread, state: jint) -> bool {
    status(thread, state) & STATES == JVMPI_THREAD_RUNNABLE
}

/// The bits of a status that contain the state.
const STATES: jint = JVMPI_THREAD_RUNNABLE | JVMPI_THREAD_MONITOR_WAIT | JVMPI_THREAD_CONDVAR_WAIT;

/// Returns the `JVMPI_THREAD_…` status for a state.
fn status_of(state: jint, is_carried: bool) -> jint {
    let has = |bit| state & bit != 0;
    if !has(JVMTI_THREAD_STATE_ALIVE) {
        return 0;
    }
    // JVMTI shows a carrier whose virtual thread runs as waiting too, but with none of these bits. Agents
    // see it as running, unless the virtual thread has its own record.
    let waits =
        JVMTI_THREAD_STATE_IN_OBJECT_WAIT | JVMTI_THREAD_STATE_PARKED | JVMTI_THREAD_STATE_SLEEPING;
    let waits = waits | if is_carried { JVMTI_THREAD_STATE_WAITING } else { 0 };
    let mut status = if has(JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) {
        JVMPI_THREAD_MONITOR_WAIT
    } else if has(waits) {
        JVMPI_THREAD_CONDVAR_WAIT
    } else {
        JVMPI_THREAD_RUNNABLE
    };
    if has(JVMTI_THREAD_STATE_SUSPENDED) {
        status |= JVMPI_THREAD_SUSPENDED;
    }
    if has(JVMTI_THREAD_STATE_INTERRUPTED) {
        status |= JVMPI_THREAD_INTERRUPTED;
    }
    status
}
