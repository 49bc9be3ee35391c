//! Damaged recordings. Without an agent, the replay's own work on the records is left.

use super::translate::{monitor_dump, translate};
use super::*;
use crate::trace::coding::{Out, tag};
use crate::trace::fields::Word;
use crate::trace::for_tests;
use crate::trace::functions::Function;
use crate::trace::read::{Event, Record};
use jvmpi_sys::*;
use std::sync::Arc;

/// Returns a replay of threads with these records.
fn replay_of(threads: &[&[u8]]) -> &'static Replay {
    let trace = Trace::from_bytes(for_tests::file(threads)).unwrap();
    Box::leak(Box::new(Replay::new(trace, |_| ()).0))
}

/// Returns the events in the records of the only thread.
fn events(replay: &'static Replay) -> impl Iterator<Item = Box<Event>> {
    replay.trace.records(0).filter_map(|entry| match entry.record {
        Record::Event(event) => Some(event),
        _ => None,
    })
}

/// Returns a CLASS_LOAD of class 8 whose predecessor in the records has the ID
/// `before`.
fn class_load(name: &[u8], before: u64) -> Vec<u8> {
    let mut records = Out::new(&mut []);
    records.bytes(&[JVMPI_EVENT_CLASS_LOAD as u8, 1, name.len() as u8]);
    records.bytes(name);
    // No source, interfaces, methods or fields.
    records.bytes(&[0; 5]);
    records.difference(before, 8);
    records.more
}

#[test]
fn machine_code_is_no_shorter_than_its_size() {
    let mut records = Out::new(&mut []);
    records.byte(JVMPI_EVENT_COMPILED_METHOD_LOAD as u8);
    for (number, value) in [0x100, 0x2000, 4096].into_iter().enumerate() {
        // A method has a byte more, as it is none that was named before.
        records.bytes(&[0][..usize::from(number == 0)]);
        records.difference(0, value);
    }
    records.number(3);
    records.bytes(&[0xc3; 3]);
    records.number(0);
    let replay = replay_of(&[&records.more]);
    let event = &mut events(replay).next().unwrap();
    // SAFETY: the event has this type.
    let code = |event: &Event| unsafe { event.u.compiled_method_load };
    assert_eq!((code(event).code_size, code(event).code_addr.word()), (4096, 0x2000));
    translate(replay, event);
    assert_eq!(code(event).code_size, 3);
    // SAFETY: this is the memory that the agent gets.
    let bytes = unsafe { std::slice::from_raw_parts(code(event).code_addr.cast::<u8>(), 3) };
    assert_eq!(bytes, [0xc3; 3]);
}

#[test]
fn damaged_monitor_dump_has_no_pointers_of_the_recorded_process() {
    let word = |number: usize| number.to_ne_bytes().to_vec();
    let java = [vec![1], word(0x10), word(0), vec![0; 12]].concat();
    // A raw monitor with a name, which is not whole.
    let raw = [vec![2], word(0xdead_beef), word(0x20)].concat();
    let replay = replay_of(&[]);
    let dump = monitor_dump(replay, &[&java[..], &raw].concat());
    assert_eq!(*dump, *java);
    let notes = replay.notes();
    assert_eq!(notes.values().sum::<u64>(), 1, "{notes:?}");
}

#[test]
fn names_of_each_class_load_live_until_the_class_is_unloaded() {
    let mut records = class_load(b"A", 0);
    records.extend(class_load(b"A", 8));
    let replay = replay_of(&[&records]);
    let kept: Vec<_> = events(replay)
        .map(|event| {
            replay.known().learn_class(event);
            Arc::downgrade(&replay.known().last_event(8).unwrap())
        })
        .collect();
    assert!(kept.len() == 2 && kept.iter().all(|event| event.upgrade().is_some()));
    replay.known().forget_class(8);
    assert!(kept.iter().all(|event| event.upgrade().is_none()));
}

#[test]
fn code_that_is_replaced_stays_until_its_event_is_over() {
    let replay = replay_of(&[]);
    let first = replay.known().learn_code(0x2000, &[1, 2]);
    let same = replay.known().learn_code(0x2000, &[1, 2]);
    assert!(Arc::ptr_eq(&first, &same));
    let other = replay.known().learn_code(0x2000, &[3]);
    assert_eq!((&*first, &*other), (&[1, 2][..], &[3][..]));
}

/// Plays the records of the first thread on a small stack.
fn play(replay: &'static Replay) {
    let play = move || Player::new(replay, 0).play();
    thread::Builder::new().stack_size(256 << 10).spawn(play).unwrap().join().unwrap();
}

#[test]
fn calls_inside_each_other_need_no_deep_stack() {
    let begin = [tag::BEGIN, Function::RunGC as u8];
    play(replay_of(&[&begin.repeat(100_000)]));
    // Each call is in the handler of an event in the call before.
    let event = [JVMPI_EVENT_GC_START as u8];
    let replay = replay_of(&[&[&event[..], &begin].concat().repeat(100_000)]);
    play(replay);
    let notes = replay.notes();
    assert!(notes.keys().any(|note| note.contains("too deep")), "{notes:?}");
}
