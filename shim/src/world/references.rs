//! JNI's global references, as far as agents were told of them.

use super::agents::Agent;
use dashmap::DashMap;
use jni_sys::jobject;
use std::sync::LazyLock;

/// Some of the agents.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Agents(u8);

impl Agents {
    pub fn includes(self, agent: &Agent) -> bool {
        self.0 & bit(agent) != 0
    }
}

fn bit(agent: &Agent) -> u8 {
    1 << agent.index
}

/// Who was told of each reference.
static TOLD: LazyLock<DashMap<usize, Agents>> = LazyLock::new(DashMap::new);

/// The agent hears of the reference.
pub fn tell(reference: jobject, agent: &Agent) {
    TOLD.entry(reference.addr()).or_default().0 |= bit(agent);
}

/// The reference is deleted; who was told of it.
pub fn forget(reference: jobject) -> Agents {
    TOLD.remove(&reference.addr()).map_or(Agents::default(), |(_, told)| told)
}

/// Nobody hears of references any more.
pub fn forget_all() {
    TOLD.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::agents;
    use std::ptr;

    #[test]
    fn each_agent_is_told_by_itself() {
        let reference = ptr::without_provenance_mut(0x1000);
        tell(reference, agents::get(0));
        tell(reference, agents::get(7));
        let told = forget(reference);
        assert!([0, 7].iter().all(|agent| told.includes(agents::get(*agent))));
        assert!(!told.includes(agents::get(1)));
        assert_eq!(forget(reference), Agents::default());
    }
}
