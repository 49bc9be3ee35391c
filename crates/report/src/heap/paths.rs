//! Shortest paths from a root to an object, which show why the object is alive.

use rustc_hash::FxHashMap;

use super::graph::{Graph, Label};

/// Stands for no predecessor: the object is not reached.
const UNREACHED: u32 = u32::MAX;
/// Stands for no predecessor: the object is a root. A graph is too small for an object of this number.
const ROOT: u32 = u32::MAX - 1;

/// The numbers of objects at the two ends of a path that is too long to be complete.
const FIRST: u32 = 8;
const LAST: u32 = 24;

/// The shortest paths to all objects that roots reach.
#[derive(Debug)]
pub struct Paths {
    /// Object -> its first index in the graph's roots, if it is a root.
    roots: FxHashMap<u32, usize>,
    /// Object -> the object before it on its path.
    before: Vec<u32>,
    /// Object -> the place of the reference in the object before it.
    by: Vec<Label>,
    /// Object -> the number of objects before it on its path.
    distance: Vec<u32>,
    /// Object -> the last of the first [`FIRST`] objects on its path; the object itself if it is among them.
    first: Vec<u32>,
}

/// A path from a root to an object. Paths through lists have millions of objects, so a long one lacks its middle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The index of the root that keeps the first object alive.
    pub root: usize,
    /// The objects from the root's object to the requested one.
    pub steps: Vec<Step>,
}

/// One object of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The object.
    pub object: u32,
    /// The place of the reference in the object before it; none for the first.
    pub by: Option<Label>,
    /// The number of objects left out before this one.
    pub left_out: u32,
}

impl Paths {
    /// Walks the graph breadth-first.
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

    /// Returns the path to an object, if a root reaches it.
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
