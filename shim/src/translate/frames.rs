//! Selects the frames of call traces that agents see, and converts them. Also the call traces of a dump: those of all
//! live threads at one moment, at which all but the current one are suspended.

use super::announce::{self, ClassFor};
use crate::classes::method_classes;
use crate::classes::methods::{self, Boundary, Method};
use crate::classes::seen_frames::SeenFrames;
use crate::gc::heap_walk::Stopped;
use crate::records::agents::Agent;
use crate::records::in_flight::Reporter;
use crate::threads::Thread;
use jni_sys::{jint, jmethodID};
use jvm::Jni;
use jvm::types::jvmtiFrameInfo;
use jvmpi_sys::{JVMPI_CallFrame, JVMPI_CallTrace, JVMPI_EVENT_THREAD_START};
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
struct Frame {
    /// None if the method is the shim's own or unloaded.
    method: Option<Arc<Method>>,
    location: i64,
}

impl Frame {
    /// Finds the method of a frame in which a thread is suspended.
    fn of_suspended(jni: Jni, frame: jvmtiFrameInfo) -> Self {
        let method = Resolver::default().known(jni, frame.method);
        Self { method, location: frame.location }
    }

    /// Returns the frame as the agent gets it in a dump, after announcing its method's class. None if it is never shown.
    fn show(&self, jni: Jni, agent: &Agent, current: &Thread) -> Option<JVMPI_CallFrame> {
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

/// A suspended thread, or the current one.
pub struct SuspendedThread {
    pub thread: Arc<Thread>,
    /// The thread's frames, innermost first.
    frames: Vec<Frame>,
}

/// Suspends all threads but the current one, and records the live threads, without the shim's own. Omits the current
/// thread's `hidden_frames` innermost frames.
///
/// # Errors
/// Returns the reason why that is not possible.
pub fn stop_the_world(
    jni: Jni,
    current: &Thread,
    hidden_frames: usize,
) -> Result<(Stopped, Vec<SuspendedThread>), String> {
    let (stopped, threads) = Stopped::begin(jni, current)?;
    let record = |thread: Arc<Thread>| {
        let object = thread.object()?;
        let is_current = thread.env() == current.env();
        let start = if is_current { hidden_frames } else { 0 };
        let walked = if is_current { ptr::null_mut() } else { object.get() };
        let stack = jvm::get().jvmti.whole_stack(walked, start);
        let frames = stack.into_iter().map(|frame| Frame::of_suspended(jni, frame)).collect();
        Some(SuspendedThread { thread, frames })
    };
    let recorded = threads.into_iter().filter_map(record).collect();
    Ok((stopped, recorded))
}

/// Call traces whose methods and threads are announced to an agent.
#[derive(Default)]
pub struct Stacks {
    /// The frames that the traces point to.
    _frames: Vec<Vec<JVMPI_CallFrame>>,
    traces: Vec<JVMPI_CallTrace>,
    /// For each thread and each of its frames as the VM counts them, the index in the thread's trace.
    numbers: Vec<Vec<Option<u32>>>,
    /// For each trace, the index of its thread.
    pub threads: Vec<usize>,
}

impl Stacks {
    /// Returns the traces of all threads. An agent that has ever enabled THREAD_START looks up its record of each
    /// thread. If it would not get that event now, threads are announced to it as if it had requested the event.
    pub fn of(jni: Jni, agent: &Agent, current: &Thread, suspended: &[SuspendedThread]) -> Self {
        for SuspendedThread { thread, .. } in suspended {
            announce::thread(jni, agent, current, thread);
        }
        let has_wanted = agent.has_wanted(JVMPI_EVENT_THREAD_START);
        for SuspendedThread { thread, .. } in suspended {
            if has_wanted && !thread.announced.to(agent) {
                announce::thread_as_requested(jni, agent, current, thread);
            }
        }
        // A thread that has ended meanwhile cannot be announced.
        let is_shown = |thread: &Thread| thread.announced.to(agent) || !has_wanted;
        let mut stacks = Self::default();
        for (i, SuspendedThread { thread, frames }) in suspended.iter().enumerate() {
            if !is_shown(thread) {
                stacks.numbers.push(Vec::new());
                continue;
            }
            let mut trace = Vec::with_capacity(frames.len());
            let mut numbers = Vec::with_capacity(frames.len());
            for frame in frames {
                let shown = frame.show(jni, agent, current);
                numbers.push(shown.map(|_| trace.len() as u32));
                trace.extend(shown);
            }
            stacks.traces.push(JVMPI_CallTrace {
                env_id: thread.env(),
                num_frames: trace.len() as jint,
                frames: trace.as_mut_ptr(),
            });
            stacks._frames.push(trace);
            stacks.numbers.push(numbers);
            stacks.threads.push(i);
        }
        stacks
    }

    /// Returns the index of a frame in the trace of a thread.
    pub fn number(&self, thread: usize, depth: usize) -> Option<u32> {
        *self.numbers.get(thread)?.get(depth)?
    }

    /// Returns the traces in the form that events need, valid as long as `self` lives.
    pub fn traces(&mut self) -> (jint, *mut JVMPI_CallTrace) {
        (self.traces.len() as jint, self.traces.as_mut_ptr())
    }
}
