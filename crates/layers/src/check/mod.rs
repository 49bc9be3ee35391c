//! Checked mode: a [`Layer`](crate::layer::Layer) that says which rule of JVMPI an agent breaks, and where.
//!
//! Checks every call and every event, and prints each finding to standard error. The rules are in [`rules`].

mod arguments;
mod calls;
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

use crate::layer::{Layer as _, Neighbours};
use crate::trace::event_name;
use finding::Findings;
use guard::Guard;
use jni_sys::jint;
use jvm::platform::guard_pages;
use jvmpi_sys::*;
use monitors::Monitors;
use names::Names;
use rules::Rule;
use stack::Stack;
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

impl Check {
    /// Returns a layer for the agent in this library, which is to be put into this slot. `aborts` ends the
    /// process after the first finding.
    #[must_use]
    pub fn new(agent: &Path, slot: usize, aborts: bool) -> Self {
        guard_pages::install(touched);
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

    fn gc_is_disabled(&self) -> bool {
        self.disabled.load(Ordering::Acquire) > 0
    }

    /// Returns true if the current thread has GC disabled, or handles an event in that mode.
    fn has_gc_off(&self, thread: &Thread) -> bool {
        thread.mode() == Mode::GC_OFF || thread.disabled.get() > 0 && self.gc_is_disabled()
    }

    /// Takes note of what an event says, and passes it to the agent.
    ///
    /// # Safety
    /// The same as for [`Layer::NotifyEvent`](crate::layer::Layer::NotifyEvent).
    unsafe fn event(&self, next: &Neighbours, event: *mut JVMPI_Event) {
        // SAFETY: as the caller promises.
        let JVMPI_Event { event_type, env_id, .. } = unsafe { *event };
        let requested = event_type & JVMPI_REQUESTED_EVENT != 0;
        let ends_something =
            matches!(event_type, JVMPI_EVENT_THREAD_END | JVMPI_EVENT_CLASS_UNLOAD);
        // SAFETY: as above.
        let last = ends_something.then(|| unsafe { *event });
        let passed = thread::with(self.slot, |thread| {
            if self.is_in(Phase::Load) {
                self.phase.fetch_max(Phase::Started as u8, Ordering::AcqRel);
            }
            // SAFETY: as above.
            unsafe { self.names.define(&*event) };
            // In other events `env_id` is the current thread.
            if thread.env.get() != env_id && !requested && !is_of_collection(event_type) {
                thread.env.set(env_id);
                self.names.thread_lives(env_id);
            }
            if event_type == JVMPI_EVENT_JVM_INIT_DONE {
                self.phase.fetch_max(Phase::Live as u8, Ordering::AcqRel);
            }
            // SAFETY: as above.
            unsafe { self.pass(next, event, thread) };
            if let Some(last) = last {
                // SAFETY: as above.
                unsafe { self.names.undefine(&last) };
            }
            if event_type == JVMPI_EVENT_THREAD_END {
                thread.env.set(ptr::null_mut());
            }
            if event_type == JVMPI_EVENT_JVM_SHUT_DOWN {
                self.at_end(next);
            }
        });
        if passed.is_none() && (requested || self.wants(event_type)) {
            // SAFETY: as above.
            unsafe { next.NotifyEvent(event) };
        }
    }

    /// Passes an event to the agent, if it is for it, and looks what its handler has left.
    ///
    /// # Safety
    /// The same as for [`Self::event`].
    unsafe fn pass(&self, next: &Neighbours, event: *mut JVMPI_Event, thread: &Thread) {
        // SAFETY: as the caller promises.
        let event_type = unsafe { (*event).event_type };
        let number = event_type & !JVMPI_REQUESTED_EVENT;
        if number == event_type && !self.wants(number) {
            return;
        }
        if !next.has_handler() {
            let what = format!("{} comes", event_name(event_type));
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
        // These may leave other monitors than they began with.
        let may = [JVMPI_EVENT_GC_START, JVMPI_EVENT_GC_FINISH, JVMPI_EVENT_JVM_SHUT_DOWN];
        if thread.owned_sum.get() != owned && !may.contains(&number) {
            self.report_left(next, rules::MONITOR_LEFT, number, thread);
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

    /// Reports that the handler has returned with other monitors than it began with.
    fn report_left(&self, next: &Neighbours, rule: &'static Rule, number: jint, thread: &Thread) {
        let what = format!(
            "the handler of {} has returned; the thread owns: {}",
            event_name(number),
            self.owned_by(thread)
        );
        self.findings.report_at(rule, Stack::of_handler(next), what);
    }

    /// Reports the access to guarded memory at this address, and returns true; false if it is not this agent's.
    fn report_touch(&self, address: usize) -> bool {
        let Some((state, event_type)) = self.guard.touched(address) else { return false };
        let (rule, what) = match state {
            guard::NOW => (rules::EVENT_WRITTEN, "written to in its handler"),
            _ => (rules::EVENT_READ_LATE, "accessed after its handler has returned"),
        };
        let event = event_name(event_type);
        let what = format!("memory of a {event} was {what}, at {address:#x}");
        self.findings.report_at(rule, Stack::of_agent(), what);
        true
    }

    fn at_end(&self, next: &Neighbours) {
        if self.phase.swap(Phase::Over as u8, Ordering::AcqRel) == Phase::Over as u8 {
            return;
        }
        if self.gc_is_disabled() && self.left_disabled.load(Ordering::Acquire) {
            let what = format!(
                "DisableGC {} times more than EnableGC",
                self.disabled.load(Ordering::Acquire)
            );
            self.findings.report_at(rules::GC_LEFT, Stack::of_handler(next), what);
        }
        self.findings.summarize();
    }
}

/// Reports the access to guarded memory of any agent at this address, and returns true; false if there is none.
fn touched(address: usize) -> bool {
    let reports = |slot| Check::slots().get(slot).is_some_and(|check| check.report_touch(address));
    (0..crate::layer::SLOTS).any(reports)
}
