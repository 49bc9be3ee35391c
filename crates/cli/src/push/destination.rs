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
    is_secure: bool,
}

/// A protocol for profiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// The OpenTelemetry protocol.
    Otlp,
    /// Pyroscope's own, with pprof.
    Pyroscope,
    /// Pyroscope's own, with lines of text.
    Folded,
}

const OTLP_PATH: &str = "/v1development/profiles";
const PYROSCOPE_PATH: &str = "/ingest";

impl Destination {
    /// Reads the URL of a store.
    ///
    /// # Errors
    /// Returns one line, which shows no password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (named, url) = match text.split_once('+') {
            Some(("otlp", rest)) => (Some(Protocol::Otlp), rest),
            Some(("pyroscope", rest)) => (Some(Protocol::Pyroscope), rest),
            _ => (None, text),
        };
        // Nothing of the URL is shown before it is known that no password is in it.
        let (_, after_scheme) = url.split_once("://").unwrap_or(("", url));
        let authority = after_scheme.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(
                "a URL with a user or a password in it is not accepted, because other users see it: set \
                 JVMPI_PUSH_USER and JVMPI_PUSH_PASSWORD instead"
                    .into(),
            );
        }
        let uri: Uri = url.parse().map_err(|error| format!("{text}: not a URL: {error}"))?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(format!("{text}: not a URL of a store: it must begin with {SCHEMES}"));
        };
        let has_port = authority.as_str().rsplit(']').next().is_some_and(|end| end.contains(':'));
        if has_port && authority.port_u16().is_none() {
            return Err(format!("{text}: not a URL: the port is not a number up to 65535"));
        }
        let is_secure = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(format!("{text}: the URL of a store must begin with {SCHEMES}")),
        };
        let path = uri.path().trim_end_matches('/');
        let protocol = match named {
            Some(protocol) => protocol,
            None if path.ends_with(OTLP_PATH) => Protocol::Otlp,
            None if path.ends_with(PYROSCOPE_PATH) => Protocol::Pyroscope,
            None => {
                return Err(format!(
                    "{text}: the protocol is unknown: put otlp+ or pyroscope+ before the URL, or end its path with \
                     {OTLP_PATH} or {PYROSCOPE_PATH}"
                ));
            }
        };
        let protocol = match (protocol, uri.query()) {
            (protocol, None) => protocol,
            (Protocol::Pyroscope, Some("format=folded")) => Protocol::Folded,
            (Protocol::Pyroscope, Some("format=pprof")) => Protocol::Pyroscope,
            (Protocol::Pyroscope, Some(_)) => {
                return Err(format!("{text}: only format=pprof or format=folded can follow the ?"));
            }
            (_, Some(_)) => return Err(format!("{text}: nothing can follow the path")),
        };
        let own_path = if protocol == Protocol::Otlp { OTLP_PATH } else { PYROSCOPE_PATH };
        let path = path.strip_suffix(own_path).unwrap_or(path);
        Ok(Self {
            protocol,
            url: format!("{scheme}://{authority}{path}{own_path}"),
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            is_secure,
        })
    }

    /// Returns the URL of a request with these parameters.
    pub fn url(&self, query: &str) -> String {
        if query.is_empty() { self.url.clone() } else { format!("{}?{query}", self.url) }
    }

    /// Returns true if requests are encrypted.
    pub fn is_secure(&self) -> bool {
        self.is_secure
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
    fn scheme_or_path_selects_the_protocol() {
        for (text, protocol, url) in [
            ("otlp+http://h:4318", Protocol::Otlp, "http://h:4318/v1development/profiles"),
            ("otlp+https://h/otlp/", Protocol::Otlp, "https://h/otlp/v1development/profiles"),
            (
                "https://h/v1development/profiles",
                Protocol::Otlp,
                "https://h/v1development/profiles",
            ),
            ("pyroscope+http://[::1]:4040", Protocol::Pyroscope, "http://[::1]:4040/ingest"),
            ("http://h/a/ingest", Protocol::Pyroscope, "http://h/a/ingest"),
            ("pyroscope+https://h?format=folded", Protocol::Folded, "https://h/ingest"),
            ("http://h/ingest?format=pprof", Protocol::Pyroscope, "http://h/ingest"),
        ] {
            let found = Destination::parse(text).unwrap();
            assert_eq!((found.protocol, found.to_string()), (protocol, url.to_owned()), "{text}");
            assert_eq!(found.is_secure(), url.starts_with("https"), "{text}");
        }
        let local = |text| Destination::parse(text).unwrap().is_local();
        assert!(local("otlp+http://localhost:4318") && local("pyroscope+http://[::1]:4040"));
        assert!(local("pyroscope+http://127.0.0.9:4040") && !local("pyroscope+http://10.0.0.1"));
    }

    #[test]
    fn bad_url_says_what_is_missing() {
        for (text, expected) in [
            ("localhost:4040", "must begin with"),
            ("pyroscope+ftp://h", "must begin with"),
            ("", "not a URL"),
            ("http://h:99999/ingest", "not a URL"),
            ("http://h", "the protocol is unknown"),
            ("otlp+http://h?format=folded", "nothing can follow"),
            ("pyroscope+http://h?name=x", "only format="),
            ("http:///ingest", "not a URL"),
        ] {
            let error = Destination::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn password_in_the_url_is_refused_and_not_shown() {
        for text in ["otlp+https://me:secret@h", "https://secret@h/ingest", "me:secret@h:1"] {
            let error = Destination::parse(text).unwrap_err();
            assert!(error.contains("JVMPI_PUSH_PASSWORD") && !error.contains("secret"), "{error}");
        }
    }
}
