//! The text form of a recording.

use crate::trace::events::{self, event_name};
use crate::trace::fields::{Field, Look};
use crate::trace::functions::{self, Function};
use crate::trace::read::{Call, Event, Record, Trace, TraceError};
use jni_sys::jint;
use jvmpi_sys::{
    JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT,
    JVMPI_REQUESTED_EVENT,
};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::marker::PhantomData;

/// The names of the methods that were loaded, by ID.
#[derive(Default)]
pub struct Names(HashMap<u64, String>);

impl Names {
    /// Takes the names from the event, if it is a CLASS_LOAD.
    pub fn learn(&mut self, event: &mut Event) {
        if event.event_type & !JVMPI_REQUESTED_EVENT != JVMPI_EVENT_CLASS_LOAD {
            return;
        }
        let (mut class, mut method) = (String::new(), String::new());
        look(event, |name, field| match (name, field) {
            ("class_name", Field::Text(Some(text))) => class = text.to_string_lossy().into_owned(),
            ("method_name", Field::Text(Some(text))) => {
                method = format!("{class}.{}", text.to_string_lossy());
            }
            ("method_signature", Field::Text(Some(text))) => method += &text.to_string_lossy(),
            ("method_id", Field::Number(id)) => {
                self.0.insert(id, std::mem::take(&mut method));
            }
            _ => {}
        });
    }

    fn get(&self, method: u64) -> String {
        let name = self.0.get(&method);
        name.map_or_else(|| format!("{method:#x}"), |name| format!("{method:#x} {name}"))
    }
}

fn look(event: &mut Event, with: impl FnMut(&'static str, Field<'_>)) {
    let mut look = Look { with, lifetime: PhantomData };
    // SAFETY: the event was read, so that all its fields are filled.
    unsafe { events::fields(&mut look, event.event_type, &mut event.u) };
}

/// Writes fields as `name=value`.
struct Line<'a> {
    text: &'a mut String,
    names: &'a Names,
}

impl Line<'_> {
    fn put(&mut self, name: &str, field: Field<'_>) {
        let text = &mut *self.text;
        // Writing to a string cannot fail.
        _ = match field {
            Field::Number(value) if is_address(name) => write!(text, " {name}={value:#x}"),
            Field::Number(value) => write!(text, " {name}={}", value as i64),
            Field::Env(value) => write!(text, " {name}={value:#x}"),
            Field::Method(value) => write!(text, " {name}={}", self.names.get(value)),
            Field::Text(None) => write!(text, " {name}=NULL"),
            Field::Text(Some(value)) => write!(text, " {name}={:?}", value.to_string_lossy()),
            Field::Bytes(bytes) => write!(text, " {name}=({} bytes)", bytes.len()),
            Field::List(count) => write!(text, " {name}={count}["),
            Field::End => write!(text, " ]"),
        };
    }
}

/// Returns true if the number is an ID or an address.
fn is_address(name: &str) -> bool {
    name.ends_with("id") && !name.contains("arena")
        || matches!(
            name,
            "object" | "code_addr" | "arg" | "ptr" | "lock_id" | "f" | "jobj" | "result"
        )
}

/// One line: what the event says.
#[must_use]
pub fn show_event(event: &mut Event, names: &mut Names) -> String {
    names.learn(event);
    let mut text = event_name(event.event_type);
    let mut line = Line { text: &mut text, names };
    look(event, |name, field| line.put(name, field));
    text
}

/// One line: METHOD_ENTRY or METHOD_EXIT.
#[must_use]
pub fn show_method(is_exit: bool, method: u64, names: &Names) -> String {
    format!("{} method_id={}", event_name(method_event(is_exit)), names.get(method))
}

/// The type of the event.
#[must_use]
pub fn method_event(is_exit: bool) -> jint {
    if is_exit { JVMPI_EVENT_METHOD_EXIT } else { JVMPI_EVENT_METHOD_ENTRY }
}

/// One line: the call, what it has returned and written.
#[must_use]
pub fn show_call(call: &mut Call, names: &Names) -> String {
    let mut text = format!("call {}", call.function.name());
    let mut line = Line { text: &mut text, names };
    let mut look =
        Look { with: |name, field: Field<'_>| line.put(name, field), lifetime: PhantomData };
    functions::arguments(&mut look, call.function, &mut call.arguments);
    // SAFETY: the call was read, so that all its fields are filled.
    unsafe { functions::details(&mut look, call.function, &mut call.details) };
    functions::result(&mut look, call.function, &mut call.result);
    text
}

/// The contents of a recording, counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The number of events of each type.
    pub events: BTreeMap<jint, u64>,
    /// The number of calls of each function.
    pub calls: BTreeMap<Function, u64>,
    /// The threads that have recorded anything.
    pub threads: usize,
    /// Events that were not recorded.
    pub dropped: u64,
    /// The bytes of the file.
    pub bytes: u64,
    /// The time from the first record to the last, in nanoseconds.
    pub time: u64,
    /// The faults in the records of threads.
    pub problems: Vec<TraceError>,
}

impl Statistics {
    /// All events.
    #[must_use]
    pub fn all_events(&self) -> u64 {
        self.events.values().sum()
    }

    /// All calls.
    #[must_use]
    pub fn all_calls(&self) -> u64 {
        self.calls.values().sum()
    }
}

/// Counts what the recording consists of.
#[must_use]
pub fn statistics(trace: &Trace) -> Statistics {
    let dropped = trace.threads().iter().map(|thread| thread.dropped);
    let mut statistics = Statistics {
        threads: trace.threads().len(),
        dropped: dropped.fold(0, u64::saturating_add),
        bytes: trace.size(),
        ..Statistics::default()
    };
    let mut times: Option<(u64, u64)> = None;
    // The most frequent.
    let mut methods = [0; 2];
    for thread in 0..trace.threads().len() {
        let mut records = trace.records(thread);
        for entry in records.by_ref() {
            let (first, last) = times.get_or_insert((entry.time, entry.time));
            (*first, *last) = ((*first).min(entry.time), (*last).max(entry.time));
            match entry.record {
                Record::Method { is_exit, .. } => methods[usize::from(is_exit)] += 1,
                Record::Event(event) => {
                    *statistics.events.entry(event.event_type).or_default() += 1;
                }
                Record::Call(call) => *statistics.calls.entry(call.function).or_default() += 1,
                Record::Begin(..) | Record::Run | Record::End | Record::Answer(_) => {}
            }
        }
        statistics.problems.extend(records.problem().cloned());
    }
    for is_exit in [false, true] {
        let count = methods[usize::from(is_exit)];
        if count > 0 {
            *statistics.events.entry(method_event(is_exit)).or_default() += count;
        }
    }
    statistics.time = times.map_or(0, |(first, last)| last - first);
    statistics
}

/// The differences between two recordings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// The types of events that occur in different numbers, with both.
    pub events: BTreeMap<jint, (u64, u64)>,
    /// The functions that were called in different numbers, with both.
    pub calls: BTreeMap<Function, (u64, u64)>,
    /// The first difference of each thread: its number, how many records were alike, and the two records.
    pub threads: Vec<(u32, u64, String, String)>,
}

impl Differences {
    /// Returns true if there is no difference.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.calls.is_empty() && self.threads.is_empty()
    }
}

/// Compares two recordings. IDs, addresses and times are not compared: they differ from run to run.
#[must_use]
pub fn differences(a: &Trace, b: &Trace) -> Differences {
    let (in_a, in_b) = (statistics(a), statistics(b));
    Differences {
        events: unequal(&in_a.events, &in_b.events),
        calls: unequal(&in_a.calls, &in_b.calls),
        threads: first_differences(a, b),
    }
}

fn unequal<K: Ord + Copy>(a: &BTreeMap<K, u64>, b: &BTreeMap<K, u64>) -> BTreeMap<K, (u64, u64)> {
    let count = |of: &BTreeMap<K, u64>, key: &K| of.get(key).copied().unwrap_or(0);
    let keys = a.keys().chain(b.keys());
    let pairs = keys.map(|key| (*key, (count(a, key), count(b, key))));
    pairs.filter(|(_, (a, b))| a != b).collect()
}

fn first_differences(a: &Trace, b: &Trace) -> Vec<(u32, u64, String, String)> {
    let (names_a, names_b) = (all_names(a), all_names(b));
    let mut found = Vec::new();
    for i in 0..a.threads().len().max(b.threads().len()) {
        let records = |of: &Trace| of.threads().get(i).map(|thread| thread.number);
        let number = records(a).or(records(b)).unwrap_or(0);
        let mut of_a = Comparable::new(a, i, &names_a);
        let mut of_b = Comparable::new(b, i, &names_b);
        let mut alike = 0;
        loop {
            match (of_a.next(), of_b.next()) {
                (None, None) => break,
                (left, right) if left == right => alike += 1,
                (left, right) => {
                    let text = |side: Option<String>| side.unwrap_or_else(|| "nothing".into());
                    found.push((number, alike, text(left), text(right)));
                    break;
                }
            }
        }
    }
    found
}

fn all_names(trace: &Trace) -> Names {
    let mut names = Names::default();
    for thread in 0..trace.threads().len() {
        for entry in trace.records(thread) {
            if let Record::Event(mut event) = entry.record {
                names.learn(&mut event);
            }
        }
    }
    names
}

/// The records of a thread without what differs from run to run.
struct Comparable<'a> {
    records: Option<crate::trace::Records<'a>>,
    names: &'a Names,
}

impl<'a> Comparable<'a> {
    fn new(trace: &'a Trace, thread: usize, names: &'a Names) -> Self {
        let records = (thread < trace.threads().len()).then(|| trace.records(thread));
        Self { records, names }
    }

    fn name(&self, method: u64) -> &str {
        self.names.0.get(&method).map_or("?", String::as_str)
    }

    fn put(&self, text: &mut String, name: &str, field: &Field<'_>) {
        // Writing to a string cannot fail.
        _ = match field {
            Field::Method(value) => write!(text, " {name}={}", self.name(*value)),
            Field::Text(Some(value)) => write!(text, " {name}={:?}", value.to_string_lossy()),
            Field::List(count) => write!(text, " {name}={count}"),
            Field::Number(value)
                if matches!(name, "event_type" | "is_array" | "num_interfaces") =>
            {
                write!(text, " {name}={value}")
            }
            _ => Ok(()),
        };
    }
}

impl Iterator for Comparable<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            let entry = self.records.as_mut()?.next()?;
            return Some(match entry.record {
                Record::Method { is_exit, method } => {
                    format!("{} {}", event_name(method_event(is_exit)), self.name(method))
                }
                Record::Event(mut event) => {
                    let mut text = event_name(event.event_type);
                    look(&mut event, |name, field| self.put(&mut text, name, &field));
                    text
                }
                Record::Call(mut call) => {
                    let mut text = format!("call {}", call.function.name());
                    let with = |name, field: Field<'_>| self.put(&mut text, name, &field);
                    let mut look = Look { with, lifetime: PhantomData };
                    functions::arguments(&mut look, call.function, &mut call.arguments);
                    // SAFETY: the call was read, so that all its fields are filled.
                    unsafe { functions::details(&mut look, call.function, &mut call.details) };
                    text
                }
                Record::Answer(_) | Record::Begin(..) | Record::Run | Record::End => continue,
            });
        }
    }
}
