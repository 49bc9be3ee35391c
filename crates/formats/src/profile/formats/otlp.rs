//! Profiles of the OpenTelemetry protocol: an `ExportProfilesServiceRequest`, with the messages that the project publishes.

use super::measures::{Kind, Measure, Period, start_and_duration};
use super::symbols::{Symbols, labels};
use crate::profile::model::Profile;
use crate::profile::weight::{Weight, stacks};
use indexmap::IndexSet;
use opentelemetry_proto::tonic::collector::profiles::v1development::{
    ExportProfilesServiceRequest, ExportProfilesServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::profiles::v1development as proto;
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use rustc_hash::FxBuildHasher;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::iter;

/// The value of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A number.
    Number(u32),
}

/// Returns the request that exports all weights of a profile, not compressed. The attributes describe the process.
#[must_use]
pub fn otlp(profile: &Profile, attributes: &[(String, AttributeValue)]) -> Vec<u8> {
    let mut builder = Builder::new();
    let weights = Weight::of(profile).into_iter();
    let profiles = weights.map(|weight| builder.profile(profile, weight)).collect();
    let (name, version) = ("jvmpi".into(), env!("CARGO_PKG_VERSION").into());
    let scope = InstrumentationScope { name, version, ..Default::default() };
    let scope_profiles =
        proto::ScopeProfiles { scope: Some(scope), profiles, ..Default::default() };
    let attributes = attributes.iter().map(|(key, value)| {
        let value = match value {
            AttributeValue::Text(text) => Value::StringValue(text.clone()),
            AttributeValue::Number(number) => Value::IntValue((*number).into()),
        };
        KeyValue { key: key.clone(), value: any(value), ..Default::default() }
    });
    let resource = Resource { attributes: attributes.collect(), ..Default::default() };
    let resource_profiles = proto::ResourceProfiles {
        resource: Some(resource),
        scope_profiles: vec![scope_profiles],
        ..Default::default()
    };
    let request = ExportProfilesServiceRequest {
        resource_profiles: vec![resource_profiles],
        dictionary: Some(builder.dictionary()),
    };
    request.encode_to_vec()
}

fn any(value: Value) -> Option<AnyValue> {
    Some(AnyValue { value: Some(value) })
}

/// The dictionary, which all profiles of a request share. The first entry of each table is empty.
struct Builder {
    symbols: Symbols,
    /// Locations, innermost first.
    stacks: IndexSet<Vec<i32>, FxBuildHasher>,
    /// Keys, as places of strings, and values.
    attributes: IndexSet<(i32, String), FxBuildHasher>,
}

impl Builder {
    fn new() -> Self {
        Self {
            symbols: Symbols::default(),
            stacks: IndexSet::from_iter([Vec::new()]),
            attributes: IndexSet::from_iter([(0, String::new())]),
        }
    }

    fn profile(&mut self, profile: &Profile, weight: Weight) -> proto::Profile {
        // Stores compute the CPU time themselves: Pyroscope knows samples whose period is a CPU time.
        let measure = match weight {
            Weight::WallSamples => Measure::time(weight, profile),
            _ => None,
        };
        let measure = measure.unwrap_or_else(|| Measure::of(weight));
        let sample_type = self.value_type(measure.kind);
        let mut samples = Vec::new();
        for stack in stacks(profile, weight) {
            let locations = self.symbols.stack(profile, &stack);
            let locations = locations.into_iter().map(|place| place as i32).collect();
            let (place, _) = self.stacks.insert_full(locations);
            let attributes = ["thread.name", "thread.state"].into_iter();
            let attributes = attributes.zip(labels(profile, &stack));
            samples.push(proto::Sample {
                stack_index: place as i32,
                attribute_indices: attributes
                    .filter_map(|(key, value)| Some(self.attribute(key, value?)))
                    .collect(),
                values: vec![measure.value(stack.value) as i64],
                ..Default::default()
            });
        }
        let [time_unix_nano, duration_nano] = start_and_duration(profile);
        let period = Period::of(weight, profile);
        proto::Profile {
            sample_type,
            samples,
            time_unix_nano,
            duration_nano,
            period_type: self.value_type(period.kind),
            period: period.value as i64,
            profile_id: random_id().to_vec(),
            ..Default::default()
        }
    }

    fn value_type(&mut self, kind: Kind) -> Option<proto::ValueType> {
        let [type_strindex, unit_strindex] = kind.map(|name| self.symbols.string(name) as i32);
        Some(proto::ValueType { type_strindex, unit_strindex })
    }

    fn attribute(&mut self, key: &str, value: &str) -> i32 {
        let key = self.symbols.string(key) as i32;
        self.attributes.insert_full((key, value.to_owned())).0 as i32
    }

    fn dictionary(self) -> proto::ProfilesDictionary {
        let locations = self.symbols.locations().map(|(_, (function, line))| {
            let (function_index, line) = (function as i32, line.into());
            let line = proto::Line { function_index, line, ..Default::default() };
            proto::Location { lines: vec![line], ..Default::default() }
        });
        let functions = self.symbols.functions().map(|(_, names)| {
            let [name_strindex, system_name_strindex, filename_strindex] =
                names.map(|place| place as i32);
            proto::Function {
                name_strindex,
                system_name_strindex,
                filename_strindex,
                ..Default::default()
            }
        });
        let attributes = self.attributes.into_iter().skip(1).map(|(key_strindex, value)| {
            let value = any(Value::StringValue(value));
            proto::KeyValueAndUnit { key_strindex, value, ..Default::default() }
        });
        let stacks = self.stacks.into_iter();
        proto::ProfilesDictionary {
            mapping_table: vec![Default::default()],
            location_table: after_empty(locations),
            function_table: after_empty(functions),
            link_table: vec![Default::default()],
            string_table: self.symbols.strings().map(str::to_owned).collect(),
            attribute_table: after_empty(attributes),
            stack_table: stacks.map(|location_indices| proto::Stack { location_indices }).collect(),
        }
    }
}

/// Returns a table with these entries behind the empty one.
fn after_empty<T: Default>(entries: impl Iterator<Item = T>) -> Vec<T> {
    iter::once(T::default()).chain(entries).collect()
}

/// Returns an ID that no other profile has: a store may drop a profile that is sent twice.
fn random_id() -> [u8; 16] {
    // Seeded like std's maps, from the system's random numbers.
    let half = || RandomState::new().build_hasher().finish().to_le_bytes();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&half());
    id[8..].copy_from_slice(&half());
    id
}

/// Reads an `ExportProfilesServiceResponse`: the number of profiles that the store rejected, and its message. None if it
/// took all, or if the bytes are something else.
#[must_use]
pub fn otlp_rejected(response: &[u8]) -> Option<(u64, String)> {
    let partial = ExportProfilesServiceResponse::decode(response).ok()?.partial_success?;
    let rejected = u64::try_from(partial.rejected_profiles).ok().filter(|number| *number > 0)?;
    Some((rejected, partial.error_message))
}
