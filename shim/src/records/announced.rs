//! The agents to which a class, thread or arena was announced: its defining event is sent once to
//! each, before any other event names it.

use super::agents::{Agent, MAX_AGENTS};
use jvm::platform::os_thread::os_thread;
use jvm::platform::sync::atomic::{AtomicI32, Ordering};

const NOT_SENT: i32 = 0;
const SENT: i32 = -1;
const WITHDRAWN: i32 = -2;

/// Per agent: not sent, being sent by the OS thread whose number is stored, sent, or withdrawn.
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

    /// Begins to send the defining event, unless it was sent or is being sent.
    pub fn begin(&self, agent: &Agent) -> Result<Sending<'_>, Sent> {
        let state = &self.0[agent.index];
        let begun =
            state.compare_exchange(NOT_SENT, os_thread(), Ordering::AcqRel, Ordering::Acquire);
        match begun {
            Ok(_) => Ok(Sending(state)),
            Err(SENT | WITHDRAWN) => Err(Sent::Already),
            Err(by) => Err(Sent::JustNow { by }),
        }
    }
}

/// The reason why the defining event need not be sent.
pub enum Sent {
    Already,
    /// The OS thread with this number is sending it.
    JustNow {
        by: i32,
    },
}

/// The event is being sent. If this is dropped without [`Self::done`], it counts as not sent.
pub struct Sending<'a>(&'a AtomicI32);

impl Sending<'_> {
    /// Records that the agent has got the event.
    pub fn done(self) {
        self.0.store(SENT, Ordering::Release);
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        // After `done` this changes nothing.
        let _ =
            self.0.compare_exchange(os_thread(), NOT_SENT, Ordering::Release, Ordering::Relaxed);
    }
}
