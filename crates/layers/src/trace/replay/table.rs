//! The functions of JVMPI in a replay. A call without a method here has no effect.

#![allow(non_snake_case, reason = "the names are the specification's")]

use super::monitors::Monitor;
use super::player::Player;
use super::registry::Env;
use super::state::{Replay, ThreadFunction};
use crate::layer::{Layer, Neighbours, Slots};
use crate::trace::fields::Word;
use crate::trace::functions::{self, Function, NO_ARGUMENT};
use crate::trace::read::Call;
use crate::trace::shared::lock;
use jni_sys::{JNI_ERR, JNIEnv, jboolean, jint, jlong, jmethodID, jobject};
use jvmpi_sys::*;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::slice;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The slot of the only replay in a process.
pub const SLOT: usize = 0;

/// Returns the replay of this process, if there is one.
pub fn replay() -> Option<&'static Replay> {
    Replay::slots().get(SLOT)
}

impl Replay {
    /// Returns the player of the current thread. None if the thread is not one of the recording, which is noted.
    fn player<'a>(&self) -> Option<&'a Player> {
        let player = Player::current();
        if player.is_none() {
            self.note("call of a thread that is not in the recording");
        }
        player
    }

    /// Returns the raw monitor and the player of the current thread.
    fn monitor<'a>(&self, id: JVMPI_RawMonitor) -> Option<(&'static Monitor, &'a Player)> {
        Some((self.monitors.get(id.word())?, self.player()?))
    }

    fn if_recorded(&self, function: Function, matches: &dyn Fn(&Call) -> bool) -> Option<Call> {
        self.player()?.recorded(function, matches)
    }

    /// Returns the recorded call with this first argument. If the call was not recorded, notes that and returns None.
    fn recorded(&self, function: Function, first: u64) -> Option<Call> {
        let call = self.if_recorded(function, &|call| call.arguments[0] == first);
        if call.is_none() {
            self.not_recorded(function);
        }
        call
    }

    /// Returns the result of that call; 0 if it was not recorded.
    fn result(&self, function: Function, first: u64) -> u64 {
        self.recorded(function, first).map_or(0, |call| call.result)
    }

    fn not_recorded(&self, function: Function) {
        self.note(format!("call that was not recorded: {}", function.name()));
    }

    /// Returns the recording's name of the environment.
    fn recorded_env(&self, env: *mut JNIEnv) -> u64 {
        self.envs.get(env.word()).map_or(0, |env| env.recorded)
    }

    /// Answers EnableEvent or DisableEvent as recorded; otherwise like every VM that has all events.
    fn change(&self, function: Function, event_type: jint) -> jint {
        if !EventType::of(event_type).is_some_and(|event| event.enabled) {
            return JVMPI_NOT_AVAILABLE;
        }
        let call = self.if_recorded(function, &|call| call.arguments[0] == event_type.word());
        call.map_or(JVMPI_SUCCESS, |call| call.result as jint)
    }

    /// Answers for a list of threads: the results as recorded, success for threads that are not among them.
    ///
    /// # Safety
    /// The arguments are what the specification of the functions asks for.
    unsafe fn list(&self, function: Function, arguments: [u64; 3]) {
        let call = self.if_recorded(function, &|_| true);
        let details = call.as_ref().map(|call| call.details);
        let recorded = details.filter(|details| !details.threads.is_null()).map(|details| {
            // SAFETY: they were read, and live as long as the call.
            unsafe { slice::from_raw_parts(details.threads, details.threads_count as usize) }
        });
        // SAFETY: as the caller promises.
        for (env, result) in unsafe { functions::threads_of_list(arguments) } {
            let env = self.recorded_env(env);
            let its = recorded.unwrap_or_default().iter().find(|thread| thread.env.word() == env);
            // SAFETY: the caller promises room for the result of each thread.
            unsafe { *result = its.map_or(0, |thread| thread.result) };
        }
    }
}

impl Layer for Replay {
    fn slots() -> &'static Slots<Self> {
        static REPLAYS: Slots<Replay> = Slots::new();
        &REPLAYS
    }

    unsafe fn EnableEvent(&self, _: &Neighbours, event_type: jint, _: *mut c_void) -> jint {
        let result = self.change(Function::EnableEvent, event_type);
        if result == JVMPI_SUCCESS {
            self.enabled.fetch_or(1 << event_type, Ordering::Relaxed);
        }
        result
    }

    unsafe fn DisableEvent(&self, _: &Neighbours, event_type: jint, _: *mut c_void) -> jint {
        let result = self.change(Function::DisableEvent, event_type);
        if result == JVMPI_SUCCESS {
            self.enabled.fetch_and(!(1 << event_type), Ordering::Relaxed);
        }
        result
    }

    unsafe fn RequestEvent(&self, _: &Neighbours, event_type: jint, arg: *mut c_void) -> jint {
        let arguments = [event_type.word(), arg.word(), 0];
        // NULL asks for the highest level of a heap dump.
        let level = |argument| match argument {
            NO_ARGUMENT if event_type == JVMPI_EVENT_HEAP_DUMP => JVMPI_DUMP_LEVEL_2.word(),
            argument => argument,
        };
        // SAFETY: as the caller promises.
        let [first, argument, _] =
            unsafe { functions::read_arguments(Function::RequestEvent, arguments) };
        let is_same = |call: &Call| {
            call.arguments[0] == first
                && (level(call.arguments[1]) == level(argument)
                    || event_type == JVMPI_EVENT_MONITOR_DUMP)
        };
        let tells_class = || self.player().is_some_and(|player| player.tell_class(argument));
        match self.if_recorded(Function::RequestEvent, &is_same) {
            Some(call) => call.result as jint,
            None if event_type == JVMPI_EVENT_CLASS_LOAD && tells_class() => JVMPI_SUCCESS,
            None if EventType::of(event_type).is_some_and(|event| event.requested) => {
                self.not_recorded(Function::RequestEvent);
                JVMPI_FAIL
            }
            None => JVMPI_NOT_AVAILABLE,
        }
    }

    unsafe fn GetCallTrace(&self, _: &Neighbours, trace: *mut JVMPI_CallTrace, depth: jint) {
        // SAFETY: as the caller promises.
        let Some(trace) = (unsafe { trace.as_mut() }) else { return };
        trace.num_frames = 0;
        let env = self.recorded_env(trace.env_id);
        let Some(call) = self.recorded(Function::GetCallTrace, env) else { return };
        let there = call.details.trace;
        let count = there.num_frames.min(depth).max(0);
        if !trace.frames.is_null() && !there.frames.is_null() {
            // SAFETY: both have room for `count` frames.
            unsafe { trace.frames.copy_from(there.frames, count as usize) };
            trace.num_frames = count;
        }
    }

    unsafe fn ProfilerExit(&self, _: &Neighbours, exit_code: jint) {
        std::process::exit(exit_code);
    }

    unsafe fn RawMonitorCreate(&self, _: &Neighbours, lock_name: *mut c_char) -> JVMPI_RawMonitor {
        // SAFETY: as the caller promises; what was recorded was read as a string.
        let text = |name: *mut c_char| unsafe { (!name.is_null()).then(|| CStr::from_ptr(name)) };
        let name = text(lock_name);
        let has_name = |call: &Call| name.is_some() && text(call.details.name) == name;
        let call = self.if_recorded(Function::RawMonitorCreate, &has_name);
        let monitor = Monitor::new(name.unwrap_or_default());
        ptr::from_ref(self.monitors.add(call.map(|call| call.result), monitor)).cast_mut().cast()
    }

    unsafe fn RawMonitorEnter(&self, _: &Neighbours, lock_id: JVMPI_RawMonitor) {
        if let Some((monitor, player)) = self.monitor(lock_id) {
            monitor.enter(1, &self.turns, player.waiter());
        }
    }

    unsafe fn RawMonitorExit(&self, _: &Neighbours, lock_id: JVMPI_RawMonitor) {
        if let Some((monitor, player)) = self.monitor(lock_id) {
            _ = monitor.exit(false, &self.turns, player.waiter());
        }
    }

    unsafe fn RawMonitorWait(&self, _: &Neighbours, lock_id: JVMPI_RawMonitor, ms: jlong) {
        let Some((monitor, player)) = self.monitor(lock_id) else { return };
        let owned = monitor.exit(true, &self.turns, player.waiter());
        let Some((count, before)) = owned else { return };
        let limit = u64::try_from(ms).ok().filter(|ms| *ms > 0).map(Duration::from_millis);
        // The end of a wait with a timeout is recorded.
        if limit.is_none() || !player.recorded_wait() {
            let end = limit.map(|limit| Instant::now() + limit);
            monitor.wait(before, end, &self.turns, player.waiter());
            player.recorded_wait();
        }
        monitor.enter(count, &self.turns, player.waiter());
    }

    unsafe fn RawMonitorNotifyAll(&self, _: &Neighbours, lock_id: JVMPI_RawMonitor) {
        if let Some((monitor, player)) = self.monitor(lock_id) {
            monitor.notify_all(&self.turns, player.waiter());
        }
    }

    unsafe fn GetCurrentThreadCpuTime(&self, _: &Neighbours) -> jlong {
        thread_local!(static LAST: Cell<jlong> = const { Cell::new(0) });
        // Otherwise it is as it was: time does not go backwards.
        if let Some(call) = self.recorded(Function::GetCurrentThreadCpuTime, 0) {
            LAST.set(call.result as jlong);
        }
        LAST.get()
    }

    unsafe fn GetThreadStatus(&self, _: &Neighbours, env: *mut JNIEnv) -> jint {
        self.result(Function::GetThreadStatus, self.recorded_env(env)) as jint
    }

    unsafe fn ThreadHasRun(&self, _: &Neighbours, env: *mut JNIEnv) -> jboolean {
        self.result(Function::ThreadHasRun, self.recorded_env(env)) != 0
    }

    unsafe fn CreateSystemThread(
        &self,
        _: &Neighbours,
        _: *mut c_char,
        _: jint,
        f: Option<ThreadFunction>,
    ) -> jint {
        let Some(function) = f else { return JNI_ERR };
        let mut functions = lock(&self.functions);
        if !functions.iter().any(|other| ptr::fn_addr_eq(*other, function)) {
            functions.push(function);
        }
        drop(functions);
        // The thread is in the recording, and its function begins there.
        let call = self.if_recorded(Function::CreateSystemThread, &|_| true);
        if call.is_none() {
            self.not_recorded(Function::CreateSystemThread);
        }
        call.map_or(JNI_ERR, |call| call.result as jint)
    }

    unsafe fn SetThreadLocalStorage(&self, _: &Neighbours, env: *mut JNIEnv, ptr: *mut c_void) {
        self.envs.get(env.word()).into_iter().for_each(|env| env.set_storage(ptr));
    }

    unsafe fn GetThreadLocalStorage(&self, _: &Neighbours, env: *mut JNIEnv) -> *mut c_void {
        self.envs.get(env.word()).map_or(ptr::null_mut(), Env::storage)
    }

    unsafe fn RunGC(&self, _: &Neighbours) {
        _ = self.recorded(Function::RunGC, 0);
    }

    unsafe fn GetThreadObject(&self, _: &Neighbours, env: *mut JNIEnv) -> jobjectID {
        let env = self.recorded_env(env);
        let call = self.if_recorded(Function::GetThreadObject, &|call| call.arguments[0] == env);
        let known = || self.known().thread_objects.get(&env).copied();
        Word::of(call.map(|call| call.result).or_else(known).unwrap_or(0))
    }

    unsafe fn GetMethodClass(&self, _: &Neighbours, mid: jmethodID) -> jobjectID {
        let method = mid.word();
        let call = self.if_recorded(Function::GetMethodClass, &|call| call.arguments[0] == method);
        let known = || self.known().class_of_method.get(&method).copied();
        Word::of(call.map(|call| call.result).or_else(known).unwrap_or(0))
    }

    unsafe fn jobjectID2jobject(&self, _: &Neighbours, jid: jobjectID) -> jobject {
        Word::of(self.result(Function::jobjectID2jobject, jid.word()))
    }

    unsafe fn jobject2jobjectID(&self, _: &Neighbours, jobj: jobject) -> jobjectID {
        Word::of(self.result(Function::jobject2jobjectID, jobj.word()))
    }

    unsafe fn SuspendThreadList(
        &self,
        _: &Neighbours,
        count: jint,
        envs: *mut *mut JNIEnv,
        results: *mut jint,
    ) {
        let arguments = [count.word(), envs.word(), results.word()];
        // SAFETY: as the caller promises.
        unsafe { self.list(Function::SuspendThreadList, arguments) };
    }

    unsafe fn ResumeThreadList(
        &self,
        _: &Neighbours,
        count: jint,
        envs: *mut *mut JNIEnv,
        results: *mut jint,
    ) {
        let arguments = [count.word(), envs.word(), results.word()];
        // SAFETY: as the caller promises.
        unsafe { self.list(Function::ResumeThreadList, arguments) };
    }
}
