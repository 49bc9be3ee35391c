//! Which JVMTI events the shim asks for: those that some agent needs, so that an event nobody
//! has enabled costs nothing.

use super::natives::natives;
use super::turn::Turn;
use super::{
    allocations, blocking, jni_allocations, jni_monitors, jni_references, methods, native_methods,
    receivers, virtual_threads,
};
use crate::instrument::{self, Calls, Reports};
use crate::jvm::{self, Error, Jni};
use crate::lock::Lock;
use crate::records::phase::{self, Phase};
use crate::records::{agents, calls, waits};
use crate::suspension;
use crate::sync::contention;
use crate::threads;
use jni_sys::jint;
use jvmpi_settings::Virtual;
use jvmpi_sys::*;
use jvmti_sys::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// JVMTI events that the shim needs for itself, from the start: threads are registered by them, and
/// the VM's phases.
const ALWAYS: [jvmtiEvent; 5] = [
    JVMTI_EVENT_VM_START,
    JVMTI_EVENT_VM_INIT,
    JVMTI_EVENT_VM_DEATH,
    JVMTI_EVENT_THREAD_START,
    JVMTI_EVENT_THREAD_END,
];

/// What rewritten code and JNI functions can report, under the names of the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Report {
    Entries,
    Receivers,
    Exits,
    Instructions,
    Allocations,
    MonitorExits,
    References,
}

/// What an event comes from.
struct Source {
    event_type: jint,
    jvmti: &'static [jvmtiEvent],
    reports: &'static [Report],
}

macro_rules! sources {
    ($(
        $(#[$what:meta])*
        $constant:ident = $number:literal: $arm:tt, $mode:ident, $($who:ident)+,
        jvmti [$($jvmti:ident)*] reports [$($report:ident)*];
    )*) => {
        const SOURCES: &[Source] = &[$(Source {
            event_type: $constant,
            jvmti: &[$($jvmti),*],
            reports: &[$(Report::$report),*],
        }),*];
    };
}

for_each_event!(sources);

/// What walking a stack in a signal handler needs: methods have IDs, which they get when their
/// class is prepared, and HotSpot refuses (AsyncGetCallTrace returns -1) unless ClassLoad is
/// enabled.
const FOR_HANDLERS: [jvmtiEvent; 2] = [JVMTI_EVENT_CLASS_PREPARE, JVMTI_EVENT_CLASS_LOAD];

/// Asks for the events that the shim needs for itself.
pub fn start() -> jvm::Result<()> {
    allocations::prepare();
    native_methods::prepare()?;
    ALWAYS.iter().try_for_each(|event| jvm::get().jvmti.set_notification(*event, true))?;
    if jvmpi_settings::get().r#virtual == Virtual::Own {
        virtual_threads::start();
    }
    Ok(())
}

/// Gives back to the VM what only one agent of JVMTI can have, if no agent has turned out to want it.
pub fn give_back_unwanted(jni: Jni) {
    let switch = || {
        if !agents::anyone_wants(JVMPI_EVENT_OBJECT_ALLOC) {
            allocations::give_back();
        }
        // A thread may have left its request to this one.
        switch_as_wanted(jni)
    };
    if let Some(Err(error)) = TURN.run(jni, switch) {
        log::warn!("some events that agents have enabled cannot be had: {error}");
    }
}

/// What is switched on in the VM besides [`ALWAYS`].
#[derive(Clone, Copy, PartialEq, Eq)]
struct Switches {
    /// JVMTI events, as bits above `JVMTI_MIN_EVENT_TYPE_VAL`.
    events: u64,
    /// What rewritten code reports.
    code: Reports,
    /// The JNI functions that make references.
    references: bool,
}

/// What is switched on now, changed by the thread that has the [`TURN`].
static ON: Lock<Switches> = Lock::new(Switches::NONE);
static TURN: Turn = Turn::new();

fn bit(event: jvmtiEvent) -> u64 {
    1 << (event - JVMTI_MIN_EVENT_TYPE_VAL)
}

impl Switches {
    const NONE: Self = Self { events: 0, code: Reports::NONE, references: false };

    /// What it takes to send the JVMPI events for which this is true.
    fn for_events(wants: impl Fn(jint) -> bool) -> Self {
        let wanted = || SOURCES.iter().filter(|source| wants(source.event_type));
        let reports = |report| wanted().any(|source| source.reports.contains(&report));
        let allocations = reports(Report::Allocations);
        let by_bytecode = allocations && allocations::by_bytecode();
        let sampled = (allocations && !by_bytecode).then_some(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC);
        let jvmti = wanted().flat_map(|source| source.jvmti).copied().chain(sampled);
        let mut code = Reports::NONE;
        code.allocations = by_bytecode;
        code.calls = Calls {
            entries: reports(Report::Entries),
            receivers: reports(Report::Receivers),
            exits: reports(Report::Exits),
        };
        code.instructions = reports(Report::Instructions);
        code.monitor_exits = reports(Report::MonitorExits);
        Self {
            events: jvmti
                .filter(|event| !ALWAYS.contains(event))
                .fold(0, |all, event| all | bit(event)),
            code,
            references: reports(Report::References),
        }
    }

    /// What has to be switched on now.
    fn needed() -> Self {
        let mut needed = Self::for_events(agents::anyone_wants);
        // Records of an object are freed when it dies, whatever they were made for, and addresses are good
        // until it moves. The beginning of a collection comes first: a pause is noticed from both ends.
        let events = [
            JVMTI_EVENT_GARBAGE_COLLECTION_START,
            JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
            JVMTI_EVENT_OBJECT_FREE,
        ];
        let for_handlers = FOR_HANDLERS.into_iter().filter(|_| suspension::wants_method_ids());
        needed.events |= events.into_iter().chain(for_handlers).fold(0, |all, e| all | bit(e));
        // While the VM ends, code that reports too much does no harm.
        let is_on = ON.lock().code;
        if phase::now() == Phase::ShuttingDown {
            needed.code = is_on;
        }
        // Agents disable METHOD_ENTRY and METHOD_EXIT one after the other. Code that reports entries stays until exits
        // are disabled too, so loaded classes are rewritten once for both.
        let calls = &mut needed.code.calls;
        if calls.exits && !calls.entries && !calls.receivers {
            *calls = Calls { exits: true, ..is_on.calls };
        }
        // Loaded classes own the numbers that are in their code: ClassLoad is on as long as others may be
        // rewritten.
        if [needed.code, is_on].iter().any(|code| *code != Reports::NONE) {
            needed.events |= bit(JVMTI_EVENT_CLASS_LOAD);
        }
        needed
    }

    /// Whether everything that the event is made from is on.
    fn serve(&self, event_type: jint) -> bool {
        let needed = Self::for_events(|other| other == event_type);
        needed.events & !self.events == 0
            && self.code.include(needed.code)
            && (self.references || !needed.references)
    }
}

/// Whether the VM sends what an event comes from, as far as that is asked of it now.
pub fn serve(event_type: jint) -> bool {
    let on = *ON.lock();
    !is_running() || phase::now() == Phase::ShuttingDown || on.serve(event_type)
}

/// Whether the VM is asked for anything. Before it is initialized JVMTI refuses, and what was
/// recorded meanwhile takes effect then.
fn is_running() -> bool {
    !matches!(phase::now(), Phase::Loading | Phase::Dead)
}

/// How far [`update`] has got when it returns.
pub enum Updated {
    /// What the VM sends was in line with what agents wanted.
    Done,
    /// It will be done later: by another thread, for which this one could not wait, or when threads are
    /// resumed.
    Left,
}

/// Whether code is to be rewritten when the threads are resumed that the one has suspended which wanted it.
static PUT_OFF: AtomicBool = AtomicBool::new(false);

/// Whether code can be rewritten now: that links classes, and a thread that this one has suspended may be
/// just linking one, or hold a lock of its loader.
fn can_rewrite() -> bool {
    !suspension::current_suspends_others()
}

/// The current thread has resumed others for an agent: does what was put off until then.
pub fn resumed() {
    let is_due = || can_rewrite() && PUT_OFF.swap(false, Ordering::AcqRel);
    if PUT_OFF.load(Ordering::Acquire)
        && is_due()
        && let Err(error) = update()
    {
        log::warn!("what agents want of rewritten code stays as it was: {error}");
    }
}

/// Brings what the VM sends in line with what agents want.
///
/// # Errors
/// What the VM has refused. It is asked again with the next change.
pub fn update() -> jvm::Result<Updated> {
    if !is_running() {
        return Ok(Updated::Done);
    }
    let Some((jni, _)) = threads::current_attached() else { return update_from_outside() };
    let needed = Switches::needed();
    // The thread that has the turn may be about to switch off what is needed.
    if TURN.is_free() && *ON.lock() == needed {
        return Ok(Updated::Done);
    }
    TURN.run(jni, || switch_as_wanted(jni)).unwrap_or(Ok(Updated::Left))
}

/// Brings the VM in line with what agents want now. Called by the thread that has the turn.
fn switch_as_wanted(jni: Jni) -> jvm::Result<Updated> {
    if agents::anyone_wants(JVMPI_EVENT_OBJECT_ALLOC) {
        allocations::prepare();
    }
    switch_to(jni, Switches::needed())
}

/// Has the VM send the JVMTI events that this event is made from, before [`update`] does all the rest;
/// false if it does not.
pub fn begin_with(jni: Jni, event_type: jint) -> bool {
    let begin = || {
        let mut needed = *ON.lock();
        needed.events |= Switches::for_events(|other| other == event_type).events;
        switch_to(jni, needed)
    };
    TURN.run(jni, begin).is_some_and(|begun| begun.is_ok())
}

/// A thread that is not attached cannot call the VM: leaves it to the thread that has the turn, if
/// any.
fn update_from_outside() -> jvm::Result<Updated> {
    if TURN.leave() {
        return Ok(Updated::Left);
    }
    let needed = Switches::needed();
    if *ON.lock() == needed { Ok(Updated::Done) } else { Err(Error(JVMTI_ERROR_UNATTACHED_THREAD)) }
}

/// What is refused stays as it is, and does not keep the rest from being switched.
fn switch_to(jni: Jni, needed: Switches) -> jvm::Result<Updated> {
    let before = *ON.lock();
    let (mut result, mut updated) = (Ok(()), Updated::Done);
    for event in JVMTI_MIN_EVENT_TYPE_VAL..=JVMTI_MAX_EVENT_TYPE_VAL {
        if (needed.events ^ before.events) & bit(event) != 0 {
            let switched = switch(jni, event, needed.events & bit(event) != 0);
            if switched.is_ok() {
                ON.lock().events ^= bit(event);
            }
            result = result.and(switched);
        }
    }
    if needed.code != before.code && !can_rewrite() {
        PUT_OFF.store(true, Ordering::Release);
        updated = Updated::Left;
    } else if needed.code != before.code {
        let switched = switch_code(jni, needed.code);
        if switched.is_ok() {
            ON.lock().code = needed.code;
        }
        result = result.and(switched);
    }
    if needed.references != before.references {
        let switched = switch_references(needed.references);
        if switched.is_ok() {
            ON.lock().references = needed.references;
        }
        result = result.and(switched);
    }
    result.map(|()| updated)
}

fn switch(jni: Jni, event: jvmtiEvent, on: bool) -> jvm::Result<()> {
    let jvm = jvm::get();
    match event {
        JVMTI_EVENT_SAMPLED_OBJECT_ALLOC => allocations::switch_sampling(on),
        JVMTI_EVENT_CLASS_FILE_LOAD_HOOK => {
            let result = jvm.reader_env.set_notification(event, on);
            jvm.class_env.set_notification(event, on).and(result)
        }
        JVMTI_EVENT_MONITOR_CONTENDED_ENTER if !on => {
            let stopped = jvm.jvmti.set_notification(event, false);
            contention::forget_waiting(jni);
            stopped
        }
        JVMTI_EVENT_COMPILED_METHOD_UNLOAD if !on => {
            let stopped = jvm.jvmti.set_notification(event, false);
            crate::classes::compiled::forget_all();
            stopped
        }
        JVMTI_EVENT_MONITOR_WAIT if !on => {
            let stopped = jvm.jvmti.set_notification(event, false);
            waits::WAITS.end();
            stopped
        }
        _ => jvm.jvmti.set_notification(event, on),
    }
}

/// Brings what rewritten code reports in line with the events that agents want.
fn switch_code(jni: Jni, reports: Reports) -> jvm::Result<()> {
    let before = instrument::reports();
    // Code that reports entries already reports no exits until it is rewritten.
    let lacks_exits = (before.calls.entries || before.calls.receivers) && !before.calls.exits;
    calls::expect_exits(reports.calls.exits && !lacks_exits);
    let switched = prepare_natives(jni, reports).and_then(|()| instrument::report(jni, reports));
    switched.map_err(|message| {
        log::error!("{message}");
        Error(JVMTI_ERROR_INTERNAL)
    })?;
    if reports.allocations != before.allocations {
        jni_allocations::replace(reports.allocations)?;
    }
    native_methods::report(jni, reports);
    calls::expect_exits(reports.calls.exits);
    if reports.monitor_exits != before.monitor_exits {
        jni_monitors::replace(reports.monitor_exits)?;
    }
    contention::tell_rewritten_code(jni, reports.monitor_exits);
    Ok(())
}

/// Makes ready what rewritten code calls.
fn prepare_natives(jni: Jni, reports: Reports) -> Result<(), String> {
    threads::quietly(jni, || {
        instrument::tracker::define(jni, &natives())?;
        if reports.calls.exits {
            methods::prepare(jni);
        }
        if reports.objects_before_constructors() {
            receivers::prepare(jni);
        }
        Ok(())
    })
}

/// Has threads that park reported.
pub fn report_parking(jni: Jni) {
    match prepare_natives(jni, Reports::NONE) {
        Ok(()) => blocking::report_parking(jni),
        Err(message) => log::error!("{message}"),
    }
}

/// Brings the JNI functions that make references in line with the events that agents want.
fn switch_references(on: bool) -> jvm::Result<()> {
    jni_references::replace(on)?;
    if !on {
        crate::classes::references::forget_all();
    }
    Ok(())
}
