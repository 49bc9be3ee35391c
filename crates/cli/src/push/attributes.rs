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
#[derive(Clone, Debug, Default)]
pub struct Labels(Vec<(String, String)>);

impl Labels {
    /// Reads the variables.
    ///
    /// # Errors
    /// Returns one line if a variable is not UTF-8.
    pub fn of_environment() -> Result<Self, String> {
        let all = variable("OTEL_RESOURCE_ATTRIBUTES")?;
        Ok(Self::of(&all.unwrap_or_default(), variable("OTEL_SERVICE_NAME")?))
    }

    fn of(all: &str, service: Option<String>) -> Self {
        let mut labels = Vec::new();
        for (key, value) in all.split(',').filter_map(|pair| pair.split_once('=')) {
            if !key.trim().is_empty() {
                set(&mut labels, key.trim(), decoded(value.trim()));
            }
        }
        if let Some(name) = service {
            set(&mut labels, SERVICE_NAME, name);
        }
        Self(labels)
    }

    /// Returns the attributes of a JVM. `number` is its process ID in its own namespace, if the JVM is not known by the
    /// one that it has here.
    pub fn of_jvm(&self, process: Option<&Process>, number: Option<u32>) -> Attributes {
        let program = process.and_then(Process::program);
        let name = program.as_deref().map(|name| name.strip_suffix(".jar").unwrap_or(name));
        let name = name.unwrap_or("unknown_service:java").to_owned();
        let mut all = vec![(SERVICE_NAME.to_owned(), AttributeValue::Text(name))];
        if let Some(host) = host_name().ok().filter(|name| !name.is_empty()) {
            all.push(("host.name".into(), AttributeValue::Text(host)));
        }
        let here = process.map(|process| process.number().unsigned_abs());
        if let Some(number) = here.or(number) {
            all.push(("process.pid".into(), AttributeValue::Number(number)));
        }
        all.push(("process.runtime.name".into(), AttributeValue::Text("java".into())));
        if let Some(version) = process.and_then(Process::java) {
            let version = version.strip_prefix("Java ").unwrap_or(&version).to_owned();
            all.push(("process.runtime.version".into(), AttributeValue::Text(version)));
        }
        self.added_to(all)
    }

    /// Returns the attributes of a file. Where it was recorded is unknown.
    pub fn of_file(&self, path: &Path) -> Attributes {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.split('.').find(|part| !part.is_empty()).unwrap_or("unknown_service:java");
        let name = AttributeValue::Text(name.to_owned());
        self.added_to(vec![(SERVICE_NAME.to_owned(), name)])
    }

    fn added_to(&self, mut all: Attributes) -> Attributes {
        self.0
            .iter()
            .for_each(|(key, value)| set(&mut all, key, AttributeValue::Text(value.clone())));
        all
    }
}

/// Sets the value of a key.
fn set<V>(all: &mut Vec<(String, V)>, key: &str, value: V) {
    match all.iter_mut().find(|(of, _)| of == key) {
        Some((_, old)) => *old = value,
        None => all.push((key.to_owned(), value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(attributes: &[(String, AttributeValue)], key: &str) -> Option<String> {
        let (_, value) = attributes.iter().find(|(of, _)| of == key)?;
        match value {
            AttributeValue::Text(text) => Some(text.clone()),
            AttributeValue::Number(number) => Some(number.to_string()),
        }
    }

    #[test]
    fn labels_of_the_user_come_last() {
        let given = "team=a,region=eu%2Dwest%,%3,=x,service.name=one,host.name=h";
        let labels = Labels::of(given, Some("two".to_owned()));
        let all = labels.of_jvm(Some(&Process::this()), None);
        for (key, value) in
            [("service.name", "two"), ("team", "a"), ("region", "eu-west%"), ("host.name", "h")]
        {
            assert_eq!(text(&all, key).as_deref(), Some(value), "{key}");
        }
        let number = std::process::id().to_string();
        assert_eq!(text(&all, "process.pid"), Some(number));
        let keys: std::collections::BTreeSet<_> = all.iter().map(|(key, _)| key).collect();
        assert_eq!(keys.len(), all.len());
    }

    #[test]
    fn file_names_the_service_but_no_process() {
        let all = Labels::default().of_file(Path::new("/tmp/shop.hprof.txt"));
        assert_eq!(text(&all, "service.name").as_deref(), Some("shop"));
        assert_eq!(all.len(), 1);
    }
}
