//! The records of a thread that were not written to the file yet.

use crate::trace::coding::{Out, State, slot_of, tag};
use crate::trace::events;
use crate::trace::fields::{Word, Write};
use crate::trace::file::Header;
use crate::trace::functions::{self, Details, Function};
use crate::trace::shared::{Shared, lock, now};
use jvmpi_sys::*;
use std::cell::UnsafeCell;
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};
use std::sync::{Arc, Mutex};

/// The bytes of a buffer.
const CAPACITY: usize = 1 << 16;
/// More than the record of a method takes, with all that comes before it.
const ROOM: usize = 512;
/// The number of bytes after which the time is recorded, unless something else does it.
const TIME_EVERY: usize = 512;

/// The records of a thread that are not handed over yet, and the state for the next ones.
pub struct ThreadBuffer {
    shared: Arc<Shared>,
    /// Set while the thread is in here: a signal's handler may be an agent's, and make calls.
    busy: AtomicBool,
    /// Only the thread itself uses it.
    own: UnsafeCell<Own>,
    /// The thread itself writes behind `used`, anyone may read what lies before.
    bytes: UnsafeCell<Box<[u8]>>,
    used: AtomicUsize,
    handed: Mutex<Handed>,
}

// SAFETY: only the thread that owns the buffer touches `own` and the bytes from `used` on. Other threads read bytes below
// `used`, which is an atomic.
unsafe impl Sync for ThreadBuffer {}
// SAFETY: nothing in it belongs to an operating system's thread.
unsafe impl Send for ThreadBuffer {}

/// The part of the buffer that was handed over.
struct Handed {
    /// The number of bytes.
    bytes: usize,
    /// The header of the next chunk.
    header: Header,
}

impl Handed {
    /// Nothing of the records after this state was handed over.
    fn begin_anew(&mut self, state: &State) {
        let State { seen, time, env, .. } = *state;
        self.bytes = 0;
        self.header = Header { flags: Header::FRESH, seen, time, env, ..self.header };
    }
}

struct Own {
    state: State,
    /// The number of records.
    count: u64,
    /// The number of the last event during which the agent made no recorded call.
    last_leaf_event: u64,
    /// The call that runs, if no record of it was made.
    call: Option<(Function, [u64; 3])>,
    /// The number of bytes in use at which the time is recorded or the buffer handed over.
    look_at: usize,
}

impl ThreadBuffer {
    /// Returns a buffer for the current thread, which has this number in the recording.
    pub fn new(number: u32, shared: Arc<Shared>) -> Self {
        let mut state = State::new();
        (state.seen, state.time) = (shared.order.load(Ordering::Relaxed), now());
        let header = Header { thread: number, ..Header::default() };
        let mut handed = Handed { bytes: 0, header };
        handed.begin_anew(&state);
        let own =
            Own { state, count: 0, last_leaf_event: u64::MAX, call: None, look_at: TIME_EVERY };
        Self {
            shared,
            busy: AtomicBool::new(false),
            own: UnsafeCell::new(own),
            bytes: UnsafeCell::new(vec![0; CAPACITY].into_boxed_slice()),
            used: AtomicUsize::new(0),
            handed: Mutex::new(handed),
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

    /// Records the event, and has `deliver` call its handler.
    ///
    /// # Safety
    /// The event is as the VM has made it; the buffer is the current thread's.
    #[inline]
    pub unsafe fn event(&self, event: *mut JVMPI_Event, deliver: impl FnOnce()) {
        // SAFETY: as the caller promises.
        let (event_type, env) = unsafe { ((*event).event_type, (*event).env_id.word()) };
        let recorded = self.own(|own| {
            let is_exit = event_type == JVMPI_EVENT_METHOD_EXIT;
            let is_method = is_exit || event_type == JVMPI_EVENT_METHOD_ENTRY;
            if is_method && self.is_ready(own, env) {
                // SAFETY: an event of this type has this union member.
                self.method(own, is_exit, unsafe { (*event).u.method.method_id.word() });
            } else {
                // SAFETY: as the caller promises.
                unsafe { self.event_slowly(own, event) };
            }
            own.count += 1;
            own.count
        });
        deliver();
        let Some(number) = recorded else { return };
        // SAFETY: it is the thread's own. A signal's handler that comes in between leaves nothing half done.
        let own = unsafe { &mut *self.own.get() };
        if own.count == number {
            own.last_leaf_event = number;
        } else {
            self.own(|own| self.tag(own, tag::END));
        }
    }

    /// Records an event of any type.
    ///
    /// # Safety
    /// The event is as the VM has made it.
    #[cold]
    unsafe fn event_slowly(&self, own: &mut Own, event: *mut JVMPI_Event) {
        // SAFETY: as the caller promises.
        let (event_type, env) = unsafe { ((*event).event_type, (*event).env_id.word()) };
        self.begin_calls(own);
        self.set_env(own, env);
        match event_type {
            JVMPI_EVENT_METHOD_ENTRY
            | JVMPI_EVENT_METHOD_EXIT
            | JVMPI_EVENT_METHOD_ENTRY2
            | JVMPI_EVENT_INSTRUCTION_START => {
                self.catch_up(own);
                self.time(own);
            }
            // An allocation comes before the next record that has a place; objects are freed and moved between
            // GC_START and GC_FINISH. That order is enough.
            JVMPI_EVENT_OBJECT_ALLOC | JVMPI_EVENT_OBJECT_FREE | JVMPI_EVENT_OBJECT_MOVE => {
                self.catch_up(own);
            }
            _ => self.place(own),
        }
        if matches!(event_type, JVMPI_EVENT_METHOD_ENTRY | JVMPI_EVENT_METHOD_EXIT) {
            // SAFETY: an event of this type has this union member.
            let method = unsafe { (*event).u.method.method_id.word() };
            return self.method(own, event_type == JVMPI_EVENT_METHOD_EXIT, method);
        }
        let known = event_type & !JVMPI_REQUESTED_EVENT;
        let number = if EventType::of(known).is_some() { known as u8 } else { tag::END };
        self.put(own, |write| {
            if event_type & JVMPI_REQUESTED_EVENT != 0 {
                write.out.byte(tag::REQUESTED);
            }
            write.out.byte(number);
            write.state.begin(number);
            // SAFETY: the event is as the VM has made it, and writing changes nothing of it.
            unsafe { events::fields(write, event_type, &mut (*event).u) };
        });
    }

    /// Takes note that a call begins.
    #[inline]
    pub fn begin_call(&self, function: Function, arguments: [u64; 3]) {
        self.own(|own| own.call = Some((function, arguments)));
    }

    /// Records the call, which is over.
    #[inline]
    pub fn end_call(&self, function: Function, arguments: [u64; 3], result: u64, details: Details) {
        self.own(|own| {
            own.call = None;
            self.close_leaf_event(own);
            if function.has_place() {
                self.place(own);
            } else {
                self.catch_up(own);
            }
            let (mut arguments, mut result, mut details) = (arguments, result, details);
            self.record(own, |write| {
                let tag = tag::CALL + function as u8;
                write.out.byte(tag);
                write.state.begin(tag);
                functions::arguments(write, function, &mut arguments);
                functions::result(write, function, &mut result);
                // SAFETY: the code that made the call has the details there.
                unsafe { functions::details(write, function, &mut details) };
            });
        });
    }

    /// Records that a function of this number begins, for which CreateSystemThread has made the thread.
    pub fn run(&self, function: u8) {
        lock(&self.handed).header.function = function;
        self.own(|own| {
            self.place(own);
            self.tag(own, tag::RUN);
        });
    }

    /// Records that it is over.
    pub fn end_run(&self) {
        self.own(|own| self.tag(own, tag::END));
    }

    /// Returns true if the record of a method can be made as it is.
    #[inline]
    fn is_ready(&self, own: &Own, env: u64) -> bool {
        own.call.is_none()
            && own.state.env == env
            && own.state.seen == self.shared.order.load(Ordering::Relaxed)
            && self.used.load(Ordering::Relaxed) < own.look_at
    }

    /// Records the time, if [`TIME_EVERY`] bytes have come without it.
    fn time(&self, own: &mut Own) {
        self.make_room(own);
        if self.used.load(Ordering::Relaxed) >= own.look_at {
            let time = now();
            self.small(own, |state, out| {
                out.byte(tag::TIME);
                out.difference(state.time, time);
                state.time = time;
            });
            own.look_at = (self.used.load(Ordering::Relaxed) + TIME_EVERY).min(CAPACITY - ROOM);
        }
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

    /// Records the beginning of the call that the event comes in.
    fn begin_calls(&self, own: &mut Own) {
        if let Some((function, mut arguments)) = own.call.take() {
            self.close_leaf_event(own);
            self.record(own, |write| {
                write.out.byte(tag::BEGIN);
                write.out.byte(function as u8);
                // Written like the call, because its record will have the same arguments.
                write.state.begin(tag::CALL + function as u8);
                functions::arguments(write, function, &mut arguments);
            });
        }
    }

    /// The next records are no part of the last event.
    fn close_leaf_event(&self, own: &mut Own) {
        if own.last_leaf_event == own.count {
            self.tag(own, tag::END);
        }
    }

    fn set_env(&self, own: &mut Own, env: u64) {
        if own.state.env != env {
            self.make_room(own);
            self.small(own, |state, out| {
                out.byte(tag::ENV);
                out.difference(state.env, env);
                state.env = env;
            });
        }
    }

    /// The record behind comes after all that has a place already.
    fn catch_up(&self, own: &mut Own) {
        let order = self.shared.order.load(Ordering::Relaxed);
        if own.state.seen != order {
            self.make_room(own);
            self.small(own, |state, out| {
                out.byte(tag::SEEN);
                out.number(order - state.seen);
                state.seen = order;
            });
        }
    }

    /// Gives the record behind a place in the order.
    fn place(&self, own: &mut Own) {
        let (place, time) = (self.shared.order.fetch_add(1, Ordering::Relaxed), now());
        self.make_room(own);
        self.small(own, |state, out| {
            out.byte(tag::PLACE);
            out.number(place - state.seen);
            out.difference(state.time, time);
            (state.seen, state.time) = (place + 1, time);
        });
    }

    /// Makes a record that has only a tag.
    fn tag(&self, own: &mut Own, tag: u8) {
        self.record(own, |write| write.out.byte(tag));
    }

    /// Makes a record and counts it.
    fn record(&self, own: &mut Own, encode: impl FnOnce(&mut Write<'_, '_>)) {
        self.put(own, encode);
        own.count += 1;
    }

    /// Puts a record of any length behind the bytes that are used.
    fn put(&self, own: &mut Own, encode: impl FnOnce(&mut Write<'_, '_>)) {
        self.make_room(own);
        let mut out = Out::new(self.unused());
        encode(&mut Write { state: &mut own.state, out: &mut out });
        let Out { used: length, more, .. } = out;
        let used = self.used.load(Ordering::Relaxed);
        if more.is_empty() {
            self.used.store(used + length, Ordering::Release);
            return;
        }
        // The record is a chunk of its own.
        let mut handed = lock(&self.handed);
        self.hand_over(&mut handed, used, true);
        self.shared.push(&handed.header, &[&self.unused()[..length], &more], true);
        self.begin_anew(own, &mut handed);
    }

    /// Returns the bytes behind those that are used.
    #[allow(
        clippy::mut_from_ref,
        reason = "only the thread itself calls this, and keeps no earlier result"
    )]
    #[inline]
    fn unused(&self) -> &mut [u8] {
        let used = self.used.load(Ordering::Relaxed);
        // SAFETY: no thread reads behind the used part, and only this thread writes.
        unsafe {
            slice::from_raw_parts_mut((*self.bytes.get()).as_mut_ptr().add(used), CAPACITY - used)
        }
    }

    /// Writes at the end of what is used, where there is [`ROOM`].
    #[inline]
    fn small(&self, own: &mut Own, write: impl FnOnce(&mut State, &mut Out<'_>)) {
        let mut out = Out::new(self.unused());
        write(&mut own.state, &mut out);
        self.used.store(self.used.load(Ordering::Relaxed) + out.used, Ordering::Release);
    }

    /// Makes room for a short record.
    #[inline]
    fn make_room(&self, own: &mut Own) {
        let used = self.used.load(Ordering::Relaxed);
        if used >= CAPACITY - ROOM {
            let mut handed = lock(&self.handed);
            self.hand_over(&mut handed, used, true);
            self.begin_anew(own, &mut handed);
        }
    }

    /// Has what is in use written to the file.
    fn hand_over(&self, handed: &mut Handed, used: usize, waits: bool) {
        if handed.bytes < used {
            // SAFETY: what is used is not written to any more, until the thread itself begins anew.
            let bytes = unsafe { &(&*self.bytes.get())[handed.bytes..used] };
            if self.shared.push(&handed.header, &[bytes], waits) {
                handed.bytes = used;
                handed.header.flags = 0;
            }
        }
    }

    /// Forgets all that was handed over.
    fn begin_anew(&self, own: &mut Own, handed: &mut Handed) {
        own.state.forget();
        own.look_at = TIME_EVERY;
        handed.begin_anew(&own.state);
        self.used.store(0, Ordering::Release);
    }

    /// Has what was recorded written to the file, from any thread. Without `waits`, as the thread that writes calls
    /// it, nothing is done while the buffer's own thread is at it.
    pub fn flush(&self, waits: bool) {
        let handed = if waits { Some(lock(&self.handed)) } else { self.handed.try_lock().ok() };
        if let Some(mut handed) = handed {
            self.hand_over(&mut handed, self.used.load(Ordering::Acquire), waits);
        }
    }
}
