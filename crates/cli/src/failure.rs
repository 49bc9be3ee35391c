//! The message of a command that fails, and the exit status it ends with.

use jvmpi_formats::profile::printable;
use std::process::ExitCode;

/// The status of a command that starts programs, when it has failed before there is one: as `env`,
/// `nice` and `timeout` have it, so that it differs from what programs themselves return.
pub const NOT_STARTED: u8 = 125;
/// The program is there but cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// There is no such program.
pub const NO_PROGRAM: u8 = 127;

/// Why a command fails: what, why and what to do, in one line.
#[derive(Debug)]
pub struct Failure {
    message: String,
    status: Option<u8>,
}

impl Failure {
    /// Reports that this program lacks what a feature of the package adds.
    pub fn built_without(feature: &str) -> Self {
        let message = format!(
            "this jvmpi was built without the feature {feature}: build jvmpi-cli with its default features"
        );
        message.into()
    }

    /// Sets the exit status, which is 1 otherwise, unless it has been set before.
    pub fn or_status(self, status: u8) -> Self {
        Self { status: self.status.or(Some(status)), ..self }
    }

    /// Prints the failure on standard error, and returns its exit status.
    pub fn report(self) -> ExitCode {
        // Parts of it may come from a file or a JVM of another user.
        eprintln!("jvmpi: error: {}", printable(&self.message));
        ExitCode::from(self.status.unwrap_or(1))
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { message, status: None }
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}
