//! `jvmpi completions` and `jvmpi man`, which generate files from the definition of the arguments.

use crate::failure::Failure;
use clap_complete::Shell;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print the completion script for a shell
///
/// Example: jvmpi completions bash > /etc/bash_completion.d/jvmpi
#[derive(clap::Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Write the manual pages into a directory
///
/// Example: jvmpi man /usr/local/share/man/man1
#[derive(clap::Args)]
pub struct Man {
    /// Directory for jvmpi.1 and a page for each command
    directory: PathBuf,
}

/// `jvmpi completions`.
pub fn completions(
    Completions { shell }: &Completions,
    mut command: clap::Command,
) -> Result<ExitCode, Failure> {
    clap_complete::generate(*shell, &mut command, "jvmpi", &mut io::stdout());
    Ok(ExitCode::SUCCESS)
}

/// `jvmpi man`.
#[expect(clippy::disallowed_methods, reason = "the user names the directory")]
pub fn man(Man { directory }: &Man, command: clap::Command) -> Result<ExitCode, Failure> {
    fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command, directory))
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(ExitCode::SUCCESS)
}
