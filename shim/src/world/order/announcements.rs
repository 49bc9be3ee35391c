//! Things that are just being announced: who names one meanwhile waits until the agent has got its
//! defining event.
//!
//! Nobody waits for a thread that cannot go on ([`BoundedWait`]): the agent may hold a lock in its handler
//! that the one who waits needs.

use super::announced::{Announced, Sent};
use super::bounded_wait::BoundedWait;
use crate::lock::{Lock, Locked};
use crate::world::agents::{Agent, MAX_AGENTS};
use crate::world::threads::os_thread::os_thread;
use jvmpi_sys::jobjectID;
use std::sync::atomic::{AtomicI32, Ordering};

/// Sends the defining event of a class or a thread unless it was sent; returns when it has been.
///
/// Returns early to an agent that asks again from within the event itself, and if the thread that is
/// sending it cannot go on.
///
/// The thread that runs must have passed the gate, or who waits for it would wait for whoever has
/// closed that.
pub fn once(announced: &Announced, agent: &Agent, send: impl FnOnce()) {
    let mut waiting = BoundedWait::new();
    loop {
        match announced.begin(agent) {
            Ok(sending) => {
                send();
                return sending.done();
            }
            Err(Sent::Already) => return,
            Err(Sent::JustNow { by }) if by == os_thread() || !waiting.can_go_on(by) => {
                return;
            }
            Err(Sent::JustNow { .. }) => waiting.sleep(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Announcement {
    agent: usize,
    object: usize,
    /// The OS thread that tells the agent.
    by: i32,
}

static UNDER_WAY: Lock<Vec<Announcement>> = Lock::new(Vec::new());

fn under_way() -> Locked<'static, Vec<Announcement>> {
    UNDER_WAY.lock()
}

/// Runs `tell`, which tells the agent of the object unless it knows it by now, when no other thread
/// does so. Does nothing if the thread that runs is just doing it: the agent asks from within.
///
/// The thread that runs must have passed the gate, or who waits for it would wait for whoever has
/// closed that.
pub fn of_object(agent: &Agent, object: jobjectID, tell: impl FnOnce()) {
    let this = Announcement { agent: agent.index, object: object.addr(), by: os_thread() };
    let mut waiting = BoundedWait::new();
    while let Some(teller) = this.begin() {
        if teller == this.by || !waiting.can_go_on(teller) {
            return;
        }
        waiting.sleep();
    }
    let _under_way = UnderWay(this);
    tell();
}

impl Announcement {
    /// Begins unless a thread tells the agent already; that thread.
    fn begin(&self) -> Option<i32> {
        let is_same = |other: &&Self| other.agent == self.agent && other.object == self.object;
        let mut all = under_way();
        let same = all.iter().find(is_same).map(|same| same.by);
        if same.is_none() {
            all.push(*self);
        }
        same
    }
}

/// An announcement that has begun.
struct UnderWay(Announcement);

impl Drop for UnderWay {
    fn drop(&mut self) {
        under_way().retain(|other| *other != self.0);
    }
}

/// By agent, the OS thread that tells it of what a walk through the heap has found, which is marked
/// as told already; 0 if there is none.
static REPLAYS: [AtomicI32; MAX_AGENTS] = [const { AtomicI32::new(0) }; MAX_AGENTS];

/// While it lives, the agent is being told of objects that are marked as told.
pub struct Replay {
    agent: usize,
    /// What was there before: the agent's handler may ask for another replay.
    outer: i32,
}

impl Replay {
    /// Begins before any object is marked.
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

/// Whether an object that is marked as told may be one that the agent is only just told of.
#[inline]
pub fn is_replaying(agent: &Agent) -> bool {
    REPLAYS[agent.index].load(Ordering::Relaxed) != 0
}

/// Waits until the agent has been told of what is marked.
pub fn wait_for_replay(agent: &Agent) {
    let mut waiting = BoundedWait::new();
    loop {
        let by = REPLAYS[agent.index].load(Ordering::Acquire);
        if [0, os_thread()].contains(&by) || !waiting.can_go_on(by) {
            return;
        }
        waiting.sleep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::guard;
    use crate::world::agents;
    use std::ptr::without_provenance_mut;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU32;

    /// Objects are numbers here, which threads can share.
    fn one(agent: &Agent, object: usize, tell: impl FnOnce()) {
        of_object(agent, without_provenance_mut(object), tell);
    }

    #[test]
    fn what_fails_is_sent_the_next_time() {
        let (announced, agent) = (Announced::default(), agents::get(0));
        guard((), || once(&announced, agent, || panic!("in the event")));
        assert!(!announced.to(agent));
        let again = || once(&announced, agent, || unreachable!("from within"));
        once(&announced, agent, again);
        assert!(announced.to(agent));
        once(&announced, agent, || unreachable!("it was sent"));
    }

    #[test]
    fn all_threads_return_when_it_has_been_sent() {
        let (announced, agent) = (Announced::default(), agents::get(1));
        let times = AtomicI32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    once(&announced, agent, || {
                        times.fetch_add(1, Ordering::Relaxed);
                    });
                    assert!(announced.to(agent));
                });
            }
        });
        assert_eq!(times.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_second_thread_waits_until_the_first_has_told() {
        let (agent, object) = (agents::get(1), 16);
        let (begun, told) = (Barrier::new(2), AtomicU32::new(0));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                one(agent, object, || {
                    begun.wait();
                    one(agent, object, || unreachable!("it is being told"));
                    (0..1000).for_each(|_| std::thread::yield_now());
                    told.store(1, Ordering::Relaxed);
                });
            });
            begun.wait();
            one(agent, 32, || ());
            one(agent, object, || assert_eq!(told.load(Ordering::Relaxed), 1));
        });
        assert!(under_way().iter().all(|one| one.agent != agent.index));
    }

    #[test]
    fn what_fails_is_not_under_way() {
        let (agent, object) = (agents::get(3), 16);
        guard((), || one(agent, object, || panic!("in the event")));
        let mut told = false;
        one(agent, object, || told = true);
        assert!(told);
    }

    #[test]
    fn nobody_waits_for_ever() {
        let (agent, object) = (agents::get(2), 16);
        one(agent, object, || {
            std::thread::scope(|threads| {
                threads.spawn(|| one(agent, object, || unreachable!("it is being told")));
            });
        });
        let _replay = Replay::begin(agent);
        {
            let _inner = Replay::begin(agent);
        }
        assert!(is_replaying(agent));
        std::thread::scope(|threads| drop(threads.spawn(|| wait_for_replay(agent))));
    }
}
