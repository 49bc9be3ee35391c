//! Profiles of the OpenTelemetry protocol, version 1.10: an `ExportProfilesServiceRequest` of
//! `opentelemetry/proto/collector/profiles/v1development`.

use super::measures::{Measure, Period, start_and_duration};
use super::protobuf::{FieldValue, Fields, Message};
use super::symbols::{Symbols, labels};
use crate::profile::model::Profile;
use crate::profile::weight::{Weight, stacks};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The numbers of the fields.
mod field {
    pub mod request {
        pub const RESOURCE_PROFILES: u32 = 1;
        pub const DICTIONARY: u32 = 2;
    }
    pub mod resource_profiles {
        pub const RESOURCE: u32 = 1;
        pub const SCOPE_PROFILES: u32 = 2;
    }
    pub mod resource {
        pub const ATTRIBUTES: u32 = 1;
    }
    pub mod scope_profiles {
        pub const SCOPE: u32 = 1;
        pub const PROFILES: u32 = 2;
    }
    pub mod scope {
        pub const NAME: u32 = 1;
        pub const VERSION: u32 = 2;
    }
    pub mod profile {
        pub const SAMPLE_TYPE: u32 = 1;
        pub const SAMPLES: u32 = 2;
        pub const TIME_UNIX_NANO: u32 = 3;
        pub const DURATION_NANO: u32 = 4;
        pub const PERIOD_TYPE: u32 = 5;
        pub const PERIOD: u32 = 6;
        pub const PROFILE_ID: u32 = 7;
    }
    pub mod sample {
        pub const STACK_INDEX: u32 = 1;
        pub const ATTRIBUTE_INDICES: u32 = 2;
        pub const VALUES: u32 = 4;
    }
    pub mod dictionary {
        pub const MAPPING_TABLE: u32 = 1;
        pub const LOCATION_TABLE: u32 = 2;
        pub const FUNCTION_TABLE: u32 = 3;
        pub const LINK_TABLE: u32 = 4;
        pub const STRING_TABLE: u32 = 5;
        pub const ATTRIBUTE_TABLE: u32 = 6;
        pub const STACK_TABLE: u32 = 7;
    }
    pub mod stack {
        pub const LOCATION_INDICES: u32 = 1;
    }
    pub mod location {
        pub const LINES: u32 = 3;
    }
    pub mod function {
        pub const NAME: u32 = 1;
        pub const SYSTEM_NAME: u32 = 2;
        pub const FILENAME: u32 = 3;
    }
    pub mod key_value_and_unit {
        pub const KEY: u32 = 1;
        pub const VALUE: u32 = 2;
    }
    pub mod key_value {
        pub const KEY: u32 = 1;
        pub const VALUE: u32 = 2;
    }
    pub mod any_value {
        pub const STRING: u32 = 1;
        pub const INT: u32 = 3;
    }
}

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
    let mut scope = Message::default();
    scope.bytes(field::scope::NAME, b"jvmpi");
    scope.bytes(field::scope::VERSION, env!("CARGO_PKG_VERSION").as_bytes());
    let mut scope_profiles = Message::default();
    scope_profiles.message(field::scope_profiles::SCOPE, &scope);
    for weight in Weight::of(profile) {
        let written = builder.profile(profile, weight);
        scope_profiles.message(field::scope_profiles::PROFILES, &written);
    }
    let mut resource = Message::default();
    for (key, value) in attributes {
        let mut attribute = Message::default();
        attribute.bytes(field::key_value::KEY, key.as_bytes());
        attribute.message(field::key_value::VALUE, &any_value(value));
        resource.message(field::resource::ATTRIBUTES, &attribute);
    }
    let mut resource_profiles = Message::default();
    resource_profiles.message(field::resource_profiles::RESOURCE, &resource);
    resource_profiles.message(field::resource_profiles::SCOPE_PROFILES, &scope_profiles);
    let mut request = Message::default();
    request.message(field::request::RESOURCE_PROFILES, &resource_profiles);
    request.message(field::request::DICTIONARY, &builder.dictionary());
    request.0
}

fn any_value(value: &AttributeValue) -> Message {
    let mut message = Message::default();
    match value {
        AttributeValue::Text(text) => {
            message.bytes(field::any_value::STRING, text.as_bytes());
        }
        AttributeValue::Number(number) => {
            message.number(field::any_value::INT, (*number).into());
        }
    }
    message
}

/// The dictionary, which all profiles of a request share. The first entry of each table is empty.
struct Builder {
    symbols: Symbols,
    /// Locations, innermost first.
    stacks: IndexSet<Vec<u64>, FxBuildHasher>,
    /// Keys, as places of strings, and values.
    attributes: IndexSet<(u64, String), FxBuildHasher>,
}

impl Builder {
    fn new() -> Self {
        Self {
            symbols: Symbols::default(),
            stacks: IndexSet::from_iter([Vec::new()]),
            attributes: IndexSet::from_iter([(0, String::new())]),
        }
    }

    fn profile(&mut self, profile: &Profile, weight: Weight) -> Message {
        // Stores compute the CPU time themselves: Pyroscope knows samples whose period is a CPU time.
        let measure = match weight {
            Weight::WallSamples => Measure::time(weight, profile),
            _ => None,
        };
        let measure = measure.unwrap_or_else(|| Measure::of(weight));
        let mut message = Message::default();
        let sample_type = self.symbols.value_type(measure.kind);
        message.message(field::profile::SAMPLE_TYPE, &sample_type);
        for stack in stacks(profile, weight) {
            let mut sample = Message::default();
            let locations = self.symbols.stack(profile, &stack);
            let (place, _) = self.stacks.insert_full(locations);
            sample.number(field::sample::STACK_INDEX, place as u64);
            let keys = ["thread.name", "thread.state"].into_iter();
            let attributes = keys.zip(labels(profile, &stack));
            let attributes: Vec<_> =
                attributes.filter_map(|(key, value)| Some(self.attribute(key, value?))).collect();
            sample.packed(field::sample::ATTRIBUTE_INDICES, &attributes);
            sample.packed(field::sample::VALUES, &[measure.value(stack.value)]);
            message.message(field::profile::SAMPLES, &sample);
        }
        let [start, duration] = start_and_duration(profile);
        message.fixed64(field::profile::TIME_UNIX_NANO, start);
        message.number(field::profile::DURATION_NANO, duration);
        let period = Period::of(weight, profile);
        let period_type = self.symbols.value_type(period.kind);
        message.message(field::profile::PERIOD_TYPE, &period_type);
        message.number(field::profile::PERIOD, period.value);
        message.bytes(field::profile::PROFILE_ID, &random_id());
        message
    }

    fn attribute(&mut self, key: &str, value: &str) -> u64 {
        let key = self.symbols.string(key);
        self.attributes.insert_full((key, value.to_owned())).0 as u64
    }

    fn dictionary(&self) -> Message {
        let mut message = Message::default();
        let empty = Message::default();
        message.message(field::dictionary::MAPPING_TABLE, &empty);
        message.message(field::dictionary::LOCATION_TABLE, &empty);
        for (_, line) in self.symbols.locations() {
            let mut location = Message::default();
            location.message(field::location::LINES, &line);
            message.message(field::dictionary::LOCATION_TABLE, &location);
        }
        message.message(field::dictionary::FUNCTION_TABLE, &empty);
        for (_, [name, system_name, filename]) in self.symbols.functions() {
            let mut function = Message::default();
            function.number(field::function::NAME, name);
            function.number(field::function::SYSTEM_NAME, system_name);
            function.number(field::function::FILENAME, filename);
            message.message(field::dictionary::FUNCTION_TABLE, &function);
        }
        message.message(field::dictionary::LINK_TABLE, &empty);
        for string in self.symbols.strings() {
            message.bytes(field::dictionary::STRING_TABLE, string.as_bytes());
        }
        message.message(field::dictionary::ATTRIBUTE_TABLE, &empty);
        for (key, value) in self.attributes.iter().skip(1) {
            let mut attribute = Message::default();
            attribute.number(field::key_value_and_unit::KEY, *key);
            let value = any_value(&AttributeValue::Text(value.clone()));
            attribute.message(field::key_value_and_unit::VALUE, &value);
            message.message(field::dictionary::ATTRIBUTE_TABLE, &attribute);
        }
        for locations in &self.stacks {
            let mut stack = Message::default();
            stack.packed(field::stack::LOCATION_INDICES, locations);
            message.message(field::dictionary::STACK_TABLE, &stack);
        }
        message
    }
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
    const PARTIAL_SUCCESS: u64 = 1;
    const REJECTED_PROFILES: u64 = 1;
    const ERROR_MESSAGE: u64 = 2;
    let (mut rejected, mut message) = (0, String::new());
    for (field, value) in Fields(response) {
        let (PARTIAL_SUCCESS, FieldValue::Bytes(part)) = (field, value) else { continue };
        for (field, value) in Fields(part) {
            match (field, value) {
                (REJECTED_PROFILES, FieldValue::Number(number)) => rejected = number,
                (ERROR_MESSAGE, FieldValue::Bytes(text)) => {
                    message = String::from_utf8_lossy(text).into_owned();
                }
                _ => {}
            }
        }
    }
    (rejected > 0).then_some((rejected, message))
}
