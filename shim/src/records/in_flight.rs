//! The events in flight on a thread, each inside the previous one, the object of the innermost, and the short cut that
//! the next one may take.

use super::agents::{Agent, AgentSet, Handler, OnlyListener};
use super::calls::{OpenCalls, Step, Tracked};
use super::phase;
use jni_sys::jobject;
use jvm::boundary::OnDrop;
use jvm::platform::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use jvmpi_sys::jobjectID;
use std::ptr;

/// The events in flight. Only the thread itself writes this, just twice per event, because more would be too expensive
/// for method events. Every store after which no event may be in flight is a release: a thread that reads it sees the
/// effects of the agent's handlers.
#[derive(Default)]
#[repr(C)]
pub struct InFlight {
    /// The number of events that have taken the long way, and the reporter of the innermost one.
    events: AtomicU64,
    /// The calls for which agents have got the entry, but not the exit. They know whether an event is in flight that
    /// has taken the short cut. The others are inside that one.
    pub calls: OpenCalls,
}

/// An event in flight.
pub struct Passage<'a> {
    in_flight: &'a InFlight,
    /// The previous value.
    outer: u64,
}

/// The rewritten code that reports an event. Agents do not see its frames.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reporter {
    /// The VM itself reports.
    None,
    /// The innermost frame is the Tracker's.
    Tracker,
    /// The Tracker, called by the constructors of the event's object.
    Constructors,
    /// Code with this number of the innermost frames.
    Frames(usize),
}

const COUNT: u64 = (1 << KIND) - 1;

/// The first bit of the innermost event's [`Reporter`].
const KIND: u32 = 24;

impl Reporter {
    /// [`Reporter::Frames`], to which the number of frames is added.
    const FRAMES: u64 = 3;

    const fn bits(self) -> u64 {
        let kind = match self {
            Self::None => 0,
            Self::Tracker => 1,
            Self::Constructors => 2,
            Self::Frames(count) => Self::FRAMES + count as u64,
        };
        kind << KIND
    }
}

impl InFlight {
    #[inline]
    pub fn enter(&self) -> Passage<'_> {
        let outer = self.events.load(Ordering::Relaxed);
        self.events.store(outer + 1, Ordering::Relaxed);
        Passage { in_flight: self, outer }
    }

    /// Begins an event that takes the short cut, reported by the Tracker, unless another event is in flight or the
    /// calls do not [allow](OpenCalls::begin) it.
    #[inline(always)]
    pub fn enter_tracked(&self, step: Step) -> Option<Tracked<'_>> {
        if self.events.load(Ordering::Relaxed) != 0 { None } else { self.calls.begin(step) }
    }

    pub fn is_any(&self) -> bool {
        self.count() > 0
    }

    pub fn count(&self) -> u32 {
        // An event does not change its kind, so one that is in flight all the time is not missed.
        (self.events.load(Ordering::Acquire) & COUNT) as u32 + u32::from(self.calls.is_tracked())
    }

    /// Runs `event` as reported by the Tracker.
    pub fn while_tracking<R>(&self, event: impl FnOnce() -> R) -> R {
        self.reported(Reporter::Tracker, event)
    }

    /// Runs `event` as reported by this code.
    pub fn reported<R>(&self, report: Reporter, event: impl FnOnce() -> R) -> R {
        let outer = self.events.load(Ordering::Relaxed);
        self.events.store(outer & COUNT | report.bits(), Ordering::Release);
        let _after = OnDrop(|| self.events.store(outer, Ordering::Release));
        event()
    }

    /// Returns the rewritten code that reports the innermost event.
    pub fn report(&self) -> Reporter {
        match self.events.load(Ordering::Relaxed) >> KIND {
            0 if self.calls.is_tracked() => Reporter::Tracker,
            0 => Reporter::None,
            1 => Reporter::Tracker,
            2 => Reporter::Constructors,
            kind => Reporter::Frames((kind - Reporter::FRAMES) as usize),
        }
    }
}

impl Passage<'_> {
    /// Returns true if no other event is in flight on the thread.
    pub fn is_outermost(&self) -> bool {
        self.outer & COUNT == 0 && !self.in_flight.calls.is_tracked()
    }
}

impl Drop for Passage<'_> {
    #[inline]
    fn drop(&mut self) {
        self.in_flight.events.store(self.outer, Ordering::Release);
    }
}

/// The object of the event in flight: its ID and a reference, because agents request the object in the event. Only the
/// thread itself uses them.
#[derive(Default)]
pub struct CurrentObject {
    id: AtomicPtr<jvmpi_sys::_jobjectID>,
    object: AtomicPtr<jni_sys::_jobject>,
}

impl CurrentObject {
    /// Runs `event` with the object as its current object. The object lives until `event` returns.
    pub fn with<R>(&self, id: jobjectID, object: jobject, event: impl FnOnce() -> R) -> R {
        let outer = (self.id.load(Ordering::Relaxed), self.object.load(Ordering::Relaxed));
        let _after = OnDrop(|| self.set(outer.0, outer.1));
        self.set(id, object);
        event()
    }

    /// Sets the current object; NULL for none.
    #[inline]
    pub fn set(&self, id: jobjectID, object: jobject) {
        self.id.store(id, Ordering::Relaxed);
        self.object.store(object, Ordering::Relaxed);
    }

    /// Returns the object if the ID is that of the current object.
    pub fn object(&self, id: jobjectID) -> Option<jobject> {
        (self.id.load(Ordering::Relaxed) == id).then(|| self.object.load(Ordering::Relaxed))
    }
}

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
