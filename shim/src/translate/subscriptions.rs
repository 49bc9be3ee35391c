//! Which JVMTI events the shim asks for: those that some agent needs, so that an event nobody
//! has enabled costs nothing.

use super::{allocations, references};
use crate::instrument::{self, Calls, Reports};
use crate::jvm::{self, Error};
use crate::lock::Lock;
use crate::world::phase::{self, Phase};
use crate::world::{self, agents, monitors, suspension, threads};
use jni_sys::jint;
use jvmpi_sys::*;
use jvmti_sys::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// JVMTI events that the shim needs for itself, from the start: it must know threads, and when
/// the VM starts, runs and ends.
const ALWAYS: [jvmtiEvent; 5] = [
    JVMTI_EVENT_VM_START,
    JVMTI_EVENT_VM_INIT,
    JVMTI_EVENT_VM_DEATH,
    JVMTI_EVENT_THREAD_START,
    JVMTI_EVENT_THREAD_END,
];

/// The JVMTI event that each JVMPI event comes from.
const SOURCES: &[(jint, jvmtiEvent)] = &[
    (JVMPI_EVENT_OBJECT_ALLOC, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC),
    (JVMPI_EVENT_OBJECT_FREE, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH),
    (JVMPI_EVENT_OBJECT_MOVE, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH),
    (JVMPI_EVENT_CLASS_UNLOAD, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH),
    (JVMPI_EVENT_ARENA_DELETE, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH),
    (JVMPI_EVENT_GC_START, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH),
    (JVMPI_EVENT_GC_FINISH, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH),
    (JVMPI_EVENT_CLASS_LOAD, JVMTI_EVENT_CLASS_PREPARE),
    (JVMPI_EVENT_CLASS_LOAD_HOOK, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK),
    (JVMPI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_LOAD),
    (JVMPI_EVENT_COMPILED_METHOD_UNLOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD),
    // The ends of contention and of waits are reported to those who heard of the beginnings.
    (JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMTI_EVENT_MONITOR_CONTENDED_ENTER),
    (JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMTI_EVENT_MONITOR_CONTENDED_ENTERED),
    (JVMPI_EVENT_MONITOR_CONTENDED_ENTERED, JVMTI_EVENT_MONITOR_CONTENDED_ENTER),
    (JVMPI_EVENT_MONITOR_CONTENDED_ENTERED, JVMTI_EVENT_MONITOR_CONTENDED_ENTERED),
    (JVMPI_EVENT_MONITOR_CONTENDED_EXIT, JVMTI_EVENT_MONITOR_CONTENDED_ENTER),
    (JVMPI_EVENT_MONITOR_CONTENDED_EXIT, JVMTI_EVENT_MONITOR_CONTENDED_ENTERED),
    // Who waits to be notified leaves the monitor.
    (JVMPI_EVENT_MONITOR_CONTENDED_EXIT, JVMTI_EVENT_MONITOR_WAIT),
    (JVMPI_EVENT_MONITOR_WAIT, JVMTI_EVENT_MONITOR_WAIT),
    (JVMPI_EVENT_MONITOR_WAITED, JVMTI_EVENT_MONITOR_WAIT),
    (JVMPI_EVENT_MONITOR_WAITED, JVMTI_EVENT_MONITOR_WAITED),
    (JVMPI_EVENT_DATA_DUMP_REQUEST, JVMTI_EVENT_DATA_DUMP_REQUEST),
];

/// What it takes to walk a stack in a signal handler: methods have IDs, which they get when their
/// class is prepared, and HotSpot refuses while nobody asks for ClassLoad.
const FOR_HANDLERS: [jvmtiEvent; 2] = [JVMTI_EVENT_CLASS_PREPARE, JVMTI_EVENT_CLASS_LOAD];

/// Asks for the events that the shim needs for itself.
pub fn start() -> jvm::Result<()> {
    allocations::prepare();
    if jvm::get().jvmti.phase() == Ok(JVMTI_PHASE_ONLOAD) {
        instrument::sleep::prepare()?;
    }
    ALWAYS.iter().try_for_each(|event| jvm::get().jvmti.set_notification(*event, true))
}

/// The JVMTI events that are on besides [`ALWAYS`], as bits above `JVMTI_MIN_EVENT_TYPE_VAL`.
static ON: Lock<u64> = Lock::new(0);

fn bit(event: jvmtiEvent) -> u64 {
    1 << (event - JVMTI_MIN_EVENT_TYPE_VAL)
}

/// Brings what JVMTI sends in line with what agents want. Before the VM is initialized JVMTI
/// refuses, and what was recorded meanwhile takes effect then.
pub fn update() -> jvm::Result<()> {
    if matches!(phase::now(), Phase::Loading | Phase::Dead) {
        return Ok(());
    }
    let needed = SOURCES
        .iter()
        .filter(|(jvmpi, _)| agents::anyone_wants(*jvmpi))
        .map(|(_, jvmti)| *jvmti)
        // What is known of an object goes when it does, whoever made the shim look at it.
        .chain([JVMTI_EVENT_OBJECT_FREE, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH])
        .chain(FOR_HANDLERS.iter().copied().filter(|_| suspension::wants_method_ids()))
        .fold(0, |all, event| all | bit(event));
    let before = {
        let mut on = ON.lock();
        std::mem::replace(&mut *on, needed)
    };
    let mut result = Ok(());
    for event in JVMTI_MIN_EVENT_TYPE_VAL..=JVMTI_MAX_EVENT_TYPE_VAL {
        if (needed ^ before) & bit(event) != 0 {
            result = result.and(switch(event, needed & bit(event) != 0));
        }
    }
    result.and(update_rewritten_code()).and(update_references())
}

fn switch(event: jvmtiEvent, on: bool) -> jvm::Result<()> {
    let jvm = jvm::get();
    match event {
        JVMTI_EVENT_SAMPLED_OBJECT_ALLOC => allocations::switch(on),
        JVMTI_EVENT_CLASS_FILE_LOAD_HOOK => jvm.class_env.set_notification(event, on),
        JVMTI_EVENT_MONITOR_CONTENDED_ENTER if !on => {
            let stopped = jvm.jvmti.set_notification(event, false);
            jvm.jni().into_iter().for_each(monitors::forget_waiting);
            stopped
        }
        JVMTI_EVENT_MONITOR_WAIT if !on => {
            let stopped = jvm.jvmti.set_notification(event, false);
            monitors::WAITS.end();
            stopped
        }
        _ => jvm.jvmti.set_notification(event, on),
    }
}

/// Brings what rewritten code reports in line with the events that agents want.
fn update_rewritten_code() -> jvm::Result<()> {
    let calls = Calls {
        entries: agents::anyone_wants(JVMPI_EVENT_METHOD_ENTRY),
        receivers: agents::anyone_wants(JVMPI_EVENT_METHOD_ENTRY2),
        exits: agents::anyone_wants(JVMPI_EVENT_METHOD_EXIT),
    };
    let instructions = agents::anyone_wants(JVMPI_EVENT_INSTRUCTION_START);
    let monitor_exits = agents::anyone_wants(JVMPI_EVENT_MONITOR_CONTENDED_EXIT);
    let change = |reports: &mut Reports| {
        reports.calls = calls;
        reports.instructions = instructions;
        reports.monitor_exits = monitor_exits;
    };
    let before = instrument::reports();
    let mut after = before;
    change(&mut after);
    // While the VM ends, code that reports too much does no harm.
    if before == after || phase::now() == Phase::ShuttingDown {
        return Ok(());
    }
    let (jni, _) = threads::current_attached().ok_or(Error(JVMTI_ERROR_UNATTACHED_THREAD))?;
    instrument::change(jni, change).map_err(|message| {
        log::error!("{message}");
        Error(JVMTI_ERROR_INTERNAL)
    })?;
    monitors::tell_rewritten_code(jni, monitor_exits);
    Ok(())
}

/// Brings the JNI functions that make references in line with the events that agents want.
fn update_references() -> jvm::Result<()> {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    let wanted = references::are_wanted();
    if REPORTED.swap(wanted, Ordering::SeqCst) == wanted {
        return Ok(());
    }
    if !wanted {
        world::references::forget_all();
    }
    instrument::jni_references::replace(wanted)
}
