//! `jvmpi replay`: an agent fed from a recording.

use crate::agent::split;
use crate::failure::Failure;
use crate::trace::open;
use clap::value_parser;
use jvmpi_layers::trace::{self, Summary, event_name};
use jvmpi_settings::library::examine;
use std::ffi::{CString, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Replay a recording to an agent, without a JVM
///
/// The agent gets the recorded events, on as many threads and in the recorded order, and the recorded answers to
/// its calls. One thread runs at a time, as fast as it can. At the end, a summary on standard error counts the
/// events and lists calls that are not in the recording.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi replay app.trace ./libfoo.so:depth=8")]
pub struct Arguments {
    /// Recording, written with the setting trace=FILE
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The agent's library; the text after the first colon is its options
    #[arg(value_name = "AGENT[:OPTIONS]", value_parser = value_parser!(OsString))]
    agent: OsString,
    /// Do not print the summary
    #[arg(short, long)]
    quiet: bool,
}

/// `jvmpi replay`.
pub fn replay(Arguments { file, agent, quiet }: &Arguments) -> Result<ExitCode, Failure> {
    let (library, options) = split(agent);
    let library = Path::new(library);
    let options = options.and_then(|options| CString::new(options.as_encoded_bytes()).ok());
    let trace = open(file)?;
    trace.check_word_size().map_err(|error| format!("{}: {error}", file.display()))?;
    examine(library).map_err(|error| error.to_string())?;
    // A name without a slash is looked for elsewhere.
    let library =
        dunce::canonicalize(library).map_err(|error| format!("{}: {error}", library.display()))?;
    let summary = trace::replay(trace, &library, options)
        .map_err(|error| format!("{}: {error}", library.display()))?;
    if !quiet {
        report(&summary);
    }
    Ok(ExitCode::SUCCESS)
}

fn report(summary: &Summary) {
    let all: u64 = summary.delivered.values().sum();
    let seconds = summary.took.as_secs_f64();
    eprintln!(
        "jvmpi: {all} events in {seconds:.3} s, {:.1} million a second",
        all as f64 / seconds.max(1e-9) / 1e6
    );
    for (event_type, count) in &summary.delivered {
        eprintln!("{count:12} {}", event_name(*event_type));
    }
    for (note, count) in &summary.notes {
        eprintln!("{count:12} times: {note}");
    }
}
