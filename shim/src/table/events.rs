//! EnableEvent, DisableEvent, RequestEvent and ProfilerExit.

use crate::dumps::{heap_dump, monitor_dump, object_dump};
use crate::gc::gate;
use crate::records::agents::{self, Agent};
use crate::records::phase::{self, Phase};
use crate::threads::{current_answered, current_attached};
use crate::translate::class_files::Replay;
use crate::translate::subscriptions::{self, Updated};
use crate::translate::{classes, compiled, objects, threads};
use jni_sys::jint;
use jvmpi_sys::*;
use std::ffi::c_void;
use std::sync::atomic::Ordering;

fn can_be_enabled(event_type: jint) -> bool {
    EventType::of(event_type).is_some_and(|event| event.enabled)
}

fn name(event_type: jint) -> &'static str {
    EventType::of(event_type).map_or("", EventType::name)
}

/// Enables the event. The argument is used for OBJECT_ALLOC only: a sampling interval in bytes, or NULL.
pub fn enable(agent: &'static Agent, event_type: jint, arg: *mut c_void) -> jint {
    if !can_be_enabled(event_type) {
        return JVMPI_NOT_AVAILABLE;
    }
    if event_type == JVMPI_EVENT_OBJECT_ALLOC
        && let Err(why) = agents::choose_interval(arg.addr())
    {
        log::warn!("OBJECT_ALLOC cannot be enabled: {why}");
        return JVMPI_FAIL;
    }
    if agent.beginning.load(Ordering::Relaxed) {
        // One update serves all events when JVM_OnLoad has returned, so loaded classes are rewritten once.
        agent.set_wants(event_type, true);
        return JVMPI_SUCCESS;
    }
    let mut files = None;
    let is_running = matches!(phase::now(), Phase::Replaying | Phase::Live);
    if event_type == JVMPI_EVENT_CLASS_LOAD_HOOK && is_running {
        files = Replay::begin(agent);
    }
    let result = switch_on(agent, event_type);
    if let Some(files) = files {
        let is_on = result == JVMPI_SUCCESS && subscriptions::serve(event_type);
        match current_attached().filter(|_| is_on) {
            Some((jni, thread)) => {
                files.run(jni, &thread);
                classes::announce_linked(jni, &thread);
            }
            None => files.abandon(),
        }
    }
    let compiled_already = event_type == JVMPI_EVENT_COMPILED_METHOD_LOAD;
    if compiled_already && result == JVMPI_SUCCESS && phase::now() == Phase::Live {
        compiled::replay(agent);
    }
    result
}

/// Enables the event, unless the VM refuses to enable its sources, which are JVMTI events or rewritten code.
fn switch_on(agent: &Agent, event_type: jint) -> jint {
    loop {
        agent.set_wants(event_type, true);
        let updated = subscriptions::update();
        // The agent may have disabled the event meanwhile. Or another thread, whose update failed, has undone this
        // change.
        if !agent.wants(event_type) {
            continue;
        }
        match updated {
            _ if subscriptions::serve(event_type) => return JVMPI_SUCCESS,
            Ok(Updated::Left) => return JVMPI_SUCCESS,
            Ok(Updated::Done) => {}
            Err(error) => {
                if agent.take_back(event_type, || subscriptions::serve(event_type)) {
                    log::warn!("{} cannot be enabled: {error}", name(event_type));
                    return JVMPI_FAIL;
                }
            }
        }
    }
}

/// Disables the event for the agent, even if the VM refuses to disable the event's sources. No
/// handler for the event starts after this returns, so the agent may unload what its handler uses.
pub fn disable(agent: &Agent, event_type: jint, _arg: *mut c_void) -> jint {
    if !can_be_enabled(event_type) {
        return JVMPI_NOT_AVAILABLE;
    }
    let was_wanted = agent.wants(event_type);
    agent.set_wants(event_type, false);
    if let Err(error) = subscriptions::update() {
        log::debug!("the source of {} stays enabled: {error}", name(event_type));
    }
    if was_wanted {
        gate::let_pass();
    }
    JVMPI_SUCCESS
}

/// Sends one event to the agent. Fails if the VM is not in a phase in which it answers.
///
/// # Safety
/// For a heap dump, `arg` is NULL or points to a `JVMPI_HeapDumpArg`. For other events it is an ID (not a pointer to one),
/// or unused.
pub unsafe fn request(agent: &Agent, event_type: jint, arg: *mut c_void) -> jint {
    if !EventType::of(event_type).is_some_and(|event| event.requested) {
        return JVMPI_NOT_AVAILABLE;
    }
    let Some((jni, thread)) = current_answered() else { return JVMPI_FAIL };
    let id = arg.cast();
    let served = match event_type {
        JVMPI_EVENT_CLASS_LOAD => Ok(classes::request(jni, agent, &thread, id)),
        JVMPI_EVENT_THREAD_START => Ok(threads::request(jni, agent, &thread, id)),
        JVMPI_EVENT_OBJECT_ALLOC => Ok(objects::request(jni, agent, &thread, id)),
        JVMPI_EVENT_OBJECT_DUMP => object_dump::request(jni, agent, &thread, id),
        JVMPI_EVENT_MONITOR_DUMP => monitor_dump::request(jni, agent, &thread),
        _ => {
            // SAFETY: the caller promises this for heap dumps.
            let level = unsafe { arg.cast::<JVMPI_HeapDumpArg>().as_ref() };
            let level = level.map_or(JVMPI_DUMP_LEVEL_2, |arg| arg.heap_dump_level);
            heap_dump::request(jni, agent, &thread, level)
        }
    };
    let is_sent = served.unwrap_or_else(|reason| {
        // That the VM has ended meanwhile is not worth a warning.
        let level = if phase::vm_answers() { log::Level::Warn } else { log::Level::Debug };
        let kind = name(event_type).replace('_', " ").to_lowercase();
        log::log!(level, "no {kind}: {reason}");
        false
    });
    if is_sent { JVMPI_SUCCESS } else { JVMPI_FAIL }
}

/// Ends the process without sending any further event, not even JVM_SHUT_DOWN. Does not return.
pub fn profiler_exit(_: &Agent, exit_code: jint) {
    phase::advance(Phase::Dead);
    // This calls the C library's exit, which flushes stdio.
    std::process::exit(exit_code)
}
