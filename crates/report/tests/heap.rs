//! The heap's analysis compared with its definitions, on graphs small enough for brute force.

use jvmpi_formats::profile::heap::{
    Class, Elements, Field, Instance, Objects, Primitives, Record, Root, RootKind,
};
use jvmpi_formats::profile::{self, ObjectId, ThreadSerial, TraceSerial, Type, Value};
use jvmpi_report::heap::{Analysis, Builder, Collector, Graph, Kind, Path, Paths};
use proptest::collection::vec;
use proptest::prelude::*;
use std::iter::successors;

/// A heap: for each object its kind, its size and the objects that it refers to; and the roots.
#[derive(Clone, Debug)]
struct Heap {
    objects: Vec<(u8, u64, Vec<usize>)>,
    roots: Vec<usize>,
}

const KINDS: u8 = 3;

fn heap() -> impl Strategy<Value = Heap> {
    (1_usize..14).prop_flat_map(|count| {
        let object = (0..KINDS, 1_u64..100, vec(0..count, 0..4));
        (vec(object, count), vec(0..count, 0..4))
            .prop_map(|(objects, roots)| Heap { objects, roots })
    })
}

impl Heap {
    fn id(object: usize) -> u64 {
        0x1000 + 16 * object as u64
    }

    fn graph(&self) -> Graph {
        let mut builder = Builder::default();
        for (number, (kind, size, references)) in self.objects.iter().enumerate() {
            let kind = builder.kind(&format!("K{kind}"));
            builder.object(Heap::id(number), kind, *size);
            for (index, &to) in references.iter().enumerate() {
                let label = builder.label(&format!("f{index}"));
                builder.reference(label, Heap::id(to));
            }
        }
        for &root in &self.roots {
            builder.root(Heap::id(root), "VM", 0);
        }
        builder.finish(|_, _| false).expect("a small graph")
    }

    /// Returns for each object its distance from a root if `without` does not exist.
    fn distances(&self, without: Option<usize>) -> Vec<Option<usize>> {
        let mut distances = vec![None; self.objects.len()];
        let mut now: Vec<usize> = self.roots.clone();
        let mut distance = 0;
        while !now.is_empty() {
            let mut next = Vec::new();
            for object in now {
                if Some(object) != without && distances[object].is_none() {
                    distances[object] = Some(distance);
                    next.extend(&self.objects[object].2);
                }
            }
            now = next;
            distance += 1;
        }
        distances
    }

    /// Returns for each object true if it would be freed with `dominator`, including `dominator`
    /// itself.
    fn dominated_by(&self, dominator: usize) -> Vec<bool> {
        let with = self.distances(None);
        let without = self.distances(Some(dominator));
        with.iter()
            .zip(without)
            .map(|(with, without)| with.is_some() && without.is_none())
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn an_object_retains_what_would_be_freed_with_it(heap in heap()) {
        let graph = heap.graph();
        let analysis = Analysis::of(&graph);
        let size = |objects: Vec<bool>| -> u64 {
            (0..objects.len()).filter(|&object| objects[object]).map(|object| heap.objects[object].1).sum()
        };
        for object in 0..heap.objects.len() {
            prop_assert_eq!(analysis.retained(object as u32), size(heap.dominated_by(object)));
            for above in successors(analysis.dominator(object as u32), |&at| analysis.dominator(at)) {
                prop_assert!(heap.dominated_by(above as usize)[object]);
            }
        }
        let reached: Vec<bool> = heap.distances(None).iter().map(Option::is_some).collect();
        prop_assert_eq!(analysis.reached(), reached.iter().filter(|&&reached| reached).count());
        prop_assert_eq!(analysis.reached_bytes(), size(reached));
    }

    #[test]
    fn a_class_retains_what_its_objects_dominate(heap in heap()) {
        let graph = heap.graph();
        let classes = Analysis::of(&graph).classes(&graph);
        for (number, class) in classes.iter().enumerate() {
            let kind = graph.kind_name(Kind(number as u32)).to_owned();
            let of_class = |object: &usize| format!("K{}", heap.objects[*object].0) == kind;
            let objects: Vec<usize> = (0..heap.objects.len()).filter(of_class).collect();
            prop_assert_eq!(class.objects, objects.len() as u64);
            prop_assert_eq!(class.shallow, objects.iter().map(|&object| heap.objects[object].1).sum::<u64>());
            let retained: u64 = (0..heap.objects.len())
                .filter(|&object| objects.iter().any(|&dominator| heap.dominated_by(dominator)[object]))
                .map(|object| heap.objects[object].1)
                .sum();
            prop_assert_eq!(class.retained, retained);
        }
    }

    #[test]
    fn the_largest_are_a_part_of_the_dominator_tree(heap in heap(), count in 0_usize..16) {
        let graph = heap.graph();
        let analysis = Analysis::of(&graph);
        let mut all: Vec<u64> = (0..graph.len() as u32).map(|object| analysis.retained(object)).collect();
        all.sort_unstable();
        let expected: Vec<u64> =
            all.into_iter().rev().filter(|&retained| retained > 0).take(count).collect();
        let largest = analysis.largest(count);
        prop_assert_eq!(largest.iter().map(|object| object.retained).collect::<Vec<_>>(), expected);
        for (index, object) in largest.iter().enumerate() {
            let dominator = object.dominator.map(|index| largest[index].object);
            prop_assert!(object.dominator.is_none_or(|dominator| dominator < index));
            prop_assert_eq!(dominator, analysis.dominator(object.object));
            prop_assert!(analysis.dominated(dominator).any(|child| child == object.object));
        }
        for (kind, objects) in analysis.largest_of_each(&graph, count).iter().enumerate() {
            let mut all: Vec<u64> = (0..graph.len() as u32)
                .filter(|&object| graph.kind(object).index() == kind)
                .map(|object| analysis.retained(object))
                .filter(|&retained| retained > 0)
                .collect();
            all.sort_unstable_by(|a, b| b.cmp(a));
            all.truncate(count);
            prop_assert_eq!(objects.iter().map(|&object| analysis.retained(object)).collect::<Vec<_>>(), all);
        }
    }

    #[test]
    fn paths_are_shortest_and_follow_references(heap in heap()) {
        let graph = heap.graph();
        let paths = Paths::through(&graph);
        for (object, distance) in heap.distances(None).into_iter().enumerate() {
            let path = paths.to(object as u32);
            let length = |path: &Path| {
                path.steps.iter().map(|step| 1 + step.left_out as usize).sum::<usize>() - 1
            };
            prop_assert_eq!(path.as_ref().map(length), distance);
            let Some(path) = path else { continue };
            prop_assert_eq!(graph.roots()[path.root].object, path.steps[0].object);
            prop_assert_eq!(path.steps.last().map(|step| step.object), Some(object as u32));
            for pair in path.steps.windows(2) {
                let by = pair[1].by.expect("only the first is a root's");
                prop_assert!(graph.references(pair[0].object).any(|reference| reference == (by, pair[1].object)));
            }
        }
    }
}

/// The path through a list of a million objects has a million steps, so the analysis must not recurse
/// or take quadratic time.
#[test]
fn a_list_is_no_longer_than_the_stack() {
    let count = 1_000_000_usize;
    let heap = Heap {
        objects: (0..count)
            .map(|object| {
                let neighbours =
                    [object + 1, object.wrapping_sub(1)].into_iter().filter(|&other| other < count);
                (0, 1, neighbours.collect())
            })
            .collect(),
        roots: vec![0],
    };
    let graph = heap.graph();
    let analysis = Analysis::of(&graph);
    assert_eq!(analysis.retained(0), count as u64);
    assert_eq!(analysis.retained(count as u32 - 1), 1);
    assert_eq!(analysis.classes(&graph)[graph.kind(0).index()].retained, count as u64);
    // The path consists of its two ends.
    let path = Paths::through(&graph).to(count as u32 - 1).expect("it is reached");
    assert_eq!(path.steps.len(), 32);
    assert_eq!(path.steps[8].left_out, count as u32 - 32);
    let whole = Paths::through(&graph).to(31).expect("it is reached");
    assert!(whole.steps.iter().map(|step| step.object).eq(0..32));
}

#[test]
fn weak_reference_is_no_path() {
    let mut builder = Builder::default();
    let reference = builder.kind("WeakReference");
    let other = builder.kind("Other");
    let referent = builder.label("referent");
    let queue = builder.label("queue");
    builder.object(1, reference, 10);
    builder.reference(referent, 2);
    builder.reference(queue, 3);
    builder.reference(queue, 99);
    builder.object(2, other, 20);
    builder.object(3, other, 30);
    builder.object(3, other, 40);
    builder.root(1, "JNI global reference", 0);
    builder.root(98, "JNI global reference", 0);
    let graph = builder.finish(|kind, label| kind == reference && label == referent).unwrap();
    assert_eq!(graph.missing(), 1);
    let analysis = Analysis::of(&graph);
    assert_eq!((analysis.reached(), analysis.reached_bytes()), (2, 40));
    assert_eq!(analysis.retained(1), 0);
}

#[test]
fn records_become_objects_and_references() {
    let mut collector = Collector::default();
    let mut record = |record: Record<'_>| collector.record(&record);
    let id = ObjectId;
    // The superclass comes after its subclass.
    record(Record::Class(Class {
        id: id(0x30),
        name: "app.Weaker",
        superclass: id(0x20),
        loader: id(1),
        statics: &[Field { name: "cache", value: Value::Reference(id(2)) }],
        ..Class::default()
    }));
    record(Record::Class(Class {
        id: id(0x20),
        name: "app.Weak",
        superclass: id(0x10),
        ..Class::default()
    }));
    record(Record::Class(Class {
        id: id(0x10),
        name: "java.lang.ref.WeakReference",
        ..Class::default()
    }));
    record(Record::Root(Root {
        object: id(9),
        kind: RootKind::JniLocal(profile::heap::Place { thread: ThreadSerial(7), frame: None }),
    }));
    record(Record::Instance(Instance {
        id: id(9),
        class: id(0x30),
        class_name: "app.Weaker",
        size: 8,
        fields: &[
            Field { name: "referent", value: Value::Reference(id(1)) },
            Field { name: "count", value: Value::Long(2) },
            Field { name: "next", value: Value::Reference(id(0)) },
        ],
        ..Instance::default()
    }));
    let array = |array, class_name, elements| {
        Record::Objects(Objects {
            id: id(array),
            trace: TraceSerial(0),
            class: id(0),
            class_name,
            array_class: id(0),
            size: 4,
            elements,
        })
    };
    record(array(1, "[Lapp.Row;", Elements::All(&[])));
    record(array(2, "app.Row", Elements::All(&[id(0), id(3)])));
    record(Record::Primitives(Primitives {
        id: id(3),
        trace: TraceSerial(0),
        of_type: Type::Int,
        size: 12,
        length: 3,
        values: &[],
    }));
    let graph = collector.finish().unwrap();

    let described: Vec<String> = (0..graph.len() as u32)
        .map(|object| {
            let references = graph
                .references(object)
                .map(|(label, to)| format!(" {}={:x}", graph.label_name(label), graph.id(to)));
            let kind = graph.name(object).unwrap_or(graph.kind_name(graph.kind(object)));
            format!("{:x} {kind}{}", graph.id(object), references.collect::<String>())
        })
        .collect();
    assert_eq!(
        described,
        [
            "30 app.Weaker <super>=20 <loader>=1 cache=2",
            "20 app.Weak <super>=10",
            "10 java.lang.ref.WeakReference",
            "9 app.Weaker <class>=30",
            "1 app.Row[][]",
            "2 app.Row[] [1]=3",
            "3 int[]",
        ]
    );
    assert_eq!((graph.roots()[0].reason, graph.roots()[0].thread), ("JNI local reference", 7));
    let class = Analysis::of(&graph).classes(&graph);
    assert_eq!(class[graph.kind(5).index()].objects, 1);
}
