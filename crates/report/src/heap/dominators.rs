//! Immediate dominators, by Lengauer and Tarjan's algorithm with path compression: O(m log n) for every
//! graph. There is no recursion, because lists in heaps are millions of objects long.
//!
//! An object dominates another one if each path from a root to the other leads through it. The dominated
//! objects would be freed with it.

use super::graph::Graph;

const NONE: u32 = u32::MAX;

/// The dominator tree of the objects that roots reach.
///
/// Each object has a *position* in it, in the order of a depth-first walk; position 0 stands for all roots
/// together. Dominators come before the objects that they dominate.
#[derive(Debug)]
pub struct Dominators {
    /// Position -> object; position 0 has none.
    objects: Vec<u32>,
    /// Object -> position.
    positions: Vec<u32>,
    /// Position -> position of its immediate dominator.
    dominators: Vec<u32>,
}

impl Dominators {
    /// Computes the dominator tree of a graph.
    pub fn of(graph: &Graph) -> Dominators {
        let walk = Walk::through(graph);
        let dominators = walk.dominators(graph);
        Dominators { objects: walk.objects, positions: walk.positions, dominators }
    }

    /// Returns the number of positions: the reached objects and the root.
    pub fn count(&self) -> usize {
        self.objects.len()
    }

    /// Returns the object at a position other than 0.
    pub fn object(&self, position: usize) -> u32 {
        self.objects[position]
    }

    /// Returns the position of an object, if a root reaches it.
    pub fn position(&self, object: u32) -> Option<usize> {
        let position = self.positions[object as usize];
        (position != NONE).then_some(position as usize)
    }

    /// Returns the position of the immediate dominator, which is smaller than `position`. The root is its
    /// own.
    pub fn dominator(&self, position: usize) -> usize {
        self.dominators[position] as usize
    }
}

/// A depth-first walk from the roots.
struct Walk {
    objects: Vec<u32>,
    positions: Vec<u32>,
    /// Position -> position of its parent in the walk.
    parents: Vec<u32>,
}

impl Walk {
    fn through(graph: &Graph) -> Walk {
        let mut walk =
            Walk { objects: vec![NONE], positions: vec![NONE; graph.len()], parents: vec![0] };
        // The stack of the walk: the position of each object and the index of its next reference.
        let mut way: Vec<(u32, usize)> = Vec::new();
        for root in graph.roots() {
            if let Some(position) = walk.meet(root.object, 0) {
                way.push((position, 0));
            }
            while let Some((position, next)) = way.last_mut() {
                let successors = graph.successors(walk.objects[*position as usize]);
                let Some(&object) = successors.get(*next) else {
                    way.pop();
                    continue;
                };
                *next += 1;
                let parent = *position;
                if let Some(position) = walk.meet(object, parent) {
                    way.push((position, 0));
                }
            }
        }
        walk
    }

    /// Assigns a position to an object and returns it, unless the object already has one.
    fn meet(&mut self, object: u32, parent: u32) -> Option<u32> {
        if self.positions[object as usize] != NONE {
            return None;
        }
        let position = self.objects.len() as u32;
        self.positions[object as usize] = position;
        self.objects.push(object);
        self.parents.push(parent);
        Some(position)
    }

    /// Returns the start of each position's predecessors in the second array, and that array.
    fn predecessors(&self, graph: &Graph) -> (Vec<usize>, Vec<u32>) {
        let successors = |position: usize| {
            let objects = graph.successors(self.objects[position]);
            objects.iter().map(|&object| self.positions[object as usize] as usize)
        };
        let roots =
            || graph.roots().iter().map(|root| self.positions[root.object as usize] as usize);
        let mut first = vec![0; self.objects.len() + 1];
        roots().for_each(|to| first[to] += 1);
        for from in 1..self.objects.len() {
            successors(from).for_each(|to| first[to] += 1);
        }
        let mut sum = 0;
        for count in &mut first {
            sum += *count;
            *count = sum;
        }
        let mut predecessors = vec![0; sum];
        // Each range is filled from its end, so its entry in `first` becomes its start.
        let mut put = |to: usize, from: usize| {
            first[to] -= 1;
            predecessors[first[to]] = from as u32;
        };
        roots().for_each(|to| put(to, 0));
        for from in 1..self.objects.len() {
            successors(from).for_each(|to| put(to, from));
        }
        (first, predecessors)
    }

    fn dominators(&self, graph: &Graph) -> Vec<u32> {
        let count = self.objects.len();
        let (first, predecessors) = self.predecessors(graph);
        let mut forest = Forest::new(count);
        let mut dominators = vec![0; count];
        // The positions with the same semidominator, as a list: the head for each semidominator, the next
        // one for each member.
        let mut heads = vec![NONE; count];
        let mut nexts = vec![NONE; count];

        for position in (1..count).rev() {
            for &predecessor in &predecessors[first[position]..first[position + 1]] {
                let least = forest.least(predecessor);
                forest.semi[position] = forest.semi[position].min(forest.semi[least as usize]);
            }
            let semi = forest.semi[position] as usize;
            nexts[position] = heads[semi];
            heads[semi] = position as u32;

            let parent = self.parents[position];
            forest.link(parent, position as u32);
            let mut member = std::mem::replace(&mut heads[parent as usize], NONE);
            while member != NONE {
                let least = forest.least(member);
                dominators[member as usize] =
                    if forest.semi[least as usize] < parent { least } else { parent };
                member = nexts[member as usize];
            }
        }
        for position in 1..count {
            if dominators[position] != forest.semi[position] {
                dominators[position] = dominators[dominators[position] as usize];
            }
        }
        dominators
    }
}

/// The forest of the finished positions, with compressed paths.
struct Forest {
    /// Position -> its semidominator, or itself while unknown.
    semi: Vec<u32>,
    ancestors: Vec<u32>,
    /// Position -> the position with the least semidominator on the compressed path.
    labels: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    fn new(count: usize) -> Forest {
        let own: Vec<u32> = (0..count as u32).collect();
        Forest { semi: own.clone(), ancestors: vec![NONE; count], labels: own, path: Vec::new() }
    }

    fn link(&mut self, parent: u32, position: u32) {
        self.ancestors[position as usize] = parent;
    }

    /// Returns the position with the least semidominator on the path from the tree's root, exclusive, to
    /// `position`.
    fn least(&mut self, position: u32) -> u32 {
        let mut at = position;
        while self.ancestors[at as usize] != NONE {
            self.path.push(at);
            at = self.ancestors[at as usize];
        }
        let top = at;
        // Only the tree's root is above the uppermost position, so its label is final.
        self.path.pop();
        while let Some(at) = self.path.pop() {
            let above = self.ancestors[at as usize];
            if self.semi[self.labels[above as usize] as usize]
                < self.semi[self.labels[at as usize] as usize]
            {
                self.labels[at as usize] = self.labels[above as usize];
            }
            self.ancestors[at as usize] = top;
        }
        self.labels[position as usize]
    }
}
