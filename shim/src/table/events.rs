//! EnableEvent, DisableEvent and RequestEvent.

use crate::jvm::Jni;
use crate::translate::subscriptions::{self, Updated};
use crate::translate::{self, compiled};
use crate::world::agents::Agent;
use crate::world::phase::{self, Phase};
use crate::world::threads::{self, Thread};
use jni_sys::jint;
use jvmpi_sys::*;
use std::ffi::c_void;

/// Whether EnableEvent accepts the type.
///
/// Agents stop at the first type that is refused, so DATA_RESET_REQUEST is accepted although
/// nothing ever triggers it.
fn can_be_enabled(event_type: jint) -> bool {
    matches!(
        event_type,
        JVMPI_EVENT_METHOD_ENTRY
            | JVMPI_EVENT_METHOD_ENTRY2
            | JVMPI_EVENT_METHOD_EXIT
            | JVMPI_EVENT_INSTRUCTION_START
            | JVMPI_EVENT_OBJECT_ALLOC
            | JVMPI_EVENT_OBJECT_FREE
            | JVMPI_EVENT_OBJECT_MOVE
            | JVMPI_EVENT_ARENA_NEW
            | JVMPI_EVENT_ARENA_DELETE
            | JVMPI_EVENT_GC_START
            | JVMPI_EVENT_GC_FINISH
            | JVMPI_EVENT_COMPILED_METHOD_LOAD
            | JVMPI_EVENT_COMPILED_METHOD_UNLOAD
            | JVMPI_EVENT_THREAD_START
            | JVMPI_EVENT_THREAD_END
            | JVMPI_EVENT_CLASS_LOAD_HOOK
            | JVMPI_EVENT_CLASS_LOAD
            | JVMPI_EVENT_CLASS_UNLOAD
            | JVMPI_EVENT_DATA_DUMP_REQUEST
            | JVMPI_EVENT_DATA_RESET_REQUEST
            | JVMPI_EVENT_JVM_INIT_DONE
            | JVMPI_EVENT_JVM_SHUT_DOWN
            | JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER
            | JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED
            | JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT
            | JVMPI_EVENT_MONITOR_CONTENDED_ENTER
            | JVMPI_EVENT_MONITOR_CONTENDED_ENTERED
            | JVMPI_EVENT_MONITOR_CONTENDED_EXIT
            | JVMPI_EVENT_MONITOR_WAIT
            | JVMPI_EVENT_MONITOR_WAITED
            | JVMPI_EVENT_JNI_GLOBALREF_ALLOC
            | JVMPI_EVENT_JNI_GLOBALREF_FREE
            | JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC
            | JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE
    )
}

pub fn enable(agent: &Agent, event_type: jint, _arg: *mut c_void) -> jint {
    if !can_be_enabled(event_type) {
        return JVMPI_NOT_AVAILABLE;
    }
    let result = switch_on(agent, event_type);
    let compiled_already = event_type == JVMPI_EVENT_COMPILED_METHOD_LOAD;
    if compiled_already && result == JVMPI_SUCCESS && phase::now() == Phase::Live {
        compiled::replay(agent);
    }
    result
}

/// The event is enabled if the VM sends what it comes from; else it is as if nobody had asked for it.
fn switch_on(agent: &Agent, event_type: jint) -> jint {
    loop {
        agent.set_wants(event_type, true);
        let updated = subscriptions::update();
        // Another thread, on which it failed, may have taken it back meanwhile, or disabled it.
        if !agent.wants(event_type) {
            continue;
        }
        match updated {
            _ if subscriptions::serve(event_type) => return JVMPI_SUCCESS,
            Ok(Updated::Left) => return JVMPI_SUCCESS,
            Ok(Updated::Done) => {}
            Err(error) => {
                if agent.take_back(event_type, || subscriptions::serve(event_type)) {
                    log::warn!("event type {event_type} cannot be enabled: {error}");
                    return JVMPI_FAIL;
                }
            }
        }
    }
}

/// The agent gets no more of the event, even if the VM cannot be told.
pub fn disable(agent: &Agent, event_type: jint, _arg: *mut c_void) -> jint {
    if !can_be_enabled(event_type) {
        return JVMPI_NOT_AVAILABLE;
    }
    agent.set_wants(event_type, false);
    if let Err(error) = subscriptions::update() {
        log::debug!("what event type {event_type} comes from goes on: {error}");
    }
    JVMPI_SUCCESS
}

/// What the argument means depends on the type: an ID, not a pointer to one; for a heap dump a
/// pointer to its level, or NULL; nothing for a monitor dump.
///
/// # Safety
/// For a heap dump, `arg` is NULL or points to a `JVMPI_HeapDumpArg`.
pub unsafe fn request(agent: &Agent, event_type: jint, arg: *mut c_void) -> jint {
    let serve = match event_type {
        JVMPI_EVENT_CLASS_LOAD => translate::classes::request,
        JVMPI_EVENT_THREAD_START => translate::threads::request,
        JVMPI_EVENT_OBJECT_ALLOC => translate::objects::request,
        JVMPI_EVENT_OBJECT_DUMP => translate::object_dump::request,
        JVMPI_EVENT_MONITOR_DUMP => translate::monitor_dump::request,
        JVMPI_EVENT_HEAP_DUMP => {
            // SAFETY: as the caller promises.
            let level = unsafe { arg.cast::<JVMPI_HeapDumpArg>().as_ref() };
            return heap_dump(agent, level.map_or(JVMPI_DUMP_LEVEL_2, |arg| arg.heap_dump_level));
        }
        _ => return JVMPI_NOT_AVAILABLE,
    };
    result(|jni, thread| serve(jni, agent, thread, arg.cast()))
}

fn heap_dump(agent: &Agent, level: jint) -> jint {
    result(|jni, thread| translate::heap_dump::request(jni, agent, thread, level))
}

/// The result of a request; it fails where the VM does not answer.
fn result(serve: impl FnOnce(Jni, &Thread) -> bool) -> jint {
    let serve = || {
        let (jni, thread) = threads::current_attached().filter(|_| phase::vm_answers())?;
        serve(jni, &thread).then_some(JVMPI_SUCCESS)
    };
    serve().unwrap_or(JVMPI_FAIL)
}
