//! The part of a heap that is on the page: all classes, the objects that retain most, and their paths from roots.

use jvmpi_formats::profile::ThreadSerial;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::shared::{NONE, Shared};
use crate::heap::{Analysis, Graph, Kind, Path, Paths, Step, referrers};

/// The number of objects of the dominator tree that are shown.
const TREE: usize = 2000;
/// The number of classes with shown objects, by retained size, and the number of objects shown of each.
const CLASSES: usize = 200;
const OBJECTS: usize = 5;
/// The number of kinds of fields shown as referrers of a class.
const REFERRERS: usize = 8;
/// The number of classes listed of the objects left out below an object.
const REST: usize = 3;
/// A heap as it is on the page.
#[derive(Serialize)]
pub(super) struct Heap {
    objects: usize,
    bytes: u64,
    reached: usize,
    reached_bytes: u64,
    missing: usize,
    roots: usize,
    classes: Classes,
    shown: Objects,
    /// The objects that are left out among those without a dominator.
    rest: Rest,
}

#[derive(Default, Serialize)]
struct Classes {
    name: Vec<u32>,
    objects: Vec<u64>,
    shallow: Vec<u64>,
    retained: Vec<u64>,
    /// The shown objects that retain most.
    largest: Vec<Vec<usize>>,
    /// The referrers of each class: their class; the name of the class itself for a static field; the field; the
    /// number of references.
    referrers: Vec<Vec<(usize, i32, u32, u64)>>,
}

#[derive(Default, Serialize)]
struct Objects {
    /// In hexadecimal digits, because an ID may have more bits than JavaScript's numbers.
    id: Vec<String>,
    class: Vec<usize>,
    /// For a Class object, the name of its class.
    name: Vec<i32>,
    size: Vec<u64>,
    retained: Vec<u64>,
    /// The number of objects that it dominates immediately.
    dominated: Vec<usize>,
    /// The index of its dominator, or −1 if only roots dominate it. Only the largest objects of the dominator
    /// tree, which come first, have entries.
    dominator: Vec<i32>,
    /// For each object of the tree, the objects left out below it.
    rest: Vec<Rest>,
    /// The object before it on the path from a root, or −1 for a root's object; the referring field of that
    /// object; and the number of objects left out between the two.
    before: Vec<i32>,
    by: Vec<i32>,
    left_out: Vec<u32>,
    /// The reason and the thread of each root's object.
    roots: FxHashMap<usize, (&'static str, i32)>,
}

/// Classes, the number of objects of each, and the bytes that they retain.
type Rest = Vec<(usize, u64, u64)>;

impl Heap {
    pub(super) fn of(shared: &mut Shared, number: usize, graph: &Graph) -> Heap {
        let analysis = Analysis::of(graph);
        let classes = analysis.classes(graph);
        // Kinds without objects are only names, such as of superclasses.
        let mut rows: Vec<Kind> = (0..graph.kinds() as u32).map(Kind).collect();
        rows.retain(|kind| classes[kind.index()].objects > 0);
        rows.sort_by_key(|kind| std::cmp::Reverse(classes[kind.index()].retained));
        let mut row_of = vec![usize::MAX; graph.kinds()];
        for (row, kind) in rows.iter().enumerate() {
            row_of[kind.index()] = row;
        }

        let mut shown = Shown {
            shared,
            number,
            graph,
            analysis,
            row_of,
            objects: Objects::default(),
            index: FxHashMap::default(),
            numbers: Vec::new(),
        };
        let rest = shown.tree();
        let largest = shown.analysis.largest_of_each(graph, OBJECTS);
        let referrers = referrers(graph, REFERRERS);
        let mut table = Classes::default();
        for (row, kind) in rows.iter().enumerate() {
            let class = &classes[kind.index()];
            table.name.push(shown.shared.strings.number(graph.kind_name(*kind)));
            table.objects.push(class.objects);
            table.shallow.push(class.shallow);
            table.retained.push(class.retained);
            let largest = if row < CLASSES { &largest[kind.index()][..] } else { &[] };
            table.largest.push(largest.iter().map(|&object| shown.object(object)).collect());
            let referrers = referrers[kind.index()].iter().map(|&(from, count)| {
                let label = match from.label.index() {
                    Some(_) => "[…]".to_owned(),
                    None => graph.label_name(from.label),
                };
                let strings = &mut shown.shared.strings;
                let class = from.object.and_then(|object| graph.name(object));
                let class = class.map_or(NONE, |class| strings.number(class).cast_signed());
                (shown.row_of[from.kind.index()], class, strings.number(&label), count)
            });
            table.referrers.push(referrers.collect());
        }
        shown.paths();
        Heap {
            objects: graph.len(),
            bytes: classes.iter().map(|class| class.shallow).sum(),
            reached: shown.analysis.reached(),
            reached_bytes: shown.analysis.reached_bytes(),
            missing: graph.missing(),
            roots: graph.roots().len(),
            classes: table,
            shown: shown.objects,
            rest,
        }
    }
}

/// The shown objects while they are collected.
struct Shown<'s, 'g> {
    shared: &'s mut Shared,
    number: usize,
    graph: &'g Graph,
    analysis: Analysis,
    /// Kind -> row of the classes.
    row_of: Vec<usize>,
    objects: Objects,
    /// Object -> index, and index -> object.
    index: FxHashMap<u32, usize>,
    numbers: Vec<u32>,
}

impl Shown<'_, '_> {
    /// Returns the index of an object, which is added to the shown ones.
    fn object(&mut self, object: u32) -> usize {
        let next = self.numbers.len();
        let index = *self.index.entry(object).or_insert(next);
        if index == next {
            let name = self.graph.name(object).map(|name| self.shared.strings.number(name));
            self.numbers.push(object);
            self.objects.id.push(format!("{:x}", self.graph.id(object)));
            self.objects.class.push(self.row_of[self.graph.kind(object).index()]);
            self.objects.name.push(name.map_or(NONE, u32::cast_signed));
            self.objects.size.push(self.graph.size(object));
            self.objects.retained.push(self.analysis.retained(object));
            self.objects.dominated.push(self.analysis.dominated(Some(object)).count());
            self.objects.before.push(NONE);
            self.objects.by.push(NONE);
            self.objects.left_out.push(0);
        }
        index
    }

    /// Adds the top of the dominator tree. Returns the objects left out at the root.
    fn tree(&mut self) -> Rest {
        let largest = self.analysis.largest(TREE);
        for object in &largest {
            self.object(object.object);
            let dominator = object.dominator.map_or(NONE, |dominator| dominator as i32);
            self.objects.dominator.push(dominator);
        }
        for object in &largest {
            let rest = self.rest(Some(object.object));
            self.objects.rest.push(rest);
        }
        self.rest(None)
    }

    fn rest(&self, object: Option<u32>) -> Rest {
        let mut classes: FxHashMap<usize, (u64, u64)> = FxHashMap::default();
        for object in self.analysis.dominated(object) {
            if !self.index.contains_key(&object) {
                let class = self.row_of[self.graph.kind(object).index()];
                let (objects, retained) = classes.entry(class).or_default();
                *objects += 1;
                *retained += self.analysis.retained(object);
            }
        }
        let mut rest: Rest = classes
            .into_iter()
            .map(|(class, (objects, retained))| (class, objects, retained))
            .collect();
        rest.sort_unstable_by_key(|&(class, _, retained)| (std::cmp::Reverse(retained), class));
        rest.truncate(REST);
        rest
    }

    /// Adds the path of each shown object, and the objects on it.
    fn paths(&mut self) {
        let paths = Paths::through(self.graph);
        // Objects added here are on these paths themselves.
        for index in 0..self.numbers.len() {
            let Some(Path { root, steps }) = paths.to(self.numbers[index]) else { continue };
            let mut before = None;
            for step in steps {
                let index = self.object(step.object);
                match before {
                    Some(before) => self.reached(index, before, step),
                    None => self.is_root(index, root),
                }
                before = Some(index);
            }
        }
    }

    /// Records the step by which an object is reached. The first path with the object is sufficient.
    fn reached(&mut self, index: usize, before: usize, step: Step) {
        if self.objects.before[index] == NONE {
            let by = step.by.map(|label| self.graph.label_name(label));
            let by = by.map(|field| self.shared.strings.number(&field));
            self.objects.before[index] = before as i32;
            self.objects.by[index] = by.map_or(NONE, u32::cast_signed);
            self.objects.left_out[index] = step.left_out;
        }
    }

    fn is_root(&mut self, index: usize, root: usize) {
        let root = &self.graph.roots()[root];
        let thread = self.shared.threads.index(self.number, ThreadSerial(root.thread));
        self.objects.roots.insert(index, (root.reason, thread));
    }
}
