//! Requests of OTLP have the profile in tables as the protocol demands them.
#![cfg(feature = "otlp")]

use crate::fixture::{self, tables, text_sections};
use jvmpi_formats::profile::{
    AttributeValue, CpuSample, CpuSamples, Frame, Line, Profile, ThreadSerial, WallState, Weight,
    otlp, otlp_rejected, preamble,
};
use opentelemetry_proto::tonic::collector::profiles::v1development::{
    ExportProfilesPartialSuccess, ExportProfilesServiceRequest, ExportProfilesServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::profiles::v1development as proto;
use prost::Message;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

/// A request with the tables that its profiles refer to.
struct Request {
    profiles: Vec<proto::Profile>,
    dictionary: proto::ProfilesDictionary,
}

impl Request {
    fn of(profile: &Profile) -> Self {
        let bytes = otlp(profile, &attributes());
        let mut request = ExportProfilesServiceRequest::decode(&bytes[..]).unwrap();
        let dictionary = request.dictionary.take().unwrap();
        let [resource] = &mut request.resource_profiles[..] else { panic!("one resource") };
        let found = resource.resource.take().unwrap().attributes.into_iter();
        let found: Vec<_> = found
            .map(|attribute| (attribute.key, attribute.value.unwrap().value.unwrap()))
            .collect();
        assert_eq!(
            found,
            [
                ("service.name".into(), any_value::Value::StringValue("shop".into())),
                ("process.pid".into(), any_value::Value::IntValue(4711)),
            ]
        );
        let [scope] = &mut resource.scope_profiles[..] else { panic!("one scope") };
        let about = scope.scope.take().unwrap();
        assert_eq!((&*about.name, &*about.version), ("jvmpi", env!("CARGO_PKG_VERSION")));
        let request = Self { profiles: std::mem::take(&mut scope.profiles), dictionary };
        request.has_valid_tables();
        request
    }

    /// The rules of the dictionary: the first entry of each table is empty, no entry is there twice, and each is used.
    fn has_valid_tables(&self) {
        let tables = &self.dictionary;
        assert_eq!(tables.mapping_table, [proto::Mapping::default()]);
        assert_eq!(tables.link_table, [proto::Link::default()]);
        assert_eq!(tables.location_table[0], proto::Location::default());
        assert_eq!(tables.function_table[0], proto::Function::default());
        assert_eq!(tables.attribute_table[0], proto::KeyValueAndUnit::default());
        assert_eq!(tables.stack_table[0], proto::Stack::default());
        assert_eq!(tables.string_table[0], "");
        fn differ<T: std::fmt::Debug>(table: &[T]) {
            let mut all: Vec<_> = table.iter().map(|entry| format!("{entry:?}")).collect();
            all.sort();
            all.dedup();
            assert_eq!(all.len(), table.len());
        }
        differ(&tables.location_table);
        differ(&tables.function_table);
        differ(&tables.string_table);
        differ(&tables.attribute_table);
        differ(&tables.stack_table);
    }

    fn text(&self, place: i32) -> &str {
        &self.dictionary.string_table[place as usize]
    }

    fn kind(&self, kind: Option<proto::ValueType>) -> [&str; 2] {
        let kind = kind.unwrap();
        [self.text(kind.type_strindex), self.text(kind.unit_strindex)]
    }

    /// Returns the frames of a sample, innermost first, and its attributes.
    fn stack(&self, sample: &proto::Sample) -> String {
        let tables = &self.dictionary;
        let mut parts = Vec::new();
        for place in &tables.stack_table[sample.stack_index as usize].location_indices {
            let location = &tables.location_table[*place as usize];
            let [line] = &location.lines[..] else { panic!("one line") };
            let function = &tables.function_table[line.function_index as usize];
            let names = [function.name_strindex, function.system_name_strindex];
            let [name, system_name] = names.map(|place| self.text(place));
            let file = self.text(function.filename_strindex);
            parts.push(format!("{name}|{system_name}|{file}:{}", line.line));
        }
        for place in &sample.attribute_indices {
            let attribute = &tables.attribute_table[*place as usize];
            let value = attribute.value.clone().unwrap().value.unwrap();
            let any_value::Value::StringValue(value) = value else { panic!("a text") };
            parts.push(format!("{}={value}", self.text(attribute.key_strindex)));
        }
        parts.join(" ")
    }

    /// Returns the values of a profile by stack.
    fn values(&self, profile: &proto::Profile) -> BTreeMap<String, i64> {
        let value = |sample: &proto::Sample| {
            let [value] = sample.values[..] else { panic!("one value") };
            (self.stack(sample), value)
        };
        let values: BTreeMap<_, _> = profile.samples.iter().map(value).collect();
        assert_eq!(values.len(), profile.samples.len());
        values
    }
}

fn attributes() -> [(String, AttributeValue); 2] {
    [
        ("service.name".into(), AttributeValue::Text("shop".into())),
        ("process.pid".into(), AttributeValue::Number(4711)),
    ]
}

#[test]
fn each_weight_is_a_profile_with_a_period() {
    let mut profile = tables();
    profile.sections = text_sections(&mut profile);
    fixture::set_interval(&mut profile, Duration::from_millis(20));
    profile.preamble = preamble(NonZeroU32::new(524_288));
    let request = Request::of(&profile);
    let kinds: Vec<_> = request
        .profiles
        .iter()
        .map(|found| {
            (request.kind(found.sample_type), request.kind(found.period_type), found.period)
        })
        .collect();
    let cpu = ["cpu", "nanoseconds"];
    let space = ["space", "bytes"];
    assert_eq!(
        kinds,
        [
            (["samples", "count"], cpu, 20_000_000),
            (cpu, cpu, 1),
            (["alloc_space", "bytes"], space, 524_288),
            (["alloc_objects", "count"], space, 524_288),
            (["inuse_space", "bytes"], space, 524_288),
            (["inuse_objects", "count"], space, 524_288),
            (["delay", "nanoseconds"], ["contentions", "count"], 1),
        ]
    );
    for found in &request.profiles {
        assert_eq!(found.time_unix_nano, fixture::CREATED.0 * 1_000_000);
        assert_eq!(found.duration_nano, 3_000_000_000);
        assert_eq!(found.profile_id.len(), 16);
    }
    let mut ids: Vec<_> = request.profiles.iter().map(|found| &found.profile_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), request.profiles.len());

    let fib = "Main.fib|Main.fib(I)I|Main.java:7";
    let fib = format!("{fib} {fib} Main.main|Main.main([Ljava/lang/String;)V|Main.java:12");
    let wait = "java.lang.Object.wait|java.lang.Object.wait(J)V|:0 \
                Main$$Lambda/0x00007f3768000c38.run|Main$$Lambda/0x00007f3768000c38.run()V|:0 \
                thread.name=say \"hi\"";
    let samples = request.values(&request.profiles[0]);
    let empty = "<empty trace>|<empty trace>|:0";
    assert_eq!(samples, BTreeMap::from([(empty.into(), 10), (fib.clone(), 70), (wait.into(), 20)]));
    let allocated = request.values(&request.profiles[2]);
    assert_eq!(allocated[&format!("java.lang.String|java.lang.String|:0 {fib}")], 7000);
    let delays = request.values(&request.profiles[6]);
    assert_eq!(delays[&format!("java.lang.Object|java.lang.Object|:0 {wait}")], 750_000_000);
}

#[test]
fn samples_of_elapsed_time_are_a_time_and_have_a_state() {
    let mut profile = Profile::default();
    let method = profile.intern_method(["Main", "read", "", ""]);
    let frame = profile.frames.intern(Frame { method, line: Line::Native });
    let state = profile.state_frame(WallState::Parked);
    let trace = profile.traces.intern(ThreadSerial(0), &[state, frame]);
    let rows = vec![CpuSample::new(trace, 3)];
    profile.sections = vec![CpuSamples { total: 3, rows, ..CpuSamples::default() }.into()];
    assert_eq!(Weight::of(&profile), [Weight::WallSamples]);

    // The interval of a file is unknown.
    let request = Request::of(&profile);
    let [found] = &request.profiles[..] else { panic!("one profile") };
    assert_eq!(request.kind(found.sample_type), ["wall_samples", "count"]);
    assert_eq!((request.kind(found.period_type), found.period), (["wall_samples", "count"], 1));

    fixture::set_interval(&mut profile, Duration::from_millis(20));
    let request = Request::of(&profile);
    let [found] = &request.profiles[..] else { panic!("one profile") };
    let wall = ["wall", "nanoseconds"];
    assert_eq!(request.kind(found.sample_type), wall);
    assert_eq!((request.kind(found.period_type), found.period), (wall, 20_000_000));
    let stack = "[parked]|[parked]|:0 Main.read|Main.read|:0 thread.state=parked";
    assert_eq!(request.values(found), BTreeMap::from([(stack.into(), 60_000_000)]));
}

#[test]
fn a_profile_without_data_is_a_valid_request() {
    let request = Request::of(&tables());
    assert!(request.profiles.is_empty());
    assert_eq!(request.dictionary.string_table, [""]);
}

#[test]
fn profiles_that_the_store_rejected_are_read() {
    let response = |rejected_profiles, error_message: &str| {
        let error_message = error_message.into();
        let partial = ExportProfilesPartialSuccess { rejected_profiles, error_message };
        ExportProfilesServiceResponse { partial_success: Some(partial) }.encode_to_vec()
    };
    let some = response(300, "too old");
    assert_eq!(otlp_rejected(&some), Some((300, "too old".into())));
    assert_eq!(otlp_rejected(&response(0, "a warning")), None);
    for no_response in [&b""[..], b"ok", b"{}", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"] {
        assert_eq!(otlp_rejected(no_response), None);
    }
    // No part of a response is taken for something else.
    for length in 0..some.len() {
        let found = otlp_rejected(&some[..length]);
        assert!(found.is_none(), "{length}: {found:?}");
    }
}
