//! `cargo +nightly fuzz run trace`: no bytes make the reader of recordings panic, or read beyond them.

#![no_main]

use jvmpi_layers::trace::{self, Trace, differences, for_tests, statistics};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // As a file, which hardly ever is one; and as the records of two threads in a file that is right.
    let _ = Trace::from_bytes(bytes.to_vec());
    let Some((first, records)) = bytes.split_first() else { return };
    let (one, other) = records.split_at(records.len().min(usize::from(*first)));
    let trace = Trace::from_bytes(for_tests::file(&[one, other])).unwrap();
    assert_eq!(trace.problem(), None);
    let mut count = 0;
    let mut names = trace::Names::default();
    trace.in_order(|_, mut entry| {
        count += 1;
        match &mut entry.record {
            trace::Record::Event(event) => drop(trace::show_event(event, &mut names)),
            trace::Record::Call(call) => drop(trace::show_call(call, &names)),
            _ => {}
        }
    });
    let statistics = statistics(&trace);
    assert!(statistics.all_events() + statistics.all_calls() <= count);
    assert!(differences(&trace, &trace).is_empty());
});
