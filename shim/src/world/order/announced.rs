//! Which agents have been told of a thing: its defining event is sent once to each, before any
//! other event names it.

use super::patience::Patience;
use crate::world::agents::{Agent, MAX_AGENTS};
use crate::world::threads;
use std::sync::atomic::{AtomicI32, Ordering};

const NOT_SENT: i32 = 0;
const SENT: i32 = -1;

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
    /// Returns early to an agent that asks again from within the event itself, and if the thread that
    /// is sending it cannot go on: the agent may hold a lock that the other needs.
    ///
    /// The thread that runs must have passed the gate, or who waits for it would wait for whoever has
    /// closed that.
    pub fn once(&self, agent: &Agent, send: impl FnOnce()) {
        let state = &self.0[agent.index];
        let me = threads::os_thread();
        let mut patience = Patience::new();
        loop {
            let begun = state.compare_exchange(NOT_SENT, me, Ordering::AcqRel, Ordering::Acquire);
            match begun {
                Ok(_) => {
                    let sending = Sending(state);
                    send();
                    return sending.done();
                }
                Err(SENT) => return,
                Err(sender) if sender == me || !patience.is_left_for(sender) => return,
                Err(_) => patience.sleep(),
            }
        }
    }
}

/// The event is being sent. If that fails, it is as it was before.
struct Sending<'a>(&'a AtomicI32);

impl Sending<'_> {
    fn done(self) {
        self.0.store(SENT, Ordering::Release);
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        // What was sent stays so.
        let me = threads::os_thread();
        let _ = self.0.compare_exchange(me, NOT_SENT, Ordering::Release, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::guard;
    use crate::world::agents;

    #[test]
    fn what_fails_is_sent_the_next_time() {
        let (announced, agent) = (Announced::default(), agents::get(0));
        guard((), || announced.once(agent, || panic!("in the event")));
        assert!(!announced.to(agent));
        announced.once(agent, || announced.once(agent, || unreachable!("from within")));
        assert!(announced.to(agent));
        announced.once(agent, || unreachable!("it was sent"));
    }

    #[test]
    fn all_threads_return_when_it_has_been_sent() {
        let (announced, agent) = (Announced::default(), agents::get(1));
        let times = AtomicI32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    announced.once(agent, || {
                        times.fetch_add(1, Ordering::Relaxed);
                    });
                    assert!(announced.to(agent));
                });
            }
        });
        assert_eq!(times.load(Ordering::Relaxed), 1);
    }
}
