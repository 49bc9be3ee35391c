//! Selects the frames of call traces that agents see, and converts them.

use super::announce::{self, ClassFor};
use crate::classes::method_classes;
use crate::classes::methods::{self, Boundary, Method};
use crate::classes::seen_frames::SeenFrames;
use crate::records::agents::Agent;
use crate::records::in_flight::Reporter;
use crate::threads::Thread;
use jni_sys::jmethodID;
use jvm::Jni;
use jvm::types::jvmtiFrameInfo;
use jvmpi_sys::JVMPI_CallFrame;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

/// Writes the innermost frames of the current thread that agents see. Returns their number.
pub fn of_current(jni: Jni, current: &Thread, room: &mut [MaybeUninit<jvmtiFrameInfo>]) -> usize {
    if !may_have_hidden(current) {
        return walk(0, room).len();
    }
    // A second walk costs more than a few extra frames, and there are rarely more hidden frames than
    // this.
    const HIDDEN: usize = 4;
    let mut first = [const { MaybeUninit::uninit() }; AT_ONCE];
    let wanted = AT_ONCE.min(room.len().saturating_add(HIDDEN));
    let found = walk(0, &mut first[..wanted]);
    let hidden = hidden_of(jni, current, found);
    let shown = found.get(hidden..).unwrap_or(&[]);
    if shown.len() < room.len() && found.len() == wanted {
        return walk(hidden, room).len();
    }
    room.iter_mut().zip(shown).map(|(place, frame)| place.write(*frame)).count()
}

/// Returns the number of innermost frames that agents do not see: the Tracker's, and the constructors of
/// an object whose allocation `Object.<init>` reports. For agents it is the caller of the constructors
/// that allocates.
pub fn hidden_frames(jni: Jni, current: &Thread) -> usize {
    if !may_have_hidden(current) {
        return 0;
    }
    let mut first = [const { MaybeUninit::uninit() }; AT_ONCE];
    hidden_of(jni, current, walk(0, &mut first))
}

/// Returns true if rewritten code reports the current event.
fn may_have_hidden(current: &Thread) -> bool {
    current.in_flight.report() != Reporter::None
}

/// Returns how many of the given innermost frames are hidden.
fn hidden_of(jni: Jni, current: &Thread, innermost: &[jvmtiFrameInfo]) -> usize {
    let is_tracker = |method| methods::of(jni, method).is_some_and(|m| m.class.is_own());
    // The handler may be running Java code that has come here or caused another event.
    if !innermost.first().is_some_and(|frame| is_tracker(frame.method)) {
        return 0;
    }
    match current.in_flight.report() {
        Reporter::Constructors => 1 + constructors(jni, &innermost[1..]),
        Reporter::Frames(count) => count,
        Reporter::None | Reporter::Tracker => 1,
    }
}

/// Counts the constructors of the object under construction, starting below the Tracker's frame. The
/// first frame is `Object`'s constructor. Each further one counts if it is at its call of the next
/// constructor on its own object.
fn constructors(jni: Jni, below_tracker: &[jvmtiFrameInfo]) -> usize {
    let mut count = 0;
    let mut constructs = |frame: &jvmtiFrameInfo| {
        let own_call = || methods::as_it_is(jni, frame.method, true)?.0.own_call(frame.method);
        let constructs = count == 0 || own_call() == Some(frame.location);
        count += usize::from(constructs);
        constructs
    };
    if below_tracker.iter().all(&mut constructs) {
        each(1 + below_tracker.len(), constructs);
    }
    count
}

/// Passes the frames of the current thread, without the `next` innermost, to `visit` until it returns
/// false.
pub fn each(mut next: usize, mut visit: impl FnMut(&jvmtiFrameInfo) -> bool) {
    loop {
        let mut frames = [const { MaybeUninit::uninit() }; AT_ONCE];
        let found = walk(next, &mut frames);
        if !found.iter().all(&mut visit) || found.len() < AT_ONCE {
            return;
        }
        next += found.len();
    }
}

/// Finds the current thread's frames of the method with this ID, outermost first. A frame is true if it is that of a
/// constructor whose call of `super()` or `this()` has returned.
pub fn constructed(jni: Jni, id: jmethodID) -> Vec<bool> {
    let frames = jvm::get().jvmti.whole_stack(ptr::null_mut(), 0);
    let is_version = |method| methods::of(jni, method).is_some_and(|known| known.id() == id);
    let is_it = |frame: &&jvmtiFrameInfo| frame.method == id || is_version(frame.method);
    let is_constructed = |frame: &jvmtiFrameInfo| {
        let own_call = methods::as_it_is(jni, frame.method, true)?.0.own_call(frame.method)?;
        Some(frame.location > own_call)
    };
    let of_method = frames.iter().rev().filter(is_it);
    of_method.map(|frame| is_constructed(frame).unwrap_or_default()).collect()
}

const AT_ONCE: usize = 16;

/// Reads the frames of the current thread, without the `start` innermost, as many as fit into `room`.
fn walk(start: usize, room: &mut [MaybeUninit<jvmtiFrameInfo>]) -> &[jvmtiFrameInfo] {
    let walked = jvm::get().jvmti.stack_trace(ptr::null_mut(), start, room).unwrap_or(0);
    // SAFETY: the walk wrote that many frames.
    unsafe { room[..walked].assume_init_ref() }
}

/// A frame of a thread that may be running. Once the thread has left an obsolete method, the VM may free
/// that method (see [`jvm::Jvm::knows_freed_methods`]).
pub struct Frame {
    /// None if the method is the shim's own or unloaded.
    method: Option<Arc<Method>>,
    location: i64,
}

impl Frame {
    /// Finds the method of a frame in which a thread is suspended.
    pub fn of_suspended(jni: Jni, frame: jvmtiFrameInfo) -> Self {
        let method = Resolver::default().known(jni, frame.method);
        Self { method, location: frame.location }
    }

    /// Returns the frame as the agent gets it in a dump, after announcing its method's class. None if it is never shown.
    pub fn show(&self, jni: Jni, agent: &Agent, current: &Thread) -> Option<JVMPI_CallFrame> {
        let method = self.method.as_deref()?;
        announce::class(jni, agent, current, &method.class, ClassFor::Dump);
        let lineno = method.lineno(self.location);
        Some(JVMPI_CallFrame { lineno, method_id: method.id() })
    }
}

/// The kind of thread whose stack was walked.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub enum Walked {
    /// The current thread: the classes of its methods are alive.
    Current,
    /// Another thread, which stays in these methods meanwhile.
    #[default]
    Suspended,
    /// Another thread, which may be running: see [`Frame`].
    Running,
}

/// Converts the frames of one stack, innermost first, to JVMPI frames.
#[derive(Default)]
pub struct Resolver {
    walked: Walked,
    /// True if a method was met that has new code, perhaps since the stack was walked.
    pub met_new_code: bool,
    /// True if frames of a virtual thread were met.
    pub met_virtual: bool,
    /// True if the frames of a virtual thread were met, and the next ones are those of its carrier.
    pub met_carrier: bool,
}

impl Resolver {
    pub fn of(walked: Walked) -> Self {
        Self { walked, ..Self::default() }
    }

    /// Returns the next frame as the agent gets it, after announcing its method's class. None if the
    /// method is the shim's own or unloaded. `seen` is the current thread's cache of frames.
    pub fn next(
        &mut self,
        jni: Jni,
        agent: &Agent,
        current: &Thread,
        frame: jvmtiFrameInfo,
        seen: &mut SeenFrames,
    ) -> Option<JVMPI_CallFrame> {
        let is_current = self.walked == Walked::Current;
        let find = |is_replaced| {
            let method = self.known(jni, frame.method);
            self.met_new_code |= is_replaced;
            method
        };
        let found = seen.find(jni, &frame, is_current, find)?;
        match found.record.boundary {
            None => {}
            Some(Boundary::LeavesCarrier) => self.met_virtual = true,
            Some(Boundary::EntersVirtualThread) => {
                (self.met_virtual, self.met_carrier) = (true, true);
                return None;
            }
        }
        announce::class(jni, agent, current, &found.record.class, ClassFor::EVENT);
        Some(JVMPI_CallFrame { lineno: found.lineno, method_id: found.record.id() })
    }

    /// Returns the method, unless it is the shim's own or unloaded.
    fn known(&mut self, jni: Jni, method: jmethodID) -> Option<Arc<Method>> {
        if method.is_null() {
            return None;
        }
        if self.walked == Walked::Running && !jvm::get().knows_freed_methods() {
            let known = method_classes::find_if_alive(jni, method);
            return known.filter(|method| !method.class.is_own());
        }
        let (method, is_new) = methods::as_it_is(jni, method, self.walked == Walked::Current)?;
        self.met_new_code |= is_new;
        (!method.class.is_own()).then_some(method)
    }
}
