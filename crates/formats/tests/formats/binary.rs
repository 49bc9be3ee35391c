//! Binary files are read as they were written.

use crate::fixture::{
    self, CREATED, DUMPED, binary_file, binary_sections, heap_dump, heap_records, show,
    shown_records, tables,
};
use jvmpi_formats::profile::heap::{self, Elements, Objects, Primitives, Record};
use jvmpi_formats::profile::{
    self, BinaryWriter, ClassSerial, Encoding, File, Frame, Line, NameId, ObjectId, Profile,
    Section, ThreadSerial, TraceSerial, Type, Version, Writer,
};
use std::io::{self, Write};

/// Returns the ID of the class that the writer adds after `nth` others.
fn added_class(nth: u64) -> u64 {
    (i64::MAX as u64 & !0xf) - 16 * nth
}

/// Names are not the same numbers in two profiles.
fn named(profile: &Profile, id: NameId) -> String {
    profile.names.get(id).to_owned()
}

fn frames(profile: &Profile) -> Vec<(u32, ThreadSerial, Vec<String>)> {
    let frame = |id| {
        let (frame, method) = profile.frame(id).unwrap();
        let names = [method.class, method.name, method.signature, method.source];
        format!("{:?} {:?}", names.map(|id| named(profile, id)), frame.line)
    };
    let trace = |trace: profile::Trace<'_>| {
        let frames = trace.frames.iter().map(frame).collect();
        (trace.serial.0, trace.thread, frames)
    };
    profile.traces.iter().map(trace).collect()
}

#[test]
fn written_data_is_read_back() {
    let bytes = binary_file();
    assert!(bytes.starts_with(b"JAVA PROFILE 1.0.2\0"));
    let file = File::from_bytes(bytes).unwrap();
    assert_eq!(file.problem(), None);
    assert_eq!(file.encoding(), Encoding::Binary { id_size: 8 });
    let (read, expected) = (file.profile(), tables());
    assert_eq!((read.created, read.settings), (CREATED, expected.settings));
    assert_eq!(frames(read), frames(&expected));
    for (read_thread, thread) in read.threads.values().zip(expected.threads.values()) {
        let names = |profile, thread: &profile::Thread| {
            [thread.name, thread.group, thread.parent_group].map(|id| named(profile, id))
        };
        assert_eq!(names(read, read_thread), names(&expected, thread));
        let read_thread = profile::Thread {
            name: thread.name,
            group: thread.group,
            parent_group: thread.parent_group,
            ..*read_thread
        };
        assert_eq!(read_thread, *thread);
    }
    assert_eq!(read.threads.len(), 2);
    for (read_class, class) in read.classes.iter().zip(expected.classes.iter()) {
        assert_eq!(named(read, read_class.name), named(&expected, class.name));
        assert_eq!(profile::Class { name: class.name, ..*read_class }, *class);
    }
    assert_eq!(read.sections[1..], binary_sections());
    let dump = read.heap_dumps().next_back().unwrap();
    let mut expected = Vec::new();
    heap_records(&mut |record| {
        // The class of the array, which the profile does not have, is added.
        let id = format!("array_class: ObjectId({})", added_class(1));
        expected.push(show(record).replace("array_class: ObjectId(0)", &id));
        Ok(())
    })
    .unwrap();
    let (mut records, end) = shown_records(&file, dump);
    let added = records.pop().unwrap();
    assert!(added.contains("name: \"[Ljava.lang.Object;\", superclass: ObjectId(256)"), "{added}");
    assert_eq!((records, end), (expected, Ok(())));
}

#[test]
fn section_without_a_binary_form_is_refused_and_not_written() {
    let mut profile = tables();
    let mut writer = BinaryWriter::new(Vec::new(), &profile, Version::V1_0_1).unwrap();
    let head = writer.into_inner();
    assert!(head.starts_with(b"JAVA PROFILE 1.0.1\0"));
    for section in fixture::text_sections(&mut profile) {
        let mut writer = BinaryWriter::new(Vec::new(), &profile, Version::V1_0_1).unwrap();
        let result = writer.section(&profile, &section);
        assert_eq!(result.is_ok(), writer.holds(&section));
        if let Err(error) = result {
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert_eq!(writer.into_inner(), head);
        }
    }
    for (version, expected) in [(Version::V1_0_1, "version 1.0.2"), (Version::V1_0_2, "\"lock\"")] {
        writer = BinaryWriter::new(Vec::new(), &profile, version).unwrap();
        let error =
            writer.heap_dump(&profile, &heap_dump(), &mut |each| heap_records(each)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_file_that_is_cut_off_is_read_up_to_there() {
    let bytes = binary_file();
    let whole = File::from_bytes(bytes.clone()).unwrap();
    let (records, _) = shown_records(&whole, whole.profile().heap_dumps().next().unwrap());
    let mut seen = Vec::new();
    for length in 31..bytes.len() {
        let file = File::from_bytes(bytes[..length].to_vec()).unwrap();
        let Some(problem) = file.problem() else { continue };
        assert!(problem.what.contains("cut off") || problem.what.contains("expected"), "{problem}");
        let profile = file.profile();
        assert!(profile.sections.len() <= whole.profile().sections.len());
        if let Some(dump) = profile.heap_dumps().next() {
            let (read, end) = shown_records(&file, dump);
            // The class of an array's elements is known by the record of the array's class, at the end.
            let array = "class: ObjectId(256), class_name: \"java.lang.Object\"";
            let unknown = "class: ObjectId(0), class_name: \"java.lang.Object\"";
            for (read, record) in read.iter().zip(&records) {
                assert!(read == record || *read == record.replace(array, unknown), "{read}");
            }
            if profile.sections.len() == 1 {
                seen.push((read.len(), end.is_ok()));
            }
        }
    }
    seen.dedup();
    assert!(seen.len() >= records.len(), "{seen:?}");
}

/// Keeps what is written, but only the lengths of large pieces.
#[derive(Default)]
struct Sizes {
    small: Vec<u8>,
    large: Vec<usize>,
}

impl Write for Sizes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match bytes.len() {
            0..=64 => self.small.extend_from_slice(bytes),
            large => self.large.push(large),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes before a heap dump: the head of the file, and the record of the empty name.
const HEAD: usize = 31 + 17;

/// Returns the header of a record at the beginning of the profile.
fn header(tag: u8, length: u32) -> Vec<u8> {
    [&[tag, 0, 0, 0, 0][..], &length.to_be_bytes()].concat()
}

/// Returns the bytes of an array in a heap dump before its elements.
fn array_head(id: u64, length: u32) -> Vec<u8> {
    [&[0x23][..], &id.to_be_bytes(), &[0; 4], &length.to_be_bytes(), &[8]].concat()
}

fn bytes_array(id: u64, values: &[u8]) -> Record<'_> {
    let (trace, of_type) = (TraceSerial(0), Type::Byte);
    let (size, length) = (values.len() as u64, values.len() as u32);
    Record::Primitives(Primitives { id: ObjectId(id), trace, of_type, size, length, values })
}

#[test]
fn a_heap_dump_of_more_than_4_gib_is_written_in_segments() {
    let profile = Profile { created: DUMPED, ..Profile::default() };
    let values = vec![0; 96 << 20];
    let pass = |each: &mut profile::EachRecord<'_>| {
        (1..=50).try_for_each(|n| {
            each(&bytes_array(n, &values[..10]))?;
            each(&bytes_array(n, &values))
        })
    };
    let mut writer = BinaryWriter::new(Sizes::default(), &profile, Version::V1_0_2).unwrap();
    writer.heap_dump(&profile, &heap_dump(), &mut |each| pass(each)).unwrap();
    let Sizes { small, large } = writer.into_inner();
    assert_eq!(large, [values.len(); 50]);
    // A segment ends before an array that has no room in it, which is one of its own.
    let segments = (1..=50).flat_map(|n| {
        let one = [header(0x1c, 28), array_head(n, 10), vec![0; 10]].concat();
        [one, header(0x1c, 18 + (96 << 20)), array_head(n, 96 << 20)].concat()
    });
    assert_eq!(small[HEAD..], segments.chain(header(0x2c, 0)).collect::<Vec<_>>());
}

// Elsewhere there is no memory for one.
#[cfg(target_pointer_width = "64")]
#[test]
fn an_array_that_no_segment_can_hold_is_cut_off() {
    let profile = Profile { created: DUMPED, ..Profile::default() };
    // Nothing writes to it, so that it takes no memory.
    let values = vec![0; (4 << 30) + 100];
    let mut writer = BinaryWriter::new(Sizes::default(), &profile, Version::V1_0_2).unwrap();
    writer
        .heap_dump(&profile, &heap_dump(), &mut |each| {
            each(&bytes_array(1, &values))?;
            each(&bytes_array(2, &[1, 2]))
        })
        .unwrap();
    let Sizes { small, large } = writer.into_inner();
    assert_eq!(large, [u32::MAX as usize - 18]);
    let first = [header(0x1c, u32::MAX), array_head(1, u32::MAX - 18)].concat();
    let second = [header(0x1c, 20), array_head(2, 2), vec![1, 2]].concat();
    assert_eq!(small[HEAD..], [first, second, header(0x2c, 0)].concat());
}

#[test]
fn ids_of_four_bytes_are_read() {
    let mut bytes = b"JAVA PROFILE 1.0.1\0\0\0\0\x04\0\0\x01\xa2\x02\x2c\x39\x0d".to_vec();
    let mut record = |tag: u8, body: &[&[u8]]| {
        let body = body.concat();
        bytes.extend_from_slice(&[tag, 0, 0, 0, 0]);
        bytes.extend_from_slice(&(body.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&body);
    };
    let u4 = |n: u32| n.to_be_bytes();
    record(1, &[&u4(0x51), b"a/b/C"]);
    record(1, &[&u4(0x52), b"next"]);
    record(2, &[&u4(1), &u4(0x100), &u4(0), &u4(0x51)]);
    let class: &[&[u8]] =
        &[&[0x20], &u4(0x100), &u4(0), &[0; 24], &u4(4), &[0, 0, 0, 0, 0, 1], &u4(0x52), &[2]];
    let instance: &[&[u8]] = &[&[0x21], &u4(0x200), &u4(0), &u4(0x100), &u4(4), &u4(0x300)];
    let array: &[&[u8]] = &[&[0x22], &u4(0x300), &u4(0), &u4(2), &u4(0x100), &u4(0), &u4(0x200)];
    // The class may come after its instances. That of the last instance is its own superclass.
    let broken: &[&[u8]] = &[&[0x20], &u4(0x110), &u4(0), &u4(0x110), &[0; 30]];
    let of_broken: &[&[u8]] = &[&[0x21], &u4(0x210), &u4(0), &u4(0x110), &u4(2), &[0; 2]];
    let all = [instance, array, class, broken, of_broken].map(<[_]>::concat).concat();
    record(0x0c, &[&all]);
    let mut seen = Vec::new();
    records(&File::from_bytes(bytes).unwrap(), |record| {
        match record {
            Record::Instance(instance) if instance.id.0 == 0x210 => {
                assert!(instance.fields.is_empty());
            }
            Record::Instance(instance) => {
                assert_eq!(instance.class_name, "a.b.C");
                let [field] = instance.fields else { panic!("{instance:?}") };
                assert_eq!(field.name, "next");
                assert_eq!(field.value, profile::Value::Reference(ObjectId(0x300)));
            }
            Record::Objects(Objects { elements, .. }) => {
                assert!(matches!(elements, Elements::Packed { id_size: 4, .. }));
                assert_eq!(elements.length(), 2);
                assert_eq!(elements.iter().collect::<Vec<_>>(), [(1, ObjectId(0x200))]);
            }
            Record::Class(class) if class.id.0 == 0x100 => assert_eq!(class.fields[0].name, "next"),
            Record::Class(class) => assert!(class.fields.is_empty()),
            _ => panic!("{record:?}"),
        }
        seen.push(record.object_size());
    });
    assert_eq!(seen, [Some(4), Some(8), Some(0), Some(0), Some(2)]);
}

#[test]
fn times_increase_when_their_field_wraps_around() {
    let mut profile = tables();
    let mut sections = binary_sections();
    for (hour, section) in (0..).zip(&mut sections) {
        let at = Some(profile::Time(CREATED.0 + hour * 3_600_000));
        match section {
            Section::HeapSummary(summary) => summary.at = at,
            Section::Sites(sites) => sites.at = at,
            Section::CpuSamples(samples) => samples.at = at,
            _ => unreachable!(),
        }
    }
    profile.threads.clear();
    let mut writer = BinaryWriter::new(Vec::new(), &profile, Version::V1_0_1).unwrap();
    for section in &sections {
        writer.section(&profile, section).unwrap();
    }
    let mut bytes = writer.into_inner();
    // The time of the settings is any number in files of the original.
    assert_eq!(bytes[31], 0x0e);
    bytes[32..36].copy_from_slice(&2_094_063_632u32.to_be_bytes());
    let file = File::from_bytes(bytes).unwrap();
    assert_eq!(file.profile().sections, sections);
}

/// Passes the records of the first heap dump of a file, which must be whole.
fn records(file: &File, mut each: impl FnMut(&Record<'_>)) {
    assert_eq!(file.problem(), None);
    let all = file.heap(file.profile().heap_dumps().next().unwrap());
    all.records(|record| {
        each(record);
        Ok::<(), profile::Error>(())
    })
    .unwrap();
}

/// The classes of arrays of references in a heap dump: of the elements, its name, and the array's.
type ArrayClasses = Vec<(u64, String, u64)>;

/// Writes a dump of these arrays in a profile with the classes, each with its loader.
fn arrays_file(classes: &[(u64, &str, u64)], arrays: &[(u64, &str, u64)]) -> File {
    let mut profile = Profile::default();
    for (serial, (object, name, _)) in (1..).zip(classes) {
        let name = profile.names.intern(name);
        let (serial, object) = (ClassSerial(serial), ObjectId(*object));
        profile.classes.insert(profile::Class { serial, object, name, ..Default::default() });
    }
    let mut writer = BinaryWriter::new(Vec::new(), &profile, Version::V1_0_2).unwrap();
    let mut records = |each: &mut profile::EachRecord<'_>| {
        for (id, name, loader) in classes {
            let (id, loader) = (ObjectId(*id), ObjectId(*loader));
            each(&Record::Class(heap::Class { id, name, loader, ..heap::Class::default() }))?;
        }
        for (class, class_name, array_class) in arrays {
            each(&Record::Objects(Objects {
                id: ObjectId(1),
                trace: TraceSerial(0),
                class: ObjectId(*class),
                class_name,
                array_class: ObjectId(*array_class),
                size: 0,
                elements: Elements::All(&[]),
            }))?;
        }
        Ok(())
    };
    writer.heap_dump(&profile, &heap_dump(), &mut records).unwrap();
    File::from_bytes(writer.into_inner()).unwrap()
}

/// Returns the arrays of a dump that is written and read.
fn arrays_read(classes: &[(u64, &str, u64)], arrays: &[(u64, &str, u64)]) -> ArrayClasses {
    let mut read = Vec::new();
    records(&arrays_file(classes, arrays), |record| {
        if let Record::Objects(array) = record {
            read.push((array.class.0, array.class_name.to_owned(), array.array_class.0));
        }
    });
    read
}

#[test]
fn arrays_by_their_own_class_and_by_that_of_their_elements_are_read() {
    let read = |class, name: &str, array| (class, name.to_owned(), array);
    let classes = [(16, "a.X", 7), (32, "[La.X;", 7), (48, "[[La.X;", 7), (64, "[I", 0)];
    // JVMPI has the elements' class; the file has the array's class if there is one of its name.
    let arrays = [(16, "a.X", 0), (32, "[La.X;", 0)];
    assert_eq!(arrays_read(&classes, &arrays), [read(16, "a.X", 32), read(32, "[La.X;", 48)]);
    let of_jdk_8 = [(16, "a.X", 7), (32, "a.X[]", 7), (48, "a.X[][]", 7)];
    let arrays = [(16, "a.X", 32), (32, "a.X[]", 48)];
    assert_eq!(arrays_read(&of_jdk_8, &arrays), [read(16, "a.X", 32), read(32, "a.X[]", 48)]);
    // Of two classes of a name, each is that of its loader.
    let twice = [(16, "a.X", 7), (17, "a.X", 8), (32, "[La.X;", 7), (33, "[La.X;", 8)];
    let arrays = [(17, "a.X", 33), (16, "a.X", 32)];
    assert_eq!(arrays_read(&twice, &arrays), [read(17, "a.X", 33), read(16, "a.X", 32)]);
    // If there are several, or none, the file has a class of its own for the arrays.
    let arrays = [(17, "a.X", 0), (17, "a.X", 0)];
    assert_eq!(arrays_read(&twice, &arrays), [(); 2].map(|()| read(17, "a.X", added_class(0))));
    let arrays = [(64, "[I", 0)];
    assert_eq!(arrays_read(&classes, &arrays), [read(64, "[I", added_class(0))]);
}

#[test]
fn added_classes_of_arrays_are_in_dumps() {
    let classes = [(8, "java.lang.Object", 0), (16, "a.X", 7), (32, "[La.X;", 7)];
    let file = arrays_file(&classes, &[(16, "a.X", 0), (32, "[La.X;", 0)]);
    let mut added = Vec::new();
    records(&file, |record| {
        if let Record::Class(class) = record
            && class.id.0 > 100
        {
            added.push((class.name.to_owned(), class.superclass.0, class.loader.0));
        }
    });
    assert_eq!(added, [("[[La.X;".to_owned(), 8, 7)]);
}

#[test]
fn an_array_with_its_element_class_leaves_other_arrays_as_they_are() {
    let classes = [(16, "a.X", 7), (32, "[La.X;", 7), (17, "b.X", 7), (33, "[Lb.X;", 7)];
    // Earlier versions wrote such files.
    let arrays = [(16, "a.X", 32), (17, "b.X", 33), (0, "b.X", 17)];
    let read = arrays_read(&classes, &arrays);
    let names: Vec<_> = read.iter().map(|(class, name, _)| (*class, name.as_str())).collect();
    assert_eq!(names, [(16, "a.X"), (17, "b.X"), (17, "b.X")]);
}

#[test]
fn classes_that_are_known_by_name_alone_get_ids_of_their_own() {
    let mut profile = Profile::default();
    let frames = ["a.X", "b.X"].map(|class| {
        let method = profile.intern_method([class, "", "", ""]);
        profile.frames.intern(Frame { method, line: Line::Unknown })
    });
    profile.traces.intern(ThreadSerial(0), &frames);
    let mut writer = BinaryWriter::new(Vec::new(), &profile, Version::V1_0_2).unwrap();
    writer.traces(&profile).unwrap();
    let file = File::from_bytes(writer.into_inner()).unwrap();
    let mut ids: Vec<_> = file.profile().classes.iter().map(|class| class.object.0).collect();
    ids.sort_unstable();
    assert_eq!(ids, [added_class(1), added_class(0)]);
    // Of a file with such classes, further ones get other IDs.
    let mut again = file.into_profile();
    let method = again.intern_method(["c.X", "", "", ""]);
    again.frames.intern(Frame { method, line: Line::Unknown });
    let mut writer = BinaryWriter::new(Vec::new(), &again, Version::V1_0_2).unwrap();
    writer.traces(&again).unwrap();
    let file = File::from_bytes(writer.into_inner()).unwrap();
    let classes = &file.profile().classes;
    assert_eq!(
        (classes.iter().len(), classes.of_object(ObjectId(added_class(2))).is_some()),
        (3, true)
    );
}
