//! Another reader of binary files, the crate `jvm-hprof`, finds in them what was written.

mod fixture;

use fixture::{MAIN, heap_dump, heap_names, heap_records, tables};
use jvm_hprof::heap_dump::{FieldValue, SubRecord};
use jvm_hprof::{RecordTag, parse_hprof};
use jvmpi_formats::profile::{self, BinaryWriter, Version, Writer};
use std::collections::HashMap;

fn written(version: Version) -> Vec<u8> {
    let mut profile = tables();
    heap_names(&mut profile);
    let mut writer = BinaryWriter::new(Vec::new(), &profile, version).unwrap();
    writer.thread_start(&profile, MAIN).unwrap();
    // It knows no constants, which JVMs do not dump either.
    let mut without_constants = |each: &mut profile::EachRecord<'_>| {
        heap_records(&mut |record| match record {
            profile::heap::Record::Class(class) => {
                let class = profile::heap::Class { constants: &[], ..*class };
                each(&profile::heap::Record::Class(class))
            }
            _ => each(record),
        })
    };
    writer.heap_dump(&profile, &heap_dump(), &mut without_constants).unwrap();
    writer.into_inner()
}

#[test]
fn another_reader_finds_what_was_written() {
    for version in [Version::V1_0_1, Version::V1_0_2] {
        let bytes = written(version);
        let file = parse_hprof(&bytes).unwrap();
        let id_size = file.header().id_size();
        assert_eq!(file.header().timestamp_millis(), fixture::CREATED.0);
        let mut names = HashMap::new();
        let mut frames = Vec::new();
        let mut traces = Vec::new();
        let mut classes = HashMap::new();
        let mut seen = Vec::new();
        for record in file.records_iter().map(Result::unwrap) {
            match record.tag() {
                RecordTag::Utf8 => {
                    let name = record.as_utf_8().unwrap().unwrap();
                    names.insert(name.name_id(), name.text_as_str().unwrap());
                }
                RecordTag::LoadClass => {
                    let class = record.as_load_class().unwrap().unwrap();
                    classes.insert(class.class_obj_id().id(), names[&class.class_name_id()]);
                }
                RecordTag::StackFrame => {
                    let frame = record.as_stack_frame().unwrap().unwrap();
                    frames.push((frame.id(), names[&frame.method_name_id()]));
                }
                RecordTag::StackTrace => {
                    let trace = record.as_stack_trace().unwrap().unwrap();
                    traces.push(trace.frame_ids().map(Result::unwrap).collect::<Vec<_>>());
                }
                RecordTag::HeapDump | RecordTag::HeapDumpSegment => {
                    let segment = record.as_heap_dump_segment().unwrap().unwrap();
                    for record in segment.sub_records().map(Result::unwrap) {
                        seen.push(format!("{record:?}"));
                        match record {
                            SubRecord::Class(class) if class.obj_id().id() == 0x110 => {
                                assert_eq!(class.instance_size_bytes(), 28);
                                let statics: Vec<_> = class
                                    .static_fields()
                                    .map(Result::unwrap)
                                    .map(|field| (names[&field.name_id()], field.value()))
                                    .collect();
                                assert_eq!(statics[2].0, "count");
                                assert!(matches!(statics[2].1, FieldValue::Int(-5)));
                                let fields: Vec<_> = class
                                    .instance_field_descriptors()
                                    .map(|field| names[&field.unwrap().name_id()])
                                    .collect();
                                assert_eq!(fields, ["next", "count", "longer_name", "lock"]);
                            }
                            SubRecord::Instance(instance) => {
                                let fields = [&[0, 0, 0, 0, 0, 0, 2, 0][..], &[0, 0, 0, 7]];
                                assert!(instance.fields().starts_with(&fields.concat()));
                                assert_eq!(classes[&instance.class_obj_id().id()], "Main");
                            }
                            SubRecord::ObjectArray(array) => {
                                let elements = array.elements(id_size).map(Result::unwrap);
                                let ids: Vec<_> = elements.map(|id| id.map(|id| id.id())).collect();
                                assert_eq!(ids, [Some(0x200), None, Some(0x110)]);
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        let expected = [
            "GcRootThreadObj",
            "GcRootUnknown",
            "GcRootJniGlobal",
            "GcRootJniLocalRef",
            "GcRootJavaStackFrame",
            "GcRootNativeStack",
            "GcRootSystemClass",
            "GcRootThreadBlock",
            "GcRootBusyMonitor",
            "Class",
            "Class",
            "Instance",
            "ObjectArray",
            "PrimitiveArray",
            "PrimitiveArray",
        ];
        assert_eq!(seen, expected);
        let methods = |trace: &[jvm_hprof::Id]| -> Vec<_> {
            let name = |id: &jvm_hprof::Id| frames.iter().find(|frame| frame.0 == *id).unwrap().1;
            trace.iter().map(name).collect()
        };
        assert_eq!(traces.len(), 4);
        assert_eq!(methods(&traces[0]), ["fib", "fib", "main"]);
        assert_eq!(methods(&traces[1]), ["wait", "run"]);
    }
}
