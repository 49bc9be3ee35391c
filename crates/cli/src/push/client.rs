//! Sends requests to a store.

use super::destination::{Destination, Protocol};
use super::environment;
use super::requests::Request;
use jvmpi_formats::profile::{otlp_rejected, printable};
use std::time::Duration;
use ureq::config::Config;
use ureq::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use ureq::{Agent, Body};

/// The connection to a store.
pub struct Client {
    agent: Agent,
    destination: Destination,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The reason why a store did not take a request.
#[derive(PartialEq, Eq, Debug)]
pub enum Failure {
    /// It may take it later, perhaps not before this time has passed.
    Later(String, Option<Duration>),
    /// It never takes this request.
    Never(String),
}

/// The longest pause that a store can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The part of an answer that is read.
const ANSWER: u64 = 1 << 16;

impl Client {
    /// Prepares requests with the settings in the environment.
    ///
    /// # Errors
    /// Returns one line if a setting is wrong.
    pub fn new(destination: Destination, timeout: Duration) -> Result<Self, String> {
        let headers = environment::headers()?;
        let mut config = Config::builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("jvmpi/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .timeout_global(Some(timeout));
        if destination.is_local() {
            // The default is that in the environment.
            config = config.proxy(None);
        }
        if destination.is_secure {
            config = config.tls_config(tls::config(environment::certificate()?.as_deref())?);
        } else if !headers.is_empty() && !destination.is_local() {
            eprintln!(
                "jvmpi: warning: push: {destination} is not encrypted: others on the way can read the headers; use \
                 https"
            );
        }
        Ok(Self { agent: config.build().new_agent(), destination, headers })
    }

    /// Sends a request. Returns what the store says that it left out, if anything.
    ///
    /// # Errors
    /// Returns the reason if the store did not take it.
    pub fn send(&self, request: &Request) -> Result<Option<String>, Failure> {
        let mut post = self
            .agent
            .post(self.destination.url(&request.query))
            .header(header::CONTENT_TYPE, &request.content_type);
        if request.is_compressed {
            post = post.header(header::CONTENT_ENCODING, "gzip");
        }
        for (name, value) in &self.headers {
            post = post.header(name, value);
        }
        let answer = post.send(&request.body[..]);
        let mut answer = answer.map_err(|error| Failure::Later(explained(&error), None))?;
        let status = answer.status();
        let pause = pause(&answer);
        let body = answer.body_mut().with_config().limit(ANSWER).read_to_vec();
        // A store that does not finish its answer may have taken the profiles, or not.
        let body = match body {
            Ok(body) => body,
            Err(ureq::Error::BodyExceedsLimit(_)) => Vec::new(),
            Err(error) => return Err(Failure::Later(explained(&error), pause)),
        };
        if status.is_success() {
            let rejected = (self.destination.protocol == Protocol::Otlp)
                .then(|| otlp_rejected(&body))
                .flatten();
            return Ok(rejected.map(|(number, why)| {
                format!("the store rejected {number} profiles: {}", printable(&why))
            }));
        }
        let why = explained_status(&answer, &body);
        Err(if is_temporary(status) { Failure::Later(why, pause) } else { Failure::Never(why) })
    }
}

/// Returns true if a store can take the same request later.
fn is_temporary(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

/// Returns the pause that the store asks for.
fn pause(answer: &Response<Body>) -> Option<Duration> {
    let seconds = answer.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

fn explained_status(answer: &Response<Body>, body: &[u8]) -> String {
    const LONGEST: usize = 200;
    let status = answer.status();
    if let Some(location) = answer.headers().get(header::LOCATION)
        && status.is_redirection()
    {
        let location = String::from_utf8_lossy(location.as_bytes());
        return format!("the store has moved to {}: use that URL", printable(&location));
    }
    let hint = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            ": set OTEL_EXPORTER_OTLP_HEADERS=Authorization=…"
        }
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            ": the store does not take profiles at this path"
        }
        _ => "",
    };
    let text = String::from_utf8_lossy(body);
    let line: String =
        text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().into();
    let line: String = line.chars().take(LONGEST).collect();
    let line = if line.is_empty() { line } else { format!(" ({})", printable(&line)) };
    format!("HTTP status {status}{line}{hint}")
}

/// Returns the reason why there is no answer.
fn explained(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(ureq::Timeout::Connect) => "no connection in time".into(),
        ureq::Error::Timeout(_) => "no answer in time".into(),
        ureq::Error::HostNotFound => "the host name is unknown".into(),
        error if error.to_string().contains("CaUsedAsEndEntity") => {
            "the store's certificate is one of an authority (CaUsedAsEndEntity): make one with \
             basicConstraints=CA:FALSE, or one that an authority has signed"
                .into()
        }
        error => error.to_string(),
    }
}

/// TLS needs `ring`, which cannot be compiled for processors without SSE2.
#[cfg(any(not(target_arch = "x86"), target_feature = "sse2"))]
mod tls {
    use std::path::Path;
    use std::sync::Arc;
    use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

    /// Returns the settings of encrypted connections. The authorities are those in the file, or those of the system or of
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    ///
    /// # Errors
    /// Returns one line if there are none.
    pub fn config(authorities: Option<&Path>) -> Result<TlsConfig, String> {
        let all: Vec<Certificate<'static>> = if let Some(path) = authorities {
            let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
            let text = std::fs::read(path).map_err(|error| failed(&error))?;
            let found = parse_pem(&text).filter_map(|item| match item {
                Ok(PemItem::Certificate(found)) => Some(Ok(found)),
                Ok(_) => None,
                Err(error) => Some(Err(failed(&error))),
            });
            let found = found.collect::<Result<Vec<_>, _>>()?;
            if found.is_empty() {
                return Err(failed(&"the file has no certificate in PEM format"));
            }
            found
        } else {
            let native = rustls_native_certs::load_native_certs();
            if native.certs.is_empty() {
                let why =
                    native.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
                return Err(format!(
                    "this system has no certificates of authorities{why}: install ca-certificates, or name a file \
                     with OTEL_EXPORTER_OTLP_CERTIFICATE"
                ));
            }
            native.certs.iter().map(|found| Certificate::from_der(found).to_owned()).collect()
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Ok(TlsConfig::builder()
            .root_certs(RootCerts::from(all.into_iter()))
            .unversioned_rustls_crypto_provider(provider)
            .build())
    }
}

#[cfg(not(any(not(target_arch = "x86"), target_feature = "sse2")))]
mod tls {
    use std::path::Path;
    use ureq::tls::TlsConfig;

    /// # Errors
    /// Fails always.
    pub fn config(_: Option<&Path>) -> Result<TlsConfig, String> {
        Err("this jvmpi cannot encrypt, because it is built for 32-bit processors without SSE2: push to a collector on \
             this machine by http"
            .into())
    }
}
