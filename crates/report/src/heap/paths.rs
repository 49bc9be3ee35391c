//! Shortest paths from a root to an object: why it is still there.

use rustc_hash::FxHashMap;

use super::graph::{Graph, Label};

/// Nobody has come to the object.
const UNREACHED: u32 = u32::MAX;
/// The object is a root itself. No object has this number: a graph has fewer than that.
const ROOT: u32 = u32::MAX - 1;

/// How many objects a path has at its two ends, if it is too long to have them all.
const FIRST: u32 = 8;
const LAST: u32 = 24;

/// The shortest paths to all objects that roots reach.
#[derive(Debug)]
pub struct Paths {
    /// Object -> the first of the graph's roots that it is, if it is one.
    roots: FxHashMap<u32, usize>,
    /// Object -> the object before it on its path.
    before: Vec<u32>,
    /// Object -> where in that one the reference lies that leads here.
    by: Vec<Label>,
    /// Object -> how many objects are before it on its path.
    distance: Vec<u32>,
    /// Object -> the one on its path that is the last of the first; itself if it is one of the first.
    first: Vec<u32>,
}

/// A path from a root to an object. Lists make paths of millions of objects: of a long one, the middle is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Which of the graph's roots keeps the first object alive.
    pub root: usize,
    /// From the root's object to the one asked for.
    pub steps: Vec<Step>,
}

/// One object of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The object.
    pub object: u32,
    /// Where in the object before it the reference lies that leads here; nowhere for the first.
    pub by: Option<Label>,
    /// How many objects are left out before this one.
    pub left_out: u32,
}

impl Paths {
    /// Walks through the graph, nearest objects first.
    pub fn through(graph: &Graph) -> Paths {
        let mut roots = FxHashMap::default();
        let mut before = vec![UNREACHED; graph.len()];
        let mut by = vec![Label::element(0); graph.len()];
        let mut distance = vec![0; graph.len()];
        let mut first: Vec<u32> = (0..graph.len() as u32).collect();
        let mut now = Vec::new();
        for (number, root) in graph.roots().iter().enumerate() {
            roots.entry(root.object).or_insert(number);
            if before[root.object as usize] == UNREACHED {
                before[root.object as usize] = ROOT;
                now.push(root.object);
            }
        }
        let mut next = Vec::new();
        let mut steps = 1;
        while !now.is_empty() {
            for object in now.drain(..) {
                for (label, to) in graph.references(object) {
                    if before[to as usize] == UNREACHED {
                        before[to as usize] = object;
                        by[to as usize] = label;
                        distance[to as usize] = steps;
                        if steps >= FIRST {
                            first[to as usize] = first[object as usize];
                        }
                        next.push(to);
                    }
                }
            }
            std::mem::swap(&mut now, &mut next);
            steps += 1;
        }
        Paths { roots, before, by, distance, first }
    }

    /// The path to an object, if a root reaches it.
    pub fn to(&self, object: u32) -> Option<Path> {
        let mut steps = Vec::new();
        let mut at = object;
        loop {
            let mut step = Step { object: at, by: None, left_out: 0 };
            let distance = self.distance[at as usize];
            match self.before[at as usize] {
                UNREACHED => return None,
                ROOT => {
                    steps.push(step);
                    break;
                }
                _ if steps.len() as u32 + 1 == LAST && distance > FIRST => {
                    step.left_out = distance - FIRST;
                    at = self.first[at as usize];
                }
                before => {
                    step.by = Some(self.by[at as usize]);
                    at = before;
                }
            }
            steps.push(step);
        }
        steps.reverse();
        Some(Path { root: *self.roots.get(&at)?, steps })
    }
}
