//! Announcements in progress: before a thread names a class, thread, arena or object to an agent, it
//! waits until the agent has got its defining event.
//!
//! A thread first prepares the event, for which it calls the VM, and then calls the agent's handler. A wait for either
//! ends after a while ([`BoundedWait`]). While the other thread prepares, the waiting thread then takes its place, so the
//! defining event comes first all the same. While the handler runs, the waiting thread goes on: the handler may need a
//! lock that it holds.

use super::bounded_wait::BoundedWait;
use crate::records::agents::Agent;
use crate::records::announced::{Announced, Sending, Sent, replaying_thread};
use jvm::lock::Lock;
use jvm::platform::os_thread::os_thread;
use jvmpi_sys::jobjectID;
use std::sync::{Arc, Weak};

/// Calls `try_to` until it begins an announcement, instead of the OS thread whose number it gets, or of none if that is
/// 0. Returns None if the announcement is done, if the current thread is already making it, or if the agent's handler
/// takes too long.
///
/// The current thread must have passed the gate. Otherwise a thread that waits for it would wait for
/// the thread that has closed the gate.
fn begin<T>(mut try_to: impl FnMut(i32) -> Result<T, Sent>) -> Option<T> {
    let mut waiting = BoundedWait::for_announcement();
    let mut seen = Sent::Already;
    let mut instead_of = 0;
    loop {
        let sent = match try_to(std::mem::take(&mut instead_of)) {
            Ok(begun) => return Some(begun),
            Err(sent) => sent,
        };
        if sent.by().is_none_or(|by| by == os_thread()) {
            return None;
        }
        if std::mem::replace(&mut seen, sent) != sent {
            waiting.step();
        }
        if waiting.goes_on() {
            waiting.sleep();
        } else if let Sent::Preparing { by } = sent {
            instead_of = by;
        } else {
            return None;
        }
    }
}

/// Sends the defining event of a class, thread or arena unless it was sent before. `send` prepares the event, and sends
/// it if [`Sending::call`] then returns true; it returns false if the event cannot be sent yet. Returns when the event
/// has been sent, or earlier if it cannot be or [`begin`] returns None.
pub fn once(announced: &Announced, agent: &Agent, mut send: impl FnMut(&Sending<'_>) -> bool) {
    while let Some(sending) = begin(|instead_of| announced.begin(agent, instead_of)) {
        if !send(&sending) || sending.done() {
            return;
        }
    }
}

/// An object that is being announced.
struct Announcement {
    object: usize,
    announced: Announced,
}

static UNDER_WAY: Lock<Vec<Weak<Announcement>>> = Lock::new(Vec::new());

/// Does the same as [`once`] for an object, whose tag says whether the agent has got the event. `send` must check that
/// first.
pub fn of_object(agent: &Agent, object: jobjectID, send: impl FnMut(&Sending<'_>) -> bool) {
    let announcement = Announcement::under_way(object.addr());
    once(&announcement.announced, agent, send);
}

impl Announcement {
    /// Returns the announcement of this object that other threads are making, or a new one.
    fn under_way(object: usize) -> Arc<Self> {
        let mut all = UNDER_WAY.lock();
        all.retain(|one| one.strong_count() > 0);
        if let Some(known) = all.iter().filter_map(Weak::upgrade).find(|one| one.object == object) {
            return known;
        }
        let new = Arc::new(Self { object, announced: Announced::default() });
        all.push(Arc::downgrade(&new));
        new
    }
}

/// Waits until all marked objects have been announced to the agent. Returns earlier if [`begin`] does.
pub fn wait_for_replay(agent: &Agent) {
    begin(|_| match replaying_thread(agent) {
        0 => Ok(()),
        by => Err(Sent::Calling { by }),
    });
}
