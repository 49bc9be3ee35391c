//! Compiled code, as far as agents were told of it.

use super::agents::Agent;
use super::references::Agents;
use crate::lock::Map;
use jni_sys::jmethodID;
use std::sync::LazyLock;

/// By its address: the method, and who was told.
static TOLD: LazyLock<Map<usize, (usize, Agents)>> = LazyLock::new(Map::new);

/// The agent is told of a method's code at this address; false if it was before.
pub fn tell(address: usize, method: jmethodID, agent: &Agent) -> bool {
    TOLD.change_or_insert(
        address,
        || (method.addr(), Agents::default()),
        |(known, told)| {
            // The VM may use the place anew before it tells that the old code is gone.
            if *known != method.addr() {
                (*known, *told) = (method.addr(), Agents::default());
            }
            let is_new = !told.includes(agent);
            told.add(agent);
            is_new
        },
    )
}

/// The code is gone; who was told of it.
pub fn forget(address: usize, method: jmethodID) -> Agents {
    let gone = TOLD.remove_if(address, |(known, _)| *known == method.addr());
    gone.map_or(Agents::default(), |(_, told)| told)
}

/// Nobody hears of compiled code any more.
pub fn forget_all() {
    TOLD.take_all();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::agents;
    use std::ptr;

    #[test]
    fn an_agent_is_told_once_of_the_code_at_a_place() {
        let [one, other] = [0x10, 0x20].map(ptr::without_provenance_mut);
        let [first, second] = [0, 1].map(agents::get);
        assert!(tell(0x7000, one, first) && !tell(0x7000, one, first));
        assert!(tell(0x7000, one, second));
        let told = forget(0x7000, one);
        assert!(told.includes(first) && told.includes(second));
        assert_eq!(forget(0x7000, one), Agents::default());
        // New code before the old one is known to be gone.
        assert!(tell(0x7000, one, first) && tell(0x7000, other, first));
        assert_eq!(forget(0x7000, one), Agents::default());
        assert!(forget(0x7000, other).includes(first));
    }
}
