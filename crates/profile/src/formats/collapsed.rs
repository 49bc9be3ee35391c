//! Stacks, one in a line: what flame graph tools have in common.

use super::{NO_FRAMES, thread_name};
use crate::model::{Profile, ThreadSerial};
use crate::printable;
use crate::weight::{Stack, Weight, stacks};
use std::collections::BTreeMap;
use std::io::{self, Write};

pub fn write(profile: &Profile, weight: Weight, out: &mut dyn Write) -> io::Result<()> {
    let sums = sums(profile, weight);
    sums.into_iter().try_for_each(|(names, value)| writeln!(out, "{names} {value}"))
}

/// The values of the stacks by their names, `outermost;…;innermost`. Stacks that differ in lines only are one.
pub fn sums(profile: &Profile, weight: Weight) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for stack in stacks(profile, weight) {
        let sum = sums.entry(names(profile, &stack)).or_insert(0u64);
        *sum = sum.saturating_add(stack.value);
    }
    sums
}

fn names(profile: &Profile, stack: &Stack<'_>) -> String {
    let mut names = String::new();
    if stack.thread != ThreadSerial(0) {
        match thread_name(profile, stack.thread) {
            Some(name) => push(&mut names, &format!("[{name}]")),
            None => push(&mut names, &format!("[thread {}]", stack.thread.0)),
        }
    }
    if stack.frames.is_empty() {
        push(&mut names, NO_FRAMES);
    }
    for (_, method) in stack.frames.iter().rev().filter_map(|id| profile.frame(*id)) {
        let class = profile.names.get(method.class);
        push(&mut names, &format!("{class}.{}", profile.names.get(method.name)));
    }
    if let Some(subject) = stack.subject {
        push(&mut names, subject);
    }
    names
}

/// Adds a frame, without the characters that have a meaning here or in a terminal. Names of methods and classes should have
/// none of them; those of array classes, threads and raw monitors may.
fn push(names: &mut String, name: &str) {
    if !names.is_empty() {
        names.push(';');
    }
    names.extend(printable(name).chars().map(|c| if c == ';' { ':' } else { c }));
}
