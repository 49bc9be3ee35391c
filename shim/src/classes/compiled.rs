//! The compiled code that was announced to agents.

use crate::records::agents::{Agent, AgentSet};
use jni_sys::jmethodID;
use jvm::lock::Map;
use std::sync::LazyLock;

/// For each code address, the method, and the agents to which the code was announced.
static ANNOUNCED: LazyLock<Map<usize, (usize, AgentSet)>> = LazyLock::new(Map::new);

/// Marks a method's code at this address as announced to the agent. Returns false if it
/// was announced before.
pub fn mark_announced(address: usize, method: jmethodID, agent: &Agent) -> bool {
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
pub fn forget(address: usize, method: jmethodID) -> AgentSet {
    let gone = ANNOUNCED.remove_if(address, |(known, _)| *known == method.addr());
    gone.map_or(AgentSet::default(), |(_, announced)| announced)
}

/// Removes all code, because it is no longer reported.
pub fn forget_all() {
    ANNOUNCED.take_all();
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
