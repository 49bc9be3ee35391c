//! The tables of a profile: stacks with their weights.

use std::collections::BTreeMap;
use std::{io, iter};

use jvmpi_formats::profile::{
    FrameId, Line, NameId, Profile, StackId, ThreadSerial, TraceSerial, WallState, Weight, stacks,
    without_address,
};

use crate::table::{Cell, Table};

/// The name of the weight that counts the calls of a method. No other format has it.
const CALLS: &str = "calls";

/// The stacks that tables refer to. The stack of a caller comes before those of the methods that it calls.
pub struct Used {
    /// The first of the IDs of this file's stacks, and of its frames. The IDs of other files begin elsewhere, so that
    /// tables of many files can be joined by one column.
    first: u64,
    stacks: Vec<bool>,
}

impl Used {
    /// Returns an entry for each stack of a profile, all unused. IDs begin at that of the profile.
    pub fn none_of(profile: &Profile, profile_id: i64) -> Self {
        Self { first: profile_id.cast_unsigned(), stacks: vec![false; profile.traces.stacks()] }
    }

    /// Returns the ID of a stack, which is used from now on; none if it has no frames.
    pub fn id(&mut self, stack: StackId) -> Option<u64> {
        if stack == StackId::EMPTY {
            return None;
        }
        *self.stacks.get_mut(stack.0 as usize)? = true;
        Some(self.first.wrapping_add(stack.0.into()))
    }
}

/// Writes the table of samples.
///
/// # Errors
/// Returns the error of the file.
pub fn samples(profile: &Profile, used: &mut Used, table: &mut Table) -> io::Result<()> {
    for weight in Weight::of(profile) {
        for stack in stacks(profile, weight) {
            table.row(&[
                weight.name().into(),
                used.id(stack.frames.id()).into(),
                thread(profile, stack.thread).as_deref().into(),
                stack.subject.as_deref().map(without_address).into(),
                stack.state.map(WallState::name).into(),
                stack.value.into(),
            ])?;
        }
    }
    for (trace, calls) in calls(profile) {
        let Some(trace) = profile.traces.get(trace) else { continue };
        table.row(&[
            CALLS.into(),
            used.id(trace.frames.id()).into(),
            thread(profile, trace.thread).as_deref().into(),
            Cell::Null,
            Cell::Null,
            calls.into(),
        ])?;
    }
    Ok(())
}

/// Returns the number of calls at each trace. The sections count from the start of the JVM, so the largest number counts.
fn calls(profile: &Profile) -> BTreeMap<TraceSerial, u64> {
    let mut calls = BTreeMap::new();
    for row in profile.cpu_times().flat_map(|section| &section.rows) {
        let largest = calls.entry(row.trace).or_default();
        *largest = row.calls.max(*largest);
    }
    calls.retain(|_, calls| *calls > 0);
    calls
}

/// Returns the name of a thread; none if the stacks are not kept by thread.
pub fn thread(profile: &Profile, serial: ThreadSerial) -> Option<String> {
    if serial == ThreadSerial(0) {
        return None;
    }
    let name = profile.threads.get(&serial).map(|thread| profile.names.get(thread.name));
    let named = name.filter(|name| !name.is_empty()).map(String::from);
    Some(named.unwrap_or_else(|| format!("thread {}", serial.0)))
}

/// Writes the tables of the used stacks and of their frames.
///
/// # Errors
/// Returns the error of a file.
pub fn code(
    profile: &Profile,
    Used { first, stacks: mut used }: Used,
    stack_table: &mut Table,
    frame_table: &mut Table,
) -> io::Result<()> {
    let call = |stack: usize| profile.traces.call(StackId(stack as u32));
    let id = |number: u64| first.wrapping_add(number);
    // The number of stacks below each one, itself included. A caller of a used stack is used too.
    let mut sizes = vec![0_u64; used.len()];
    for stack in (1..used.len()).rev() {
        if let Some((_, caller)) = call(stack).filter(|_| used[stack]) {
            let caller = caller.0 as usize;
            used[caller] = true;
            sizes[stack] += 1;
            sizes[caller] += sizes[stack];
        }
    }
    let mut depths = vec![0_u32; used.len()];
    // The number in preorder that the next stack called from this one gets.
    let mut next = vec![0_u64; used.len()];
    let mut frames = vec![false; profile.frames.len()];
    for stack in 1..used.len() {
        let Some((frame, caller)) = call(stack).filter(|_| used[stack]) else { continue };
        let preorder = next[caller.0 as usize];
        next[caller.0 as usize] += sizes[stack];
        next[stack] = preorder + 1;
        depths[stack] = depths[caller.0 as usize] + 1;
        if let Some(used) = frames.get_mut(frame.0 as usize) {
            *used = true;
        }
        let method = |frame| profile.frame(frame).map(|(_, method)| (method.class, method.name));
        let mut callers = iter::successors(call(caller.0 as usize), |(_, it)| call(it.0 as usize));
        let is_recursive = callers.any(|(outer, _)| method(outer) == method(frame));
        let parent = (caller != StackId::EMPTY).then(|| id(caller.0.into()));
        stack_table.row(&[
            id(stack as u64).into(),
            parent.into(),
            id(frame.0.into()).into(),
            depths[stack].into(),
            id(preorder).into(),
            id(preorder + sizes[stack] - 1).into(),
            is_recursive.into(),
        ])?;
    }
    for (number, _) in frames.iter().enumerate().filter(|(_, used)| **used) {
        let Some((frame, method)) = profile.frame(FrameId(number as u32)) else { continue };
        let name = |id: NameId| profile.names.get(id);
        let known = |id: NameId| Some(name(id)).filter(|name| !name.is_empty());
        let line = match frame.line {
            Line::Number(line) => Some(line),
            Line::Unknown | Line::Compiled | Line::Native => None,
        };
        frame_table.row(&[
            id(number as u64).into(),
            without_address(name(method.class)).into(),
            name(method.name).into(),
            known(method.signature).into(),
            known(method.source).filter(|source| *source != "<Unknown>").into(),
            line.into(),
        ])?;
    }
    Ok(())
}
