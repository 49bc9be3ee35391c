//! The headers that a store asks for, from the environment: arguments are visible to all users of a machine.

use super::destination::Destination;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::{env, fmt};
use ureq::http::{HeaderName, HeaderValue};

const TOKEN: &str = "JVMPI_PUSH_TOKEN";
const TOKEN_FILE: &str = "JVMPI_PUSH_TOKEN_FILE";
const USER: &str = "JVMPI_PUSH_USER";
const PASSWORD: &str = "JVMPI_PUSH_PASSWORD";
const PASSWORD_FILE: &str = "JVMPI_PUSH_PASSWORD_FILE";
const HEADERS: &str = "JVMPI_PUSH_HEADERS";

/// The variables that can contain secrets. A program that is recorded must not get them.
pub const SECRETS: [&str; 3] = [TOKEN, PASSWORD, HEADERS];

/// The credentials for a store.
#[derive(Clone, Default)]
pub struct Credentials {
    authorization: Authorization,
    headers: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Clone, Default)]
enum Authorization {
    #[default]
    None,
    Bearer(Secret),
    Basic(String, Secret),
}

#[derive(Clone)]
enum Secret {
    Value(String),
    /// Read for each request, so that the file can be renewed.
    File(PathBuf),
}

impl Credentials {
    /// Reads the credentials in this process's environment.
    ///
    /// # Errors
    /// Returns one line, without a secret, if they contradict each other or cannot be used.
    pub fn of_environment() -> Result<Self, String> {
        Self::of(|name| {
            let value = env::var_os(name).filter(|value| !value.is_empty())?;
            Some(value.into_string().map_err(|_| format!("{name} is not UTF-8")))
        })
    }

    fn of(
        variable: impl Fn(&'static str) -> Option<Result<String, String>>,
    ) -> Result<Self, String> {
        let variable = |name| variable(name).transpose();
        let secret = |value, file| -> Result<_, String> {
            match (variable(value)?, variable(file)?) {
                (Some(_), Some(_)) => Err(format!("set either {value} or {file}")),
                (Some(value), None) => Ok(Some(Secret::Value(value))),
                (None, Some(path)) => Ok(Some(Secret::File(path.into()))),
                (None, None) => Ok(None),
            }
        };
        let (token, password) = (secret(TOKEN, TOKEN_FILE)?, secret(PASSWORD, PASSWORD_FILE)?);
        let authorization = match (token, variable(USER)?, password) {
            (None, None, None) => Authorization::None,
            (Some(token), None, None) => Authorization::Bearer(token),
            (None, Some(user), Some(password)) => Authorization::Basic(user, password),
            (None, None, Some(_)) => return Err(format!("{PASSWORD} needs {USER}")),
            (None, Some(_), None) => return Err(format!("{USER} needs {PASSWORD}")),
            (Some(_), ..) => return Err(format!("set either {TOKEN} or {USER}")),
        };
        let mut headers = Vec::new();
        for pair in variable(HEADERS)?.iter().flat_map(|all| all.split(',')) {
            let bad = || format!("{HEADERS}: give NAME=VALUE, separated by commas");
            let (name, value) = pair.split_once('=').ok_or_else(bad)?;
            let name = name.trim().parse::<HeaderName>().map_err(|_| bad())?;
            headers.push((name, secret_value(HEADERS, value.trim())?));
        }
        let credentials = Self { authorization, headers };
        // A mistake is reported before the program starts.
        credentials.headers()?;
        Ok(credentials)
    }

    /// Returns the headers of a request.
    ///
    /// # Errors
    /// Returns one line, without a secret, if a file cannot be read or used.
    pub fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
        let mut headers = self.headers.clone();
        let value = match &self.authorization {
            Authorization::None => None,
            Authorization::Bearer(token) => {
                Some(secret_value(TOKEN, &format!("Bearer {}", token.read()?))?)
            }
            Authorization::Basic(user, password) => {
                let encoded = STANDARD.encode(format!("{user}:{}", password.read()?));
                Some(secret_value(PASSWORD, &format!("Basic {encoded}"))?)
            }
        };
        headers.extend(value.map(|value| (ureq::http::header::AUTHORIZATION, value)));
        Ok(headers)
    }

    /// Returns a warning if the secrets can be read on the way to a store.
    pub fn warning(&self, destination: &Destination) -> Option<String> {
        let has_any =
            !matches!(self.authorization, Authorization::None) || !self.headers.is_empty();
        (has_any && !destination.is_secure() && !destination.is_local()).then(|| {
            format!("{destination} is not encrypted: others on the way can read the credentials; use https")
        })
    }
}

/// Shows that there are some.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

impl Secret {
    fn read(&self) -> Result<String, String> {
        const LARGEST: u64 = 1 << 16;
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::File(path) => {
                let mut text = String::new();
                File::open(path)
                    .and_then(|file| file.take(LARGEST).read_to_string(&mut text))
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(text.trim_end().to_owned())
            }
        }
    }
}

fn secret_value(name: &str, value: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| format!("{name} has characters that no header can have"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn of(variables: &[(&str, &str)]) -> Result<Credentials, String> {
        Credentials::of(|name| {
            let found = variables.iter().find(|(of, _)| *of == name)?;
            Some(Ok(found.1.to_owned()))
        })
    }

    fn headers(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let headers = of(variables).unwrap().headers().unwrap();
        headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect()
    }

    #[test]
    fn environment_selects_the_authorization() {
        let authorization = |value: &str| vec![("authorization".to_owned(), value.to_owned())];
        assert_eq!(headers(&[]), []);
        assert_eq!(headers(&[(TOKEN, "abc")]), authorization("Bearer abc"));
        assert_eq!(
            headers(&[(USER, "Aladdin"), (PASSWORD, "open sesame")]),
            authorization("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        );
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"xyz\n").unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(headers(&[(TOKEN_FILE, path)]), authorization("Bearer xyz"));
        assert_eq!(
            headers(&[(HEADERS, "X-Scope-OrgID=team-a, x-b = c")]),
            [("x-scope-orgid", "team-a"), ("x-b", "c")].map(|(a, b)| (a.into(), b.into()))
        );
    }

    #[test]
    fn mistakes_are_reported_without_the_secret() {
        for (variables, expected) in [
            (&[(TOKEN, "secret"), (TOKEN_FILE, "/secret")][..], "either"),
            (&[(TOKEN, "secret"), (USER, "me")], "either"),
            (&[(PASSWORD, "secret")], "needs JVMPI_PUSH_USER"),
            (&[(USER, "me")], "needs JVMPI_PUSH_PASSWORD"),
            (&[(TOKEN, "sec\nret")], "characters"),
            (&[(HEADERS, "secret")], "NAME=VALUE"),
            (&[(HEADERS, "a b=secret")], "NAME=VALUE"),
            (&[(TOKEN_FILE, "/does/not/exist")], "/does/not/exist: "),
        ] {
            let error = of(variables).unwrap_err();
            assert!(error.contains(expected) && !error.contains("secret"), "{error}");
        }
        assert_eq!(format!("{:?}", of(&[(TOKEN, "secret")]).unwrap()), "Credentials");
    }

    #[test]
    fn unencrypted_way_to_another_machine_is_reported() {
        let with = |url: &str, variables: &[(&str, &str)]| {
            let credentials = of(variables).unwrap();
            credentials.warning(&Destination::parse(url).unwrap()).is_some()
        };
        assert!(with("otlp+http://store:4318", &[(TOKEN, "secret")]));
        assert!(!with("otlp+https://store:4318", &[(TOKEN, "secret")]));
        assert!(!with("otlp+http://localhost:4318", &[(TOKEN, "secret")]));
        assert!(!with("otlp+http://store:4318", &[]));
    }
}
