//! The variables that programs with OpenTelemetry have in common. Credentials are among them, because arguments are
//! visible to all users of a machine.

use super::destination::Destination;
use percent_encoding::percent_decode_str;
use std::env;
use std::path::PathBuf;
use std::time::Duration;
use ureq::http::{HeaderName, HeaderValue};

/// Returns the value of a variable. None if it is empty, too.
///
/// # Errors
/// Returns one line if it is not UTF-8.
pub fn variable(name: &str) -> Result<Option<String>, String> {
    let value = env::var_os(name).filter(|value| !value.is_empty());
    value.map(|value| value.into_string().map_err(|_| format!("{name} is not UTF-8"))).transpose()
}

/// Returns a setting with the name of its variable: that for profiles, or else that for all data.
fn setting(name: &str) -> Result<Option<(String, String)>, String> {
    for name in
        [format!("OTEL_EXPORTER_OTLP_PROFILES_{name}"), format!("OTEL_EXPORTER_OTLP_{name}")]
    {
        if let Some(value) = variable(&name)? {
            return Ok(Some((name, value)));
        }
    }
    Ok(None)
}

/// Returns the store.
///
/// # Errors
/// Returns one line if there is none, or if its URL is none.
pub fn destination() -> Result<Destination, String> {
    let (name, url) = setting("ENDPOINT")?
        .ok_or("no store is named: give its URL, or set OTEL_EXPORTER_OTLP_ENDPOINT")?;
    let protocol = setting("PROTOCOL")?.filter(|(_, protocol)| protocol != "http/protobuf");
    if let Some((name, protocol)) = protocol {
        return Err(format!("{name}={protocol}: profiles are only sent by http/protobuf"));
    }
    Destination::of_variable(&url, name.contains("PROFILES"))
        .map_err(|why| format!("{name}: {why}"))
}

/// Returns the headers of requests.
///
/// # Errors
/// Returns one line, without a secret, if they cannot be sent.
pub fn headers() -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let Some((variable, all)) = setting("HEADERS")? else { return Ok(Vec::new()) };
    let header = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let mut value = HeaderValue::from_str(&decoded(value.trim())).ok()?;
        value.set_sensitive(true);
        Some((name.trim().parse().ok()?, value))
    };
    let headers = all.split(',').filter(|pair| !pair.trim().is_empty()).map(header);
    let headers: Option<_> = headers.collect();
    headers.ok_or_else(|| format!("{variable}: give NAME=VALUE, separated by commas"))
}

/// Returns the file with the certificates of the authorities, in place of those of the system.
///
/// # Errors
/// Returns one line if it is not UTF-8.
pub fn certificate() -> Result<Option<PathBuf>, String> {
    Ok(setting("CERTIFICATE")?.map(|(_, path)| path.into()))
}

/// Returns the longest time for a request, and the longest wait for the store at the end.
///
/// # Errors
/// Returns one line if it is not a number.
pub fn timeout() -> Result<Duration, String> {
    let Some((variable, value)) = setting("TIMEOUT")? else { return Ok(Duration::from_secs(10)) };
    let milliseconds = value.trim().parse::<u32>().ok().filter(|number| *number > 0);
    let milliseconds = milliseconds.map(|number| Duration::from_millis(number.into()));
    milliseconds.ok_or_else(|| format!("{variable}={value}: give a number of milliseconds above 0"))
}

/// Decodes `%2C` and the like.
pub fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
