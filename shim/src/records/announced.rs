//! The agents to which a class, thread or arena was announced: its defining event is sent once to
//! each, before any other event names it. Also the replays of objects, whose tags say whether they were announced.

use super::agents::{Agent, MAX_AGENTS};
use jvm::platform::os_thread::os_thread;
use jvm::platform::sync::atomic::{AtomicI32, Ordering};

const NOT_SENT: i32 = 0;
const SENT: i32 = -1;
const WITHDRAWN: i32 = -2;
/// Set beside the number of an OS thread once it calls the agent's handler. No OS thread has a number as large.
const CALLING: i32 = 1 << 30;

/// Per agent: not sent, being prepared or sent by the OS thread whose number is stored, sent, or withdrawn.
#[derive(Default)]
pub struct Announced([AtomicI32; MAX_AGENTS]);

impl Announced {
    pub const fn new() -> Self {
        Self([const { AtomicI32::new(NOT_SENT) }; MAX_AGENTS])
    }

    /// Returns true if the defining event has reached the agent.
    pub fn to(&self, agent: &Agent) -> bool {
        self.0[agent.index].load(Ordering::Acquire) == SENT
    }

    /// Returns true if the defining event has reached the agent or is being sent to it.
    pub fn has_begun(&self, agent: &Agent) -> bool {
        self.0[agent.index].load(Ordering::Acquire) != NOT_SENT
    }

    /// Records that the agent has got the defining event because it requested it.
    pub fn mark(&self, agent: &Agent) {
        self.0[agent.index].store(SENT, Ordering::Release);
    }

    /// Records that the agent has got the undefining event.
    pub fn withdraw(&self, agent: &Agent) {
        self.0[agent.index].store(WITHDRAWN, Ordering::Release);
    }

    /// Returns true if the undefining event has reached the agent.
    pub fn is_withdrawn(&self, agent: &Agent) -> bool {
        self.0[agent.index].load(Ordering::Acquire) == WITHDRAWN
    }

    /// Records that no agent has got the defining event: the record now stands for something new.
    pub fn reset(&self) {
        self.0.iter().for_each(|state| state.store(NOT_SENT, Ordering::Release));
    }

    /// Begins to prepare the defining event, unless that was done. `instead_of` is the OS thread that is preparing it
    /// and whose place the current thread takes, or 0.
    pub fn begin(&self, agent: &Agent, instead_of: i32) -> Result<Sending<'_>, Sent> {
        let state = &self.0[agent.index];
        match state.compare_exchange(instead_of, os_thread(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(Sending(state)),
            Err(SENT | WITHDRAWN) => Err(Sent::Already),
            Err(NOT_SENT) => self.begin(agent, NOT_SENT),
            Err(by) if by & CALLING != 0 => Err(Sent::Calling { by: by & !CALLING }),
            Err(by) => Err(Sent::Preparing { by }),
        }
    }
}

/// The reason why the current thread does not send the defining event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    Already,
    /// The OS thread with this number is about to send it. Another thread can take its place.
    Preparing {
        by: i32,
    },
    /// The OS thread with this number has called the agent's handler, which has not returned.
    Calling {
        by: i32,
    },
}

impl Sent {
    /// Returns the OS thread that is announcing.
    pub fn by(self) -> Option<i32> {
        match self {
            Self::Already => None,
            Self::Preparing { by } | Self::Calling { by } => Some(by),
        }
    }
}

/// The current thread prepares and sends the event. If this is dropped without [`Self::done`], the event counts as not
/// sent.
pub struct Sending<'a>(&'a AtomicI32);

impl Sending<'_> {
    /// The handler is called now. Returns false if another thread has taken the place of the current one.
    pub fn call(&self) -> bool {
        let me = os_thread();
        self.0.compare_exchange(me, me | CALLING, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Records that the agent has got the event, or cannot get it. Returns false if another thread has taken the place
    /// of the current one.
    pub fn done(self) -> bool {
        self.end(SENT)
    }

    fn end(&self, state: i32) -> bool {
        let me = os_thread();
        let is_mine = |now| (now == me || now == me | CALLING).then_some(state);
        self.0.fetch_update(Ordering::Release, Ordering::Relaxed, is_mine).is_ok()
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        // After `done` this changes nothing.
        self.end(NOT_SENT);
    }
}

/// By agent, the OS thread that announces the objects found by a walk through the heap, or 0. The walk
/// has already marked these objects as announced.
static REPLAYS: [AtomicI32; MAX_AGENTS] = [const { AtomicI32::new(0) }; MAX_AGENTS];

/// While this exists, some objects marked as announced have not been announced to the agent yet.
pub struct Replay {
    agent: usize,
    /// The previous value: the agent's handler may request another replay.
    outer: i32,
}

impl Replay {
    /// Begins a replay. Must be called before any object is marked.
    pub fn begin(agent: &Agent) -> Self {
        let outer = REPLAYS[agent.index].swap(os_thread(), Ordering::SeqCst);
        Self { agent: agent.index, outer }
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        REPLAYS[self.agent].store(self.outer, Ordering::Release);
    }
}

/// Returns the OS thread that announces marked objects to the agent; 0 if each object marked as announced has been
/// announced.
#[inline]
pub fn replaying_thread(agent: &Agent) -> i32 {
    // Acquire: if no replay is running, the effects of the agent's handler are visible.
    REPLAYS[agent.index].load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::agents;

    #[test]
    fn replay_goes_on_after_one_that_a_handler_has_requested() {
        let agent = agents::get(2);
        let replay = Replay::begin(agent);
        drop(Replay::begin(agent));
        assert_ne!(replaying_thread(agent), 0);
        drop(replay);
        assert_eq!(replaying_thread(agent), 0);
    }
}
