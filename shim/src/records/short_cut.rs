//! The data that the events of a thread need to take the short cut.

use super::agents::{Agent, AgentSet, Handler, OnlyListener};
use super::calls::OpenCalls;
use super::phase;
use jvm::platform::sync::atomic::AtomicU64;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The short cut of a thread: the result of the checks that hold for one epoch. Only the thread itself uses it, but
/// others may [forbid](Self::forbid) it.
#[repr(C)]
pub struct ShortCut {
    /// The epoch for which the rest is valid.
    epoch: AtomicU64,
    /// By [`OnlyListener`]: where the only listener has its handler, or [`NOBODY`].
    handlers: [AtomicPtr<Option<Handler>>; OnlyListener::ALL.len()],
    /// The agent that gets entries; NULL if there is none or more than one.
    agent: AtomicPtr<Agent>,
}

static NOBODY: Option<Handler> = None;

impl Default for ShortCut {
    fn default() -> Self {
        let nobody = || AtomicPtr::new(ptr::from_ref(&NOBODY).cast_mut());
        Self {
            epoch: AtomicU64::new(phase::NO_EPOCH),
            handlers: std::array::from_fn(|_| nobody()),
            agent: AtomicPtr::default(),
        }
    }
}

impl ShortCut {
    /// Lets the thread's events take the short cut in this epoch, which was read before the caller made its checks.
    pub fn allow(&self, epoch: u64, open_calls: &OpenCalls) {
        let listening = |event: OnlyListener| event.agent();
        let entries = listening(OnlyListener::Entry).or_else(|| listening(OnlyListener::Entry2));
        let paired = entries.filter(|agent| agent.gets_exits());
        open_calls.record_for(paired.map(AgentSet::of).unwrap_or_default());
        self.agent.store(entries.map_or(ptr::null(), ptr::from_ref).cast_mut(), Ordering::Relaxed);
        for event in OnlyListener::ALL {
            let handler = listening(event).map_or(ptr::from_ref(&NOBODY), Agent::handler);
            self.handlers[event as usize].store(handler.cast_mut(), Ordering::Relaxed);
        }
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// Makes the thread's next event take the long way, because something has changed for this thread alone.
    pub fn forbid(&self) {
        self.epoch.store(phase::NO_EPOCH, Ordering::Relaxed);
    }

    /// Returns true if the thread's events may take the short cut in this epoch.
    #[inline]
    pub fn is_allowed_in(&self, epoch: u64) -> bool {
        self.epoch.load(Ordering::Relaxed) == epoch
    }

    /// Returns the handler of the only agent that gets the event. Valid in the epoch for which the thread is allowed the
    /// short cut.
    #[inline]
    pub fn handler(&self, event: OnlyListener) -> Option<Handler> {
        let handler = self.handlers[event as usize].load(Ordering::Relaxed);
        // SAFETY: it points to `NOBODY` or into a table, which are static. The agent may write there at any time, but
        // writes a whole pointer at once.
        unsafe { handler.read_volatile() }
    }

    /// Returns the only agent that gets entries.
    #[inline]
    pub fn agent(&self) -> Option<&'static Agent> {
        // SAFETY: NULL or an agent, and these are static.
        unsafe { self.agent.load(Ordering::Relaxed).as_ref() }
    }
}
