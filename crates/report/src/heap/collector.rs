//! The conversion of the records of a dump to a graph.

use jvmpi_formats::profile::heap::{Class, Record, Root, RootKind, type_name};
use jvmpi_formats::profile::{Error, File, HeapDump, ObjectId, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::graph::{Builder, Graph, Kind, Label};

/// Returns the graph of a file's heap dump. If reading fails, the graph has the records up to there.
pub fn read(file: &File, dump: &HeapDump) -> Result<(Graph, Option<Error>), String> {
    let mut collector = Collector::default();
    let read = file.heap(dump).records(|record| {
        collector.record(record);
        Ok(())
    });
    Ok((collector.finish()?, read.err()))
}

/// Takes the records of a heap dump in the order of the file.
///
/// Sizes are those of the dump: binary dumps omit what the VM adds to the fields. No dump has the sizes of
/// classes, which count as 0. Classes of the same name count together.
#[derive(Debug)]
pub struct Collector {
    builder: Builder,
    /// The kind of the instances of each class, and its superclass.
    classes: FxHashMap<ObjectId, (Kind, ObjectId)>,
    class: Kind,
    to_class: Label,
}

impl Default for Collector {
    fn default() -> Collector {
        let mut builder = Builder::default();
        let class = builder.kind("java.lang.Class");
        let to_class = builder.label("<class>");
        Collector { builder, classes: FxHashMap::default(), class, to_class }
    }
}

impl Collector {
    /// Adds a record.
    pub fn record(&mut self, record: &Record<'_>) {
        match record {
            Record::Root(root) => self.root(root),
            Record::Class(class) => self.class(class),
            Record::Instance(instance) => {
                let kind = self.builder.kind(or_unknown(instance.class_name));
                self.builder.object(instance.id.0, kind, instance.size);
            }
            Record::Objects(array) => {
                let kind = self.builder.kind(&array.type_name());
                self.builder.object(array.id.0, kind, array.size);
            }
            Record::Primitives(array) => {
                let kind = self.builder.kind(&type_name(array.of_type.array_name()));
                self.builder.object(array.id.0, kind, array.size);
            }
        }
        references(record, |slot, to| {
            let label = match slot {
                Slot::ClassOf => self.to_class,
                Slot::Field(name) => self.builder.label(name),
                Slot::Element(index) => Label::element(index),
            };
            self.builder.reference(label, to.0);
        });
    }

    fn root(&mut self, root: &Root<'_>) {
        let (reason, thread) = match root.kind {
            RootKind::Unknown => ("VM", 0),
            RootKind::JniGlobal { .. } => ("JNI global reference", 0),
            RootKind::JniLocal(place) => ("JNI local reference", place.thread.0),
            RootKind::JavaFrame(place) => ("local variable", place.thread.0),
            RootKind::NativeStack(thread) => ("native stack", thread.0),
            RootKind::StickyClass { .. } => ("system class", 0),
            RootKind::ThreadBlock(thread) => ("what a thread waits in", thread.0),
            RootKind::MonitorUsed => ("monitor in use", 0),
            RootKind::ThreadObject { thread, .. } => ("live thread", thread.0),
        };
        self.builder.root(root.object.0, reason, thread);
    }

    fn class(&mut self, class: &Class<'_>) {
        let name = or_unknown(class.name);
        let kind = self.builder.kind(name);
        self.classes.insert(class.id, (kind, class.superclass));
        self.builder.object(class.id.0, self.class, 0);
        self.builder.name(&type_name(name));
    }

    /// Returns the graph, in which weak and phantom references keep nothing alive.
    pub fn finish(mut self) -> Result<Graph, String> {
        let referent = self.builder.label("referent");
        let weak = self.weak_kinds();
        self.builder.finish(|kind, label| label == referent && weak.contains(&kind))
    }

    /// Returns the classes whose `referent` is not kept alive, and their subclasses.
    fn weak_kinds(&mut self) -> FxHashSet<Kind> {
        let weak = ["java.lang.ref.WeakReference", "java.lang.ref.PhantomReference"];
        let mut weak: Vec<Kind> = weak.map(|name| self.builder.kind(name)).into();
        let mut below: FxHashMap<Kind, Vec<Kind>> = FxHashMap::default();
        for &(kind, above) in self.classes.values() {
            if let Some((above, _)) = self.classes.get(&above) {
                below.entry(*above).or_default().push(kind);
            }
        }
        let mut found: FxHashSet<Kind> = weak.iter().copied().collect();
        while let Some(above) = weak.pop() {
            let new = below.remove(&above).unwrap_or_default().into_iter();
            weak.extend(new.filter(|kind| found.insert(*kind)));
        }
        found
    }
}

/// The place of a reference in an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot<'a> {
    /// The class of an instance or of an array.
    ClassOf,
    /// A field; of a class also its loader and the like, with a name in angle brackets.
    Field(&'a str),
    /// An element of an array.
    Element(u32),
}

/// Passes the references of the object of a record that are not NULL, with their places in it.
pub fn references<'a>(record: &Record<'a>, mut each: impl FnMut(Slot<'a>, ObjectId)) {
    let mut pass = |slot, to| {
        if to != ObjectId(0) {
            each(slot, to);
        }
    };
    match record {
        Record::Root(_) | Record::Primitives(_) => {}
        Record::Class(class) => {
            for (name, to) in [
                ("<super>", class.superclass),
                ("<loader>", class.loader),
                ("<signers>", class.signers),
                ("<protection domain>", class.protection_domain),
            ] {
                pass(Slot::Field(name), to);
            }
            let constants = class.constants.iter();
            let constants = constants.map(|constant| ("<constant pool>", constant.value));
            let statics = class.statics.iter().map(|field| (field.name, field.value));
            for (name, value) in constants.chain(statics) {
                if let Value::Reference(to) = value {
                    pass(Slot::Field(name), to);
                }
            }
        }
        Record::Instance(instance) => {
            pass(Slot::ClassOf, instance.class);
            for field in instance.fields {
                if let Value::Reference(to) = field.value {
                    pass(Slot::Field(field.name), to);
                }
            }
        }
        Record::Objects(array) => {
            let class = match array.array_class {
                ObjectId(0) => array.class,
                class => class,
            };
            pass(Slot::ClassOf, class);
            for (index, element) in array.elements.iter() {
                pass(Slot::Element(index), element);
            }
        }
    }
}

/// Returns the name of a class, or a text that says that the dump has no name.
pub fn or_unknown(name: &str) -> &str {
    if name.is_empty() { "<Unknown>" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chain is so long that a search of all classes at each level would not end.
    #[test]
    fn weak_classes_are_found_at_the_end_of_a_long_chain() {
        const LENGTH: u64 = 300_000;
        let mut collector = Collector::default();
        let mut add = |id: u64, name: &str, above: u64| {
            let kind = collector.builder.kind(name);
            collector.classes.insert(ObjectId(id), (kind, ObjectId(above)));
            kind
        };
        add(1, "java.lang.ref.WeakReference", 0);
        let last = (2..LENGTH).map(|id| add(id, &format!("C{id}"), id - 1)).last();
        let other = add(LENGTH, "Other", 0);
        // In a broken file, each class may be the superclass of the other.
        add(LENGTH + 1, "One", LENGTH + 2);
        add(LENGTH + 2, "Two", LENGTH + 1);
        let weak = collector.weak_kinds();
        assert!(last.is_some_and(|last| weak.contains(&last)) && !weak.contains(&other));
        // No class in the dump is a phantom reference.
        assert_eq!(weak.len() as u64, LENGTH);
    }
}
