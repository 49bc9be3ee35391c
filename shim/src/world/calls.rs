//! The calls that a thread is in, as far as agents have heard of them.

use super::agents::{Agent, MAX_AGENTS};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// For each agent the calls of one thread whose entry it has heard of, and not the exit. Only the
/// thread itself uses this.
#[derive(Default)]
pub struct Calls([OfAgent; MAX_AGENTS]);

#[derive(Default)]
struct OfAgent {
    /// How many calls there are.
    depth: AtomicU32,
    /// The depth of the innermost constructor, 0 if there is none.
    constructor: AtomicU32,
    /// The constructors, outermost first, by depth and by the number that rewritten code passes.
    constructors: Mutex<Vec<(u32, u32)>>,
}

impl Calls {
    /// The agent hears of an entry; returns how deep the call is.
    #[inline]
    pub fn enter(&self, agent: &Agent) -> u32 {
        let depth = &self.of(agent).depth;
        let entered = depth.load(Ordering::Relaxed) + 1;
        depth.store(entered, Ordering::Relaxed);
        entered
    }

    /// The agent hears of the entry of a constructor. If the constructor of the superclass throws,
    /// no handler can report that this one is left too (JVMS §4.10.1.6).
    pub fn enter_constructor(&self, agent: &Agent, number: u32) {
        let depth = self.enter(agent);
        let calls = self.of(agent);
        calls.constructors.lock().unwrap_or_else(|e| e.into_inner()).push((depth, number));
        calls.constructor.store(depth, Ordering::Relaxed);
    }

    /// The agent hears of an exit, if it can be told quickly that this is right: it has heard of the
    /// entry, and of none of a constructor since. Else nothing is done, and [`Self::exit`] finds out.
    #[inline]
    pub fn exit_plain(&self, agent: &Agent) -> bool {
        let calls = self.of(agent);
        let depth = calls.depth.load(Ordering::Relaxed);
        // Both are 0 if there is no call.
        let is_plain = depth != calls.constructor.load(Ordering::Relaxed);
        if is_plain {
            calls.depth.store(depth - 1, Ordering::Relaxed);
        }
        is_plain
    }

    /// Whether an exit belongs to an entry that the agent has heard of. The constructors that were
    /// left before without a report are passed to `lost`, innermost first.
    pub fn exit(&self, agent: &Agent, number: u32, lost: impl FnMut(u32)) -> bool {
        let calls = self.of(agent);
        let depth = calls.leave_constructors(number, lost);
        calls.depth.store(depth.saturating_sub(1), Ordering::Relaxed);
        depth > 0
    }

    #[inline]
    fn of(&self, agent: &Agent) -> &OfAgent {
        &self.0[agent.index % MAX_AGENTS]
    }
}

impl OfAgent {
    /// Leaves the innermost constructors, up to that with the number if it is among them; how many
    /// calls are left, with the one that has the number.
    fn leave_constructors(&self, number: u32, lost: impl FnMut(u32)) -> u32 {
        let mut depth = self.depth.load(Ordering::Relaxed);
        if depth == 0 || depth != self.constructor.load(Ordering::Relaxed) {
            return depth;
        }
        let mut left = Vec::new();
        {
            let mut constructors = self.constructors.lock().unwrap_or_else(|e| e.into_inner());
            while let Some((_, innermost)) = constructors.pop_if(|(at, _)| *at == depth) {
                if innermost == number {
                    break;
                }
                left.push(innermost);
                depth -= 1;
            }
            let outer = constructors.last().map_or(0, |(depth, _)| *depth);
            self.constructor.store(outer, Ordering::Relaxed);
        }
        // An agent may be called now, which may make calls itself.
        self.depth.store(depth, Ordering::Relaxed);
        left.into_iter().for_each(lost);
        depth
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
