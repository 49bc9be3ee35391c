//! Checks every call of the agent: before it is passed on, and after it has returned.

use crate::check::rules::{self, Rule};
use crate::check::thread::{self, Thread};
use crate::check::{Check, NEEDED, Phase, Stack, bit};
use crate::layer::{Layer, Neighbours, Slots};
use crate::trace::{Function, Word, arguments_of, event_name, threads_of_list};
use jni_sys::{JNI_ERR, JNIEnv, jboolean, jint, jlong, jmethodID, jobject};
use jvmpi_sys::*;
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

/// A call of the agent.
#[derive(Clone, Copy)]
struct Call {
    function: Function,
    /// The arguments, as [`Word`]s.
    arguments: [u64; 3],
}

impl Call {
    fn number(self, place: usize) -> jint {
        self.arguments[place] as jint
    }

    fn pointer<T>(self, place: usize) -> *mut T {
        Word::of(self.arguments[place])
    }
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

/// Returns where this call may be made.
fn allowed(call: Call) -> Allowed {
    match call.function {
        Function::RequestEvent => match call.number(0) {
            JVMPI_EVENT_OBJECT_DUMP => Allowed { needs_gc_off: true, ..NEITHER },
            JVMPI_EVENT_CLASS_LOAD | JVMPI_EVENT_THREAD_START | JVMPI_EVENT_OBJECT_ALLOC => {
                ABOUT_IDS
            }
            _ => NEITHER,
        },
        Function::RunGC => NEITHER,
        Function::RawMonitorCreate
        | Function::RawMonitorWait
        | Function::RawMonitorDestroy
        | Function::CreateSystemThread => NOT_STOPPED,
        Function::SuspendThread
        | Function::ResumeThread
        | Function::SuspendThreadList
        | Function::ResumeThreadList
        | Function::GetThreadStatus
        | Function::ThreadHasRun => NOT_IN_JVM_ON_LOAD,
        Function::GetThreadObject
        | Function::GetMethodClass
        | Function::jobjectID2jobject
        | Function::jobject2jobjectID => ABOUT_IDS,
        _ => EVERYWHERE,
    }
}

macro_rules! check {
    ($(
        $(#[doc = $what:literal])*
        fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, else $otherwise:expr;
    )*) => {
        impl Layer for Check {
            fn slots() -> &'static Slots<Self> {
                static SLOTS: Slots<Check> = Slots::new();
                &SLOTS
            }

            /// Enables what the layer itself needs at once: an agent may enable nothing, only request events, or only
            /// call functions.
            fn begin(&self, next: &Neighbours) {
                for event in NEEDED {
                    // SAFETY: it takes any number.
                    unsafe { next.EnableEvent(event, ptr::null_mut()) };
                }
            }

            unsafe fn NotifyEvent(&self, next: &Neighbours, event: *mut JVMPI_Event) {
                // SAFETY: as the caller promises.
                unsafe { self.event(next, event) }
            }

            $(
                unsafe fn $name(&self, next: &Neighbours $(, $argument: $type)*) $(-> $result)? {
                    let arguments = arguments_of(&[$($argument.word()),*]);
                    let call = Call { function: Function::$name, arguments };
                    // SAFETY: the arguments are those that the agent has passed.
                    if let Some(answer) = unsafe { self.before(next, call) } {
                        return Word::of(answer);
                    }
                    // SAFETY: as the caller promises.
                    let result = unsafe { next.$name($($argument),*) };
                    // SAFETY: as above.
                    unsafe { self.after(call, result.word()) };
                    result
                }
            )*
        }
    };
}

for_each_function!(check);

impl Check {
    /// Checks a call that is about to be made. Returns the result of a call that is not passed on.
    ///
    /// # Safety
    /// The arguments are those that the agent has passed.
    unsafe fn before(&self, next: &Neighbours, call: Call) -> Option<u64> {
        let event = call.number(0);
        match call.function {
            // The event may come before the function returns.
            Function::EnableEvent => _ = self.wanted.fetch_or(bit(event), Ordering::AcqRel),
            Function::DisableEvent => _ = self.wanted.fetch_and(!bit(event), Ordering::AcqRel),
            Function::ProfilerExit => self.at_end(next),
            _ => {}
        }
        let is_valid = thread::with(self.slot, |thread| {
            self.check_mode(call, thread);
            // SAFETY: as the caller promises.
            unsafe { self.check(call, thread) }
        });
        match call.function {
            Function::EnableGC => {
                let is_disabled = self.gc_is_disabled();
                if is_disabled && self.disabled.fetch_sub(1, Ordering::AcqRel) == 1 {
                    self.left_disabled.store(false, Ordering::Release);
                }
                None
            }
            Function::DisableEvent if NEEDED.contains(&event) => Some(JVMPI_SUCCESS.word()),
            // An ID that is no method has no class to ask for.
            Function::GetMethodClass if is_valid == Some(false) => Some(0),
            _ => None,
        }
    }

    fn check_mode(&self, call: Call, thread: &Thread) {
        let allowed = allowed(call);
        let function = call.function.name();
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

    /// Checks the arguments of a call, and what the thread does otherwise. Returns false if an argument is invalid that
    /// the function must not get.
    ///
    /// # Safety
    /// The arguments are those that the agent has passed.
    unsafe fn check(&self, call: Call, thread: &Thread) -> bool {
        let function = call.function.name();
        match call.function {
            Function::EnableEvent => self.check_enabled(call.number(0), thread),
            // SAFETY: as the caller promises.
            Function::RequestEvent => unsafe {
                self.check_request(call.number(0), call.pointer(1), thread);
            },
            // SAFETY: as the caller promises.
            Function::GetCallTrace => unsafe {
                self.check_trace(call.pointer(0), call.number(1), thread);
            },
            Function::RawMonitorCreate if call.arguments[0] == 0 => {
                self.report(rules::ARGUMENT_NULL, "RawMonitorCreate(NULL)", thread);
            }
            Function::RawMonitorEnter => self.check_enter(call.pointer(0), thread),
            Function::RawMonitorExit => self.exit(call.pointer(0), thread),
            Function::RawMonitorWait => {
                self.begin_wait(call.pointer(0), call.arguments[1] as jlong, thread);
            }
            Function::RawMonitorNotifyAll => self.notify(call.pointer(0), thread),
            Function::RawMonitorDestroy => self.destroy(call.pointer(0), thread),
            Function::SuspendThread => self.check_suspended(function, call.pointer(0), thread),
            Function::ResumeThread => self.resumed(function, call.pointer(0), thread),
            Function::SuspendThreadList | Function::ResumeThreadList => {
                self.check_list(function, call.number(0), call.pointer(1), call.pointer(2), thread);
                // SAFETY: as the caller promises.
                for (env, _) in unsafe { threads_of_list(call.arguments) } {
                    match call.function {
                        Function::SuspendThreadList => self.check_suspended(function, env, thread),
                        _ => self.resumed(function, env, thread),
                    }
                }
            }
            Function::GetThreadStatus
            | Function::ThreadHasRun
            | Function::SetThreadLocalStorage
            | Function::GetThreadLocalStorage
            | Function::GetThreadObject => {
                self.is_thread(function, call.pointer(0), thread);
            }
            Function::CreateSystemThread => {
                let [name, priority, f] = call.arguments;
                if self.has_gc_off(thread) {
                    self.report(rules::CREATE_THREAD, function, thread);
                }
                let priority = priority as jint;
                let what = format!("{function}({name:#x}, {priority}, …)");
                if name == 0 || f == 0 {
                    self.report(rules::ARGUMENT_NULL, &what, thread);
                }
                if !(JVMPI_MINIMUM_PRIORITY..=JVMPI_MAXIMUM_PRIORITY).contains(&priority) {
                    self.report(rules::ARGUMENT_RANGE, &what, thread);
                }
            }
            Function::DisableGC => {
                // A function that waits for the end of a collection must not be called inside one.
                if thread.mode() == Mode::STOPPED && thread.suspended.get() == 0 {
                    self.report(rules::STOPPED, function, thread);
                }
                if !self.gc_is_disabled() && thread.mode() == Mode::MT {
                    self.check_order_of_disable_gc(thread);
                }
                thread.disabled.set(thread.disabled.get() + 1);
            }
            Function::EnableGC => {
                let before = self.disabled.load(Ordering::Acquire);
                if before <= 0 {
                    self.report(rules::GC_SURPLUS, function, thread);
                } else if before == 1
                    && self.names.suspended.load(Ordering::Acquire) > 0
                    && !thread.is_in_gc_off_event()
                {
                    self.report(rules::SUSPEND_ENABLE, function, thread);
                }
                thread.disabled.set(thread.disabled.get() - i32::from(before > 0));
            }
            Function::RunGC if self.has_gc_off(thread) => {
                self.report(rules::RUN_GC, function, thread);
            }
            Function::GetMethodClass => return self.is_method(function, call.pointer(0), thread),
            _ => {}
        }
        true
    }

    /// Takes note of what a call has done.
    ///
    /// # Safety
    /// The arguments are those that the agent has passed.
    unsafe fn after(&self, call: Call, result: u64) {
        match call.function {
            Function::EnableEvent if result != JVMPI_SUCCESS.word() => {
                self.wanted.fetch_and(!bit(call.number(0)), Ordering::AcqRel);
            }
            Function::DisableGC => _ = self.disabled.fetch_add(1, Ordering::AcqRel),
            Function::RawMonitorCreate => {
                let id = Word::of(result);
                // SAFETY: as the caller promises.
                unsafe { self.created(id, call.pointer(0)) };
            }
            _ => {}
        }
        thread::with(self.slot, |thread| {
            // SAFETY: as the caller promises.
            unsafe { self.after_on(thread, call, result) };
        });
    }

    /// # Safety
    /// The same as for [`Self::after`].
    unsafe fn after_on(&self, thread: &Thread, call: Call, result: u64) {
        let function = call.function.name();
        let error = JNI_ERR.word();
        match call.function {
            Function::RequestEvent
                if result == JVMPI_FAIL.word()
                    && call.arguments[1] != 0
                    && [JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_OBJECT_ALLOC]
                        .contains(&call.number(0)) =>
            {
                self.no_object(function, call.pointer(1), thread);
            }
            Function::RawMonitorEnter => self.entered(call.pointer(0), thread),
            Function::RawMonitorWait => self.end_wait(call.pointer(0), thread),
            Function::SuspendThread => self.suspended(call.pointer(0), thread),
            Function::SuspendThreadList => {
                // SAFETY: as the caller promises.
                for (env, result) in unsafe { threads_of_list(call.arguments) } {
                    // SAFETY: the function has written a result for each thread.
                    if unsafe { *result } == 0 {
                        self.suspended(env, thread);
                    }
                }
            }
            Function::CreateSystemThread
                if result == error
                    && call.arguments[2] != 0
                    && (self.is_in(Phase::Load) || self.is_in(Phase::Started)) =>
            {
                self.report(rules::BEFORE_INIT_DONE, function, thread);
            }
            Function::jobjectID2jobject
                if call.arguments[0] != 0
                    && self.is_object(function, call.pointer(0), thread)
                    && result == 0 =>
            {
                self.no_object(function, call.pointer(0), thread);
            }
            _ => {}
        }
    }

    fn report(&self, rule: &'static Rule, what: &str, thread: &Thread) {
        self.findings.report(rule, format!("{what}{thread}"));
    }

    fn check_enabled(&self, event_type: jint, thread: &Thread) {
        let rule = match EventType::of(event_type) {
            None => rules::EVENT_UNKNOWN,
            Some(event) if !event.enabled => rules::EVENT_NOT_ENABLED,
            Some(_) => return,
        };
        self.report(rule, &format!("EnableEvent({})", event_name(event_type)), thread);
    }

    /// Checks the arguments of RequestEvent, except for NULL.
    ///
    /// # Safety
    /// The argument of HEAP_DUMP is NULL or points to its structure.
    unsafe fn check_request(&self, event_type: jint, arg: *mut c_void, thread: &Thread) {
        let what = format!("RequestEvent({}, {arg:?})", event_name(event_type));
        let Some(event) = EventType::of(event_type) else {
            return self.report(rules::EVENT_UNKNOWN, &what, thread);
        };
        if !event.requested {
            return self.report(rules::EVENT_NOT_REQUESTED, &what, thread);
        }
        match event_type {
            JVMPI_EVENT_MONITOR_DUMP => {}
            JVMPI_EVENT_HEAP_DUMP => {
                // SAFETY: as the caller promises.
                let level = unsafe { arg.cast::<JVMPI_HeapDumpArg>().as_ref() };
                let level = level.map_or(0, |arg| arg.heap_dump_level);
                if !(0..=2).contains(&level) {
                    let what = format!("{what} of level {level}");
                    self.report(rules::ARGUMENT_RANGE, &what, thread);
                }
            }
            _ if arg.is_null() => self.report(rules::ARGUMENT_NULL, &what, thread),
            _ => _ = self.is_object("RequestEvent", arg.cast(), thread),
        }
    }

    /// # Safety
    /// The trace is NULL or one.
    unsafe fn check_trace(&self, trace: *mut JVMPI_CallTrace, depth: jint, thread: &Thread) {
        // SAFETY: as the caller promises.
        let rule = match unsafe { trace.as_ref() } {
            None => rules::ARGUMENT_NULL,
            Some(trace) if trace.frames.is_null() && depth > 0 => rules::ARGUMENT_NULL,
            _ if depth < 0 => rules::ARGUMENT_RANGE,
            Some(trace) => {
                self.is_thread("GetCallTrace", trace.env_id, thread);
                return;
            }
        };
        self.report(rule, &format!("GetCallTrace({trace:?}, {depth})"), thread);
    }

    /// A thread is about to be suspended.
    fn check_suspended(&self, function: &str, env: *mut JNIEnv, thread: &Thread) {
        if !self.is_thread(function, env, thread) {
            return;
        }
        if env == thread.env.get() {
            self.report(rules::SUSPEND_SELF, function, thread);
        } else if !self.gc_is_disabled() && thread.mode() == Mode::MT {
            self.report(rules::SUSPEND_GC, function, thread);
        }
    }
}
