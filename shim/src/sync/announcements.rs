//! Announcements in progress: before a thread names a class, thread, arena or object to an agent, it
//! waits until the agent has got its defining event.
//!
//! A wait ends after a while ([`BoundedWait`]): the agent's handler may need a lock that the waiting thread
//! holds.

use super::bounded_wait::BoundedWait;
use crate::records::agents::{Agent, MAX_AGENTS};
use crate::records::announced::{Announced, Sent};
use jvm::lock::{Lock, Locked};
use jvm::platform::os_thread::os_thread;
use jvm::platform::sync::atomic::{AtomicI32, Ordering};
use jvmpi_sys::jobjectID;

/// Calls `try_to` until it begins an announcement. Returns None if the announcement is done, if the
/// current thread is already making it, or if that takes another thread too long.
///
/// The current thread must have passed the gate. Otherwise a thread that waits for it would wait for
/// the thread that has closed the gate.
fn begin<T>(mut try_to: impl FnMut() -> Result<T, Sent>) -> Option<T> {
    let mut waiting = BoundedWait::for_announcement();
    loop {
        match try_to() {
            Ok(begun) => return Some(begun),
            Err(Sent::Already) => return None,
            Err(Sent::JustNow { by }) if by == os_thread() || !waiting.goes_on() => {
                return None;
            }
            Err(Sent::JustNow { .. }) => waiting.sleep(),
        }
    }
}

/// Sends the defining event of a class, thread or arena unless it was sent before. Returns when it has
/// been sent, or earlier if [`begin`] returns None.
pub fn once(announced: &Announced, agent: &Agent, send: impl FnOnce()) {
    if let Some(sending) = begin(|| announced.begin(agent)) {
        send();
        sending.done();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Announcement {
    agent: usize,
    object: usize,
    /// The OS thread that announces the object.
    by: i32,
}

static UNDER_WAY: Lock<Vec<Announcement>> = Lock::new(Vec::new());

fn under_way() -> Locked<'static, Vec<Announcement>> {
    UNDER_WAY.lock()
}

/// Runs `announce` while no other thread announces the object to this agent. `announce` must check
/// whether the agent has got the event by now. Does nothing if [`begin`] returns None.
pub fn of_object(agent: &Agent, object: jobjectID, announce: impl FnOnce()) {
    let this = Announcement { agent: agent.index, object: object.addr(), by: os_thread() };
    if let Some(_under_way) = begin(|| this.begin()) {
        announce();
    }
}

impl Announcement {
    /// Begins the announcement unless a thread is already making it.
    fn begin(self) -> Result<UnderWay, Sent> {
        let is_same = |other: &&Self| other.agent == self.agent && other.object == self.object;
        let mut all = under_way();
        if let Some(same) = all.iter().find(is_same) {
            return Err(Sent::JustNow { by: same.by });
        }
        all.push(self);
        Ok(UnderWay(self))
    }
}

/// An announcement in progress.
struct UnderWay(Announcement);

impl Drop for UnderWay {
    fn drop(&mut self) {
        under_way().retain(|other| *other != self.0);
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

/// Returns true if an object marked as announced may not have been announced yet.
#[inline]
pub fn is_replaying(agent: &Agent) -> bool {
    // Acquire: if no replay is running, the effects of the agent's handler are visible.
    REPLAYS[agent.index].load(Ordering::Acquire) != 0
}

/// Waits until all marked objects have been announced to the agent. Returns earlier if [`begin`] does.
pub fn wait_for_replay(agent: &Agent) {
    begin(|| match REPLAYS[agent.index].load(Ordering::Acquire) {
        0 => Ok(()),
        by => Err(Sent::JustNow { by }),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::agents;
    use jvm::boundary::guard;
    use std::ptr::without_provenance_mut;

    /// Announces an object given by a number, because threads can share numbers.
    fn one(agent: &Agent, object: usize, announce: impl FnOnce()) {
        of_object(agent, without_provenance_mut(object), announce);
    }

    #[test]
    fn failed_announcement_is_sent_the_next_time() {
        let (announced, agent) = (Announced::default(), agents::get(0));
        guard((), || once(&announced, agent, || panic!("in the event")));
        assert!(!announced.to(agent));
        let again = || once(&announced, agent, || unreachable!("from within"));
        once(&announced, agent, again);
        assert!(announced.to(agent));
        once(&announced, agent, || unreachable!("it was sent"));
    }

    #[test]
    fn failed_announcement_is_not_under_way() {
        let (agent, object) = (agents::get(3), 16);
        guard((), || one(agent, object, || panic!("in the event")));
        let mut announced = false;
        one(agent, object, || announced = true);
        assert!(announced);
    }

    #[test]
    fn no_thread_waits_for_ever() {
        let (agent, object) = (agents::get(2), 16);
        one(agent, object, || {
            std::thread::scope(|threads| {
                threads.spawn(|| one(agent, object, || unreachable!("it is being announced")));
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
