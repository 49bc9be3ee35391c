//! The store that profiles go to.

use std::fmt;
use ureq::http::Uri;

/// A store, from its URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Destination {
    /// The protocol of its requests.
    pub protocol: Protocol,
    /// The scheme, the host, the port and the path of requests.
    url: String,
    host: String,
    /// True if requests are encrypted.
    pub is_secure: bool,
}

/// A protocol for profiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// The OpenTelemetry protocol.
    Otlp,
    /// Pyroscope's own.
    Pyroscope,
}

const OTLP_PATH: &str = "/v1development/profiles";
const PYROSCOPE_PATH: &str = "/ingest";

impl Destination {
    /// Reads the URL of a store, which begins with its protocol.
    ///
    /// # Errors
    /// Returns one line, which shows no password.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('+') {
            Some(("otlp", url)) => Self::new(Protocol::Otlp, url, OTLP_PATH),
            Some(("pyroscope", url)) => Self::new(Protocol::Pyroscope, url, PYROSCOPE_PATH),
            _ => Err(format!("the URL of a store must begin with {SCHEMES}")),
        }
    }

    /// Reads the URL in a variable of OpenTelemetry. `is_whole` if no path is added to it.
    ///
    /// # Errors
    /// Returns one line, which shows no password.
    pub fn of_variable(url: &str, is_whole: bool) -> Result<Self, String> {
        Self::new(Protocol::Otlp, url, if is_whole { "" } else { OTLP_PATH })
    }

    fn new(protocol: Protocol, url: &str, own_path: &str) -> Result<Self, String> {
        // Nothing of the URL is shown before it is known that no password is in it.
        let (_, after_scheme) = url.split_once("://").unwrap_or(("", url));
        if after_scheme
            .split(['/', '?', '#'])
            .next()
            .is_some_and(|authority| authority.contains('@'))
        {
            return Err("a URL with a user or a password in it is not accepted: set OTEL_EXPORTER_OTLP_HEADERS instead"
                .into());
        }
        let uri: Uri = url.parse().map_err(|error| format!("{url}: not a URL: {error}"))?;
        let (Some(scheme @ ("http" | "https")), Some(authority)) =
            (uri.scheme_str(), uri.authority())
        else {
            return Err(format!(
                "{url}: the URL of a store has https:// or http:// before its host"
            ));
        };
        let has_port = authority.as_str().rsplit(']').next().is_some_and(|end| end.contains(':'));
        if has_port && authority.port_u16().is_none() {
            return Err(format!("{url}: not a URL: the port is not a number up to 65535"));
        }
        if let Some(query) = uri.query() {
            return Err(format!("{url}: ?{query} cannot follow the path"));
        }
        let path = if own_path.is_empty() { uri.path() } else { uri.path().trim_end_matches('/') };
        let path = path.strip_suffix(own_path).unwrap_or(path);
        Ok(Self {
            protocol,
            url: format!("{scheme}://{authority}{path}{own_path}"),
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            is_secure: scheme == "https",
        })
    }

    /// Returns the URL of a request with these parameters.
    pub fn url(&self, query: &str) -> String {
        if query.is_empty() { self.url.clone() } else { format!("{}?{query}", self.url) }
    }

    /// Returns true if the store is on this machine.
    pub fn is_local(&self) -> bool {
        let address = self.host.parse::<std::net::IpAddr>();
        self.host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

/// The URL that requests go to.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

const SCHEMES: &str = "otlp+https://, otlp+http://, pyroscope+https:// or pyroscope+http://";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_selects_the_protocol() {
        for (text, protocol, url) in [
            ("otlp+http://h:4318", Protocol::Otlp, "http://h:4318/v1development/profiles"),
            ("otlp+https://h/otlp/", Protocol::Otlp, "https://h/otlp/v1development/profiles"),
            ("pyroscope+http://[::1]:4040", Protocol::Pyroscope, "http://[::1]:4040/ingest"),
            ("pyroscope+http://h/a/ingest", Protocol::Pyroscope, "http://h/a/ingest"),
        ] {
            let found = Destination::parse(text).unwrap();
            assert_eq!((found.protocol, found.to_string()), (protocol, url.to_owned()), "{text}");
            assert_eq!(found.is_secure, url.starts_with("https"), "{text}");
        }
        let local = |text| Destination::parse(text).unwrap().is_local();
        assert!(local("otlp+http://localhost:4318") && local("pyroscope+http://[::1]:4040"));
        assert!(local("pyroscope+http://127.0.0.9:4040") && !local("pyroscope+http://10.0.0.1"));
    }

    #[test]
    fn path_is_added_only_to_the_endpoint_of_all_data() {
        let url = |url, is_whole| Destination::of_variable(url, is_whole).unwrap().to_string();
        assert_eq!(url("http://h:4318", false), "http://h:4318/v1development/profiles");
        assert_eq!(url("http://h/a/", true), "http://h/a/");
    }

    /// The line shows no password.
    #[test]
    fn bad_url_says_what_is_wrong() {
        for (text, expected) in [
            ("localhost:4040", "must begin with"),
            ("http://h/ingest", "must begin with"),
            ("pyroscope+ftp://h", "https:// or http://"),
            ("", "must begin with"),
            ("otlp+", "not a URL"),
            ("otlp+http://h:99999", "not a URL"),
            ("pyroscope+http://h?name=x", "cannot follow"),
            ("otlp+http:///ingest", "not a URL"),
            ("otlp+https://me:secret@h", "OTEL_EXPORTER_OTLP_HEADERS"),
            ("otlp+https://secret@h/ingest", "OTEL_EXPORTER_OTLP_HEADERS"),
            ("otlp+me:secret@h:1", "OTEL_EXPORTER_OTLP_HEADERS"),
        ] {
            let error = Destination::parse(text).unwrap_err();
            assert!(error.contains(expected) && !error.contains("secret"), "{text}: {error}");
        }
    }
}
