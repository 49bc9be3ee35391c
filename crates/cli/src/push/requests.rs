//! The requests that export a profile.

use super::attributes::{Attributes, SERVICE_NAME};
use super::destination::Protocol;
use flate2::Compression;
use flate2::write::GzEncoder;
use jvmpi_formats::profile::{
    self, AttributeValue, Family, Profile, Section, Weight, write_family,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::io::{self, Write};

/// A request that exports profiles.
pub struct Request {
    /// The parameters in its URL.
    pub query: String,
    /// The type of the body.
    pub content_type: String,
    /// True if the body is compressed with gzip as a whole.
    pub is_compressed: bool,
    /// The profiles.
    pub body: Vec<u8>,
}

/// Returns the requests that export all weights of a profile: none if it has no data.
///
/// # Errors
/// Returns the error of a profile that cannot be written.
pub fn requests(
    profile: &Profile,
    protocol: Protocol,
    attributes: &Attributes,
) -> io::Result<Vec<Request>> {
    match protocol {
        Protocol::Otlp => otlp(profile, attributes),
        Protocol::Pyroscope => pyroscope(profile, attributes),
    }
}

fn otlp(profile: &Profile, attributes: &Attributes) -> io::Result<Vec<Request>> {
    if Weight::of(profile).is_empty() {
        return Ok(Vec::new());
    }
    let mut body = GzEncoder::new(Vec::new(), Compression::default());
    body.write_all(&profile::otlp(profile, attributes))?;
    Ok(vec![Request {
        query: String::new(),
        content_type: "application/x-protobuf".into(),
        is_compressed: true,
        body: body.finish()?,
    }])
}

/// The meaning of the values, for versions before 1.0. Without it they take the allocated objects of a part for those of
/// the whole run.
const SAMPLE_TYPES: &str = r#"{
"samples":{"units":"samples","display-name":"cpu","sampled":true},
"cpu":{"units":"nanoseconds","display-name":"cpu_time"},
"wall":{"units":"nanoseconds","display-name":"wall"},
"wall_samples":{"units":"samples","display-name":"wall"},
"alloc_space":{"units":"bytes"},
"alloc_objects":{"units":"objects"},
"inuse_space":{"units":"bytes","aggregation":"average"},
"inuse_objects":{"units":"objects","aggregation":"average"},
"delay":{"units":"lock_nanoseconds","display-name":"mutex_duration"}
}"#;

fn pyroscope(profile: &Profile, attributes: &Attributes) -> io::Result<Vec<Request>> {
    /// It is in no JSON of ours, and in a compressed profile by no real chance.
    const BOUNDARY: &str = "jvmpi-7d1c3a94f0b84f6e9f2b";
    let mut requests = Vec::new();
    for family in Family::ALL {
        let mut pprof = Vec::new();
        if !write_family(profile, family, &mut pprof)? {
            continue;
        }
        let mut body = Vec::with_capacity(pprof.len() + 1024);
        for (name, file, content) in [
            ("profile", "profile.pprof", &pprof[..]),
            ("sample_type_config", "sample_type_config.json", SAMPLE_TYPES.as_bytes()),
        ] {
            write!(
                body,
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"\r\n\
                 Content-Type: application/octet-stream\r\n\r\n"
            )?;
            body.write_all(content)?;
            body.write_all(b"\r\n")?;
        }
        write!(body, "--{BOUNDARY}--\r\n")?;
        requests.push(Request {
            query: query(profile, attributes),
            content_type: format!("multipart/form-data; boundary={BOUNDARY}"),
            is_compressed: false,
            body,
        });
    }
    Ok(requests)
}

/// The characters that a parameter of a URL cannot have.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the parameters that name the program and the time.
fn query(profile: &Profile, attributes: &Attributes) -> String {
    let text = |value: &AttributeValue| match value {
        AttributeValue::Text(text) => text.clone(),
        AttributeValue::Number(number) => number.to_string(),
    };
    let service = attributes.iter().find(|(key, _)| key == SERVICE_NAME);
    let mut name = service.map(|(_, name)| name_of_service(&text(name))).unwrap_or_default();
    name.push('{');
    let others = attributes.iter().filter(|(key, _)| key != SERVICE_NAME);
    let others =
        others.map(|(key, value)| format!("{}={}", name_of_label(key), clean(&text(value))));
    name += &others.collect::<Vec<_>>().join(",");
    name.push('}');
    let start = profile.created.0;
    let end = profile.sections.iter().filter_map(Section::at).map(|end| end.0).max();
    // Times of 13 digits are milliseconds.
    format!(
        "name={}&from={start:013}&until={:013}&spyName=jvmpi",
        utf8_percent_encode(&name, RESERVED),
        end.unwrap_or(start).max(start)
    )
}

/// Replaces the characters that no service can have in its name.
fn name_of_service(text: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
    let name: String = text.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    if name.is_empty() { "unknown_service".into() } else { name }
}

/// Replaces the characters that no label can have in its name.
fn name_of_label(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Replaces the characters that end the value of a label.
fn clean(value: &str) -> String {
    value.chars().map(|c| if ",{}=".contains(c) || c.is_control() { '_' } else { c }).collect()
}
