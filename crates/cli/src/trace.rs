//! `jvmpi trace`: what was recorded.

use crate::failure::Failure;
use clap::Subcommand;
use jvmpi_formats::profile::printable;
use jvmpi_layers::trace::{self, FUNCTIONS, Names, Record, Trace, TraceError, event_name};
use jvmpi_sys::{EVENTS, EventType};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show and compare recordings, written with the setting trace=FILE of libjvmpi.so
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi trace show app.trace --event THREAD_START")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the events and calls, in order
    Show(Show),
    /// Count the events and calls
    Stats {
        /// The recording
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Compare two recordings: different numbers, and the first difference on each thread
    ///
    /// IDs, addresses and times are not compared, as they differ from run to run. The exit status is 1 if
    /// there is a difference.
    Diff {
        /// A recording
        #[arg(value_name = "A")]
        a: PathBuf,
        /// Another recording
        #[arg(value_name = "B")]
        b: PathBuf,
    },
}

#[derive(clap::Args)]
struct Show {
    /// The recording
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print only events of this type, or calls of this function; can be given several times
    #[arg(long = "event", value_name = "NAME")]
    names: Vec<String>,
    /// Print only the records of the thread with this number
    #[arg(long, value_name = "NUMBER")]
    thread: Option<u32>,
}

/// `jvmpi trace`.
pub fn trace(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let status = match &arguments.command {
        Command::Show(arguments) => show(arguments, &mut out),
        Command::Stats { file } => stats(file, &mut out),
        Command::Diff { a, b } => diff(a, b, &mut out),
    }?;
    out.flush().map_err(|error| error.to_string())?;
    Ok(status)
}

/// Opens a recording. A fault at its end is a warning.
pub fn open(path: &Path) -> Result<Trace, String> {
    let trace = Trace::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    trace.problem().into_iter().for_each(|problem| warn(path, problem));
    Ok(trace)
}

fn warn(path: &Path, problem: &TraceError) {
    eprintln!("jvmpi: warning: {}: {problem}", path.display());
}

fn show(
    Show { file, names: wanted, thread }: &Show,
    out: &mut dyn Write,
) -> Result<ExitCode, String> {
    wanted.iter().try_for_each(|name| check_name(name))?;
    let trace = open(file)?;
    let mut names = Names::default();
    let mut written = Ok(());
    let mut began = None;
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let problems = trace.in_order(|i, mut entry| {
        let number = trace.threads()[i].number;
        let (name, text) = match &mut entry.record {
            Record::Method { is_exit, method } => {
                let name = event_name(trace::method_event(*is_exit));
                (name, trace::show_method(*is_exit, *method, &names))
            }
            Record::Event(event) => {
                let name = event_name(event.event_type);
                let name = name.rsplit(' ').next().unwrap_or_default().to_owned();
                (name, trace::show_event(event, &mut names))
            }
            Record::Call(call) => (call.function.name().to_owned(), trace::show_call(call, &names)),
            Record::Begin(..) | Record::Run | Record::End | Record::Answer(_) => return,
        };
        let time = entry.time - *began.get_or_insert(entry.time).min(&mut entry.time);
        if thread.is_none_or(|thread| thread == number) && is_wanted(&name) && written.is_ok() {
            let (seconds, nanoseconds) = (time / 1_000_000_000, time % 1_000_000_000);
            written = writeln!(out, "{seconds:4}.{nanoseconds:09} {number:4} {}", printable(&text));
        }
    });
    problems.iter().for_each(|problem| warn(file, problem));
    written.map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Checks the name of an event or a function.
fn check_name(name: &str) -> Result<(), String> {
    let events = || EVENTS.iter().map(EventType::name);
    let functions = || FUNCTIONS.iter().map(|function| function.name());
    if events().chain(functions()).any(|known| known == name) {
        return Ok(());
    }
    let list = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join(", ");
    Err(format!(
        "--event {name}: there is no such event or function; events: {}; functions: {}",
        list(&mut events()),
        list(&mut functions())
    ))
}

fn stats(file: &Path, out: &mut dyn Write) -> Result<ExitCode, String> {
    let trace = open(file)?;
    let statistics = trace::statistics(&trace);
    statistics.problems.iter().for_each(|problem| warn(file, problem));
    let (events, calls) = (statistics.all_events(), statistics.all_calls());
    let end = if trace.is_complete() { "" } else { ", without the end of the process" };
    let mut print = || {
        writeln!(out, "agent {}", printable(trace.about("agent")))?;
        if !trace.about("vm").is_empty() {
            writeln!(out, "vm {}", printable(trace.about("vm")))?;
        }
        writeln!(
            out,
            "{events} events and {calls} calls on {} threads in {:.3} s{end}",
            statistics.threads,
            statistics.time as f64 / 1e9
        )?;
        let records = (events + calls).max(1) as f64;
        writeln!(out, "{} bytes, {:.1} each", statistics.bytes, statistics.bytes as f64 / records)?;
        writeln!(
            out,
            "{} dropped, as they came faster than they could be written",
            statistics.dropped
        )?;
        for (event_type, count) in &statistics.events {
            writeln!(out, "{count:12} {}", event_name(*event_type))?;
        }
        for (function, count) in &statistics.calls {
            writeln!(out, "{count:12} call {}", function.name())?;
        }
        Ok(())
    };
    print().map_err(|error: io::Error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn diff(a: &Path, b: &Path, out: &mut dyn Write) -> Result<ExitCode, String> {
    let differences = trace::differences(&open(a)?, &open(b)?);
    let events = differences.events.iter().map(|(key, counts)| (event_name(*key), *counts));
    let calls =
        differences.calls.iter().map(|(key, counts)| (format!("call {}", key.name()), *counts));
    let counts: BTreeMap<String, (u64, u64)> = events.chain(calls).collect();
    let mut print = || {
        for (name, (in_a, in_b)) in &counts {
            writeln!(out, "{name}: {in_a} and {in_b}")?;
        }
        for (thread, alike, in_a, in_b) in &differences.threads {
            let [in_a, in_b] = [in_a, in_b].map(|record| printable(record));
            writeln!(out, "thread {thread}, after {alike} records:\n  {in_a}\n  {in_b}")?;
        }
        Ok(())
    };
    print().map_err(|error: io::Error| error.to_string())?;
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
