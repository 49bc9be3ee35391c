//! The objects of a heap dump and their references, in a few arrays.

use std::fmt;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// The kind of an object: the index of its class or array type in [`Graph::kind_name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind(pub u32);

impl Kind {
    /// Returns it as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The place of a reference in an object: a field, or an index of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(u32);

/// The bit that distinguishes array indices, which are smaller, from numbers of names.
const ELEMENT: u32 = 1 << 31;

impl Label {
    /// Returns the label of the element `index` of an array.
    pub fn element(index: u32) -> Label {
        Label(ELEMENT | index)
    }

    /// Returns the index, if it is an element of an array.
    pub fn index(self) -> Option<u32> {
        (self.0 & ELEMENT != 0).then_some(self.0 & !ELEMENT)
    }

    /// Returns a label that is the same for all elements of arrays, to sum up over objects.
    pub fn without_index(self) -> Label {
        if self.0 & ELEMENT != 0 { Label(ELEMENT) } else { self }
    }
}

/// A reason that keeps an object alive from outside the heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The object.
    pub object: u32,
    /// The reason in words: `system class`, `local variable`, ….
    pub reason: &'static str,
    /// The number of its thread; 0 if it has none.
    pub thread: u32,
}

/// The error that the objects are too many for 32-bit numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the heap dump has more than 4 thousand million objects")
    }
}

impl std::error::Error for TooLarge {}

/// Names, each once. Their numbers are their places.
type Names = IndexSet<String, FxBuildHasher>;

fn number(names: &mut Names, name: &str) -> u32 {
    names.get_index_of(name).unwrap_or_else(|| names.insert_full(name.to_owned()).0) as u32
}

/// Builds a graph from a heap dump, object by object.
#[derive(Debug, Default)]
pub struct Builder {
    ids: Vec<u64>,
    kinds: Vec<Kind>,
    sizes: Vec<u64>,
    /// The start of each object's references.
    first: Vec<usize>,
    references: Vec<u64>,
    labels: Vec<Label>,
    roots: Vec<(u64, &'static str, u32)>,
    /// Object -> its name, for objects that have one.
    names: FxHashMap<u32, String>,
    kind_names: Names,
    label_names: Names,
}

impl Builder {
    /// Returns the number of a class or array type.
    pub fn kind(&mut self, name: &str) -> Kind {
        Kind(number(&mut self.kind_names, name))
    }

    /// Returns the label of a field.
    pub fn label(&mut self, field: &str) -> Label {
        Label(number(&mut self.label_names, field))
    }

    /// Adds an object, to which the following references belong.
    pub fn object(&mut self, id: u64, kind: Kind, size: u64) {
        self.ids.push(id);
        self.kinds.push(kind);
        self.sizes.push(size);
        self.first.push(self.references.len());
    }

    /// Adds a reference of the last object. NULL is ignored.
    pub fn reference(&mut self, label: Label, to: u64) {
        if to != 0 {
            self.references.push(to);
            self.labels.push(label);
        }
    }

    /// Names the last object. The name of a Class object is that of its class.
    pub fn name(&mut self, name: &str) {
        if let Some(last) = self.ids.len().checked_sub(1) {
            self.names.insert(last as u32, name.to_owned());
        }
    }

    /// Adds a root, which keeps an object alive from outside the heap.
    pub fn root(&mut self, id: u64, reason: &'static str, thread: u32) {
        self.roots.push((id, reason, thread));
    }

    /// Returns the graph, without the references that `weak` selects and without those to objects missing
    /// in the dump. If several objects have the same ID, references lead to the first.
    pub fn finish(mut self, weak: impl Fn(Kind, Label) -> bool) -> Result<Graph, TooLarge> {
        if u32::try_from(self.ids.len()).is_err() {
            return Err(TooLarge);
        }
        let mut numbers = FxHashMap::default();
        numbers.reserve(self.ids.len());
        for (number, &id) in self.ids.iter().enumerate() {
            numbers.entry(id).or_insert(number as u32);
        }

        let mut to = Vec::with_capacity(self.references.len());
        let mut missing = 0;
        let mut kept = 0;
        for object in 0..self.ids.len() {
            let begin = self.first[object];
            let end = self.first.get(object + 1).copied().unwrap_or(self.references.len());
            self.first[object] = kept;
            for reference in begin..end {
                let label = self.labels[reference];
                if weak(self.kinds[object], label) {
                    continue;
                }
                match numbers.get(&self.references[reference]) {
                    Some(&target) => {
                        to.push(target);
                        self.labels[kept] = label;
                        kept += 1;
                    }
                    None => missing += 1,
                }
            }
        }
        self.first.push(kept);
        self.labels.truncate(kept);

        let roots = self
            .roots
            .into_iter()
            .filter_map(|(id, reason, thread)| Some((*numbers.get(&id)?, reason, thread)))
            .map(|(object, reason, thread)| Root { object, reason, thread });
        Ok(Graph {
            roots: roots.collect(),
            ids: self.ids,
            kinds: self.kinds,
            sizes: self.sizes,
            first: self.first,
            to,
            labels: self.labels,
            missing,
            names: self.names,
            kind_names: self.kind_names,
            label_names: self.label_names,
        })
    }
}

/// The objects of a dump and the references between them.
#[derive(Debug)]
pub struct Graph {
    ids: Vec<u64>,
    kinds: Vec<Kind>,
    sizes: Vec<u64>,
    first: Vec<usize>,
    to: Vec<u32>,
    labels: Vec<Label>,
    roots: Vec<Root>,
    missing: usize,
    names: FxHashMap<u32, String>,
    kind_names: Names,
    label_names: Names,
}

impl Graph {
    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns true if there are no objects.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the ID of an object in the dump.
    pub fn id(&self, object: u32) -> u64 {
        self.ids[object as usize]
    }

    /// Returns the kind of an object.
    pub fn kind(&self, object: u32) -> Kind {
        self.kinds[object as usize]
    }

    /// Returns the size of an object itself, in bytes.
    pub fn size(&self, object: u32) -> u64 {
        self.sizes[object as usize]
    }

    /// Returns the number of kinds.
    pub fn kinds(&self) -> usize {
        self.kind_names.len()
    }

    /// Returns the name of a class or array type.
    pub fn kind_name(&self, kind: Kind) -> &str {
        &self.kind_names[kind.index()]
    }

    /// Returns the name of an object, if it has one.
    pub fn name(&self, object: u32) -> Option<&str> {
        self.names.get(&object).map(String::as_str)
    }

    /// Returns a label in words: `name` of a field, `[3]` of an array.
    pub fn label_name(&self, label: Label) -> String {
        match label.index() {
            Some(index) => format!("[{index}]"),
            None => self.label_names[label.0 as usize].clone(),
        }
    }

    /// Returns the objects to which an object refers.
    pub fn successors(&self, object: u32) -> &[u32] {
        &self.to[self.first[object as usize]..self.first[object as usize + 1]]
    }

    /// Returns the references of an object: their places in it and their targets.
    pub fn references(&self, object: u32) -> impl Iterator<Item = (Label, u32)> + '_ {
        let range = self.first[object as usize]..self.first[object as usize + 1];
        self.labels[range.clone()].iter().copied().zip(self.to[range].iter().copied())
    }

    /// Returns the roots, which keep objects alive from outside the heap.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Returns the number of references to objects that the dump does not have.
    pub fn missing(&self) -> usize {
        self.missing
    }
}
