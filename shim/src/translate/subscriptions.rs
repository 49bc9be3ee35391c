//! Enables exactly the JVMTI events that some agent needs, so that an event nobody has enabled costs
//! nothing.

use super::combiner::Combiner;
use super::natives::natives;
use super::{
    allocations, blocking, compiled, jni_functions, methods, native_methods, receivers, references,
};
use crate::instrument::{self, Reports, class_files};
use crate::records::phase::{self, Phase};
use crate::records::{agents, waits};
use crate::sync::contention;
use crate::{suspension, threads};
use jni_sys::jint;
use jvm::lock::Lock;
use jvm::types::*;
use jvm::{Error, Jni};
use jvmpi_settings::Virtual;
use jvmpi_sys::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// The JVMTI events that the shim itself always needs, to register threads and to follow the VM's phases.
const ALWAYS: [jvmtiEvent; 5] = [
    JVMTI_EVENT_VM_START,
    JVMTI_EVENT_VM_INIT,
    JVMTI_EVENT_VM_DEATH,
    JVMTI_EVENT_THREAD_START,
    JVMTI_EVENT_THREAD_END,
];

/// The sources of a JVMPI event: the JVMTI events and the reports that it is made from.
struct Source {
    event_type: jint,
    jvmti: &'static [jvmtiEvent],
    reports: Reports,
}

macro_rules! sources {
    ($(
        $(#[$what:meta])*
        $constant:ident = $number:literal: $body:tt, $mode:ident, $($who:ident)+,
        jvmti [$($jvmti:ident)*] reports [$($report:ident)*];
    )*) => {
        const SOURCES: &[Source] = &[$(Source {
            event_type: $constant,
            jvmti: &[$($jvmti),*],
            reports: Reports::NONE$(.and(Reports::$report))*,
        }),*];
    };
}

for_each_event!(sources);

/// The JVMTI events that a stack walk in a signal handler needs. Methods get their IDs when their class is
/// prepared. HotSpot refuses the walk (AsyncGetCallTrace returns -1) unless ClassLoad is enabled.
const FOR_HANDLERS: [jvmtiEvent; 2] = [JVMTI_EVENT_CLASS_PREPARE, JVMTI_EVENT_CLASS_LOAD];

/// Enables the JVMTI events that the shim itself needs.
pub fn start() -> jvm::Result<()> {
    allocations::prepare();
    native_methods::prepare()?;
    ALWAYS.iter().try_for_each(|event| jvm::get().jvmti.set_notification(*event, true))?;
    if jvmpi_settings::get().r#virtual == Virtual::Own {
        super::threads::start_virtual();
    }
    Ok(())
}

/// Relinquishes the capabilities that only one JVMTI agent can hold, if no JVMPI agent has needed them so
/// far.
pub fn give_back_unwanted(jni: Jni) {
    let switch = || {
        if !agents::anyone_wants(JVMPI_EVENT_OBJECT_ALLOC) {
            allocations::give_back();
        }
        // Another thread may have delegated its request to this one.
        switch_as_wanted(jni)
    };
    if let Some(Err(error)) = COMBINER.run(jni, switch) {
        log::warn!("some enabled events are not available: {error}");
    }
}

/// The switches that are on in the VM, apart from the events of [`ALWAYS`].
#[derive(Clone, Copy, PartialEq, Eq)]
struct Switches {
    /// JVMTI events, as bits above `JVMTI_MIN_EVENT_TYPE_VAL`.
    events: u64,
    /// The reports of rewritten code.
    code: Reports,
    /// True if the JNI functions that create references are replaced.
    references: bool,
}

/// The switches that are on now. Only the thread that holds the [`COMBINER`] changes them.
static ON: Lock<Switches> = Lock::new(Switches::NONE);
static COMBINER: Combiner = Combiner::new();

fn bit(event: jvmtiEvent) -> u64 {
    1 << (event - JVMTI_MIN_EVENT_TYPE_VAL)
}

impl Switches {
    const NONE: Self = Self { events: 0, code: Reports::NONE, references: false };

    /// Returns the switches that are needed to send the JVMPI events for which `wants` is true.
    fn for_events(wants: impl Fn(jint) -> bool) -> Self {
        let wanted = || SOURCES.iter().filter(|source| wants(source.event_type));
        let reports = wanted().fold(Reports::NONE, |all, source| all.and(source.reports));
        let mut code = reports.without(Reports::REFERENCES);
        let by_vm = reports.include(Reports::ALLOCATIONS) && !allocations::by_bytecode();
        if by_vm {
            code = code.without(Reports::ALLOCATIONS);
        }
        let sampled = by_vm.then_some(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC);
        let jvmti = wanted().flat_map(|source| source.jvmti).copied().chain(sampled);
        Self {
            events: jvmti
                .filter(|event| !ALWAYS.contains(event))
                .fold(0, |all, event| all | bit(event)),
            code,
            references: reports.include(Reports::REFERENCES),
        }
    }

    /// Returns the switches that have to be on now.
    fn needed() -> Self {
        let mut needed = Self::for_events(agents::anyone_wants);
        // A record that belongs to an object, for whatever event, is freed when the object dies, and
        // addresses are valid only until it moves. GarbageCollectionStart comes first: a pause is noticed
        // from both ends.
        let events = [
            JVMTI_EVENT_GARBAGE_COLLECTION_START,
            JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
            JVMTI_EVENT_OBJECT_FREE,
        ];
        let for_handlers = FOR_HANDLERS.into_iter().filter(|_| suspension::wants_method_ids());
        needed.events |= events.into_iter().chain(for_handlers).fold(0, |all, e| all | bit(e));
        // While the VM shuts down, code that reports too much does no harm.
        let is_on = ON.lock().code;
        if phase::now() == Phase::ShuttingDown {
            needed.code = is_on;
        }
        // Agents disable METHOD_ENTRY and METHOD_EXIT one after the other. Code that reports entries stays until exits
        // are disabled too, so loaded classes are rewritten once for both.
        if needed.code.include(Reports::EXITS) && !needed.code.have_entries() {
            needed.code = needed.code.and(is_on.among(Reports::CALLS));
        }
        // A loaded class owns the method numbers in its code, so ClassLoad stays on as long as other
        // classes may be rewritten.
        if [needed.code, is_on].iter().any(|code| *code != Reports::NONE) {
            needed.events |= bit(JVMTI_EVENT_CLASS_LOAD);
        }
        needed
    }

    /// Returns true if everything that the event is made from is on.
    fn serve(&self, event_type: jint) -> bool {
        let needed = Self::for_events(|other| other == event_type);
        needed.events & !self.events == 0
            && self.code.include(needed.code)
            && (self.references || !needed.references)
    }
}

/// Returns true if the VM sends everything that the event is made from, or if the VM cannot be asked for it
/// now.
pub fn serve(event_type: jint) -> bool {
    let on = *ON.lock();
    !is_running() || phase::now() == Phase::ShuttingDown || on.serve(event_type)
}

/// Returns true if JVMTI events can be switched now. Before VMInit, JVMTI refuses; requests recorded until
/// then take effect at VMInit.
fn is_running() -> bool {
    !matches!(phase::now(), Phase::Loading | Phase::Dead)
}

/// The outcome of [`update`].
pub enum Updated {
    /// The VM now sends what agents want.
    Done,
    /// The update was delegated to another thread that this one could not wait for, or deferred until
    /// threads are resumed or class files are shown.
    Left,
}

/// True if rewriting of code is deferred until the requesting thread has resumed the threads it suspended, or has
/// shown its class files.
static PUT_OFF: AtomicBool = AtomicBool::new(false);

/// Returns true if code can be rewritten now. Rewriting links classes. A thread that the current one has
/// suspended may be linking a class, or hold a lock of its loader. And the VM cannot retransform a class inside a
/// retransformation of it.
fn can_rewrite() -> bool {
    !suspension::current_suspends_others() && !class_files::is_at_work()
}

/// Does the update that was deferred, after the current thread has resumed other threads or shown class files for an
/// agent.
pub fn catch_up() {
    let is_due = || can_rewrite() && PUT_OFF.swap(false, Ordering::AcqRel);
    if PUT_OFF.load(Ordering::Acquire)
        && is_due()
        && let Err(error) = update()
    {
        log::warn!("rewritten code still reports the events of before: {error}");
    }
}

/// Switches JVMTI events and reports on or off, so that the VM sends what agents want.
///
/// # Errors
/// Returns the error of a switch that the VM refused. The next update tries it again.
pub fn update() -> jvm::Result<Updated> {
    if !is_running() {
        return Ok(Updated::Done);
    }
    let Some((jni, _)) = threads::current_attached() else { return update_from_outside() };
    let needed = Switches::needed();
    // The thread that holds the turn may be about to switch off what is needed.
    if COMBINER.is_free() && *ON.lock() == needed {
        return Ok(Updated::Done);
    }
    COMBINER.run(jni, || switch_as_wanted(jni)).unwrap_or(Ok(Updated::Left))
}

/// Switches the VM to what agents want now. Only the thread that holds the turn calls this.
fn switch_as_wanted(jni: Jni) -> jvm::Result<Updated> {
    if agents::anyone_wants(JVMPI_EVENT_OBJECT_ALLOC) {
        allocations::prepare();
    }
    switch_to(jni, Switches::needed())
}

/// Enables the JVMTI events that this JVMPI event is made from, before [`update`] does the rest. Returns
/// false if that failed.
pub fn begin_with(jni: Jni, event_type: jint) -> bool {
    let begin = || {
        let mut needed = *ON.lock();
        needed.events |= Switches::for_events(|other| other == event_type).events;
        switch_to(jni, needed)
    };
    COMBINER.run(jni, begin).is_some_and(|begun| begun.is_ok())
}

/// Updates from a thread that is not attached and so cannot call the VM: delegates to the thread that holds
/// the turn, if any.
fn update_from_outside() -> jvm::Result<Updated> {
    if COMBINER.delegate() {
        return Ok(Updated::Left);
    }
    let needed = Switches::needed();
    if *ON.lock() == needed { Ok(Updated::Done) } else { Err(Error(JVMTI_ERROR_UNATTACHED_THREAD)) }
}

/// Switches to `needed`. A switch that is refused keeps its state and does not prevent the others.
fn switch_to(jni: Jni, needed: Switches) -> jvm::Result<Updated> {
    let before = *ON.lock();
    let (mut result, mut updated) = (Ok(()), Updated::Done);
    let mut note = |switched: jvm::Result<()>, change: &dyn Fn(&mut Switches)| {
        if switched.is_ok() {
            change(&mut ON.lock());
        }
        result = result.and(switched);
    };
    for event in JVMTI_MIN_EVENT_TYPE_VAL..=JVMTI_MAX_EVENT_TYPE_VAL {
        if (needed.events ^ before.events) & bit(event) != 0 {
            let switched = switch(jni, event, needed.events & bit(event) != 0);
            note(switched, &|on| on.events ^= bit(event));
        }
    }
    if needed.code != before.code && !can_rewrite() {
        PUT_OFF.store(true, Ordering::Release);
        updated = Updated::Left;
    } else if needed.code != before.code {
        note(switch_code(jni, needed.code), &|on| on.code = needed.code);
    }
    if needed.references != before.references {
        let switched = references::replace(needed.references);
        if switched.is_ok() && !needed.references {
            references::forget_all();
        }
        note(switched, &|on| on.references = needed.references);
    }
    result.map(|()| updated)
}

fn switch(jni: Jni, event: jvmtiEvent, on: bool) -> jvm::Result<()> {
    let jvm = jvm::get();
    let switched = match event {
        JVMTI_EVENT_SAMPLED_OBJECT_ALLOC => allocations::switch_sampling(on),
        JVMTI_EVENT_CLASS_FILE_LOAD_HOOK => {
            let result = jvm.reader_env.set_notification(event, on);
            jvm.class_env.set_notification(event, on).and(result)
        }
        _ => jvm.jvmti.set_notification(event, on),
    };
    match event {
        JVMTI_EVENT_MONITOR_CONTENDED_ENTER if !on => contention::forget_waiting(jni),
        JVMTI_EVENT_COMPILED_METHOD_UNLOAD if !on => compiled::forget_all(),
        JVMTI_EVENT_MONITOR_WAIT if !on => waits::WAITS.end(),
        _ => {}
    }
    switched
}

/// Switches the reports of rewritten code to those that agents want.
fn switch_code(jni: Jni, reports: Reports) -> jvm::Result<()> {
    let before = instrument::reports();
    // Code that already reports entries does not report exits until it is rewritten.
    let lacks_exits = before.have_entries() && !before.include(Reports::EXITS);
    agents::expect_exits(reports.include(Reports::EXITS) && !lacks_exits);
    let switched = prepare_natives(jni, reports).and_then(|()| instrument::report(jni, reports));
    switched.map_err(|message| {
        // JVMTI refuses everything once the VM has ended, which another thread does not wait for.
        let level = if is_running() { log::Level::Error } else { log::Level::Debug };
        log::log!(level, "{message}");
        Error(JVMTI_ERROR_INTERNAL)
    })?;
    let allocations = reports.include(Reports::ALLOCATIONS);
    if allocations != before.include(Reports::ALLOCATIONS) {
        jni_functions::replace_allocations(allocations)?;
    }
    native_methods::report(jni, reports);
    agents::expect_exits(reports.include(Reports::EXITS));
    let monitor_exits = reports.include(Reports::MONITOR_EXITS);
    if monitor_exits != before.include(Reports::MONITOR_EXITS) {
        jni_functions::replace_monitors(monitor_exits)?;
    }
    contention::tell_rewritten_code(jni, monitor_exits);
    Ok(())
}

/// Prepares the natives that rewritten code calls.
fn prepare_natives(jni: Jni, reports: Reports) -> Result<(), String> {
    threads::internally(jni, || {
        instrument::tracker::define(jni, &natives())?;
        if reports.include(Reports::EXITS) {
            methods::prepare(jni);
        }
        if reports.objects_before_constructors() {
            receivers::prepare(jni);
        }
        Ok(())
    })
}

/// Starts to report threads that park.
pub fn report_parking(jni: Jni) {
    match prepare_natives(jni, Reports::NONE) {
        Ok(()) => blocking::report_parking(jni),
        Err(message) => log::error!("{message}"),
    }
}
