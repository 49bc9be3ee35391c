//! `jvmpi replay`: an agent fed from a recording.

use crate::failure::Failure;
use crate::trace::open;
use clap::value_parser;
use jvmpi_layers::trace::{self, Summary, event_name};
use jvmpi_settings::library::examine;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Feed an agent from a recording, without a JVM
///
/// The agent gets what the recorded one got: events on as many threads, in the recorded order, and the answers
/// to what it asks. One thread runs at a time, as fast as it can. At the end it is told on standard error what
/// the agent got, and what it asked for that the recorded one had not asked for.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi replay app.trace ./libfoo.so:depth=8")]
pub struct Arguments {
    /// The recording, which the setting trace=FILE of libjvmpi.so has made
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The agent's library; what follows the first colon are its own options
    #[arg(value_name = "AGENT[:OPTIONS]", value_parser = value_parser!(OsString))]
    agent: OsString,
    /// Say nothing at the end
    #[arg(short, long)]
    quiet: bool,
}

/// `jvmpi replay`.
pub fn replay(Arguments { file, agent, quiet }: &Arguments) -> Result<ExitCode, Failure> {
    let mut parts = agent.as_bytes().splitn(2, |byte| *byte == b':');
    let library = Path::new(OsStr::from_bytes(parts.next().unwrap_or_default()));
    let options = parts.next().and_then(|options| CString::new(options).ok());
    let trace = open(file)?;
    trace.check_word_size().map_err(|error| format!("{}: {error}", file.display()))?;
    examine(library).map_err(|error| error.to_string())?;
    // A name without a slash is looked for elsewhere.
    let library =
        library.canonicalize().map_err(|error| format!("{}: {error}", library.display()))?;
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
