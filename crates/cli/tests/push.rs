//! `jvmpi push` against stores that work, and against stores that do not.

#![cfg(feature = "push")]

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::profiles::v1development::{
    ExportProfilesPartialSuccess, ExportProfilesServiceRequest, ExportProfilesServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use percent_encoding::percent_decode_str;
use prost::Message;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// A profile with all weights of HPROF's text.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/tests/expected.txt");

/// The answer of a store to a request.
#[derive(Clone)]
enum Answer {
    /// With a status, headers and a body.
    Status(u16, &'static str, Vec<u8>),
    /// Ends the connection in the middle of the answer.
    Cut,
    /// Does not answer, and ends the connection after two seconds.
    Nothing,
}

fn status(number: u16) -> Answer {
    Answer::Status(number, "", Vec::new())
}

/// A request that a store has got.
#[derive(Debug)]
struct Seen {
    /// The method, the path and the version.
    line: String,
    /// With names in lower case.
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(of, _)| of == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns a parameter of the URL, decoded.
    fn parameter(&self, name: &str) -> String {
        let query = self.line.split_once('?').unwrap().1.split(' ').next().unwrap();
        let value = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
        let value = value.unwrap_or_else(|| panic!("no {name}: {query}"));
        percent_decode_str(value).decode_utf8().unwrap().into_owned()
    }

    fn request(&self) -> ExportProfilesServiceRequest {
        assert_eq!(self.header("content-encoding"), Some("gzip"));
        assert_eq!(self.header("content-type"), Some("application/x-protobuf"));
        ExportProfilesServiceRequest::decode(&unpacked(&self.body)[..]).unwrap()
    }

    /// Returns the parts of a form, with their names.
    fn parts(&self) -> Vec<(String, Vec<u8>)> {
        let kind = self.header("content-type").unwrap();
        let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
        let boundary = format!("--{boundary}");
        let at = |from: &[u8], what: &[u8]| from.windows(what.len()).position(|w| w == what);
        let mut parts = Vec::new();
        let mut rest = &self.body[boundary.len()..];
        while rest != b"--\r\n" {
            let head = at(rest, b"\r\n\r\n").unwrap();
            let name = str::from_utf8(&rest[..head]).unwrap();
            let name = name.split_once("; name=\"").unwrap().1.split('"').next().unwrap();
            rest = &rest[head + 4..];
            let end = at(rest, format!("\r\n{boundary}").as_bytes()).unwrap();
            parts.push((name.to_owned(), rest[..end].to_owned()));
            rest = &rest[end + 2 + boundary.len()..];
        }
        parts
    }
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut all).unwrap();
    all
}

/// A connection to a store, encrypted or not.
trait Connection: Read + Write {}

impl<T: Read + Write> Connection for T {}

/// A store on a port of this machine.
struct Store {
    port: u16,
    seen: Receiver<Seen>,
}

impl Store {
    /// Starts a store that gives these answers, each on a connection of its own, and the last one to all further
    /// requests.
    fn new(answers: Vec<Answer>) -> Self {
        Self::with(answers, |stream| Box::new(stream))
    }

    /// `wrap` makes a connection encrypted, or leaves it as it is.
    fn with(
        answers: Vec<Answer>,
        wrap: impl Fn(TcpStream) -> Box<dyn Connection> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, seen) = mpsc::channel();
        thread::spawn(move || {
            let last = answers.last().cloned().into_iter().cycle();
            let all = answers.iter().cloned().chain(last);
            for (stream, answer) in listener.incoming().zip(all) {
                let mut connection = BufReader::new(wrap(stream.unwrap()));
                // A client that does not trust the store sends nothing.
                if let Some(request) = read(&mut connection) {
                    let _ = sender.send(request);
                    reply(&answer, connection.get_mut());
                }
            }
        });
        Self { port, seen }
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    fn seen(&self) -> Seen {
        self.seen.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    fn seen_nothing_more(&self) -> bool {
        self.seen.try_recv().is_err()
    }
}

fn read(from: &mut BufReader<Box<dyn Connection>>) -> Option<Seen> {
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|length| *length > 0)?;
        let mut headers = Vec::new();
        loop {
            let mut header = String::new();
            from.read_line(&mut header).ok()?;
            let Some((name, value)) = header.trim().split_once(':') else { break };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let mut seen = Seen { line: line.trim().to_owned(), headers, body: Vec::new() };
        if seen.line.starts_with("CONNECT ") {
            // The store is the proxy, too.
            from.get_mut().write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
            continue;
        }
        let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
        seen.body = vec![0; length];
        from.read_exact(&mut seen.body).ok()?;
        return Some(seen);
    }
}

fn reply(answer: &Answer, to: &mut dyn Write) {
    let head = |number, headers, length| {
        format!(
            "HTTP/1.1 {number} Reason\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
        )
    };
    // A client may have ended.
    let _ = match answer {
        Answer::Status(number, headers, body) => to
            .write_all(head(*number, *headers, body.len()).as_bytes())
            .and_then(|()| to.write_all(body)),
        Answer::Cut => to.write_all(&head(200, "", 100).as_bytes()[..20]),
        Answer::Nothing => {
            thread::sleep(Duration::from_secs(2));
            Ok(())
        }
    };
    let _ = to.flush();
}

/// Pushes with these variables alone.
fn push(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jvmpi"));
    command.arg("push").args(arguments).env_clear().envs(environment.iter().copied());
    command.output().unwrap()
}

/// The variables that end the wait for a store soon, and late.
const SHORT: (&str, &str) = ("OTEL_EXPORTER_OTLP_TIMEOUT", "2000");
const LONG: (&str, &str) = ("OTEL_EXPORTER_OTLP_TIMEOUT", "60000");

/// Returns the last line of standard error, which is the report.
#[track_caller]
fn report(output: &Output, status: i32) -> String {
    let text = str::from_utf8(&output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert_eq!(str::from_utf8(&output.stdout).unwrap(), "");
    text.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn opentelemetry_request_has_attributes_and_profiles() {
    let store = Store::new(vec![status(200)]);
    let output = push(
        &["--interval", "20", FILE],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &store.url("http")),
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20abc,x-scope-orgid = a"),
            ("OTEL_SERVICE_NAME", "shop"),
            // The name of the service comes last; what is no attribute is left out.
            ("OTEL_RESOURCE_ATTRIBUTES", "region=eu%,team=a%2Cb,%3,=x,service.name=other"),
        ],
    );
    let line = report(&output, 0);
    assert!(line.starts_with("jvmpi: pushed 1 requests ("), "{line}");
    assert!(line.ends_with(&format!("{}/v1development/profiles", store.url("http"))), "{line}");
    let seen = store.seen();
    assert_eq!(seen.line, "POST /v1development/profiles HTTP/1.1");
    assert_eq!(seen.header("authorization"), Some("Bearer abc"));
    assert_eq!(seen.header("x-scope-orgid"), Some("a"));
    assert_eq!(seen.header("user-agent"), Some(concat!("jvmpi/", env!("CARGO_PKG_VERSION"))));
    let request = seen.request();
    let [resource] = &request.resource_profiles[..] else { panic!("one resource") };
    let attributes = &resource.resource.as_ref().unwrap().attributes;
    let attributes: Vec<_> = attributes
        .iter()
        .map(|attribute| match attribute.value.as_ref().unwrap().value.as_ref().unwrap() {
            Value::StringValue(text) => (attribute.key.as_str(), text.as_str()),
            value => panic!("{value:?}"),
        })
        .collect();
    assert_eq!(attributes, [("service.name", "shop"), ("region", "eu%"), ("team", "a,b")]);
    let profiles = &resource.scope_profiles[0].profiles;
    assert_eq!(profiles.len(), 7);
    assert!(profiles.iter().all(|profile| profile.period > 0 && !profile.samples.is_empty()));
    assert_eq!(profiles[0].period, 20_000_000);
}

#[test]
fn pyroscope_gets_a_form_for_each_kind_of_profile() {
    let store = Store::new(vec![status(200)]);
    let variables = [
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic bWU6cHc="),
        ("OTEL_RESOURCE_ATTRIBUTES", "zone.name=a%2Cb"),
    ];
    report(&push(&[FILE, &store.url("pyroscope+http")], &variables), 0);
    for types in ["samples", "alloc_space", "delay"] {
        let seen = store.seen();
        assert!(seen.line.starts_with("POST /ingest?name="), "{}", seen.line);
        assert_eq!(seen.header("authorization"), Some("Basic bWU6cHc="));
        assert_eq!(seen.header("content-encoding"), None);
        assert_eq!(seen.parameter("name"), "expected{zone_name=a_b}");
        assert_eq!(seen.parameter("spyName"), "jvmpi");
        let [from, until] = ["from", "until"].map(|name| seen.parameter(name));
        assert!(from.len() == 13 && until.len() == 13 && from <= until, "{from} {until}");
        let parts = seen.parts();
        let [(profile, pprof), (config, json)] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!([profile, config], ["profile", "sample_type_config"]);
        let pprof = unpacked(pprof);
        assert!(pprof.windows(types.len()).any(|w| w == types.as_bytes()), "{types}");
        let config: serde_json::Value = serde_json::from_slice(json).unwrap();
        assert!(config[types]["units"].is_string(), "{config}");
        assert_eq!(config[types].get("cumulative"), None);
    }
    assert!(store.seen_nothing_more());
}

/// A store that fails for a while gets the same request again.
#[test]
fn request_is_repeated_until_the_store_takes_it() {
    let wait = Answer::Status(429, "Retry-After: 1\r\n", b"too many".to_vec());
    let store = Store::new(vec![status(500), Answer::Cut, wait, status(200)]);
    let start = Instant::now();
    let output = push(&[FILE, &store.url("otlp+http")], &[LONG]);
    let line = report(&output, 0);
    assert!(line.starts_with("jvmpi: pushed 1 requests ("), "{line}");
    assert!(start.elapsed() >= Duration::from_secs(1));
    let bodies: Vec<_> = (0..4).map(|_| store.seen().body).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    let all = str::from_utf8(&output.stderr).unwrap();
    assert_eq!(all.matches("HTTP status 500").count(), 1, "{all}");
}

#[test]
fn store_that_is_away_ends_the_wait_with_a_line_about_what_is_lost() {
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let line = report(&push(&[FILE, &format!("otlp+http://127.0.0.1:{port}")], &[SHORT]), 1);
    assert!(line.contains("pushed 0 requests") && line.contains("; 1 are lost: "), "{line}");
    assert!(line.contains("refused") && line.ends_with("expected.txt has the profile"), "{line}");

    // A store that does not answer holds nobody up.
    let slow = Store::new(vec![Answer::Nothing, status(200)]);
    let start = Instant::now();
    let shorter = ("OTEL_EXPORTER_OTLP_TIMEOUT", "300");
    let line = report(&push(&[FILE, &slow.url("otlp+http")], &[shorter]), 1);
    assert!(line.contains("; 1 are lost: no answer in time"), "{line}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// A request that a store never takes does not hold up the others.
#[test]
fn refused_request_is_lost() {
    let refused = Answer::Status(400, "", b"\n  no \x1b[2J such thing\nmore".to_vec());
    let store = Store::new(vec![refused, status(200)]);
    let line = report(&push(&[FILE, &store.url("pyroscope+http")], &[]), 1);
    assert!(line.contains("pushed 2 requests"), "{line}");
    let why = r"; 1 are lost: HTTP status 400 Bad Request (no \u{1b}[2J such thing); ";
    assert!(line.contains(why), "{line}");
    // The store took the request but not the profiles.
    let partial =
        ExportProfilesPartialSuccess { rejected_profiles: 7, error_message: "too old".into() };
    let body = ExportProfilesServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    let store = Store::new(vec![Answer::Status(200, "", body)]);
    let output = push(&[FILE, &store.url("otlp+http")], &[]);
    let all = str::from_utf8(&output.stderr).unwrap();
    assert!(all.contains("the store rejected 7 profiles: too old"), "{all}");
}

/// Nobody is sent credentials for another.
#[test]
fn redirection_is_not_followed() {
    let other = Store::new(vec![status(200)]);
    let to: &'static str =
        format!("Location: {}/v1development/profiles\r\n", other.url("http")).leak();
    let store = Store::new(vec![Answer::Status(307, to, Vec::new())]);
    let headers = ("OTEL_EXPORTER_OTLP_PROFILES_HEADERS", "Authorization=secret");
    let line = report(&push(&[FILE, &store.url("otlp+http")], &[headers]), 1);
    assert!(line.contains(&format!("has moved to {}", other.url("http"))), "{line}");
    assert!(!line.contains("secret") && other.seen_nothing_more());
}

#[test]
fn request_goes_through_the_proxy_of_the_environment() {
    let proxy = Store::new(vec![status(200)]);
    let variables = [("HTTP_PROXY", &*proxy.url("http"))];
    report(&push(&[FILE, "otlp+http://store.invalid:4318"], &variables), 0);
    let seen = proxy.seen();
    assert_eq!(seen.line, "POST /v1development/profiles HTTP/1.1");
    assert_eq!(seen.header("host"), Some("store.invalid:4318"));
    // A store on this machine needs none.
    let store = Store::new(vec![status(200)]);
    report(&push(&[FILE, &store.url("otlp+http")], &variables), 0);
    assert!(proxy.seen_nothing_more());
}

#[test]
fn mistakes_are_reported_before_anything_is_sent() {
    let says = |arguments: &[&str], environment: &[(&str, &str)], expected: &str| {
        let line = report(&push(arguments, environment), 1);
        assert!(line.starts_with("jvmpi: error: ") && line.contains(expected), "{line}");
        assert!(!line.contains("secret"), "{line}");
    };
    says(&[FILE, "http://localhost:4040"], &[], "must begin with otlp+https://");
    says(&[FILE], &[], "set OTEL_EXPORTER_OTLP_ENDPOINT");
    says(&[FILE, "otlp+https://me:secret@localhost"], &[], "OTEL_EXPORTER_OTLP_HEADERS");
    let url = "otlp+http://localhost:9";
    says(&["/does/not/exist", url], &[], "/does/not/exist: ");
    says(&["Cargo.toml", url], &[], "this is no profile");
    let with = |name, value, expected| says(&[FILE], &[(name, value)], expected);
    with(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "me:secret@host",
        "OTEL_EXPORTER_OTLP_ENDPOINT: a URL with",
    );
    let endpoint = ("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://localhost:9");
    for (name, value, expected) in [
        ("PROTOCOL", "grpc", "http/protobuf"),
        ("HEADERS", "secret", "OTEL_EXPORTER_OTLP_HEADERS: give NAME=VALUE"),
        ("HEADERS", "a b=secret", "NAME=VALUE"),
        ("HEADERS", "a=%0asecret", "NAME=VALUE"),
        ("TIMEOUT", "0", "OTEL_EXPORTER_OTLP_TIMEOUT=0: give a number"),
    ] {
        says(&[FILE], &[endpoint, (&format!("OTEL_EXPORTER_OTLP_{name}"), value)], expected);
    }
}

#[cfg(any(not(target_arch = "x86"), target_feature = "sse2"))]
mod tls {
    use super::*;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ServerConfig, ServerConnection, StreamOwned};
    use std::sync::Arc;

    /// Made with openssl for these tests alone, as is the server's key; both are valid for a hundred years.
    const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/authority.pem");

    fn store() -> Store {
        store_with(include_bytes!("tls/server.pem"), include_bytes!("tls/server.key"))
    }

    fn store_with(certificate: &[u8], key: &[u8]) -> Store {
        let certificate = CertificateDer::from_pem_slice(certificate).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let config = Arc::new(config);
        Store::with(vec![status(200)], move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            Box::new(StreamOwned::new(connection, stream))
        })
    }

    #[test]
    fn certificate_of_an_authority_as_that_of_the_store_is_explained() {
        let store = store_with(
            include_bytes!("tls/self-signed.pem"),
            include_bytes!("tls/self-signed.key"),
        );
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/self-signed.pem");
        let url = store.url("otlp+https");
        let certificate = ("OTEL_EXPORTER_OTLP_CERTIFICATE", file);
        let line = report(&push(&[FILE, &url], &[certificate, SHORT]), 1);
        assert!(line.contains("make one with basicConstraints=CA:FALSE"), "{line}");
    }

    #[test]
    fn certificate_is_checked() {
        let store = store();
        let url = store.url("otlp+https");
        let ca = ("OTEL_EXPORTER_OTLP_CERTIFICATE", AUTHORITY);
        report(&push(&[FILE, &url], &[ca]), 0);
        assert_eq!(store.seen().request().resource_profiles.len(), 1);
        // The file in the variable replaces the authorities of the system.
        report(&push(&[FILE, &url], &[("SSL_CERT_FILE", AUTHORITY)]), 0);
        store.seen();

        // An authority that has not signed the certificate: the server's own certificate is none.
        let other = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/server.pem");
        let output = push(&[FILE, &url], &[("SSL_CERT_FILE", other), SHORT]);
        let line = report(&output, 1);
        assert!(line.contains("; 1 are lost: ") && line.contains("certificate"), "{line}");
        assert!(store.seen_nothing_more());
        // A name that is not in the certificate, and a store that does not encrypt.
        let name = format!("otlp+https://127.0.0.2:{}", store.port);
        let line = report(&push(&[FILE, &name], &[ca, SHORT]), 1);
        assert!(line.contains("1 are lost"), "{line}");
        let plain = Store::new(vec![status(200)]);
        let line = report(&push(&[FILE, &plain.url("otlp+https")], &[ca, SHORT]), 1);
        assert!(line.contains("1 are lost"), "{line}");
    }
}
