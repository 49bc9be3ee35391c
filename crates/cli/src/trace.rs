//! `jvmpi trace`: what was recorded.

use crate::failure::Failure;
use clap::Subcommand;
use jvmpi_formats::profile::printable;
use jvmpi_layers::trace::{self, Trace, event_name};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Count the contents of recordings, written with the setting trace=FILE
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi trace stats app.trace")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Count the events and calls
    Stats {
        /// The recording
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// `jvmpi trace`.
pub fn trace(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let Command::Stats { file } = &arguments.command;
    stats(file, &mut out).and_then(|()| out.flush().map_err(|error| error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a recording. A fault at its end is a warning.
pub fn open(path: &Path) -> Result<Trace, String> {
    let trace = Trace::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    trace.problem().into_iter().for_each(|problem| warn(path, problem));
    Ok(trace)
}

fn warn(path: &Path, problem: &str) {
    eprintln!("jvmpi: warning: {}: {problem}", path.display());
}

fn stats(file: &Path, out: &mut dyn Write) -> Result<(), String> {
    let trace = open(file)?;
    let statistics = trace::statistics(&trace);
    statistics.problems.iter().for_each(|problem| warn(file, problem));
    let events: u64 = statistics.events.values().sum();
    let calls: u64 = statistics.calls.values().sum();
    let end = if trace.is_complete() { "" } else { ", without the end of the process" };
    let mut print = || {
        writeln!(out, "agent {}", printable(trace.about("agent")))?;
        if !trace.about("vm").is_empty() {
            writeln!(out, "vm {}", printable(trace.about("vm")))?;
        }
        writeln!(
            out,
            "{events} events and {calls} calls on {} threads in {:.3} s{end}",
            trace.threads().len(),
            statistics.time as f64 / 1e9
        )?;
        let records = (events + calls).max(1) as f64;
        writeln!(out, "{} bytes, {:.1} each", trace.size(), trace.size() as f64 / records)?;
        for (event_type, count) in &statistics.events {
            writeln!(out, "{count:12} {}", event_name(*event_type))?;
        }
        for (function, count) in &statistics.calls {
            writeln!(out, "{count:12} call {}", function.name())?;
        }
        Ok(())
    };
    print().map_err(|error: io::Error| error.to_string())
}
