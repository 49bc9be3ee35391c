//! The records of a thread that were not written to the file yet.

use crate::trace::events;
use crate::trace::fields::{Write, address};
use crate::trace::file::Header;
use crate::trace::functions::{self, Details, Function};
use crate::trace::shared::{Shared, now};
use crate::trace::state::{Out, Room, State, slot_of, tag};
use jni_sys::jint;
use jvmpi_sys::*;
use std::cell::UnsafeCell;
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering, compiler_fence};
use std::sync::{Mutex, PoisonError};

/// The bytes of a buffer.
const CAPACITY: usize = 1 << 16;
/// More than a record takes that is not [long](Length).
const ROOM: usize = 512;
/// More than a frame of a call trace takes.
const FRAME: usize = 32;
/// The number of bytes after which the time is recorded, unless something else does it.
const TIME_EVERY: usize = 512;

/// The records of a thread that are not handed over yet, and the state for the next ones.
pub struct ThreadBuffer {
    number: u32,
    /// Set while the thread is in here: a signal's handler may be an agent's, and make calls.
    busy: AtomicBool,
    /// Only the thread itself uses it.
    own: UnsafeCell<Own>,
    /// The thread itself writes behind `used`, anyone may read what lies before.
    bytes: UnsafeCell<Box<[u8]>>,
    used: AtomicUsize,
    handed: Mutex<Handed>,
    /// The number of events that were not recorded, because the file could not be written fast enough.
    dropped: AtomicU64,
    /// Fields of [`Header`].
    function: AtomicU8,
}

// SAFETY: as the fields say, what is not for all threads is the thread's own.
unsafe impl Sync for ThreadBuffer {}
// SAFETY: nothing in it belongs to an operating system's thread.
unsafe impl Send for ThreadBuffer {}

/// The part of the buffer that was handed over.
struct Handed {
    /// The number of bytes.
    bytes: usize,
    /// The header of the next chunk, but for its length.
    header: Header,
}

struct Own {
    state: State,
    /// The number of records.
    count: u64,
    /// The number of the last event whose handler has returned without a record of its own.
    childless: u64,
    /// The call that runs, if no record of it was made.
    call: Option<(Function, [u64; 3])>,
    /// True if the event of the running handler was dropped: so are its calls.
    mute: bool,
    /// The number of bytes in use at which the time is recorded or the buffer handed over.
    look_at: usize,
}

/// The greatest length of a record.
enum Length {
    /// Less than [`ROOM`].
    Short,
    /// This many bytes more than that.
    ShortAnd(usize),
    /// Known only from its text.
    Long,
}

/// Something that can be written to any place.
trait Encode {
    fn encode<O: Out>(&mut self, write: &mut Write<'_, O>);
}

struct EncodeEvent(*mut JVMPI_Event);

impl Encode for EncodeEvent {
    fn encode<O: Out>(&mut self, write: &mut Write<'_, O>) {
        // SAFETY: the event is as the VM has made it, and writing changes nothing of it.
        unsafe {
            let event_type = (*self.0).event_type;
            let known = event_type & !JVMPI_REQUESTED_EVENT;
            let number = if EventType::of(known).is_some() { known as u8 } else { tag::END };
            if event_type & JVMPI_REQUESTED_EVENT != 0 {
                write.out.byte(tag::REQUESTED);
            }
            write.out.byte(number);
            write.state.begin(number);
            events::fields(write, event_type, &mut (*self.0).u);
        }
    }
}

struct EncodeCall {
    function: Function,
    arguments: [u64; 3],
    result: u64,
    details: Details,
}

impl Encode for EncodeCall {
    fn encode<O: Out>(&mut self, write: &mut Write<'_, O>) {
        let tag = tag::CALL + self.function as u8;
        write.out.byte(tag);
        write.state.begin(tag);
        functions::arguments(write, self.function, &mut self.arguments);
        functions::result(write, self.function, &mut self.result);
        // SAFETY: the code that made it has the details there.
        unsafe { functions::details(write, self.function, &mut self.details) };
    }
}

struct EncodeBegin(Function, [u64; 3]);

impl Encode for EncodeBegin {
    fn encode<O: Out>(&mut self, write: &mut Write<'_, O>) {
        write.out.byte(tag::BEGIN);
        write.out.byte(self.0 as u8);
        // Written like the call, because its record will have the same arguments.
        write.state.begin(tag::CALL + self.0 as u8);
        functions::arguments(write, self.0, &mut self.1);
    }
}

struct EncodeAnswer<'a>(&'a [u8]);

impl Encode for EncodeAnswer<'_> {
    fn encode<O: Out>(&mut self, write: &mut Write<'_, O>) {
        write.out.byte(tag::ANSWER);
        write.out.number(self.0.len() as u64);
        write.out.bytes(self.0);
    }
}

struct EncodeTag(u8);

impl Encode for EncodeTag {
    fn encode<O: Out>(&mut self, write: &mut Write<'_, O>) {
        write.out.byte(self.0);
    }
}

/// The known state of an event when its handler has returned.
#[derive(Clone, Copy)]
pub struct Recorded {
    /// The number of the record.
    number: u64,
    /// True if the event around it was mute.
    was_mute: bool,
}

impl ThreadBuffer {
    /// Returns a buffer for the current thread, which has this number in the recording.
    pub fn new(number: u32, shared: &Shared) -> Self {
        let (seen, time) = (shared.order.load(Ordering::Relaxed), now());
        let header =
            Header { thread: number, flags: Header::FRESH, seen, time, ..Header::default() };
        let mut state = State::new();
        (state.seen, state.time) = (seen, time);
        let own = Own {
            state,
            count: 0,
            childless: u64::MAX,
            call: None,
            mute: false,
            look_at: TIME_EVERY,
        };
        Self {
            number,
            busy: AtomicBool::new(false),
            own: UnsafeCell::new(own),
            bytes: UnsafeCell::new(vec![0; CAPACITY].into_boxed_slice()),
            used: AtomicUsize::new(0),
            handed: Mutex::new(Handed { bytes: 0, header }),
            dropped: AtomicU64::new(0),
            function: AtomicU8::new(0),
        }
    }

    /// Runs `with`, unless it runs already, below a signal's handler.
    #[inline]
    fn own<R>(&self, with: impl FnOnce(&mut Own) -> R) -> Option<R> {
        if self.busy.load(Ordering::Relaxed) {
            return None;
        }
        self.busy.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: it is the thread's own, and the flag says that nothing on its stack uses it.
        let result = with(unsafe { &mut *self.own.get() });
        compiler_fence(Ordering::SeqCst);
        self.busy.store(false, Ordering::Relaxed);
        Some(result)
    }

    /// Records the event, before its handler is called. None if there is nothing to be done afterwards.
    ///
    /// # Safety
    /// The event is as the VM has made it; the buffer is the current thread's.
    #[inline]
    pub unsafe fn event(&self, shared: &Shared, event: *mut JVMPI_Event) -> Option<Recorded> {
        // SAFETY: as the caller promises.
        let (event_type, env) = unsafe { ((*event).event_type, address((*event).env_id)) };
        self.own(|own| match event_type {
            JVMPI_EVENT_METHOD_ENTRY | JVMPI_EVENT_METHOD_EXIT => {
                // SAFETY: an event of this type has this arm.
                let method = unsafe { address((*event).u.method.method_id) };
                if !own.mute && self.is_ready(shared, own, env) {
                    self.method(own, event_type == JVMPI_EVENT_METHOD_EXIT, method);
                    own.count += 1;
                    return Recorded { number: own.count, was_mute: false };
                }
                self.event_slowly(shared, own, event_type, env, event)
            }
            _ => self.event_slowly(shared, own, event_type, env, event),
        })
    }

    #[cold]
    fn event_slowly(
        &self,
        shared: &Shared,
        own: &mut Own,
        event_type: jint,
        env: u64,
        event: *mut JVMPI_Event,
    ) -> Recorded {
        let was_mute = own.mute;
        let written = match event_type {
            JVMPI_EVENT_METHOD_ENTRY | JVMPI_EVENT_METHOD_EXIT => {
                // SAFETY: an event of this type has this arm.
                let method = unsafe { address((*event).u.method.method_id) };
                let prepared = self.prepare(shared, own, env);
                if prepared {
                    self.method(own, event_type == JVMPI_EVENT_METHOD_EXIT, method);
                }
                prepared
            }
            JVMPI_EVENT_METHOD_ENTRY2 | JVMPI_EVENT_INSTRUCTION_START => {
                self.prepare(shared, own, env)
                    && self.put(shared, own, Length::Short, &mut EncodeEvent(event))
            }
            _ => self.other_event(shared, own, event_type, env, event),
        };
        own.mute = !written;
        if written {
            own.count += 1;
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Recorded { number: own.count, was_mute }
    }

    /// Takes note that the handler of the event has returned.
    #[inline]
    pub fn after_event(&self, shared: &Shared, recorded: Recorded) {
        // SAFETY: it is the thread's own. A signal's handler that comes in between leaves nothing half done.
        let own = unsafe { &mut *self.own.get() };
        if own.count == recorded.number && !own.mute && !recorded.was_mute {
            own.childless = recorded.number;
        } else {
            self.own(|own| self.after_event_slowly(shared, own, recorded));
        }
    }

    #[cold]
    fn after_event_slowly(&self, shared: &Shared, own: &mut Own, recorded: Recorded) {
        let Recorded { number, was_mute } = recorded;
        if !own.mute {
            if own.count == number {
                own.childless = number;
            } else {
                self.record(shared, own, Length::Short, &mut EncodeTag(tag::END));
            }
        }
        own.mute = was_mute;
    }

    /// Records the class file that the handler of CLASS_LOAD_HOOK wants instead.
    pub fn answer(&self, shared: &Shared, class_file: &[u8]) {
        self.own(|own| {
            if !own.mute {
                self.record(shared, own, Length::Long, &mut EncodeAnswer(class_file));
            }
        });
    }

    /// Takes note that a call begins.
    #[inline]
    pub fn begin_call(&self, function: Function, arguments: [u64; 3]) {
        self.own(|own| own.call = Some((function, arguments)));
    }

    /// Records the call, which is over.
    #[inline]
    pub fn end_call(
        &self,
        shared: &Shared,
        function: Function,
        arguments: [u64; 3],
        result: u64,
        details: Details,
    ) {
        self.own(|own| {
            own.call = None;
            if own.mute {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let length = match function {
                Function::GetCallTrace => {
                    Length::ShortAnd(usize::try_from(details.trace.num_frames).unwrap_or(0) * FRAME)
                }
                Function::RawMonitorCreate
                | Function::CreateSystemThread
                | Function::SuspendThreadList
                | Function::ResumeThreadList => Length::Long,
                _ => Length::Short,
            };
            self.close_childless(shared, own);
            if function.has_place() {
                self.place(shared, own);
            } else {
                self.catch_up(shared, own);
            }
            let mut call = EncodeCall { function, arguments, result, details };
            self.record(shared, own, length, &mut call);
        });
    }

    /// Records that a function of this number begins, for which CreateSystemThread has made the thread.
    pub fn run(&self, shared: &Shared, function: u8) {
        self.function.store(function, Ordering::Relaxed);
        self.own(|own| {
            self.place(shared, own);
            self.record(shared, own, Length::Short, &mut EncodeTag(tag::RUN));
        });
    }

    /// Records that it is over.
    pub fn end_run(&self, shared: &Shared) {
        self.own(|own| self.record(shared, own, Length::Short, &mut EncodeTag(tag::END)));
    }

    /// Returns true if the record of a method can be made as it is.
    #[inline]
    fn is_ready(&self, shared: &Shared, own: &Own, env: u64) -> bool {
        own.call.is_none()
            && own.state.env == env
            && own.state.seen == shared.order.load(Ordering::Relaxed)
            && self.used.load(Ordering::Relaxed) < own.look_at
    }

    /// Brings all that a record needs up to date; false if there is no room.
    fn prepare(&self, shared: &Shared, own: &mut Own, env: u64) -> bool {
        if !self.make_room(shared, own, 0, false) {
            return false;
        }
        self.begin_calls(shared, own);
        self.set_env(shared, own, env);
        self.catch_up(shared, own);
        if self.used.load(Ordering::Relaxed) >= own.look_at {
            let time = now();
            self.small(own, |state, out| {
                out.byte(tag::TIME);
                out.difference(state.time, time);
                state.time = time;
            });
            own.look_at = (self.used.load(Ordering::Relaxed) + TIME_EVERY).min(CAPACITY - ROOM);
        }
        true
    }

    #[inline]
    fn method(&self, own: &mut Own, is_exit: bool, method: u64) {
        let slot = slot_of(method);
        self.small(own, |state, out| {
            if state.methods[slot] == method {
                let tag = if is_exit { tag::HIT | tag::HIT_EXIT } else { tag::HIT };
                // One by one: a copy of two would be a call.
                out.byte(tag | (slot >> 8) as u8);
                out.byte(slot as u8);
            } else {
                let tag = if is_exit { tag::EXIT } else { tag::ENTRY };
                state.begin(tag);
                out.byte(tag);
                let predecessor = state.predecessor();
                out.difference(*predecessor, method);
                *predecessor = method;
                state.methods[slot] = method;
            }
        });
    }

    fn other_event(
        &self,
        shared: &Shared,
        own: &mut Own,
        event_type: jint,
        env: u64,
        event: *mut JVMPI_Event,
    ) -> bool {
        self.make_room(shared, own, 0, true);
        self.begin_calls(shared, own);
        self.set_env(shared, own, env);
        match event_type {
            // An allocation comes before the next record that has a place; objects are freed and moved
            // between GC_START and GC_FINISH. That order is enough.
            JVMPI_EVENT_OBJECT_ALLOC | JVMPI_EVENT_OBJECT_FREE | JVMPI_EVENT_OBJECT_MOVE => {
                self.catch_up(shared, own);
                self.put(shared, own, Length::Short, &mut EncodeEvent(event))
            }
            _ => {
                self.place(shared, own);
                self.put(shared, own, Length::Long, &mut EncodeEvent(event))
            }
        }
    }

    /// Records the beginning of the call that the event comes in.
    fn begin_calls(&self, shared: &Shared, own: &mut Own) {
        if let Some((function, arguments)) = own.call.take()
            && !own.mute
        {
            self.close_childless(shared, own);
            self.record(shared, own, Length::Short, &mut EncodeBegin(function, arguments));
        }
    }

    /// The next records are no part of the last event.
    fn close_childless(&self, shared: &Shared, own: &mut Own) {
        if own.childless == own.count {
            self.record(shared, own, Length::Short, &mut EncodeTag(tag::END));
        }
    }

    fn set_env(&self, shared: &Shared, own: &mut Own, env: u64) {
        if own.state.env != env {
            self.make_room(shared, own, 0, true);
            self.small(own, |state, out| {
                out.byte(tag::ENV);
                out.difference(state.env, env);
                state.env = env;
            });
        }
    }

    /// The record behind comes after all that has a place already.
    fn catch_up(&self, shared: &Shared, own: &mut Own) {
        let order = shared.order.load(Ordering::Relaxed);
        if own.state.seen != order {
            self.make_room(shared, own, 0, true);
            self.small(own, |state, out| {
                out.byte(tag::SEEN);
                out.number(order - state.seen);
                state.seen = order;
            });
        }
    }

    /// Gives the record behind a place in the order.
    fn place(&self, shared: &Shared, own: &mut Own) {
        let (place, time) = (shared.order.fetch_add(1, Ordering::Relaxed), now());
        self.make_room(shared, own, 0, true);
        self.small(own, |state, out| {
            out.byte(tag::PLACE);
            out.number(place - state.seen);
            out.difference(state.time, time);
            (state.seen, state.time) = (place + 1, time);
        });
    }

    fn record(&self, shared: &Shared, own: &mut Own, length: Length, record: &mut impl Encode) {
        if self.put(shared, own, length, record) {
            own.count += 1;
        }
    }

    /// Puts a record into the buffer; false if that is not possible.
    fn put(
        &self,
        shared: &Shared,
        own: &mut Own,
        length: Length,
        record: &mut impl Encode,
    ) -> bool {
        let more = match length {
            Length::Short => 0,
            Length::ShortAnd(more) => more,
            Length::Long => usize::MAX,
        };
        if more <= CAPACITY - 2 * ROOM {
            self.make_room(shared, own, more, true);
            self.small(own, |state, out| record.encode(&mut Write { state, out }));
            return true;
        }
        // It is made elsewhere first.
        let mut bytes = Vec::new();
        record.encode(&mut Write { state: &mut own.state, out: &mut bytes });
        let used = self.used.load(Ordering::Relaxed);
        if used + bytes.len() <= CAPACITY - ROOM {
            self.small(own, |_, out| out.bytes(&bytes));
            return true;
        }
        let mut handed = self.handed.lock().unwrap_or_else(PoisonError::into_inner);
        self.hand_over(shared, &mut handed, used, true);
        let header = self.header(&handed, bytes.len());
        shared.push(&header, &bytes, true);
        self.begin_anew(own, &mut handed);
        true
    }

    /// Writes at the end of what is used, where there is [`ROOM`].
    #[inline]
    fn small<R>(&self, own: &mut Own, write: impl FnOnce(&mut State, &mut Room<'_>) -> R) -> R {
        let used = self.used.load(Ordering::Relaxed);
        // SAFETY: no thread reads behind the used part, and only this thread writes.
        let bytes = unsafe {
            slice::from_raw_parts_mut((*self.bytes.get()).as_mut_ptr().add(used), CAPACITY - used)
        };
        let mut room = Room { bytes, used: 0 };
        let result = write(&mut own.state, &mut room);
        let used = used + room.used;
        self.used.store(used, Ordering::Release);
        result
    }

    /// Makes room for a short record and `more` bytes. Returns false if there is none, which happens only if
    /// `must` is false.
    #[inline]
    fn make_room(&self, shared: &Shared, own: &mut Own, more: usize, must: bool) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        if used + more < CAPACITY - ROOM {
            return true;
        }
        if !must && shared.is_full.load(Ordering::Relaxed) {
            return false;
        }
        let mut handed = self.handed.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.hand_over(shared, &mut handed, used, must) {
            return false;
        }
        self.begin_anew(own, &mut handed);
        true
    }

    /// Has what is in use written to the file.
    fn hand_over(&self, shared: &Shared, handed: &mut Handed, used: usize, must: bool) -> bool {
        if handed.bytes < used {
            let header = self.header(handed, used - handed.bytes);
            // SAFETY: what is used is not written to any more, until the thread itself begins anew.
            let bytes = unsafe { &(&*self.bytes.get())[handed.bytes..used] };
            if !shared.push(&header, bytes, must) {
                return false;
            }
            handed.bytes = used;
            handed.header.flags = 0;
        }
        true
    }

    fn header(&self, handed: &Handed, length: usize) -> Header {
        Header {
            length: length as u64,
            function: self.function.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            ..handed.header
        }
    }

    /// Forgets all that was handed over.
    fn begin_anew(&self, own: &mut Own, handed: &mut Handed) {
        own.state.forget();
        own.look_at = TIME_EVERY;
        let State { seen, time, env, .. } = own.state;
        let header = Header {
            flags: Header::FRESH,
            seen,
            time,
            env,
            thread: self.number,
            ..Header::default()
        };
        *handed = Handed { bytes: 0, header };
        self.used.store(0, Ordering::Release);
    }

    /// Has what was recorded written to the file, from any thread. With `at_once` it is not waited for: then
    /// nothing is done while the thread itself is at it.
    pub fn flush(&self, shared: &Shared, at_once: bool) {
        let handed = if at_once { self.handed.try_lock().ok() } else { self.handed.lock().ok() };
        if let Some(mut handed) = handed {
            let used = self.used.load(Ordering::Acquire);
            self.hand_over(shared, &mut handed, used, !at_once);
        }
    }
}
