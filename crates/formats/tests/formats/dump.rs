//! Checks that readers return what writers wrote. The fuzz target `dump` reads what nobody wrote.

use std::collections::HashMap;

use jvmpi_formats::dump::{
    Buffer, Class, Classes, Constant, Frame, HeapWriter, ID, Id, Ids, Kind, Level, Listed, Monitor,
    Record, Root, Shape, Type, Value, read_list, read_monitors, read_records, write_monitor,
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

fn value_of(of_type: Type) -> impl Strategy<Value = Value> {
    any::<[u8; 8]>().prop_map(move |bytes| Value::read(of_type, &bytes).unwrap().0)
}

fn of_type() -> impl Strategy<Value = Type> {
    select(&Type::ALL[..])
}

fn values() -> impl Strategy<Value = Vec<Value>> {
    vec(of_type().prop_flat_map(value_of), 0..9)
}

/// Encodes those values that dumps of the level contain. The bytes live for ever.
fn bytes(values: &[Value], level: Level) -> &'static [u8] {
    let mut bytes = Vec::new();
    for value in values.iter().filter(|value| level.has(value.of_type())) {
        let mut one = vec![0; value.of_type().width()];
        value.write(&mut one);
        bytes.extend(one);
    }
    bytes.leak()
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

fn class(level: Level) -> impl Strategy<Value = (Record<'static>, Vec<Type>)> {
    let ids = any::<[Id; 6]>();
    let constant = (any::<u16>(), any::<Id>())
        .prop_map(|(index, id)| Constant { index, value: Value::Reference(id) });
    (ids, any::<u32>(), vec(any::<Id>(), 0..4), vec(constant, 0..4), values()).prop_map(
        move |(ids, instance_size, interfaces, constants, statics)| {
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
                statics: bytes(&statics, level),
            };
            (Record::Class(class), statics.iter().map(Value::of_type).collect())
        },
    )
}

/// Returns records, each with the types of the static fields if it is a class.
fn record(level: Level) -> impl Strategy<Value = (Record<'static>, Vec<Type>)> {
    let primitives = select(&Type::ALL[1..]).prop_flat_map(move |of_type| {
        (any::<Id>(), vec(value_of(of_type), 0..20)).prop_map(move |(id, elements)| {
            let (count, values) = (elements.len() as u32, bytes(&elements, level));
            Record::Primitives { id, of_type, count, values }
        })
    });
    let instance = (any::<[Id; 2]>(), values()).prop_map(move |([id, class], values)| {
        Record::Instance { id, class, values: bytes(&values, level) }
    });
    let objects = (any::<[Id; 2]>(), vec(any::<Id>(), 0..20)).prop_map(|([id, class], ids)| {
        let ids: Vec<_> = ids.into_iter().map(Value::Reference).collect();
        Record::Objects { id, class, elements: Ids::new(bytes(&ids, Level::References)) }
    });
    let others = prop_oneof![root().prop_map(Record::Root), instance, objects, primitives];
    prop_oneof![1 => class(level), 4 => others.prop_map(|record| (record, Vec::new()))]
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
    fn records_are_read_as_written(
        (level, records) in select(&[Level::References, Level::Values][..])
            .prop_flat_map(|level| (Just(level), vec(record(level), 0..20))),
    ) {
        let mut known = Known::default();
        let mut writer = HeapWriter::new(Buffer::new().unwrap(), level);
        for (record, statics) in &records {
            if let Record::Class(class) = record {
                known.0.insert(class.id, (class.interfaces.len(), statics.clone()));
            }
            writer.record(record).unwrap();
        }
        let written = writer.finish();
        let read: Vec<_> =
            read_records(&written, level, &known).collect::<Result<_, _>>().unwrap();
        let expected: Vec<_> = records.into_iter().map(|(record, _)| record).collect();
        assert_eq!(read, expected);
    }

    #[test]
    fn values_are_read_as_written(values in values()) {
        let written = bytes(&values, Level::Values);
        let read = Value::read_all(values.iter().map(Value::of_type), written).unwrap();
        // A NaN equals itself here.
        assert_eq!((read.len(), bytes(&read, Level::Values)), (values.len(), written));
    }

    #[test]
    fn lists_are_read_as_written(objects in vec((proptest::option::of(of_type()), any::<Id>()), 0..50)) {
        let mut writer = HeapWriter::new(Buffer::new().unwrap(), Level::Objects);
        let objects: Vec<_> =
            objects.into_iter().map(|(elements, id)| Listed { elements, id }).collect();
        objects.iter().for_each(|object| writer.listed(*object).unwrap());
        let written = writer.finish();
        assert_eq!(read_list(&written).collect::<Result<Vec<_>, _>>().unwrap(), objects);
    }

    #[test]
    fn monitors_are_read_as_written(monitors in vec(monitor(), 0..10)) {
        let mut buffer = Buffer::new().unwrap();
        monitors.iter().for_each(|monitor| write_monitor(&mut buffer, monitor).unwrap());
        assert_eq!(read_monitors(&buffer).collect::<Result<Vec<_>, _>>().unwrap(), monitors);
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
