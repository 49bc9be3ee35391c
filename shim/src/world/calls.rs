//! The calls that a thread is in, as far as agents have heard of them.

use super::agents::{Agent, MAX_AGENTS};
use crate::lock::Lock;
use std::sync::atomic::{AtomicU32, Ordering};

/// For each agent the calls of one thread whose entry it has heard of, and not the exit. Only the
/// thread itself uses this.
#[derive(Default)]
pub struct Calls([OfAgent; MAX_AGENTS]);

#[derive(Default)]
struct OfAgent {
    /// How many calls there are inside the innermost constructor, or in all if there is none.
    inside: AtomicU32,
    /// The constructors, outermost first.
    constructors: Lock<Vec<Constructor>>,
}

struct Constructor {
    /// The number that rewritten code passes.
    number: u32,
    /// How many calls there are around it, inside the next constructor.
    around: u32,
}

impl Calls {
    /// The agent hears of an entry.
    #[inline]
    pub fn enter(&self, agent: &Agent) {
        let inside = &self.of(agent).inside;
        inside.store(inside.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The agent hears of the entry of a constructor. If the constructor of the superclass throws,
    /// no handler can report that this one is left too (JVMS §4.10.1.6).
    pub fn enter_constructor(&self, agent: &Agent, number: u32) {
        let calls = self.of(agent);
        let around = calls.inside.load(Ordering::Relaxed);
        calls.constructors.lock().push(Constructor { number, around });
        calls.inside.store(0, Ordering::Relaxed);
    }

    /// The agent hears of an exit, if it can be told quickly that this is right: it has heard of the
    /// entry, and of none of a constructor since. Else nothing is done, and [`Self::exit`] finds out.
    #[inline]
    pub fn exit_plain(&self, agent: &Agent) -> bool {
        let inside = &self.of(agent).inside;
        let calls = inside.load(Ordering::Relaxed);
        if calls > 0 {
            inside.store(calls - 1, Ordering::Relaxed);
        }
        calls > 0
    }

    /// Whether an exit belongs to an entry that the agent has heard of. The constructors that were
    /// left before without a report are passed to `lost`, innermost first.
    pub fn exit(&self, agent: &Agent, number: u32, mut lost: impl FnMut(u32)) -> bool {
        // The agent may be called for those that are lost, and make calls itself.
        while !self.exit_plain(agent) {
            let Some(constructor) = self.of(agent).leave_constructor() else { return false };
            if constructor == number {
                return true;
            }
            lost(constructor);
        }
        true
    }

    #[inline]
    fn of(&self, agent: &Agent) -> &OfAgent {
        &self.0[agent.index % MAX_AGENTS]
    }
}

impl OfAgent {
    /// Leaves the innermost constructor and all calls inside; its number.
    fn leave_constructor(&self) -> Option<u32> {
        let Constructor { number, around } = self.constructors.lock().pop()?;
        self.inside.store(around, Ordering::Relaxed);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::agents;

    /// The exits that an agent hears of, given those that are reported.
    fn exits(calls: &Calls, reported: &[u32]) -> Vec<u32> {
        let agent = agents::get(0);
        let mut heard = Vec::new();
        for &number in reported {
            if calls.exit(agent, number, |lost| heard.push(lost)) {
                heard.push(number);
            }
        }
        heard
    }

    #[test]
    fn exits_without_an_entry_are_not_heard_of() {
        let calls = Calls::default();
        assert_eq!(exits(&calls, &[1]), []);
        calls.enter(agents::get(0));
        assert_eq!(exits(&calls, &[1, 2]), [1]);
    }

    #[test]
    fn a_constructor_that_is_left_regularly_is_heard_of_once() {
        let (calls, agent) = (Calls::default(), agents::get(0));
        calls.enter(agent);
        calls.enter_constructor(agent, 7);
        calls.enter(agent);
        calls.enter_constructor(agent, 7);
        assert_eq!(exits(&calls, &[7, 3, 7, 1]), [7, 3, 7, 1]);
    }

    #[test]
    fn constructors_that_are_left_unseen_are_heard_of_with_the_next_exit() {
        let (calls, agent) = (Calls::default(), agents::get(0));
        calls.enter(agent);
        calls.enter_constructor(agent, 7);
        calls.enter_constructor(agent, 8);
        // An argument of super() is computed by a method that returns.
        calls.enter(agent);
        calls.enter_constructor(agent, 9);
        assert_eq!(exits(&calls, &[9, 2, 1]), [9, 2, 8, 7, 1]);
        assert_eq!(exits(&calls, &[1]), []);
    }
}
