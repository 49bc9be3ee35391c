//! Objects that agents are just being told of: who names one meanwhile waits until the agent has
//! been told.
//!
//! Every wait has a bound, as an agent may hold the lock in its handler that the one who waits needs.

use super::agents::{Agent, MAX_AGENTS};
use super::gate::Progress;
use super::threads;
use crate::lock::{Condition, Lock, Locked};
use jvmpi_sys::jobjectID;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// How long anybody waits for a thread that gets no further.
const PATIENCE: Duration = Duration::from_millis(50);
const POLL: Duration = Duration::from_micros(50);

#[derive(Clone, Copy, PartialEq, Eq)]
struct Introduction {
    agent: usize,
    object: usize,
    /// The OS thread that tells the agent.
    by: i32,
}

static UNDER_WAY: Lock<Vec<Introduction>> = Lock::new(Vec::new());
/// Signalled when one is done.
static DONE: Condition = Condition::new();

fn under_way() -> Locked<'static, Vec<Introduction>> {
    UNDER_WAY.lock()
}

/// Runs `tell`, which tells the agent of the object unless it knows it by now, when no other thread
/// does so. Does nothing if the thread that runs is just doing it: the agent asks from within.
pub fn one_at_a_time(agent: &Agent, object: jobjectID, tell: impl FnOnce()) {
    let this = Introduction { agent: agent.index, object: object.addr(), by: threads::os_thread() };
    let is_same = |other: &&Introduction| other.agent == this.agent && other.object == this.object;
    let mut all = under_way();
    while let Some(same) = all.iter().find(is_same) {
        if same.by == this.by {
            return;
        }
        let (after, in_time) = DONE.wait_for(all, PATIENCE);
        if !in_time {
            return;
        }
        all = after;
    }
    all.push(this);
    drop(all);
    tell();
    under_way().retain(|other| *other != this);
    DONE.notify_all();
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
        let outer = REPLAYS[agent.index].swap(threads::os_thread(), Ordering::SeqCst);
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
    let by = &REPLAYS[agent.index];
    let is_by_another = || ![0, threads::os_thread()].contains(&by.load(Ordering::Acquire));
    let mut progress = Progress::new();
    while is_by_another() && !progress.is_missing_for(PATIENCE) {
        sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::agents;
    use std::ptr::without_provenance_mut;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU32;

    /// Objects are numbers here, which threads can share.
    fn one(agent: &Agent, object: usize, tell: impl FnOnce()) {
        one_at_a_time(agent, without_provenance_mut(object), tell);
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
                    sleep(PATIENCE / 5);
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
