//! COMPILED_METHOD_LOAD and COMPILED_METHOD_UNLOAD, and the compiled code that was announced to agents.

use super::announce::{self, ClassFor};
use crate::classes::methods::{self, Lines, Method};
use crate::records::agents::{self, Agent, AgentSet};
use crate::threads;
use jni_sys::{jint, jmethodID};
use jvm::boundary::guard;
use jvm::lock::Map;
use jvm::types::{JVMTI_EVENT_COMPILED_METHOD_LOAD, jvmtiAddrLocationMap, jvmtiEnv};
use jvmpi_sys::*;
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::LazyLock;
use std::{ptr, slice};

/// For each code address, the method, and the agents to which the code was announced.
static ANNOUNCED: LazyLock<Map<usize, (usize, AgentSet)>> = LazyLock::new(Map::new);

/// Marks a method's code at this address as announced to the agent. Returns false if it
/// was announced before.
fn mark_announced(address: usize, method: jmethodID, agent: &Agent) -> bool {
    ANNOUNCED.change_or_insert(
        address,
        || (method.addr(), AgentSet::default()),
        |(known, announced)| {
            // The VM may reuse the address before it reports that the old code was
            // unloaded.
            if *known != method.addr() {
                (*known, *announced) = (method.addr(), AgentSet::default());
            }
            let is_new = !announced.includes(agent);
            announced.add(agent);
            is_new
        },
    )
}

/// Removes unloaded code. Returns the agents to which it was announced.
fn forget(address: usize, method: jmethodID) -> AgentSet {
    let gone = ANNOUNCED.remove_if(address, |(known, _)| *known == method.addr());
    gone.map_or(AgentSet::default(), |(_, announced)| announced)
}

/// Removes all code, because it is no longer reported.
pub fn forget_all() {
    ANNOUNCED.take_all();
}

pub unsafe extern "system" fn compiled_method_load(
    _: *mut jvmtiEnv,
    method: jmethodID,
    code_size: jint,
    code_addr: *const c_void,
    map_length: jint,
    map: *const jvmtiAddrLocationMap,
    _: *const c_void,
) {
    let map = if map.is_null() || map_length <= 0 {
        &[]
    } else {
        // SAFETY: JVMTI passes an array of that length.
        unsafe { slice::from_raw_parts(map, map_length as usize) }
    };
    guard((), || {
        let Some((jni, thread)) = threads::current_attached() else { return };
        let Some(record) = methods::of(jni, method).filter(|record| is_seen(record)) else {
            return;
        };
        let lines = Lines::of(jvm::get().jvmti, method);
        let mut table = line_table(code_addr.addr(), code_size, &lines, map);
        let u = JVMPI_Event_compiled_method_load {
            method_id: record.id(),
            code_addr: code_addr.cast_mut(),
            code_size,
            lineno_table_size: table.len() as jint,
            lineno_table: if table.is_empty() { ptr::null_mut() } else { table.as_mut_ptr() },
        };
        // Existing code is replayed only to the agent that has enabled the event.
        let replayed_to = REPLAYED_TO.get();
        for agent in agents::wanting(JVMPI_EVENT_COMPILED_METHOD_LOAD) {
            if replayed_to.is_some_and(|index| index != agent.index) {
                continue;
            }
            announce::class(jni, agent, &thread, &record.class, ClassFor::EVENT);
            // The VM reports code some time after creating it, so a replay may already have
            // reported it.
            if mark_announced(code_addr.addr(), method, agent) {
                announce::send(jni, agent, &thread, JVMPI_EVENT_COMPILED_METHOD_LOAD, u);
            }
        }
    });
}

pub unsafe extern "system" fn compiled_method_unload(
    _: *mut jvmtiEnv,
    method: jmethodID,
    code_addr: *const c_void,
) {
    guard((), || {
        let Some((jni, thread)) = threads::current_attached() else { return };
        let announced = forget(code_addr.addr(), method);
        // The method's class may be unloaded already, so nothing about it is asked of the VM.
        let record = methods::known(method);
        if record.as_deref().is_some_and(|record| !is_seen(record)) {
            return;
        }
        let method_id = record.map_or(method, |record| record.id());
        let u = JVMPI_Event_compiled_method_unload { method_id, code_addr: code_addr.cast_mut() };
        for agent in agents::wanting(JVMPI_EVENT_COMPILED_METHOD_UNLOAD) {
            // An agent that gets COMPILED_METHOD_LOAD gets this event only for code that was
            // announced to it.
            if announced.includes(agent) || !agent.wants(JVMPI_EVENT_COMPILED_METHOD_LOAD) {
                announce::send(jni, agent, &thread, JVMPI_EVENT_COMPILED_METHOD_UNLOAD, u);
            }
        }
    });
}

thread_local! {
    /// The number of the agent to which existing compiled code is being replayed on this thread.
    static REPLAYED_TO: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Sends an agent COMPILED_METHOD_LOAD, on the current thread, for existing code that is not
/// announced to it yet.
pub fn replay(agent: &Agent) {
    let outer = REPLAYED_TO.replace(Some(agent.index));
    let sent = jvm::get().jvmti.generate_events(JVMTI_EVENT_COMPILED_METHOD_LOAD);
    REPLAYED_TO.set(outer);
    if let Err(error) = sent {
        log::warn!("methods that are already compiled are not reported: {error}");
    }
}

/// Returns true if the method is shown to agents.
fn is_seen(method: &Method) -> bool {
    !method.class.is_own()
}

/// Returns the lines of the method itself by offset into its code, in ascending order. Inlined code counts for the line
/// of its call, because the table has no place for lines of other methods.
fn line_table(
    start: usize,
    size: jint,
    lines: &Lines,
    map: &[jvmtiAddrLocationMap],
) -> Vec<JVMPI_Lineno> {
    let line = |entry: &jvmtiAddrLocationMap| {
        let offset = jint::try_from(entry.start_address.addr().checked_sub(start)?).ok()?;
        let lineno = lines.at(entry.location);
        (offset < size && lineno > 0).then_some((offset, lineno))
    };
    let mut table: Vec<_> = map.iter().filter_map(line).collect();
    table.sort_unstable();
    table.dedup();
    table.into_iter().map(|(offset, lineno)| JVMPI_Lineno { offset, lineno }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::agents;
    use std::ptr;

    #[test]
    fn the_code_at_an_address_is_announced_once() {
        let [one, other] = [0x10, 0x20].map(ptr::without_provenance_mut);
        let [first, second] = [0, 1].map(agents::get);
        assert!(mark_announced(0x7000, one, first) && !mark_announced(0x7000, one, first));
        assert!(mark_announced(0x7000, one, second));
        let announced = forget(0x7000, one);
        assert!(announced.includes(first) && announced.includes(second));
        assert_eq!(forget(0x7000, one), AgentSet::default());
        // The new code is announced before the old one is reported as unloaded.
        assert!(mark_announced(0x7000, one, first) && mark_announced(0x7000, other, first));
        assert_eq!(forget(0x7000, one), AgentSet::default());
        assert!(forget(0x7000, other).includes(first));
    }
}
