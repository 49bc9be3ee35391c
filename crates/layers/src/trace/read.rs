//! Reading a file.

use crate::trace::coding::{HIT_MASK, In, SLOTS, State, slot_of, tag};
use crate::trace::events;
use crate::trace::fields::{Fields, Memory, Read};
use crate::trace::file::{HEAD, Header, MAGIC, VERSION};
use crate::trace::functions::{self, Details, Function};
use jni_sys::jint;
use jvmpi_sys::{EventType, JVMPI_Event_u, JVMPI_REQUESTED_EVENT};
use memmap2::Mmap;
use std::collections::BTreeMap;
use std::fs::File;
use std::mem;
use std::ops::Range;
use std::path::Path;

/// A recording.
pub struct Trace {
    /// The file, which is mapped, or its bytes.
    bytes: Box<dyn AsRef<[u8]> + Send + Sync>,
    about: BTreeMap<String, String>,
    threads: Vec<Thread>,
    problem: Option<String>,
    is_complete: bool,
}

/// The records of a thread.
pub struct Thread {
    /// Its number.
    pub number: u32,
    /// If CreateSystemThread has made it: which of the functions that were passed it runs, from 1.
    pub function: Option<u8>,
    chunks: Vec<(Header, Range<usize>)>,
}

impl Thread {
    /// Its first record has this place or one behind.
    pub fn first(&self) -> Key {
        Key::new(self.chunks.first().map_or(0, |(header, _)| header.seen), false)
    }
}

/// The place of a record in the order of all threads: twice the number of ordered records before it, and one more if it is
/// an ordered record itself. Another one may be anywhere before the ordered record with that number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(pub u64);

impl Key {
    fn new(before: u64, is_ordered: bool) -> Self {
        Self(before << 1 | u64::from(is_ordered))
    }
}

/// An event.
pub struct Event {
    /// `JVMPI_EVENT_…`, or-ed with [`JVMPI_REQUESTED_EVENT`] if requested.
    pub event_type: jint,
    pub(crate) u: JVMPI_Event_u,
    pub(crate) memory: Memory,
}

/// A call of a function, by the agent.
pub struct Call {
    /// The function.
    pub function: Function,
    /// Its arguments; instead of pointers what they point to, as far as it is a number.
    pub arguments: [u64; 3],
    /// The value that it has returned.
    pub result: u64,
    pub(crate) details: Details,
    #[expect(dead_code, reason = "the details point to it")]
    pub(crate) memory: Memory,
}

// SAFETY: what its pointers point to is its own, or nothing of this process.
unsafe impl Send for Event {}

// SAFETY: as above, and it is only read.
unsafe impl Sync for Event {}

// SAFETY: as above.
unsafe impl Send for Call {}

/// A record.
pub enum Record {
    /// METHOD_ENTRY or METHOD_EXIT of this method.
    Method {
        /// METHOD_EXIT.
        is_exit: bool,
        /// Its ID.
        method: u64,
    },
    /// Another event. Its handler's actions follow, up to [`End`](Self::End) or the next event.
    Event(Box<Event>),
    /// The agent calls a function. Records that come inside follow, up to the [`Call`](Self::Call).
    Begin(Function, [u64; 3]),
    /// The agent has called a function.
    Call(Box<Call>),
    /// The thread is the agent's, and its function begins.
    Run,
    /// The handler or function has returned.
    End,
}

/// A record, and what holds for it.
pub struct Entry {
    /// Its place.
    pub key: Key,
    /// Nanoseconds, by a clock that began somewhere. Records that come at once may have the time of an
    /// earlier one.
    pub time: u64,
    /// The `env_id` of an event.
    pub env: u64,
    /// The record.
    pub record: Record,
}

impl Trace {
    /// Opens the recording in the file of this path.
    ///
    /// # Errors
    /// Returns one line if the file cannot be read or is not a recording.
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        // SAFETY: a recording is only appended to. If another process truncates the file, we get SIGBUS.
        let map = unsafe { Mmap::map(&file) };
        Self::new(Box::new(map.map_err(|error| error.to_string())?))
    }

    /// Returns the recording in these bytes.
    ///
    /// # Errors
    /// Returns one line if the bytes are not a recording.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, String> {
        Self::new(Box::new(bytes))
    }

    fn new(bytes: Box<dyn AsRef<[u8]> + Send + Sync>) -> Result<Self, String> {
        const NOT_A_TRACE: &str = "is not a recording of the setting trace";
        let cut_at = |byte| format!("is cut off or damaged: nothing after byte {byte} is read");
        let all = (*bytes).as_ref();
        let (head, rest) = all.split_first_chunk::<HEAD>().ok_or(NOT_A_TRACE)?;
        let u32_at = |at| u32::from_le_bytes(*head[at..].first_chunk().expect("it is within"));
        if !head.starts_with(MAGIC) {
            return Err(NOT_A_TRACE.into());
        }
        let version = u32_at(8);
        if version != VERSION {
            return Err(format!(
                "is of version {version} of the format, this is for version {VERSION}"
            ));
        }
        let text = rest.get(..u32_at(12) as usize);
        let text = text.filter(|text| crc32fast::hash(text) == u32_at(16));
        let text = text.ok_or_else(|| cut_at(HEAD))?;
        let lines = String::from_utf8_lossy(text).into_owned();
        let about = lines.lines().filter_map(|line| line.split_once('='));
        let about = about.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();

        let mut threads: BTreeMap<u32, Thread> = BTreeMap::new();
        let (mut at, mut is_complete, mut problem) = (HEAD + text.len(), false, None);
        while at < all.len() {
            let Some((header, records)) = Header::read(&all[at..]) else {
                problem = Some(cut_at(at));
                break;
            };
            let start = at + Header::SIZE;
            at = start + records.len();
            if header.flags & Header::LAST != 0 {
                is_complete = true;
                continue;
            }
            let thread = threads.entry(header.thread).or_insert_with(|| Thread {
                number: header.thread,
                function: None,
                chunks: Vec::new(),
            });
            thread.function = thread.function.or(Some(header.function).filter(|f| *f != 0));
            thread.chunks.push((header, start..at));
        }
        let threads = threads.into_values().collect();
        Ok(Self { about, threads, problem, is_complete, bytes })
    }

    /// Returns the fault in the file; everything before it was read.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Returns true if the recorded process has reached its end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the recording's own description: `agent`, `vm`, `pid`, `word`.
    #[must_use]
    pub fn about(&self, key: &str) -> &str {
        self.about.get(key).map_or("", String::as_str)
    }

    /// Checks that the recorded pointers have the size of this process's pointers, which a replay needs.
    ///
    /// # Errors
    /// Returns one line if the sizes differ.
    pub fn check_word_size(&self) -> Result<(), String> {
        let bits = |bytes: usize| bytes.saturating_mul(8);
        let recorded = self.about("word").parse().map_or(0, bits);
        let ours = bits(size_of::<usize>());
        if recorded == ours {
            return Ok(());
        }
        Err(format!(
            "was recorded in a JVM of {recorded} bits; this jvmpi is for {ours} bits: replay it with the jvmpi \
             that belongs to the library that recorded it"
        ))
    }

    /// Adds a thread without records if there is no thread: JVM_OnLoad of a replayed agent needs one.
    pub(crate) fn have_a_thread(&mut self) {
        if self.threads.is_empty() {
            self.threads.push(Thread { number: 0, function: None, chunks: Vec::new() });
        }
    }

    /// Its threads, by number.
    #[must_use]
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Returns the size of the file in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        (*self.bytes).as_ref().len() as u64
    }

    /// Returns the records of a thread, by its place in [`Self::threads`].
    #[must_use]
    pub fn records(&self, thread: usize) -> Records<'_> {
        let thread = &self.threads[thread];
        Records {
            bytes: (*self.bytes).as_ref(),
            thread,
            chunk: 0,
            input: In::default(),
            state: Box::new(State::new()),
            place: None,
            problem: None,
        }
    }
}

/// The records of a thread, one after the other.
pub struct Records<'a> {
    bytes: &'a [u8],
    thread: &'a Thread,
    /// The chunk behind.
    chunk: usize,
    input: In<'a>,
    state: Box<State>,
    /// The place of the next record, if it has one.
    place: Option<u64>,
    problem: Option<String>,
}

impl<'a> Records<'a> {
    /// Returns the fault in the records.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Returns the place of the next record; None if there is none.
    pub fn key(&mut self) -> Option<Key> {
        self.peek().map(|_| match self.place {
            Some(place) => Key::new(place, true),
            None => Key::new(self.state.seen, false),
        })
    }

    /// Returns the tag of the next record; None if there is none.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        match self.input.bytes.get(self.input.at) {
            Some(tag) if *tag >= tag::HIT => Some(*tag),
            _ => self.peek_slowly(),
        }
    }

    /// Reads what is between records.
    fn peek_slowly(&mut self) -> Option<u8> {
        loop {
            let Some(tag) = self.input.bytes.get(self.input.at) else {
                self.next_chunk()?;
                continue;
            };
            if !matches!(*tag, tag::SEEN | tag::PLACE | tag::TIME | tag::ENV) {
                return Some(*tag);
            }
            let input = &mut self.input;
            match input.byte() {
                tag::SEEN => self.state.seen = self.state.seen.wrapping_add(input.number()),
                tag::PLACE => {
                    let place = self.state.seen.wrapping_add(input.number());
                    self.place = Some(place);
                    self.state.seen = place.wrapping_add(1);
                    self.state.time = input.difference(self.state.time);
                }
                tag::TIME => self.state.time = input.difference(self.state.time),
                _ => self.state.env = input.difference(self.state.env),
            }
            if input.damaged {
                return self.give_up();
            }
        }
    }

    fn next_chunk(&mut self) -> Option<()> {
        let (header, range) = self.thread.chunks.get(self.chunk)?;
        self.chunk += 1;
        if header.flags & Header::FRESH != 0 {
            self.state.forget();
            (self.state.seen, self.state.time, self.state.env) =
                (header.seen, header.time, header.env);
        }
        self.input = In { bytes: &self.bytes[range.clone()], ..In::default() };
        Some(())
    }

    fn give_up<T>(&mut self) -> Option<T> {
        let chunk = self.chunk.checked_sub(1).map_or(0, |chunk| self.thread.chunks[chunk].1.start);
        self.problem = Some(format!(
            "the records of thread {} are malformed from byte {} on, and are not read from there",
            self.thread.number,
            chunk.saturating_sub(Header::SIZE)
        ));
        self.input = In::default();
        self.chunk = self.thread.chunks.len();
        None
    }

    /// Returns the method of the next record, if it is a short one of METHOD_ENTRY or METHOD_EXIT, and
    /// whether it is the latter.
    #[inline]
    pub(crate) fn next_hit(&mut self) -> Option<(bool, u64)> {
        let bytes = self.input.bytes.get(self.input.at..)?;
        let [tag, low, ..] = bytes else { return None };
        if *tag < tag::HIT {
            return None;
        }
        self.input.at += 2;
        self.place = None;
        let slot = usize::from(*tag & HIT_MASK) << 8 | usize::from(*low);
        Some((*tag & tag::HIT_EXIT != 0, self.state.methods[slot % SLOTS]))
    }

    /// Returns true if the next record begins a call of this function.
    pub(crate) fn next_begins(&self, function: Function) -> bool {
        let next = self.input.bytes.get(self.input.at..).unwrap_or_default();
        next.starts_with(&[tag::BEGIN, function as u8])
    }

    /// Returns the `env_id` of the next event.
    pub(crate) fn env(&self) -> u64 {
        self.state.env
    }

    /// Begins to read the fields of a record with this tag.
    fn fields<'s>(&'s mut self, tag: u8, memory: &'s mut Memory) -> Read<'s, 'a> {
        self.state.begin(tag);
        Read { state: &mut self.state, input: &mut self.input, memory }
    }

    fn method(&mut self, tag: u8) -> Record {
        let method = self.fields(tag, &mut Memory::default()).number(0);
        self.state.methods[slot_of(method)] = method;
        Record::Method { is_exit: tag == tag::EXIT, method }
    }

    fn event(&mut self, number: u8, requested: jint) -> Option<Record> {
        EventType::of(jint::from(number))?;
        let event_type = jint::from(number) | requested;
        let mut memory = Memory::default();
        // SAFETY: all arms consist of numbers and pointers, for which zeros will do.
        let mut u: JVMPI_Event_u = unsafe { mem::zeroed() };
        // SAFETY: reading fills all fields.
        unsafe { events::fields(&mut self.fields(number, &mut memory), event_type, &mut u) };
        Some(Record::Event(Box::new(Event { event_type, u, memory })))
    }

    fn call(&mut self, function: Function) -> Record {
        let mut memory = Memory::default();
        let (mut arguments, mut result, mut details) = ([0; 3], 0, Details::NONE);
        let mut read = self.fields(tag::CALL + function as u8, &mut memory);
        functions::arguments(&mut read, function, &mut arguments);
        functions::result(&mut read, function, &mut result);
        // SAFETY: reading fills all fields.
        unsafe { functions::details(&mut read, function, &mut details) };
        Record::Call(Box::new(Call { function, arguments, result, details, memory }))
    }

    fn begin(&mut self) -> Option<Record> {
        let function = Function::of(self.input.byte())?;
        let (mut memory, mut arguments) = (Memory::default(), [0; 3]);
        let mut read = self.fields(tag::CALL + function as u8, &mut memory);
        functions::arguments(&mut read, function, &mut arguments);
        Some(Record::Begin(function, arguments))
    }

    fn record(&mut self) -> Option<Record> {
        if let Some((is_exit, method)) = self.next_hit() {
            return Some(Record::Method { is_exit, method });
        }
        Some(match self.input.byte() {
            tag::END => Record::End,
            tag::RUN => Record::Run,
            tag @ (tag::ENTRY | tag::EXIT) => self.method(tag),
            tag::BEGIN => self.begin()?,
            tag::REQUESTED => {
                let number = self.input.byte();
                self.event(number, JVMPI_REQUESTED_EVENT)?
            }
            tag if tag < tag::REQUESTED => self.event(tag, 0)?,
            tag => self.call(Function::of(tag.wrapping_sub(tag::CALL))?),
        })
    }
}

impl Iterator for Records<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let key = self.key()?;
        let (time, env) = (self.state.time, self.state.env);
        match self.record() {
            Some(record) if !self.input.damaged => {
                self.place = None;
                Some(Entry { key, time, env, record })
            }
            _ => self.give_up(),
        }
    }
}
