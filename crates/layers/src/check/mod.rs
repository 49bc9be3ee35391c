//! Checked mode: a [`Layer`] that says which rule of JVMPI an agent breaks, and where.
//!
//! Checks every call and every event, and prints each finding to standard error. The rules are in [`rules`].

#![allow(non_snake_case, reason = "the names are the specification's")]

mod arguments;
mod finding;
mod guard;
mod hook;
mod monitor_calls;
mod monitors;
mod names;
pub mod rules;
mod stack;
mod table;
mod thread;

use crate::layer::{Layer, Neighbours, Slots};
use finding::Findings;
use guard::Guard;
use jni_sys::{JNI_ERR, JNIEnv, jint, jlong, jmethodID, jobject};
use jvmpi_sys::*;
use monitors::Monitors;
use names::Names;
use rules::Rule;
use stack::Stack;
use std::ffi::{c_char, c_void};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, Ordering};
use thread::Thread;

/// The layer, of one agent.
pub struct Check {
    slot: usize,
    findings: Findings,
    /// The events that the agent has enabled, as bits.
    wanted: AtomicU64,
    /// A [`Phase`], which only grows.
    phase: AtomicU8,
    /// DisableGC minus EnableGC, and whether a handler has returned without the latter.
    disabled: AtomicI32,
    left_disabled: AtomicBool,
    monitors: Monitors,
    names: Names,
    guard: Guard,
}

/// The phases of a run, as the layer sees them.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Phase {
    /// No event has come.
    Load,
    /// Events come, but not all live entities have been named.
    Started,
    /// From JVM_INIT_DONE on.
    Live,
    /// From JVM_SHUT_DOWN or ProfilerExit on.
    Over,
}

/// The events by which the layer knows what there is. The agent gets those that it has enabled.
const NEEDED: [jint; 6] = [
    JVMPI_EVENT_JVM_INIT_DONE,
    JVMPI_EVENT_JVM_SHUT_DOWN,
    JVMPI_EVENT_THREAD_START,
    JVMPI_EVENT_THREAD_END,
    JVMPI_EVENT_CLASS_LOAD,
    JVMPI_EVENT_CLASS_UNLOAD,
];

fn is_needed(event_type: jint) -> bool {
    NEEDED.contains(&event_type)
}

/// Returns true if events of this type come with a collection, on behalf of any thread.
fn is_of_collection(event_type: jint) -> bool {
    matches!(
        event_type,
        JVMPI_EVENT_GC_START
            | JVMPI_EVENT_GC_FINISH
            | JVMPI_EVENT_OBJECT_FREE
            | JVMPI_EVENT_OBJECT_MOVE
            | JVMPI_EVENT_ARENA_DELETE
            | JVMPI_EVENT_CLASS_UNLOAD
    )
}

fn bit(event_type: jint) -> u64 {
    u32::try_from(event_type).ok().and_then(|shift| 1u64.checked_shl(shift)).unwrap_or(0)
}

/// The places where a function may be called.
#[derive(Clone, Copy)]
struct Allowed {
    in_jvm_on_load: bool,
    stopped: bool,
    /// Only with GC disabled.
    needs_gc_off: bool,
}

const EVERYWHERE: Allowed = Allowed { in_jvm_on_load: true, stopped: true, needs_gc_off: false };
const NOT_STOPPED: Allowed = Allowed { stopped: false, ..EVERYWHERE };
const NOT_IN_JVM_ON_LOAD: Allowed = Allowed { in_jvm_on_load: false, ..EVERYWHERE };
const NEITHER: Allowed = Allowed { in_jvm_on_load: false, ..NOT_STOPPED };
const ABOUT_IDS: Allowed = Allowed { needs_gc_off: true, ..NOT_IN_JVM_ON_LOAD };

impl Check {
    /// Returns a layer for the agent in this library, which is to be put into this slot. `aborts` ends the
    /// process after the first finding.
    #[must_use]
    pub fn new(agent: &Path, slot: usize, aborts: bool) -> Self {
        guard::install(touched);
        let name = agent.file_name().unwrap_or(agent.as_os_str()).to_string_lossy().into_owned();
        Self {
            slot,
            findings: Findings::new(name, aborts),
            wanted: AtomicU64::new(0),
            phase: AtomicU8::new(Phase::Load as u8),
            disabled: AtomicI32::new(0),
            left_disabled: AtomicBool::new(false),
            monitors: Monitors::new(),
            names: Names::new(),
            guard: Guard::new(),
        }
    }

    fn wants(&self, event_type: jint) -> bool {
        self.wanted.load(Ordering::Relaxed) & bit(event_type) != 0
    }

    /// Returns true between JVM_INIT_DONE, by which every live entity has been named, and JVM_SHUT_DOWN.
    fn is_live(&self) -> bool {
        self.is_in(Phase::Live)
    }

    /// Returns true in this phase.
    fn is_in(&self, phase: Phase) -> bool {
        self.phase.load(Ordering::Acquire) == phase as u8
    }

    fn report(&self, rule: &'static Rule, function: &str, thread: &Thread) {
        self.findings.report(rule, format!("{function}{thread}"));
    }

    /// Looks whether the function may be called here, then runs `call`.
    fn called<R>(
        &self,
        function: &str,
        allowed: Allowed,
        call: impl Fn(Option<&Thread>) -> R,
    ) -> R {
        let checked = thread::with(self.slot, |thread| {
            self.check_mode(function, allowed, thread);
            call(Some(thread))
        });
        checked.unwrap_or_else(|| call(None))
    }

    fn check_mode(&self, function: &str, allowed: Allowed, thread: &Thread) {
        if !allowed.in_jvm_on_load
            && self.is_in(Phase::Load)
            && Stack::of_agent().is_in_jvm_on_load()
        {
            return self.report(rules::ON_LOAD, function, thread);
        }
        if allowed.stopped && !allowed.needs_gc_off {
            return;
        }
        match thread.mode() {
            Mode::STOPPED if !allowed.stopped => self.report(rules::STOPPED, function, thread),
            Mode::MT if allowed.needs_gc_off && !self.gc_is_disabled() => {
                self.report(rules::IDS, function, thread);
            }
            _ => {}
        }
    }

    fn gc_is_disabled(&self) -> bool {
        self.disabled.load(Ordering::Acquire) > 0
    }

    /// Returns true if the current thread has GC disabled, or handles an event in that mode.
    fn has_gc_off(&self, thread: &Thread) -> bool {
        thread.mode() == Mode::GC_OFF || thread.disabled.get() > 0 && self.gc_is_disabled()
    }

    /// Enables what the layer needs to know what there is.
    fn listen(&self, next: &Neighbours) {
        for event in NEEDED {
            // SAFETY: it takes any number.
            unsafe { next.EnableEvent(event, ptr::null_mut()) };
        }
    }

    /// Checks the arguments of RequestEvent, except for NULL.
    ///
    /// # Safety
    /// The argument of HEAP_DUMP is NULL or points to its structure.
    unsafe fn check_request(&self, event_type: jint, arg: *mut c_void, thread: &Thread) {
        let call = || format!("RequestEvent({}, {arg:?}){thread}", thread::name(event_type));
        let Some(event) = EventType::of(event_type) else {
            return self.findings.report(rules::EVENT_UNKNOWN, call());
        };
        if !event.requested {
            return self.findings.report(rules::EVENT_NOT_REQUESTED, call());
        }
        match event_type {
            JVMPI_EVENT_MONITOR_DUMP => {}
            // SAFETY: as the caller promises.
            JVMPI_EVENT_HEAP_DUMP => match unsafe { arg.cast::<JVMPI_HeapDumpArg>().as_ref() } {
                Some(JVMPI_HeapDumpArg { heap_dump_level })
                    if !(0..=2).contains(heap_dump_level) =>
                {
                    let what = format!("{}, level {heap_dump_level}", call());
                    self.findings.report(rules::ARGUMENT_RANGE, what);
                }
                _ => {}
            },
            _ if arg.is_null() => self.findings.report(rules::ARGUMENT_NULL, call()),
            _ => _ = self.is_object("RequestEvent", arg.cast(), thread),
        }
    }

    /// Passes an event to the agent, if it is for it, and looks what its handler has left.
    ///
    /// # Safety
    /// The same as for [`Layer::NotifyEvent`].
    unsafe fn pass(&self, next: &Neighbours, event: *mut JVMPI_Event, thread: &Thread) {
        // SAFETY: as the caller promises.
        let event_type = unsafe { (*event).event_type };
        let number = event_type & !JVMPI_REQUESTED_EVENT;
        if number == event_type && !self.wants(number) {
            return;
        }
        if !next.has_handler() {
            let what = format!("{} comes", thread::name(event_type));
            self.findings.report_at(rules::EVENT_NO_HANDLER, Stack::default(), what);
        }
        if number == JVMPI_EVENT_GC_START {
            thread.bracket.set(Some(thread.owned_sum.get()));
        }
        let (owned, disabled) = (thread.owned_sum.get(), thread.disabled.get());
        thread.begin(event_type);
        // SAFETY: as the caller promises.
        unsafe {
            if number == JVMPI_EVENT_CLASS_LOAD_HOOK {
                self.pass_hook(next, event);
            } else {
                self.guard.pass(next, event);
            }
        }
        thread.end();
        if thread.owned_sum.get() != owned {
            self.check_left(next, number, thread);
        }
        if number == JVMPI_EVENT_GC_FINISH
            && let Some(before) = thread.bracket.take()
            && before != thread.owned_sum.get()
        {
            self.report_left(next, rules::MONITOR_BRACKET, number, thread);
        }
        if thread.disabled.get() > disabled {
            self.left_disabled.store(true, Ordering::Release);
        }
    }

    /// The handler has returned with other monitors than it began with.
    fn check_left(&self, next: &Neighbours, number: jint, thread: &Thread) {
        let may = [JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH, JVMPI_EVENT_JVM_SHUT_DOWN];
        if !may.contains(&number) {
            self.report_left(next, rules::MONITOR_LEFT, number, thread);
        }
    }

    fn report_left(&self, next: &Neighbours, rule: &'static Rule, number: jint, thread: &Thread) {
        let handler = next.handler().map_or(0, |handler| handler as usize);
        let what = format!(
            "the handler of {} has returned; the thread owns: {}",
            thread::name(number),
            self.owned_by(thread)
        );
        self.findings.report_at(rule, Stack::of_function(handler), what);
    }

    /// Reports the access to guarded memory at this address, and returns true; false if it is not this agent's.
    fn report_touch(&self, address: usize) -> bool {
        let Some((state, event_type)) = self.guard.touched(address) else { return false };
        let (rule, what) = match state {
            guard::NOW => (rules::EVENT_WRITTEN, "written to in its handler"),
            _ => (rules::EVENT_READ_LATE, "accessed after its handler has returned"),
        };
        let event = thread::name(event_type);
        let what = format!("memory of a {event} was {what}, at {address:#x}");
        self.findings.report_at(rule, Stack::of_agent(), what);
        true
    }

    fn at_end(&self, next: &Neighbours) {
        if self.phase.swap(Phase::Over as u8, Ordering::AcqRel) == Phase::Over as u8 {
            return;
        }
        if self.gc_is_disabled() && self.left_disabled.load(Ordering::Acquire) {
            let handler = next.handler().map_or(0, |handler| handler as usize);
            let what = format!(
                "DisableGC {} times more than EnableGC",
                self.disabled.load(Ordering::Acquire)
            );
            self.findings.report_at(rules::GC_LEFT, Stack::of_function(handler), what);
        }
        self.findings.summarize();
    }
}

/// Reports the access to guarded memory of any agent at this address, and returns true; false if there is none.
fn touched(address: usize) -> bool {
    let reports = |slot| Check::slots().get(slot).is_some_and(|check| check.report_touch(address));
    (0..crate::layer::SLOTS).any(reports)
}

// SAFETY of what follows: each call is passed on as it came, for which the caller has promised what the
// function asks for.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Layer for Check {
    fn slots() -> &'static Slots<Self> {
        static SLOTS: Slots<Check> = Slots::new();
        &SLOTS
    }

    /// Enables what the layer itself needs at once: an agent may enable nothing, only request events, or only
    /// call functions.
    fn begin(&self, next: &Neighbours) {
        self.listen(next);
    }

    unsafe fn NotifyEvent(&self, next: &Neighbours, event: *mut JVMPI_Event) {
        unsafe {
            let JVMPI_Event { event_type, env_id, .. } = *event;
            let requested = event_type & JVMPI_REQUESTED_EVENT != 0;
            let ends_something =
                matches!(event_type, JVMPI_EVENT_THREAD_END | JVMPI_EVENT_CLASS_UNLOAD);
            let last = ends_something.then(|| *event);
            let passed = thread::with(self.slot, |thread| {
                if self.is_in(Phase::Load) {
                    self.phase.fetch_max(Phase::Started as u8, Ordering::AcqRel);
                }
                self.names.define(&*event);
                // In other events `env_id` is the current thread.
                if thread.env.get() != env_id && !requested && !is_of_collection(event_type) {
                    thread.env.set(env_id);
                    self.names.thread_lives(env_id);
                }
                if event_type == JVMPI_EVENT_JVM_INIT_DONE {
                    self.phase.fetch_max(Phase::Live as u8, Ordering::AcqRel);
                }
                self.pass(next, event, thread);
                if let Some(last) = last {
                    self.names.undefine(&last);
                }
                if event_type == JVMPI_EVENT_THREAD_END {
                    thread.env.set(ptr::null_mut());
                }
                if event_type == JVMPI_EVENT_JVM_SHUT_DOWN {
                    self.at_end(next);
                }
            });
            if passed.is_none() && (requested || self.wants(event_type)) {
                next.NotifyEvent(event);
            }
        }
    }

    unsafe fn EnableEvent(&self, next: &Neighbours, event_type: jint, arg: *mut c_void) -> jint {
        self.called("EnableEvent", EVERYWHERE, |thread| {
            if let Some(thread) = thread {
                let call = || format!("EnableEvent({}){thread}", thread::name(event_type));
                match EventType::of(event_type) {
                    None => self.findings.report(rules::EVENT_UNKNOWN, call()),
                    Some(event) if !event.enabled => {
                        self.findings.report(rules::EVENT_NOT_ENABLED, call());
                    }
                    Some(_) => {}
                }
            }
            // It may come before the function returns.
            let before = self.wanted.fetch_or(bit(event_type), Ordering::AcqRel);
            let result = unsafe { next.EnableEvent(event_type, arg) };
            if result != JVMPI_SUCCESS && before & bit(event_type) == 0 {
                self.wanted.fetch_and(!bit(event_type), Ordering::AcqRel);
            }
            result
        })
    }

    unsafe fn DisableEvent(&self, next: &Neighbours, event_type: jint, arg: *mut c_void) -> jint {
        self.called("DisableEvent", EVERYWHERE, |_| {
            self.wanted.fetch_and(!bit(event_type), Ordering::AcqRel);
            if is_needed(event_type) {
                return JVMPI_SUCCESS;
            }
            unsafe { next.DisableEvent(event_type, arg) }
        })
    }

    unsafe fn RequestEvent(&self, next: &Neighbours, event_type: jint, arg: *mut c_void) -> jint {
        let about_an_id = matches!(
            event_type,
            JVMPI_EVENT_CLASS_LOAD
                | JVMPI_EVENT_THREAD_START
                | JVMPI_EVENT_OBJECT_ALLOC
                | JVMPI_EVENT_OBJECT_DUMP
        );
        let allowed = match event_type {
            JVMPI_EVENT_OBJECT_DUMP => Allowed { needs_gc_off: true, ..NEITHER },
            _ if about_an_id => ABOUT_IDS,
            _ => NEITHER,
        };
        self.called("RequestEvent", allowed, |thread| {
            if let Some(thread) = thread {
                unsafe { self.check_request(event_type, arg, thread) };
            }
            let result = unsafe { next.RequestEvent(event_type, arg) };
            if result == JVMPI_FAIL
                && !arg.is_null()
                && matches!(event_type, JVMPI_EVENT_CLASS_LOAD | JVMPI_EVENT_OBJECT_ALLOC)
                && let Some(thread) = thread
            {
                self.no_object("RequestEvent", arg.cast(), thread);
            }
            result
        })
    }

    unsafe fn GetCallTrace(&self, next: &Neighbours, trace: *mut JVMPI_CallTrace, depth: jint) {
        self.called("GetCallTrace", EVERYWHERE, |thread| unsafe {
            if let Some(thread) = thread {
                let call = || format!("GetCallTrace({trace:?}, {depth}){thread}");
                match trace.as_ref() {
                    None => self.findings.report(rules::ARGUMENT_NULL, call()),
                    Some(JVMPI_CallTrace { frames, .. }) if frames.is_null() && depth > 0 => {
                        self.findings
                            .report(rules::ARGUMENT_NULL, format!("{}: no frames", call()));
                    }
                    _ if depth < 0 => self.findings.report(rules::ARGUMENT_RANGE, call()),
                    Some(trace) => _ = self.is_thread("GetCallTrace", trace.env_id, thread),
                }
            }
            next.GetCallTrace(trace, depth);
        });
    }

    unsafe fn ProfilerExit(&self, next: &Neighbours, exit_code: jint) {
        self.at_end(next);
        unsafe { next.ProfilerExit(exit_code) }
    }

    unsafe fn RawMonitorCreate(
        &self,
        next: &Neighbours,
        lock_name: *mut c_char,
    ) -> JVMPI_RawMonitor {
        self.called("RawMonitorCreate", NOT_STOPPED, |thread| match thread {
            Some(thread) => unsafe { self.create(next, lock_name, thread) },
            None => unsafe {
                let id = next.RawMonitorCreate(lock_name);
                self.created(id, lock_name);
                id
            },
        })
    }

    unsafe fn RawMonitorEnter(&self, next: &Neighbours, lock_id: JVMPI_RawMonitor) {
        self.called("RawMonitorEnter", EVERYWHERE, |thread| {
            let pass = || unsafe { next.RawMonitorEnter(lock_id) };
            match thread {
                Some(thread) => self.enter(lock_id, thread, pass),
                None => pass(),
            }
        });
    }

    unsafe fn RawMonitorExit(&self, next: &Neighbours, lock_id: JVMPI_RawMonitor) {
        self.called("RawMonitorExit", EVERYWHERE, |thread| {
            if let Some(thread) = thread {
                self.exit(lock_id, thread);
            }
            unsafe { next.RawMonitorExit(lock_id) }
        });
    }

    unsafe fn RawMonitorWait(&self, next: &Neighbours, lock_id: JVMPI_RawMonitor, ms: jlong) {
        self.called("RawMonitorWait", NOT_STOPPED, |thread| {
            let pass = || unsafe { next.RawMonitorWait(lock_id, ms) };
            match thread {
                Some(thread) => self.wait(lock_id, ms, thread, pass),
                None => pass(),
            }
        });
    }

    unsafe fn RawMonitorNotifyAll(&self, next: &Neighbours, lock_id: JVMPI_RawMonitor) {
        self.called("RawMonitorNotifyAll", EVERYWHERE, |thread| {
            if let Some(thread) = thread {
                self.notify(lock_id, thread);
            }
            unsafe { next.RawMonitorNotifyAll(lock_id) }
        });
    }

    unsafe fn RawMonitorDestroy(&self, next: &Neighbours, lock_id: JVMPI_RawMonitor) {
        self.called("RawMonitorDestroy", NOT_STOPPED, |thread| {
            if let Some(thread) = thread {
                self.destroy(lock_id, thread);
            }
            unsafe { next.RawMonitorDestroy(lock_id) }
        });
    }

    unsafe fn SuspendThread(&self, next: &Neighbours, env: *mut JNIEnv) {
        self.called("SuspendThread", NOT_IN_JVM_ON_LOAD, |thread| {
            let suspends =
                thread.is_none_or(|thread| self.may_suspend("SuspendThread", env, thread));
            unsafe { next.SuspendThread(env) };
            if let Some(thread) = thread.filter(|_| suspends) {
                self.suspended(env, thread);
            }
        });
    }

    unsafe fn ResumeThread(&self, next: &Neighbours, env: *mut JNIEnv) {
        self.called("ResumeThread", NOT_IN_JVM_ON_LOAD, |thread| {
            if let Some(thread) = thread
                && self.is_thread("ResumeThread", env, thread)
            {
                self.resumed("ResumeThread", env, thread);
            }
            unsafe { next.ResumeThread(env) }
        });
    }

    unsafe fn SuspendThreadList(
        &self,
        next: &Neighbours,
        reqCount: jint,
        env_list: *mut *mut JNIEnv,
        results: *mut jint,
    ) {
        self.called("SuspendThreadList", NOT_IN_JVM_ON_LOAD, |thread| unsafe {
            let Some(thread) = thread else {
                return next.SuspendThreadList(reqCount, env_list, results);
            };
            let function = "SuspendThreadList";
            let envs = self.list(function, reqCount, env_list, results, thread);
            for env in envs {
                self.may_suspend(function, *env, thread);
            }
            next.SuspendThreadList(reqCount, env_list, results);
            for (i, env) in envs.iter().enumerate() {
                if *results.add(i) == 0 {
                    self.suspended(*env, thread);
                }
            }
        });
    }

    unsafe fn ResumeThreadList(
        &self,
        next: &Neighbours,
        reqCount: jint,
        env_list: *mut *mut JNIEnv,
        results: *mut jint,
    ) {
        self.called("ResumeThreadList", NOT_IN_JVM_ON_LOAD, |thread| unsafe {
            if let Some(thread) = thread {
                let function = "ResumeThreadList";
                for env in self.list(function, reqCount, env_list, results, thread) {
                    if self.is_thread(function, *env, thread) {
                        self.resumed(function, *env, thread);
                    }
                }
            }
            next.ResumeThreadList(reqCount, env_list, results);
        });
    }

    unsafe fn GetThreadStatus(&self, next: &Neighbours, env: *mut JNIEnv) -> jint {
        self.with_thread("GetThreadStatus", NOT_IN_JVM_ON_LOAD, env);
        unsafe { next.GetThreadStatus(env) }
    }

    unsafe fn ThreadHasRun(&self, next: &Neighbours, env: *mut JNIEnv) -> bool {
        self.with_thread("ThreadHasRun", NOT_IN_JVM_ON_LOAD, env);
        unsafe { next.ThreadHasRun(env) }
    }

    unsafe fn CreateSystemThread(
        &self,
        next: &Neighbours,
        name: *mut c_char,
        priority: jint,
        f: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> jint {
        let function = "CreateSystemThread";
        self.called(function, NOT_STOPPED, |thread| {
            let off = thread.filter(|thread| self.has_gc_off(thread));
            if let Some(thread) = off {
                self.report(rules::CREATE_THREAD, function, thread);
            }
            if let Some(thread) = thread {
                let call = || format!("{function}({name:?}, {priority}, …){thread}");
                if name.is_null() || f.is_none() {
                    self.findings.report(rules::ARGUMENT_NULL, call());
                }
                if !(JVMPI_MINIMUM_PRIORITY..=JVMPI_MAXIMUM_PRIORITY).contains(&priority) {
                    self.findings.report(rules::ARGUMENT_RANGE, call());
                }
            }
            let result = unsafe { next.CreateSystemThread(name, priority, f) };
            if result == JNI_ERR
                && f.is_some()
                && (self.is_in(Phase::Load) || self.is_in(Phase::Started))
                && let Some(thread) = thread
            {
                self.report(rules::BEFORE_INIT_DONE, function, thread);
            }
            result
        })
    }

    unsafe fn SetThreadLocalStorage(&self, next: &Neighbours, env: *mut JNIEnv, ptr: *mut c_void) {
        self.with_thread("SetThreadLocalStorage", EVERYWHERE, env);
        unsafe { next.SetThreadLocalStorage(env, ptr) }
    }

    unsafe fn GetThreadLocalStorage(&self, next: &Neighbours, env: *mut JNIEnv) -> *mut c_void {
        self.with_thread("GetThreadLocalStorage", EVERYWHERE, env);
        unsafe { next.GetThreadLocalStorage(env) }
    }

    unsafe fn DisableGC(&self, next: &Neighbours) {
        self.called("DisableGC", EVERYWHERE, |thread| {
            if let Some(thread) = thread {
                // A function that waits for the end of a collection must not be called inside one.
                if thread.mode() == Mode::STOPPED && thread.suspended.get() == 0 {
                    self.report(rules::STOPPED, "DisableGC", thread);
                }
                if !self.gc_is_disabled() && thread.mode() == Mode::MT {
                    self.check_order_of_disable_gc(thread);
                }
                thread.disabled.set(thread.disabled.get() + 1);
            }
            unsafe { next.DisableGC() };
            self.disabled.fetch_add(1, Ordering::AcqRel);
        });
    }

    unsafe fn EnableGC(&self, next: &Neighbours) {
        self.called("EnableGC", EVERYWHERE, |thread| {
            let before = self.disabled.load(Ordering::Acquire);
            if let Some(thread) = thread {
                if before <= 0 {
                    self.report(rules::GC_SURPLUS, "EnableGC", thread);
                } else if before == 1
                    && self.names.suspended.load(Ordering::Acquire) > 0
                    && !thread.is_in_gc_off_event()
                {
                    self.report(rules::SUSPEND_ENABLE, "EnableGC", thread);
                }
                thread.disabled.set(thread.disabled.get() - i32::from(before > 0));
            }
            if before > 0 && self.disabled.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.left_disabled.store(false, Ordering::Release);
            }
            unsafe { next.EnableGC() }
        });
    }

    unsafe fn RunGC(&self, next: &Neighbours) {
        self.called("RunGC", NEITHER, |thread| {
            if let Some(thread) = thread.filter(|thread| self.has_gc_off(thread)) {
                self.report(rules::RUN_GC, "RunGC", thread);
            }
            unsafe { next.RunGC() }
        });
    }

    unsafe fn GetThreadObject(&self, next: &Neighbours, env: *mut JNIEnv) -> jobjectID {
        self.with_thread("GetThreadObject", ABOUT_IDS, env);
        unsafe { next.GetThreadObject(env) }
    }

    unsafe fn GetMethodClass(&self, next: &Neighbours, mid: jmethodID) -> jobjectID {
        self.called("GetMethodClass", ABOUT_IDS, |thread| {
            // An ID that is no method has no class to ask for.
            if thread.is_some_and(|thread| !self.is_method("GetMethodClass", mid, thread)) {
                return ptr::null_mut();
            }
            unsafe { next.GetMethodClass(mid) }
        })
    }

    unsafe fn jobjectID2jobject(&self, next: &Neighbours, jid: jobjectID) -> jobject {
        self.called("jobjectID2jobject", ABOUT_IDS, |thread| {
            let object = unsafe { next.jobjectID2jobject(jid) };
            if let Some(thread) = thread
                && !jid.is_null()
                && self.is_object("jobjectID2jobject", jid, thread)
                && object.is_null()
            {
                self.no_object("jobjectID2jobject", jid, thread);
            }
            object
        })
    }

    unsafe fn jobject2jobjectID(&self, next: &Neighbours, jobj: jobject) -> jobjectID {
        self.called("jobject2jobjectID", ABOUT_IDS, |_| unsafe { next.jobject2jobjectID(jobj) })
    }
}

impl Check {
    fn with_thread(&self, function: &str, allowed: Allowed, env: *mut JNIEnv) {
        self.called(function, allowed, |thread| {
            if let Some(thread) = thread {
                self.is_thread(function, env, thread);
            }
        });
    }

    /// Returns true if a thread may be suspended; reports it if not.
    fn may_suspend(&self, function: &str, env: *mut JNIEnv, thread: &Thread) -> bool {
        if !self.is_thread(function, env, thread) {
            return false;
        }
        if env == thread.env.get() {
            self.report(rules::SUSPEND_SELF, function, thread);
            return false;
        }
        if !self.gc_is_disabled() && thread.mode() == Mode::MT {
            self.report(rules::SUSPEND_GC, function, thread);
        }
        true
    }
}
