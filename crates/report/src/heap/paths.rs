//! Shortest paths from a root to an object: why it is still there.

use super::graph::{Graph, Label};

/// Nobody has come to the object.
const UNREACHED: u32 = u32::MAX;
/// The object is a root itself. No object has this number: a graph has fewer than that.
const ROOT: u32 = u32::MAX - 1;

/// The shortest paths to all objects that roots reach.
#[derive(Debug)]
pub struct Paths<'g> {
    graph: &'g Graph,
    /// Object -> the object before it on its path.
    before: Vec<u32>,
}

/// A path from a root to an object.
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
}

impl<'g> Paths<'g> {
    /// Walks through the graph, nearest objects first.
    pub fn through(graph: &'g Graph) -> Paths<'g> {
        let mut before = vec![UNREACHED; graph.len()];
        let mut now = Vec::new();
        for root in graph.roots() {
            if before[root.object as usize] == UNREACHED {
                before[root.object as usize] = ROOT;
                now.push(root.object);
            }
        }
        let mut next = Vec::new();
        while !now.is_empty() {
            for object in now.drain(..) {
                for &to in graph.successors(object) {
                    if before[to as usize] == UNREACHED {
                        before[to as usize] = object;
                        next.push(to);
                    }
                }
            }
            std::mem::swap(&mut now, &mut next);
        }
        Paths { graph, before }
    }

    /// The path to an object, if a root reaches it.
    pub fn to(&self, object: u32) -> Option<Path> {
        let mut steps = Vec::new();
        let mut at = object;
        loop {
            match self.before[at as usize] {
                UNREACHED => return None,
                ROOT => break,
                before => {
                    let by = self.graph.references(before).find(|&(_, to)| to == at);
                    steps.push(Step { object: at, by: by.map(|(label, _)| label) });
                    at = before;
                }
            }
        }
        steps.push(Step { object: at, by: None });
        steps.reverse();
        let root = self.graph.roots().iter().position(|root| root.object == at)?;
        Some(Path { root, steps })
    }
}
