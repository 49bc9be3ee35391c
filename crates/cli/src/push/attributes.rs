//! The attributes of a process, by which stores find its profiles.

use super::environment::{decoded, variable};
use crate::platform::system::host_name;
use crate::process::Process;
use jvmpi_formats::profile::AttributeValue;
use std::path::Path;

/// The attributes of a process.
pub type Attributes = Vec<(String, AttributeValue)>;

/// The name of the program. Stores show it first.
pub const SERVICE_NAME: &str = "service.name";

/// The attributes that the user gives, in the variables of OpenTelemetry.
pub struct Labels(Attributes);

impl Labels {
    /// Reads the variables.
    ///
    /// # Errors
    /// Returns one line if a variable is not UTF-8.
    pub fn of_environment() -> Result<Self, String> {
        let all = variable("OTEL_RESOURCE_ATTRIBUTES")?.unwrap_or_default();
        let mut labels = Attributes::new();
        for (key, value) in all.split(',').filter_map(|pair| pair.split_once('=')) {
            if !key.trim().is_empty() {
                set(&mut labels, key.trim(), AttributeValue::Text(decoded(value.trim())));
            }
        }
        if let Some(name) = variable("OTEL_SERVICE_NAME")? {
            set(&mut labels, SERVICE_NAME, AttributeValue::Text(name));
        }
        Ok(Self(labels))
    }

    /// Returns the attributes of a JVM. `number` is its process ID in its own namespace, if the JVM is not known by the
    /// one that it has here.
    pub fn of_jvm(&self, process: Option<&Process>, number: Option<u32>) -> Attributes {
        let program = process.and_then(Process::program);
        let mut all = Attributes::new();
        let mut add = |key: &str, value| all.push((key.to_owned(), value));
        let name = program.as_deref().map(|name| name.strip_suffix(".jar").unwrap_or(name));
        let name = name.unwrap_or("unknown_service:java").to_owned();
        add(SERVICE_NAME, AttributeValue::Text(name));
        if let Some(host) = host_name().ok().filter(|name| !name.is_empty()) {
            add("host.name", AttributeValue::Text(host));
        }
        let here = process.map(|process| process.number().unsigned_abs());
        if let Some(number) = here.or(number) {
            add("process.pid", AttributeValue::Number(number));
        }
        add("process.runtime.name", AttributeValue::Text("java".into()));
        if let Some(version) = process.and_then(Process::java) {
            let version = version.strip_prefix("Java ").unwrap_or(&version).to_owned();
            add("process.runtime.version", AttributeValue::Text(version));
        }
        self.added_to(all)
    }

    /// Returns the attributes of a file. Where it was recorded is unknown.
    pub fn of_file(&self, path: &Path) -> Attributes {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.split('.').find(|part| !part.is_empty()).unwrap_or("unknown_service:java");
        self.added_to(vec![(SERVICE_NAME.to_owned(), AttributeValue::Text(name.to_owned()))])
    }

    fn added_to(&self, mut all: Attributes) -> Attributes {
        self.0.iter().for_each(|(key, value)| set(&mut all, key, value.clone()));
        all
    }
}

/// Sets the value of a key.
fn set(all: &mut Attributes, key: &str, value: AttributeValue) {
    match all.iter_mut().find(|(of, _)| of == key) {
        Some((_, old)) => *old = value,
        None => all.push((key.to_owned(), value)),
    }
}
