//! The objects of a heap dump and their references, in a few arrays.

use jvmpi_formats::profile::{NameId, Names};
use rustc_hash::FxHashMap;

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

/// Builds a graph from a heap dump, object by object.
#[derive(Debug, Default)]
pub struct Builder {
    /// The graph, as yet without roots and without the targets of references.
    graph: Graph,
    /// The IDs of the targets.
    references: Vec<u64>,
    /// The ID of each root's object, the reason and the thread.
    roots: Vec<(u64, &'static str, u32)>,
}

impl Builder {
    /// Returns the number of a class or array type.
    pub fn kind(&mut self, name: &str) -> Kind {
        Kind(self.graph.kind_names.intern(name).0)
    }

    /// Returns the label of a field.
    pub fn label(&mut self, field: &str) -> Label {
        Label(self.graph.label_names.intern(field).0)
    }

    /// Adds an object, to which the following references belong.
    pub fn object(&mut self, id: u64, kind: Kind, size: u64) {
        self.graph.ids.push(id);
        self.graph.kinds.push(kind);
        self.graph.sizes.push(size);
        self.graph.first.push(self.references.len());
    }

    /// Adds a reference of the last object. NULL is ignored.
    pub fn reference(&mut self, label: Label, to: u64) {
        if to != 0 {
            self.references.push(to);
            self.graph.labels.push(label);
        }
    }

    /// Names the last object. The name of a Class object is that of its class.
    pub fn name(&mut self, name: &str) {
        if let Some(last) = self.graph.len().checked_sub(1) {
            self.graph.names.insert(last as u32, name.to_owned());
        }
    }

    /// Adds a root, which keeps an object alive from outside the heap.
    pub fn root(&mut self, id: u64, reason: &'static str, thread: u32) {
        self.roots.push((id, reason, thread));
    }

    /// Returns the graph, without the references that `weak` selects and without those to objects missing
    /// in the dump. If several objects have the same ID, references lead to the first.
    ///
    /// # Errors
    /// Returns a line if the objects are too many for 32-bit numbers.
    pub fn finish(self, weak: impl Fn(Kind, Label) -> bool) -> Result<Graph, String> {
        let Self { mut graph, references, roots } = self;
        if u32::try_from(graph.len()).is_err() {
            return Err("the heap dump has more than 4 thousand million objects".into());
        }
        let mut numbers = FxHashMap::default();
        numbers.reserve(graph.len());
        for (number, &id) in graph.ids.iter().enumerate() {
            numbers.entry(id).or_insert(number as u32);
        }

        graph.to.reserve(references.len());
        for object in 0..graph.len() {
            let begin = graph.first[object];
            let end = graph.first.get(object + 1).copied().unwrap_or(references.len());
            graph.first[object] = graph.to.len();
            for (place, to) in (begin..end).zip(&references[begin..end]) {
                let label = graph.labels[place];
                if weak(graph.kinds[object], label) {
                    continue;
                }
                match numbers.get(to) {
                    Some(&target) => {
                        graph.labels[graph.to.len()] = label;
                        graph.to.push(target);
                    }
                    None => graph.missing += 1,
                }
            }
        }
        graph.first.push(graph.to.len());
        graph.labels.truncate(graph.to.len());

        let roots = roots
            .into_iter()
            .filter_map(|(id, reason, thread)| Some((*numbers.get(&id)?, reason, thread)))
            .map(|(object, reason, thread)| Root { object, reason, thread });
        graph.roots = roots.collect();
        Ok(graph)
    }
}

/// The objects of a dump and the references between them.
#[derive(Debug, Default)]
pub struct Graph {
    ids: Vec<u64>,
    kinds: Vec<Kind>,
    sizes: Vec<u64>,
    /// The start of each object's references.
    first: Vec<usize>,
    to: Vec<u32>,
    labels: Vec<Label>,
    roots: Vec<Root>,
    missing: usize,
    /// Object -> its name, for objects that have one.
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
        self.kind_names.get(NameId(kind.0))
    }

    /// Returns the name of an object, if it has one.
    pub fn name(&self, object: u32) -> Option<&str> {
        self.names.get(&object).map(String::as_str)
    }

    /// Returns a label in words: `name` of a field, `[3]` of an array.
    pub fn label_name(&self, label: Label) -> String {
        match label.index() {
            Some(index) => format!("[{index}]"),
            None => self.label_names.get(NameId(label.0)).to_owned(),
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
