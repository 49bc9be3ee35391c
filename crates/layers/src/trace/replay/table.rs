//! The table that the agent gets.

use super::player::{self, Player};
use super::{Replay, envs::Env, monitors::Monitor};
use crate::trace::functions::{Function, NO_ARGUMENT, ThreadFunction, Word};
use crate::trace::read::Call;
use jni_sys::{JNI_ERR, JNI_OK, JNIEnv, jboolean, jint, jlong, jmethodID, jobject};
use jvmpi_sys::*;
use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_char, c_void};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The table, into which the agent writes its handler.
struct Table(UnsafeCell<JVMPI_Interface>);

// SAFETY: only the agent writes to it, and only a pointer, which is read as a whole.
unsafe impl Sync for Table {}

/// Returns the interface that the agent gets.
pub fn get() -> *mut JVMPI_Interface {
    TABLE.0.get()
}

/// Returns the agent's handler.
#[inline]
pub fn handler() -> Option<unsafe extern "C" fn(*mut JVMPI_Event)> {
    // SAFETY: the table is static; the agent may write the pointer at any time, as a whole.
    unsafe { ptr::addr_of!((*TABLE.0.get()).NotifyEvent).read_volatile() }
}

macro_rules! table {
    ($(
        $(#[doc = $what:literal])*
        fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, else $otherwise:expr;
    )*) => {
        static TABLE: Table = Table(UnsafeCell::new(JVMPI_Interface {
            version: JVMPI_VERSION_1_2,
            NotifyEvent: None,
            $($name: Some(functions::$name),)*
        }));

        /// The functions that C calls: no panic leaves them.
        #[allow(non_snake_case, reason = "the names are the specification's")]
        mod functions {
            use super::*;
            $(
                pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                    let call = || {
                        let replay = Replay::get();
                        let player = Player::current();
                        if player.is_none() {
                            meet_stranger(replay);
                        }
                        // SAFETY: the agent passes what the specification of the function asks for.
                        #[allow(unused_unsafe)]
                        unsafe { answers::$name(At { replay, player } $(, $argument)*) }
                    };
                    catch_unwind(AssertUnwindSafe(call)).unwrap_or($otherwise)
                }
            )*
        }
    };
}

for_each_function!(table);

/// The order has to know that there are others than the threads of the recording.
fn meet_stranger(replay: &'static Replay) {
    thread_local!(static MET: Cell<bool> = const { Cell::new(false) });
    if !MET.replace(true) {
        replay.order.meet_stranger();
    }
}

/// Returns the function with this number that the agent has passed to CreateSystemThread.
pub fn thread_function(
    replay: &'static Replay,
    number: u8,
) -> Option<unsafe extern "C" fn(*mut c_void)> {
    let functions = replay.functions.lock().unwrap_or_else(PoisonError::into_inner);
    let function = *functions.get(usize::from(number.checked_sub(1)?))?;
    // SAFETY: such a function was put there.
    unsafe { mem::transmute::<usize, ThreadFunction>(function) }
}

/// The caller of a function.
#[derive(Clone, Copy)]
struct At<'a> {
    replay: &'static Replay,
    player: Option<&'a Player>,
}

impl At<'_> {
    /// Returns the recorded call. If the call was not recorded, notes that and returns None.
    fn recorded(self, function: Function, first: u64) -> Option<Call> {
        let call = self.try_recorded(function, |arguments| arguments[0] == first);
        if call.is_none() {
            self.not_recorded(function);
        }
        call
    }

    fn try_recorded(self, function: Function, matches: impl Fn(&[u64; 3]) -> bool) -> Option<Call> {
        self.player?.recorded_call(function, matches)
    }

    fn not_recorded(self, function: Function) {
        self.replay.note(format!("call that was not recorded: {}", function.name()));
    }

    fn tells_class(self, class: u64) -> bool {
        self.player.is_some_and(|player| player.tell_class(class))
    }

    /// The call changes nothing here, but events may have come in it.
    fn follow(self, function: Function) {
        self.player.into_iter().for_each(|player| _ = player.follows(function));
    }

    fn env(self, env: *mut JNIEnv) -> Option<&'static Env> {
        self.replay.envs.get(env)
    }

    /// Returns the recording's name of the environment.
    fn recorded_env(self, env: *mut JNIEnv) -> u64 {
        self.env(env).map_or(0, |env| env.recorded)
    }

    fn monitor(self, monitor: JVMPI_RawMonitor) -> Option<&'static Monitor> {
        self.replay.monitors.get(monitor.word())
    }
}

fn pointer<T>(value: u64) -> *mut T {
    ptr::with_exposed_provenance_mut(value as usize)
}

/// The functions' behavior, each under its name.
///
/// # Safety of all
/// The arguments are what the specification of the function asks for.
#[allow(non_snake_case, clippy::missing_safety_doc, reason = "the names are the specification's")]
mod answers {
    use super::*;

    pub fn EnableEvent(at: At<'_>, event_type: jint, _: *mut c_void) -> jint {
        let result = change(at, Function::EnableEvent, event_type);
        if result == JVMPI_SUCCESS {
            at.replay.enabled.fetch_or(1 << event_type, Ordering::Relaxed);
        }
        result
    }

    pub fn DisableEvent(at: At<'_>, event_type: jint, _: *mut c_void) -> jint {
        let result = change(at, Function::DisableEvent, event_type);
        if result == JVMPI_SUCCESS {
            at.replay.enabled.fetch_and(!(1 << event_type), Ordering::Relaxed);
        }
        result
    }

    /// Answers as recorded; otherwise like every VM that has all events.
    fn change(at: At<'_>, function: Function, event_type: jint) -> jint {
        if !EventType::of(event_type).is_some_and(|event| event.enabled) {
            return JVMPI_NOT_AVAILABLE;
        }
        let call = at.try_recorded(function, |arguments| arguments[0] == event_type.word());
        call.map_or(JVMPI_SUCCESS, |call| call.result as jint)
    }

    pub unsafe fn RequestEvent(at: At<'_>, event_type: jint, arg: *mut c_void) -> jint {
        let arguments = [event_type.word(), arg.word(), 0];
        // SAFETY: as the caller promises.
        let mut said =
            unsafe { crate::trace::functions::read_arguments(Function::RequestEvent, arguments) };
        // NULL asks for the highest level.
        if event_type == JVMPI_EVENT_HEAP_DUMP && said[1] == NO_ARGUMENT {
            said[1] = JVMPI_DUMP_LEVEL_2.word();
        }
        let is_same = |other: &[u64; 3]| {
            let level = if other[1] == NO_ARGUMENT { JVMPI_DUMP_LEVEL_2.word() } else { other[1] };
            other[0] == said[0] && (level == said[1] || event_type == JVMPI_EVENT_MONITOR_DUMP)
        };
        match at.try_recorded(Function::RequestEvent, is_same) {
            Some(call) => call.result as jint,
            None if event_type == JVMPI_EVENT_CLASS_LOAD && at.tells_class(said[1]) => {
                JVMPI_SUCCESS
            }
            None if EventType::of(event_type).is_some_and(|event| event.requested) => {
                at.not_recorded(Function::RequestEvent);
                JVMPI_FAIL
            }
            None => JVMPI_NOT_AVAILABLE,
        }
    }

    pub unsafe fn GetCallTrace(at: At<'_>, trace: *mut JVMPI_CallTrace, depth: jint) {
        // SAFETY: as the caller promises.
        let Some(trace) = (unsafe { trace.as_mut() }) else { return };
        trace.num_frames = 0;
        let Some(call) = at.recorded(Function::GetCallTrace, at.recorded_env(trace.env_id)) else {
            return;
        };
        let there = call.details.trace;
        let count = there.num_frames.min(depth).max(0);
        if !trace.frames.is_null() && !there.frames.is_null() {
            // SAFETY: both have room for `count` frames.
            unsafe { trace.frames.copy_from(there.frames, count as usize) };
            trace.num_frames = count;
        }
    }

    pub fn ProfilerExit(_: At<'_>, exit_code: jint) {
        std::process::exit(exit_code);
    }

    pub unsafe fn RawMonitorCreate(at: At<'_>, lock_name: *mut c_char) -> JVMPI_RawMonitor {
        // SAFETY: as the caller promises.
        let name = if lock_name.is_null() { c"" } else { unsafe { CStr::from_ptr(lock_name) } };
        let call = at.player.and_then(|player| player.recorded_monitor(name));
        let created = at.replay.monitors.create(name, call.map(|call| call.result));
        created.map_or(ptr::null_mut(), |monitor| ptr::from_ref(monitor).cast_mut().cast())
    }

    pub fn RawMonitorEnter(at: At<'_>, lock_id: JVMPI_RawMonitor) {
        at.follow(Function::RawMonitorEnter);
        at.monitor(lock_id).into_iter().for_each(Monitor::enter);
    }

    pub fn RawMonitorExit(at: At<'_>, lock_id: JVMPI_RawMonitor) {
        at.monitor(lock_id).into_iter().for_each(Monitor::exit);
        at.follow(Function::RawMonitorExit);
    }

    pub fn RawMonitorWait(at: At<'_>, lock_id: JVMPI_RawMonitor, ms: jlong) {
        let Some(monitor) = at.monitor(lock_id) else { return };
        let at_most = u64::try_from(ms).ok().filter(|ms| *ms > 0).map(Duration::from_millis);
        monitor.wait(|wait| {
            // The end of the timeout is recorded.
            let was_recorded = at_most.is_some() && at.player.is_some_and(Player::recorded_wait);
            if !was_recorded {
                wait(at_most);
                at.follow(Function::RawMonitorWait);
            }
        });
    }

    pub fn RawMonitorNotifyAll(at: At<'_>, lock_id: JVMPI_RawMonitor) {
        at.follow(Function::RawMonitorNotifyAll);
        at.monitor(lock_id).into_iter().for_each(Monitor::notify_all);
    }

    pub fn RawMonitorDestroy(at: At<'_>, _: JVMPI_RawMonitor) {
        at.follow(Function::RawMonitorDestroy);
    }

    pub fn GetCurrentThreadCpuTime(at: At<'_>) -> jlong {
        thread_local!(static LAST: Cell<jlong> = const { Cell::new(0) });
        // Otherwise it is as it was: time does not go backwards.
        if let Some(call) = at.recorded(Function::GetCurrentThreadCpuTime, 0) {
            LAST.set(call.result as jlong);
        }
        LAST.get()
    }

    pub fn SuspendThread(at: At<'_>, _: *mut JNIEnv) {
        at.follow(Function::SuspendThread);
    }

    pub fn ResumeThread(at: At<'_>, _: *mut JNIEnv) {
        at.follow(Function::ResumeThread);
    }

    pub fn GetThreadStatus(at: At<'_>, env: *mut JNIEnv) -> jint {
        let call = at.recorded(Function::GetThreadStatus, at.recorded_env(env));
        call.map_or(0, |call| call.result as jint)
    }

    pub fn ThreadHasRun(at: At<'_>, env: *mut JNIEnv) -> jboolean {
        let call = at.recorded(Function::ThreadHasRun, at.recorded_env(env));
        call.is_some_and(|call| call.result != 0)
    }

    pub fn CreateSystemThread(
        at: At<'_>,
        _: *mut c_char,
        _: jint,
        f: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> jint {
        let Some(function) = f else { return JNI_ERR };
        let function = function as usize;
        {
            let mut functions = at.replay.functions.lock().unwrap_or_else(PoisonError::into_inner);
            if !functions.contains(&function) {
                functions.push(function);
            }
        }
        // The thread is in the recording, and its function begins there.
        match at.try_recorded(Function::CreateSystemThread, |_| true) {
            Some(call) => call.result as jint,
            None => {
                at.not_recorded(Function::CreateSystemThread);
                start_unrecorded(at.replay, f)
            }
        }
    }

    /// A thread that is not of the recording.
    fn start_unrecorded(replay: &'static Replay, f: ThreadFunction) -> jint {
        let started = std::thread::Builder::new().spawn(move || {
            player::attach(replay);
            if let Some(f) = f {
                // SAFETY: the agent has passed the function to be called like this.
                unsafe { f(ptr::null_mut()) };
            }
        });
        if started.is_ok() { JNI_OK } else { JNI_ERR }
    }

    pub fn SetThreadLocalStorage(at: At<'_>, env: *mut JNIEnv, ptr: *mut c_void) {
        at.follow(Function::SetThreadLocalStorage);
        at.env(env).into_iter().for_each(|env| env.set_storage(ptr));
    }

    pub fn GetThreadLocalStorage(at: At<'_>, env: *mut JNIEnv) -> *mut c_void {
        at.follow(Function::GetThreadLocalStorage);
        at.env(env).map_or(ptr::null_mut(), Env::storage)
    }

    pub fn DisableGC(at: At<'_>) {
        at.follow(Function::DisableGC);
    }

    pub fn EnableGC(at: At<'_>) {
        at.follow(Function::EnableGC);
    }

    pub fn RunGC(at: At<'_>) {
        _ = at.recorded(Function::RunGC, 0);
    }

    pub fn GetThreadObject(at: At<'_>, env: *mut JNIEnv) -> jobjectID {
        let recorded = at.recorded_env(env);
        let call = at.try_recorded(Function::GetThreadObject, |arguments| arguments[0] == recorded);
        let known = call
            .map(|call| call.result)
            .or_else(|| at.replay.known(|known| known.thread_objects.get(&env.word()).copied()));
        pointer(known.unwrap_or(0))
    }

    pub fn GetMethodClass(at: At<'_>, mid: jmethodID) -> jobjectID {
        let method = mid.word();
        let call = at.try_recorded(Function::GetMethodClass, |arguments| arguments[0] == method);
        let known = call
            .map(|call| call.result)
            .or_else(|| at.replay.known(|known| known.class_of_method.get(&method).copied()));
        pointer(known.unwrap_or(0))
    }

    pub fn jobjectID2jobject(at: At<'_>, jid: jobjectID) -> jobject {
        let call = at.recorded(Function::jobjectID2jobject, jid.word());
        pointer(call.map_or(0, |call| call.result))
    }

    pub fn jobject2jobjectID(at: At<'_>, jobj: jobject) -> jobjectID {
        let call = at.recorded(Function::jobject2jobjectID, jobj.word());
        pointer(call.map_or(0, |call| call.result))
    }

    pub unsafe fn SuspendThreadList(
        at: At<'_>,
        count: jint,
        envs: *mut *mut JNIEnv,
        results: *mut jint,
    ) {
        // SAFETY: as the caller promises.
        unsafe { list(at, Function::SuspendThreadList, count, envs, results) };
    }

    pub unsafe fn ResumeThreadList(
        at: At<'_>,
        count: jint,
        envs: *mut *mut JNIEnv,
        results: *mut jint,
    ) {
        // SAFETY: as the caller promises.
        unsafe { list(at, Function::ResumeThreadList, count, envs, results) };
    }

    /// The results as recorded; success for threads that are not among them.
    unsafe fn list(
        at: At<'_>,
        function: Function,
        count: jint,
        envs: *mut *mut JNIEnv,
        results: *mut jint,
    ) {
        let Some(count) =
            usize::try_from(count).ok().filter(|_| !envs.is_null() && !results.is_null())
        else {
            return;
        };
        let call = at.try_recorded(function, |_| true);
        let details = call.as_ref().map(|call| call.details);
        let recorded = details.filter(|details| !details.threads.is_null()).map(|details| {
            // SAFETY: they were read, and live as long as the call.
            unsafe { slice::from_raw_parts(details.threads, details.threads_count as usize) }
        });
        // SAFETY: the caller promises `count` elements of both.
        let (envs, results) = unsafe {
            (slice::from_raw_parts(envs, count), slice::from_raw_parts_mut(results, count))
        };
        for (env, result) in envs.iter().zip(results) {
            let env = at.recorded_env(*env);
            let its = recorded.unwrap_or_default().iter().find(|thread| thread.env.word() == env);
            *result = its.map_or(0, |thread| thread.result);
        }
    }
}
