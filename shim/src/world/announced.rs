//! Which agents have been told of a thing: its defining event is sent once to each, before any
//! other event names it.

use super::agents::{Agent, MAX_AGENTS};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

const NOT_SENT: i32 = 0;
const SENT: i32 = -1;
/// How long a thread waits for another one that is just sending the event. An agent may hold the
/// lock that the other needs, so it must not wait for ever.
const PATIENCE: Duration = Duration::from_millis(50);

/// Per agent: not sent, being sent by the OS thread whose number is stored, or sent.
#[derive(Default)]
pub struct Announced([AtomicI32; MAX_AGENTS]);

impl Announced {
    /// Whether the defining event has reached the agent.
    pub fn to(&self, agent: &Agent) -> bool {
        self.0[agent.index].load(Ordering::Acquire) == SENT
    }

    /// Takes note that the agent got the defining event because it asked for it.
    pub fn mark(&self, agent: &Agent) {
        self.0[agent.index].store(SENT, Ordering::Release);
    }

    /// Sends the defining event unless it was sent; returns when it has been.
    ///
    /// Returns early to an agent that asks again from within the event itself.
    pub fn once(&self, agent: &Agent, send: impl FnOnce()) {
        let state = &self.0[agent.index];
        let me = super::threads::os_thread();
        match state.compare_exchange(NOT_SENT, me, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                send();
                state.store(SENT, Ordering::Release);
            }
            Err(SENT) => {}
            Err(sender) if sender == me => {}
            Err(_) => {
                let begun = Instant::now();
                while state.load(Ordering::Acquire) != SENT && begun.elapsed() < PATIENCE {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
        }
    }
}
