//! Starting a program with an agent in its JVM.

use crate::failure::{Failure, NO_PROGRAM, NOT_EXECUTABLE};
use crate::platform::system;
use jvmpi_settings::Options;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Command;

/// Returns the program with an option for its JVM: on the command line of `java`, in `JAVA_TOOL_OPTIONS` of others,
/// which may start several JVMs.
///
/// # Errors
/// Returns the fault of the settings, which are those of jvmpi.
pub fn with_jvm_option(
    program: &[OsString],
    option: &OsStr,
    settings: &[String],
) -> Result<Command, String> {
    let mut command = Command::new(system::program(&program[0]));
    if Path::new(&program[0]).file_name().is_some_and(system::is_java) {
        command.arg(option);
    } else {
        let mut all = env::var_os(JAVA_TOOL_OPTIONS).unwrap_or_default();
        if !all.is_empty() {
            all.push(" ");
        }
        all.push(quoted(option));
        command.env(JAVA_TOOL_OPTIONS, all);
    }
    command.args(&program[1..]);
    if !settings.is_empty() {
        command.env("JVMPI_OPTIONS", with_settings(settings)?);
    }
    Ok(command)
}

const JAVA_TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// Quotes a word for `JAVA_TOOL_OPTIONS`. There, white space separates words outside of either kind
/// of quotes, and a backslash protects nothing.
fn quoted(word: &OsStr) -> OsString {
    let is_special =
        |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b || b"'\"".contains(byte);
    let bytes = word.as_encoded_bytes();
    if !bytes.iter().any(is_special) {
        return word.into();
    }
    // SAFETY: the bytes are those of the word between quotes, which are ASCII.
    let text = |bytes| unsafe { OsStr::from_encoded_bytes_unchecked(bytes) };
    let pieces: Vec<_> = bytes.split(|byte| *byte == b'\'').map(text).collect();
    let quote = OsStr::new("'");
    [quote, &pieces.join(OsStr::new("'\"'\"'")), quote].join(OsStr::new(""))
}

/// Checks settings of jvmpi.
///
/// # Errors
/// A line about the first bad one.
pub fn check_settings(settings: &[String]) -> Result<(), String> {
    Options::parse(&settings.join(" "), None)
        .map(drop)
        .map_err(|error| error.to_string().replace("JVMPI_OPTIONS", "--setting"))
}

/// Returns `JVMPI_OPTIONS` with these settings added.
fn with_settings(settings: &[String]) -> Result<OsString, String> {
    check_settings(settings)?;
    let mut all = env::var_os("JVMPI_OPTIONS").unwrap_or_default();
    for setting in settings {
        all.push(" ");
        all.push(setting);
    }
    Ok(all)
}

/// Returns the failure to start a program, with the reason.
pub fn not_executed(program: &OsStr, error: &io::Error) -> Failure {
    let (why, status) = match error.kind() {
        io::ErrorKind::NotFound => {
            ("there is no such program: install it, or give its whole path".to_owned(), NO_PROGRAM)
        }
        _ => (error.to_string(), NOT_EXECUTABLE),
    };
    Failure::from(format!("{}: {why}", program.display())).or_status(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_it_must_be() {
        for (word, expected) in [
            ("-agentpath:/a=b:c", "-agentpath:/a=b:c"),
            ("a b", "'a b'"),
            ("it's", "'it'\"'\"'s'"),
            ("\"", "'\"'"),
        ] {
            assert_eq!(quoted(OsStr::new(word)), expected, "{word}");
        }
    }
}
