//! Checks that readers return what writers wrote, and that no input makes a reader panic.

use std::collections::HashMap;

use jvmpi_formats::dump::{
    Buffer, Class, Classes, Constant, Frame, HeapWriter, ID, Id, Kind, Level, List, Listed,
    Monitor, Monitors, Record, Records, Root, Shape, Type, Value, write_monitor,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The classes of a test, as CLASS_LOAD would describe them.
#[derive(Default)]
struct Known(HashMap<Id, (usize, Vec<Type>)>);

impl Classes for Known {
    fn shape(&self, class: Id) -> Option<Shape<'_>> {
        self.0.get(&class).map(|(interfaces, statics)| Shape { interfaces: *interfaces, statics })
    }
}

/// Describes every class with the same shape.
struct All(usize, Vec<Type>);

impl Classes for All {
    fn shape(&self, _: Id) -> Option<Shape<'_>> {
        Some(Shape { interfaces: self.0, statics: &self.1 })
    }
}

/// A record that owns its parts.
#[derive(Clone, Debug)]
enum Owned {
    Root(Root),
    Class { class: Class<'static>, statics: Vec<Value> },
    Instance { id: Id, class: Id, values: Vec<Value> },
    Objects { id: Id, class: Id, elements: Vec<Id> },
    Primitives { id: Id, of_type: Type, elements: Vec<Value> },
}

fn value_of(of_type: Type) -> BoxedStrategy<Value> {
    match of_type {
        Type::Reference => any::<Id>().prop_map(Value::Reference).boxed(),
        Type::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        Type::Char => any::<u16>().prop_map(Value::Char).boxed(),
        Type::Float => any::<f32>().prop_map(Value::Float).boxed(),
        Type::Double => any::<f64>().prop_map(Value::Double).boxed(),
        Type::Byte => any::<i8>().prop_map(Value::Byte).boxed(),
        Type::Short => any::<i16>().prop_map(Value::Short).boxed(),
        Type::Int => any::<i32>().prop_map(Value::Int).boxed(),
        Type::Long => any::<i64>().prop_map(Value::Long).boxed(),
    }
}

fn of_type() -> impl Strategy<Value = Type> {
    select(&Type::ALL[..])
}

fn values() -> impl Strategy<Value = Vec<Value>> {
    vec(of_type().prop_flat_map(value_of), 0..9)
}

fn root() -> impl Strategy<Value = Root> {
    let id = any::<Id>;
    let number = proptest::option::of(0..u32::MAX);
    let frame = (id(), number).prop_map(|(thread, number)| Frame { thread, number });
    prop_oneof![
        id().prop_map(Root::Unknown),
        (id(), id()).prop_map(|(object, reference)| Root::JniGlobal { object, reference }),
        (id(), frame.clone()).prop_map(|(object, frame)| Root::JniLocal(object, frame)),
        (id(), frame).prop_map(|(object, frame)| Root::JavaFrame(object, frame)),
        (id(), id()).prop_map(|(object, thread)| Root::NativeStack { object, thread }),
        id().prop_map(Root::StickyClass),
        (id(), id()).prop_map(|(object, thread)| Root::ThreadBlock { object, thread }),
        id().prop_map(Root::MonitorUsed),
    ]
}

fn class() -> impl Strategy<Value = Owned> {
    let ids = any::<[Id; 6]>();
    let constant = (any::<u16>(), any::<Id>())
        .prop_map(|(index, id)| Constant { index, value: Value::Reference(id) });
    (ids, any::<u32>(), vec(any::<Id>(), 0..4), vec(constant, 0..4), values()).prop_map(
        |(ids, instance_size, interfaces, constants, statics)| {
            let [id, superclass, loader, signers, protection_domain, name] = ids;
            let class = Class {
                id,
                superclass,
                loader,
                signers,
                protection_domain,
                name,
                instance_size,
                interfaces,
                constants,
                statics: &[],
            };
            Owned::Class { class, statics }
        },
    )
}

fn record() -> impl Strategy<Value = Owned> {
    let primitives = select(&Type::ALL[1..]).prop_flat_map(|of_type| {
        (any::<Id>(), vec(value_of(of_type), 0..20))
            .prop_map(move |(id, elements)| Owned::Primitives { id, of_type, elements })
    });
    prop_oneof![
        root().prop_map(Owned::Root),
        class(),
        (any::<Id>(), any::<Id>(), values()).prop_map(|(id, class, values)| Owned::Instance {
            id,
            class,
            values
        }),
        (any::<Id>(), any::<Id>(), vec(any::<Id>(), 0..20))
            .prop_map(|(id, class, elements)| Owned::Objects { id, class, elements }),
        primitives,
    ]
}

/// Encodes those values that dumps of the level contain.
fn bytes(values: &[Value], level: Level) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values.iter().filter(|value| level.has(value.of_type())) {
        let mut one = vec![0; value.of_type().width()];
        value.write(&mut one);
        bytes.extend(one);
    }
    bytes
}

/// Encodes values the way the VM stores them in an array.
fn host_order(values: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        let mut one = vec![0; value.of_type().width()];
        value.write(&mut one);
        if cfg!(target_endian = "little") {
            one.reverse();
        }
        bytes.extend(one);
    }
    bytes
}

/// Writes a record value by value, as a heap walk does.
fn write(writer: &mut HeapWriter, record: &Owned) {
    let level = writer.level();
    match record {
        Owned::Root(root) => drop(writer.root(*root).unwrap()),
        Owned::Class { class, statics } => {
            let statics = bytes(statics, level);
            writer.class(&Class { statics: &statics, ..class.clone() }).unwrap();
        }
        Owned::Instance { id, class, values } => {
            let values: Vec<_> = values.iter().filter(|v| level.has(v.of_type())).collect();
            let length: usize = values.iter().map(|value| value.of_type().width()).sum();
            let place = writer.instance(*id, *class, length as u32).unwrap();
            let mut offset = 0;
            for value in values {
                writer.set(place, offset, *value);
                offset += value.of_type().width();
            }
        }
        Owned::Objects { id, class, elements } => {
            let place = writer.objects(*id, *class, elements.len() as u32).unwrap();
            for (i, element) in elements.iter().enumerate().filter(|(_, element)| **element != 0) {
                writer.set(place, i * ID, Value::Reference(*element));
            }
        }
        Owned::Primitives { id, of_type, elements } => {
            writer.primitives(*id, *of_type, &host_order(elements)).unwrap();
        }
    }
}

/// Returns true if both are equal, where a NaN equals itself.
fn same(one: &[Value], other: &[Value]) -> bool {
    bytes(one, Level::Values) == bytes(other, Level::Values) && one.len() == other.len()
}

fn check(seen: &Record<'_>, expected: &Owned, level: Level) {
    let read = |values: &[Value], bytes: &[u8]| {
        let dumped: Vec<_> = values.iter().copied().filter(|v| level.has(v.of_type())).collect();
        let types = dumped.iter().map(|value| value.of_type());
        assert!(same(&Value::read_all(types, bytes).unwrap(), &dumped), "{bytes:?}");
    };
    match (seen, expected) {
        (Record::Root(seen), Owned::Root(expected)) => assert_eq!(seen, expected),
        (Record::Class(seen), Owned::Class { class, statics }) => {
            read(statics, seen.statics);
            assert_eq!(Class { statics: &[], ..seen.clone() }, *class);
        }
        (
            Record::Instance { id, class, values },
            Owned::Instance { id: expected_id, class: expected_class, values: expected },
        ) => {
            assert_eq!((id, class), (expected_id, expected_class));
            read(expected, values);
        }
        (
            Record::Objects { id, class, elements },
            Owned::Objects { id: expected_id, class: expected_class, elements: expected },
        ) => {
            assert_eq!((id, class), (expected_id, expected_class));
            assert_eq!(&elements.iter().collect::<Vec<_>>(), expected);
        }
        (
            Record::Primitives { id, of_type, count, values },
            Owned::Primitives { id: expected_id, of_type: expected_type, elements },
        ) => {
            assert_eq!((id, of_type), (expected_id, expected_type));
            assert_eq!(*count as usize, elements.len());
            read(elements, values);
        }
        other => panic!("different kinds: {other:?}"),
    }
}

fn monitor() -> impl Strategy<Value = Monitor> {
    let kind = prop_oneof![
        any::<Id>().prop_map(|object| Kind::Java { object }),
        any::<(Id, Id)>().prop_map(|(name, monitor)| Kind::Raw { name, monitor }),
    ];
    let threads = || vec(any::<Id>(), 0..6);
    (kind, any::<Id>(), any::<u32>(), threads(), threads()).prop_map(
        |(kind, owner, entry_count, waiting_to_enter, waiting_to_be_notified)| Monitor {
            kind,
            owner,
            entry_count,
            waiting_to_enter,
            waiting_to_be_notified,
        },
    )
}

proptest! {
    #[test]
    fn records_are_read_as_written(records in vec(record(), 0..20), level in 1..=2) {
        let level = Level::from_number(level).unwrap();
        let mut known = Known::default();
        for record in &records {
            if let Owned::Class { class, statics } = record {
                let types = statics.iter().map(|value| value.of_type()).collect();
                known.0.insert(class.id, (class.interfaces.len(), types));
            }
        }
        let mut writer = HeapWriter::new(Buffer::new().unwrap(), level);
        records.iter().for_each(|record| write(&mut writer, record));
        let written = writer.finish();
        let read: Vec<_> =
            Records::new(&written, level, &known).collect::<Result<_, _>>().unwrap();
        assert_eq!(read.len(), records.len());
        for (seen, expected) in read.iter().zip(&records) {
            check(seen, expected, level);
        }
        let mut writer = HeapWriter::new(Buffer::new().unwrap(), level);
        read.iter().for_each(|record| writer.record(record).unwrap());
        assert_eq!(&*writer.finish(), &*written);
    }

    #[test]
    fn lists_are_read_as_written(objects in vec((proptest::option::of(of_type()), any::<Id>()), 0..50)) {
        let mut writer = HeapWriter::new(Buffer::new().unwrap(), Level::Objects);
        let objects: Vec<_> =
            objects.into_iter().map(|(elements, id)| Listed { elements, id }).collect();
        objects.iter().for_each(|object| writer.listed(*object).unwrap());
        let written = writer.finish();
        assert_eq!(List::new(&written).collect::<Result<Vec<_>, _>>().unwrap(), objects);
    }

    #[test]
    fn monitors_are_read_as_written(monitors in vec(monitor(), 0..10)) {
        let mut buffer = Buffer::new().unwrap();
        monitors.iter().for_each(|monitor| write_monitor(&mut buffer, monitor).unwrap());
        assert_eq!(Monitors::new(&buffer).collect::<Result<Vec<_>, _>>().unwrap(), monitors);
    }

    #[test]
    fn readers_do_not_panic_on_arbitrary_bytes(
        bytes in vec(prop_oneof![any::<u8>(), select(&[0, 1, 2, 3, 7, 0x20, 0x21, 0x22, 0x23][..])], 0..300),
        interfaces in 0..4_usize,
        statics in vec(of_type(), 0..5),
    ) {
        let all = All(interfaces, statics);
        for level in [Level::References, Level::Values] {
            // Writing the records that could be read yields no more bytes than there were.
            let mut writer = HeapWriter::new(Buffer::new().unwrap(), level);
            for record in Records::new(&bytes, level, &all).map_while(Result::ok) {
                writer.record(&record).unwrap();
            }
            let written = writer.finish();
            assert!(written.len() <= bytes.len());
        }
        let _ = List::new(&bytes).count();
        let _ = Monitors::new(&bytes).count();
    }
}

/// Compares the encoding with the bytes that the specification requires.
#[test]
fn encoding_equals_the_specification() {
    let mut writer = HeapWriter::new(Buffer::new().unwrap(), Level::Values);
    let frame = Frame { thread: 0x11, number: Some(0x0102_0304) };
    let place = writer.root(Root::JavaFrame(0x22, frame)).unwrap().unwrap();
    writer.set_frame(place, None);
    let class = Class {
        id: 1,
        superclass: 2,
        loader: 3,
        signers: 4,
        protection_domain: 5,
        name: 6,
        instance_size: 7,
        interfaces: vec![8],
        constants: vec![Constant { index: 9, value: Value::Reference(10) }],
        statics: &[11],
    };
    writer.class(&class).unwrap();
    assert_eq!(HeapWriter::class_length(&class), 1 + 8 * ID + 4 + 2 + 3 + ID + 1);
    let place = writer.instance(1, 2, 12).unwrap();
    writer.set(place, 0, Value::Double(1.0));
    writer.set(place, 8, Value::Int(-2));
    let place = writer.objects(1, 2, 1).unwrap();
    writer.set(place, 0, Value::Reference(3));
    writer.primitives(1, Type::Short, &0x0102_u16.to_ne_bytes()).unwrap();

    let id = |id: usize| id.to_ne_bytes().to_vec();
    let expected = [
        [vec![0x03], id(0x22), id(0x11), vec![0xff; 4]].concat(),
        [vec![0x20], (1..=6).flat_map(id).collect(), id(0), vec![0, 0, 0, 7], id(8)].concat(),
        [vec![0, 1, 0, 9, 2], id(10), vec![11]].concat(),
        [vec![0x21], id(1), id(2), vec![0, 0, 0, 12, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0]].concat(),
        vec![0xff, 0xff, 0xff, 0xfe],
        [vec![0x22], id(1), vec![0, 0, 0, 1], id(2), id(3)].concat(),
        [vec![0x23], id(1), vec![0, 0, 0, 1, 9, 1, 2]].concat(),
    ]
    .concat();
    assert_eq!(&*writer.finish(), &*expected);

    let mut buffer = Buffer::new().unwrap();
    let monitor = Monitor {
        kind: Kind::Raw { name: 1, monitor: 2 },
        owner: 3,
        entry_count: 4,
        waiting_to_enter: vec![5],
        waiting_to_be_notified: vec![],
    };
    write_monitor(&mut buffer, &monitor).unwrap();
    let expected = [
        [vec![2], id(1), id(2), id(3), vec![0, 0, 0, 4, 0, 0, 0, 1]].concat(),
        [id(5), vec![0, 0, 0, 0]].concat(),
    ]
    .concat();
    assert_eq!(&*buffer, &*expected);
}
