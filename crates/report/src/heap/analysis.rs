//! Retained sizes, of each object and of the objects of each class together.

use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::dominators::Dominators;
use super::graph::{Graph, Kind, Label};

/// The dominators of a graph and the sizes computed from them.
#[derive(Debug)]
pub struct Analysis {
    dominators: Dominators,
    /// Position -> bytes that would be freed with the object.
    retained: Vec<u64>,
    /// Position -> its first child in the dominator tree, and -> the next of the same parent; 0 is none.
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
}

/// The sums over the objects of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// The number of objects, reached by roots or not.
    pub objects: u64,
    /// The bytes of the objects themselves.
    pub shallow: u64,
    /// The bytes that its objects retain. Bytes that are retained by several of them count once.
    pub retained: u64,
}

/// An object in the part of the dominator tree that [`Analysis::largest`] chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retained {
    /// The object.
    pub object: u32,
    /// Its immediate dominator, as a smaller index of the same list; none if it is the root.
    pub dominator: Option<usize>,
    /// The bytes that it retains, including its own.
    pub retained: u64,
}

impl Analysis {
    /// Analyzes a graph.
    pub fn of(graph: &Graph) -> Analysis {
        let dominators = Dominators::of(graph);
        let count = dominators.count();
        let mut retained = vec![0; count];
        let mut first_child = vec![0; count];
        let mut next_sibling = vec![0; count];
        // From the end, because dominated objects come after their dominator.
        for position in (1..count).rev() {
            let dominator = dominators.dominator(position);
            retained[position] += graph.size(dominators.object(position));
            retained[dominator] += retained[position];
            next_sibling[position] = first_child[dominator];
            first_child[dominator] = position as u32;
        }
        Analysis { dominators, retained, first_child, next_sibling }
    }

    /// Returns the number of objects that roots reach.
    pub fn reached(&self) -> usize {
        self.dominators.count() - 1
    }

    /// Returns the number of bytes that roots keep alive.
    pub fn reached_bytes(&self) -> u64 {
        self.retained[0]
    }

    /// Returns true if a root reaches the object.
    pub fn reaches(&self, object: u32) -> bool {
        self.dominators.position(object).is_some()
    }

    /// Returns the bytes that an object retains; 0 if no root reaches it.
    pub fn retained(&self, object: u32) -> u64 {
        self.dominators.position(object).map_or(0, |position| self.retained[position])
    }

    /// Returns the immediate dominator of an object, if there is one.
    pub fn dominator(&self, object: u32) -> Option<u32> {
        let dominator = self.dominators.dominator(self.dominators.position(object)?);
        (dominator != 0).then(|| self.dominators.object(dominator))
    }

    /// Returns the objects that an object dominates immediately. `None` stands for the roots.
    pub fn dominated(&self, object: Option<u32>) -> impl Iterator<Item = u32> + '_ {
        let position = object.map_or(Some(0), |object| self.dominators.position(object));
        self.children(position).map(|child| self.dominators.object(child))
    }

    fn children(&self, position: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        let first = position.map_or(0, |position| self.first_child[position]);
        let child = |position: u32| (position != 0).then_some(position as usize);
        std::iter::successors(child(first), move |&at| child(self.next_sibling[at]))
    }

    /// Returns the sums over the objects of each kind.
    pub fn classes(&self, graph: &Graph) -> Vec<Class> {
        let mut classes = vec![Class::default(); graph.kinds()];
        for object in 0..graph.len() as u32 {
            let class = &mut classes[graph.kind(object).index()];
            class.objects += 1;
            class.shallow += graph.size(object);
        }
        // Walks the dominator tree. An object counts unless an object of the same class dominates it.
        let mut above = vec![0_u32; graph.kinds()];
        let mut position = 0;
        loop {
            if position != 0 {
                let kind = graph.kind(self.dominators.object(position)).index();
                if above[kind] == 0 {
                    classes[kind].retained += self.retained[position];
                }
                above[kind] += 1;
            }
            if self.first_child[position] != 0 {
                position = self.first_child[position] as usize;
                continue;
            }
            while position != 0 {
                above[graph.kind(self.dominators.object(position)).index()] -= 1;
                if self.next_sibling[position] != 0 {
                    position = self.next_sibling[position] as usize;
                    break;
                }
                position = self.dominators.dominator(position);
            }
            if position == 0 {
                return classes;
            }
        }
    }

    /// Returns the `count` objects that retain most, dominators before dominated objects.
    pub fn largest(&self, count: usize) -> Vec<Retained> {
        let mut chosen = Vec::new();
        // No object retains more than its dominator, so the search for the largest begins at the root.
        let mut candidates = BinaryHeap::new();
        let look_below = |candidates: &mut BinaryHeap<_>, position, dominator| {
            for child in self.children(Some(position)) {
                candidates.push((self.retained[child], std::cmp::Reverse(child), dominator));
            }
        };
        look_below(&mut candidates, 0, None);
        while chosen.len() < count {
            let Some((retained, std::cmp::Reverse(position), dominator)) = candidates.pop() else {
                break;
            };
            let object = self.dominators.object(position);
            look_below(&mut candidates, position, Some(chosen.len()));
            chosen.push(Retained { object, dominator, retained });
        }
        chosen
    }

    /// Returns the `count` objects of each kind that retain most, largest first.
    pub fn largest_of_each(&self, graph: &Graph, count: usize) -> Vec<Vec<u32>> {
        let mut largest: Vec<BinaryHeap<_>> = vec![BinaryHeap::new(); graph.kinds()];
        for position in 1..self.dominators.count() {
            let object = self.dominators.object(position);
            let heap = &mut largest[graph.kind(object).index()];
            let entry = std::cmp::Reverse((self.retained[position], std::cmp::Reverse(object)));
            if heap.len() < count {
                heap.push(entry);
            } else if heap.peek().is_some_and(|least| entry < *least) {
                heap.pop();
                heap.push(entry);
            }
        }
        let sorted = |heap: BinaryHeap<std::cmp::Reverse<(u64, std::cmp::Reverse<u32>)>>| {
            let objects = heap.into_sorted_vec().into_iter();
            objects.map(|entry| entry.0.1.0).collect()
        };
        largest.into_iter().map(sorted).collect()
    }
}

/// A field, or the elements of arrays, whose references lead to the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Referrer {
    /// The kind of the objects that contain the reference.
    pub kind: Kind,
    /// The object that contains the reference, if it has a name: the class of a static field.
    pub object: Option<u32>,
    /// The field.
    pub label: Label,
}

/// Returns for each kind the most frequent referrers to its objects, at most `count`, with their numbers of
/// references.
pub fn referrers(graph: &Graph, count: usize) -> Vec<Vec<(Referrer, u64)>> {
    let mut references: FxHashMap<(Kind, Referrer), u64> = FxHashMap::default();
    for object in 0..graph.len() as u32 {
        let kind = graph.kind(object);
        let named = graph.name(object).map(|_| object);
        for (label, to) in graph.references(object) {
            let from = Referrer { kind, object: named, label: label.without_index() };
            *references.entry((graph.kind(to), from)).or_default() += 1;
        }
    }
    let mut of_kinds = vec![Vec::new(); graph.kinds()];
    for ((to, from), number) in references {
        of_kinds[to.index()].push((from, number));
    }
    for referrers in &mut of_kinds {
        referrers.sort_unstable_by_key(|&(from, number)| (std::cmp::Reverse(number), from));
        referrers.truncate(count);
    }
    of_kinds
}
