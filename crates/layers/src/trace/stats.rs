//! Counts the contents of a recording.

use crate::trace::functions::Function;
use crate::trace::read::{Record, Trace};
use jni_sys::jint;
use jvmpi_sys::{JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT};
use std::collections::BTreeMap;

/// The contents of a recording, counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The number of events of each type.
    pub events: BTreeMap<jint, u64>,
    /// The number of calls of each function.
    pub calls: BTreeMap<Function, u64>,
    /// The time from the first record to the last, in nanoseconds.
    pub time: u64,
    /// The faults in the records of threads.
    pub problems: Vec<String>,
}

/// Counts what the recording consists of.
#[must_use]
pub fn statistics(trace: &Trace) -> Statistics {
    let mut statistics = Statistics::default();
    let mut times: Option<(u64, u64)> = None;
    for thread in 0..trace.threads().len() {
        let mut records = trace.records(thread);
        for entry in records.by_ref() {
            let (first, last) = times.get_or_insert((entry.time, entry.time));
            (*first, *last) = ((*first).min(entry.time), (*last).max(entry.time));
            let event_type = match entry.record {
                Record::Method { is_exit: false, .. } => JVMPI_EVENT_METHOD_ENTRY,
                Record::Method { is_exit: true, .. } => JVMPI_EVENT_METHOD_EXIT,
                Record::Event(event) => event.event_type,
                Record::Call(call) => {
                    *statistics.calls.entry(call.function).or_default() += 1;
                    continue;
                }
                Record::Begin(..) | Record::Run | Record::End => continue,
            };
            *statistics.events.entry(event_type).or_default() += 1;
        }
        statistics.problems.extend(records.problem().map(str::to_owned));
    }
    statistics.time = times.map_or(0, |(first, last)| last - first);
    statistics
}
