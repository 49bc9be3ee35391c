//! The parts that pprof, OTLP and speedscope have in common: strings, functions and locations.

use super::made_frames::{NO_FRAMES, thread_name};
use crate::profile::model::{FrameId, Line, NameId, Names, Profile, ThreadSerial, WallState};
use crate::profile::weight::Stack;
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// A function: its name, its name with the signature, and the file of its source, by their places in the strings.
pub type Function = [u64; 3];

/// The tables, with the entries that were used so far. Functions and locations count from 1.
#[derive(Default)]
pub struct Symbols {
    strings: Names,
    functions: IndexSet<Function, FxBuildHasher>,
    /// The places of functions, and lines.
    locations: IndexSet<(u64, u32), FxBuildHasher>,
    of_frames: FxHashMap<FrameId, Option<u64>>,
}

impl Symbols {
    /// Returns the place of a string.
    pub fn string(&mut self, text: &str) -> u64 {
        self.strings.intern(text).0.into()
    }

    /// Returns the locations of a stack, innermost first; at least one.
    pub fn stack(&mut self, profile: &Profile, stack: &Stack<'_>) -> Vec<u64> {
        let mut locations = Vec::new();
        locations.extend(stack.subject.as_ref().map(|name| self.named(name)));
        for id in stack.frames.iter() {
            let location = match self.of_frames.get(&id) {
                Some(location) => *location,
                None => {
                    let location = self.location_of(profile, id);
                    self.of_frames.insert(id, location);
                    location
                }
            };
            locations.extend(location);
        }
        if stack.frames.is_empty() {
            locations.push(self.named(NO_FRAMES));
        }
        locations
    }

    /// Returns the location of a frame.
    fn location_of(&mut self, profile: &Profile, id: FrameId) -> Option<u64> {
        let (frame, method) = profile.frame(id)?;
        let name = |id: NameId| profile.names.get(id);
        let called = profile.qualified(method);
        let with_signature = format!("{called}{}", name(method.signature));
        let names = [&called, &with_signature, name(method.source)];
        let line = if let Line::Number(line) = frame.line { line } else { 0 };
        Some(self.location(names, line))
    }

    fn location(&mut self, names: [&str; 3], line: u32) -> u64 {
        let function = names.map(|name| self.string(name));
        let (function, _) = self.functions.insert_full(function);
        self.locations.insert_full((function as u64 + 1, line)).0 as u64 + 1
    }

    /// Returns the location of a name that is not a method.
    pub fn named(&mut self, name: &str) -> u64 {
        self.location([name, name, ""], 0)
    }

    /// Returns the locations with their numbers: the function and the line of each.
    pub fn locations(&self) -> impl Iterator<Item = (u64, (u64, u32))> {
        (1..).zip(self.locations.iter().copied())
    }

    /// Returns the functions with their numbers.
    pub fn functions(&self) -> impl Iterator<Item = (u64, Function)> {
        (1..).zip(self.functions.iter().copied())
    }

    /// Returns the strings. Write them last, because everything else adds to them.
    pub fn strings(&self) -> impl Iterator<Item = &str> {
        self.strings.iter()
    }
}

/// Returns the name of the thread and the state of the thread of a stack, as far as they are known.
pub fn labels<'a>(profile: &'a Profile, stack: &Stack<'_>) -> [Option<&'a str>; 2] {
    let is_named = stack.thread != ThreadSerial(0);
    let name = || thread_name(profile, stack.thread).unwrap_or("<unknown thread>");
    [is_named.then(name), stack.state.map(WallState::name)]
}
