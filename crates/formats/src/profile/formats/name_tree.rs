//! The stacks of a profile as a tree of names. Stacks that differ in lines only are one.

use super::made_frames::{NO_FRAMES, thread_name};
use crate::profile::hidden::without_address;
use crate::profile::model::{FrameId, NameId, Names, Profile, StackId, ThreadSerial, qualified};
use crate::profile::printable;
use crate::profile::weight::{Stack, Weight, stacks};
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::io;

/// The tree. A node lies behind its parent; the first is below all stacks.
#[derive(Debug)]
pub struct NameTree {
    /// True if the names of hidden classes have no addresses, as for a comparison with another run.
    in_any_run: bool,
    names: Names,
    /// The parents and names of nodes, and their own values before and after.
    nodes: IndexMap<(u32, u32), Values, FxBuildHasher>,
}

/// The values in two profiles that are compared. A profile alone has the second.
pub type Values = [u64; 2];

/// The node below all stacks, which has no name.
pub const ROOT: u32 = 0;

impl NameTree {
    /// Returns a tree without stacks.
    pub fn new(in_any_run: bool) -> Self {
        let nodes = IndexMap::from_iter([((ROOT, u32::MAX), [0; 2])]);
        Self { in_any_run, names: Names::default(), nodes }
    }

    /// Builds the tree of the stacks whose weight is not 0.
    pub fn of(profile: &Profile, weight: Weight) -> Self {
        let mut tree = Self::new(false);
        tree.add(profile, weight, |value| [0, value]);
        tree
    }

    /// Builds one tree of two profiles, with names that are the same in each run of the VM.
    pub fn of_runs(before: &Profile, after: &Profile, weight: Weight) -> Self {
        let mut tree = Self::new(true);
        tree.add(before, weight, |value| [value, 0]);
        tree.add(after, weight, |value| [0, value]);
        tree
    }

    fn add(&mut self, profile: &Profile, weight: Weight, values: fn(u64) -> Values) {
        let mut known = Known::default();
        for stack in stacks(profile, weight) {
            let node = self.node(profile, &stack, &mut known);
            add(&mut self.nodes[node as usize], values(stack.value));
        }
    }

    /// Adds a stack of these names, outermost first.
    pub fn add_names(&mut self, names: &[&str], values: Values) {
        let node = names.iter().fold(ROOT, |node, name| self.child(node, name));
        add(&mut self.nodes[node as usize], values);
    }

    fn node(&mut self, profile: &Profile, stack: &Stack<'_>, known: &mut Known) -> u32 {
        let Stack { thread, frames, subject, .. } = stack;
        let thread = *thread;
        let base = match thread {
            ThreadSerial(0) => ROOT,
            thread => {
                let name = match thread_name(profile, thread) {
                    Some(name) => format!("[{name}]"),
                    None => format!("[thread {}]", thread.0),
                };
                self.child(ROOT, &name)
            }
        };
        let mut without_node = Vec::new();
        let mut next = frames.id();
        let mut node = loop {
            if let Some(node) = known.stacks.get(&(thread, next)) {
                break *node;
            }
            let Some((frame, caller)) = profile.traces.call(next) else { break base };
            without_node.push((next, frame));
            next = caller;
        };
        for (stack, frame) in without_node.into_iter().rev() {
            let new = || self.frame(profile, frame);
            if let Some(name) = *known.frames.entry(frame).or_insert_with(new) {
                node = self.child_named(node, name);
            }
            known.stacks.insert((thread, stack), node);
        }
        if frames.is_empty() {
            node = self.child(node, NO_FRAMES);
        }
        subject.as_ref().map_or(node, |subject| self.child(node, self.class(subject)))
    }

    fn class<'a>(&self, name: &'a str) -> &'a str {
        if self.in_any_run { without_address(name) } else { name }
    }

    fn frame(&mut self, profile: &Profile, frame: FrameId) -> Option<u32> {
        let (_, method) = profile.frame(frame)?;
        let [class, name] = [method.class, method.name].map(|name| profile.names.get(name));
        Some(self.name(&qualified(self.class(class), name)))
    }

    fn name(&mut self, name: &str) -> u32 {
        let name = clean(name);
        self.names.intern(&name).0
    }

    fn child(&mut self, parent: u32, name: &str) -> u32 {
        let name = self.name(name);
        self.child_named(parent, name)
    }

    fn child_named(&mut self, parent: u32, name: u32) -> u32 {
        let entry = self.nodes.entry((parent, name));
        let place = entry.index() as u32;
        entry.or_insert([0; 2]);
        place
    }

    /// Returns the name of a node.
    pub fn name_of(&self, node: u32) -> &str {
        self.names.get(NameId(self.key(node).1))
    }

    fn key(&self, node: u32) -> (u32, u32) {
        self.nodes.get_index(node as usize).map_or((ROOT, 0), |node| *node.0)
    }

    /// Returns the values of each node with those of its callees.
    pub fn totals(&self) -> Vec<Values> {
        let mut totals: Vec<_> = self.nodes.values().copied().collect();
        for node in (1..totals.len()).rev() {
            let values = totals[node];
            add(&mut totals[self.key(node as u32).0 as usize], values);
        }
        totals
    }

    /// Returns the callees of each node, in the order of their names.
    pub fn children(&self) -> Vec<Vec<u32>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for node in 1..self.nodes.len() as u32 {
            children[self.key(node).0 as usize].push(node);
        }
        for callees in &mut children {
            callees.sort_unstable_by_key(|node| self.name_of(*node));
        }
        children
    }

    /// Passes the names of each stack that has a value, outermost first and separated by `;`, and its value:
    /// callers before what they call, and callees of one caller in the order of their names.
    pub fn each(&self, mut visit: impl FnMut(&str, u64) -> io::Result<()>) -> io::Result<()> {
        let children = self.children();
        let mut line = String::new();
        // Nodes and how long the names of their callers are.
        let of = |node: u32| children[node as usize].iter().rev();
        let mut stack: Vec<_> = of(ROOT).map(|node| (*node, 0)).collect();
        while let Some((node, length)) = stack.pop() {
            line.truncate(length);
            if length > 0 {
                line.push(';');
            }
            line += self.name_of(node);
            let [_, value] = self.nodes[node as usize];
            if value > 0 {
                visit(&line, value)?;
            }
            stack.extend(of(node).map(|child| (*child, line.len())));
        }
        Ok(())
    }
}

fn add(sum: &mut Values, more: Values) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum = sum.saturating_add(more);
    }
}

/// Caches for building a tree.
#[derive(Default)]
struct Known {
    /// The nodes of stacks.
    stacks: FxHashMap<(ThreadSerial, StackId), u32>,
    /// The names of frames.
    frames: FxHashMap<FrameId, Option<u32>>,
}

/// Returns a name without the characters that have a meaning in lines of stacks or in a terminal. Names of methods and
/// classes have none of them; those of array classes, threads and raw monitors may.
fn clean(name: &str) -> String {
    printable(name).chars().map(|c| if c == ';' { ':' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::model::{CpuTime, CpuTimes, Frame, Line};
    use std::time::Duration;

    #[test]
    fn stacks_that_differ_in_lines_are_one() {
        let mut profile = Profile::default();
        let mut frame = |name: &str, line| {
            let method = profile.intern_method(["A", name, "", ""]);
            profile.frames.intern(Frame { method, line: Line::Number(line) })
        };
        let [main, a, b, b_later] = [frame("main", 1), frame("a", 2), frame("b", 3), frame("b", 4)];
        let mut row = |frames: &[FrameId], nanos| CpuTime {
            trace: profile.traces.intern(ThreadSerial(0), frames),
            own: Duration::from_nanos(nanos),
            calls: 1,
        };
        let rows = vec![
            row(&[main], 10),
            row(&[b, main], 30),
            row(&[b_later, main], 50),
            row(&[a, main], 4),
            row(&[b, a, main], 5),
            row(&[a], 1),
        ];
        let total = rows.iter().map(|row| row.own).sum();
        profile.sections.push(CpuTimes { total, rows, ..CpuTimes::default() }.into());
        let mut lines = Vec::new();
        let mut keep = |names: &str, value| {
            lines.push(format!("{names} {value}"));
            Ok(())
        };
        NameTree::of(&profile, Weight::CpuTime).each(&mut keep).unwrap();
        let all = ["A.a 1", "A.main 10", "A.main;A.a 4", "A.main;A.a;A.b 5", "A.main;A.b 80"];
        assert_eq!(lines, all);
    }
}
