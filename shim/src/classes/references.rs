//! The JNI global references that were announced to agents.

use crate::records::agents::{Agent, AgentSet};
use crate::sync::tagging;
use jni_sys::jobject;
use jvm::lock::Map;
use std::collections::HashMap;
use std::ptr;
use std::sync::LazyLock;

/// A kind of global reference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Strong,
    Weak,
}

/// The kind of each reference, and the agents to which it was announced.
static ANNOUNCED: LazyLock<Map<usize, (Kind, AgentSet)>> = LazyLock::new(Map::new);

/// Records that the reference is announced to the agent.
pub fn mark_announced(kind: Kind, reference: jobject, agent: &Agent) {
    let nobody = || (kind, AgentSet::default());
    ANNOUNCED.change_or_insert(reference.expose_provenance(), nobody, |(_, announced)| {
        announced.add(agent);
    });
}

/// Returns the strong references that were announced to the agent, by the IDs of their
/// objects.
pub fn strong_by_object(agent: &Agent) -> HashMap<usize, Vec<usize>> {
    let mut by_object = HashMap::<_, Vec<_>>::new();
    for (reference, (kind, announced)) in ANNOUNCED.entries() {
        if kind != Kind::Strong || !announced.includes(agent) {
            continue;
        }
        if let Ok(tag) = tagging::tag(ptr::with_exposed_provenance_mut(reference)) {
            by_object.entry(tag.id().addr()).or_default().push(reference);
        }
    }
    by_object
}

/// Removes a deleted reference. Returns the agents to which it was announced.
pub fn forget(reference: jobject) -> AgentSet {
    ANNOUNCED.remove(reference.addr()).map_or(AgentSet::default(), |(_, announced)| announced)
}

/// Removes all references, because they are no longer reported.
pub fn forget_all() {
    ANNOUNCED.take_all();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::agents;

    #[test]
    fn a_reference_is_announced_to_each_agent_by_itself() {
        let reference = ptr::without_provenance_mut(0x1000);
        mark_announced(Kind::Strong, reference, agents::get(0));
        mark_announced(Kind::Strong, reference, agents::get(7));
        let announced = forget(reference);
        assert!([0, 7].iter().all(|agent| announced.includes(agents::get(*agent))));
        assert!(!announced.includes(agents::get(1)));
        assert_eq!(forget(reference), AgentSet::default());
    }
}
