//! `jvmpi convert`: a profile in another format, or as tables.

use crate::failure::Failure;
use crate::output::{self, NewFile, Output};
use crate::platform::signals;
use crate::unfinished;
use jvmpi_formats::profile::{self, Encoding, File, Format, Weight};
use jvmpi_report::Recording;
use std::fmt::Display;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Convert a profile to another format
///
/// The input is an HPROF file, text or binary, a JFR file, which JVMs and async-profiler write, or a report, which
/// lacks the objects of the heap. The name of the output selects the format: .txt (HPROF text), .hprof (HPROF
/// binary), .collapsed (one stack per line), .svg (a flame graph), .pb.gz (for pprof), .json (for speedscope), .jfr
/// (for JDK Mission Control and others) or .html (a report, as jvmpi report writes it). With .parquet or --to parquet,
/// the output is a directory of tables in Parquet files for SQL, with the objects of a heap dump.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  jvmpi convert java.hprof.txt profile.svg\n  jvmpi convert heap.hprof --to parquet heap"
)]
pub struct Arguments {
    /// The profile
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// Output file; - for standard output, with --format; a new directory for Parquet
    #[arg(value_name = "OUT")]
    to: PathBuf,
    /// Format of OUT, whatever its name: one of the endings, without the dot
    #[arg(long, visible_alias = "to", value_name = "ENDING")]
    format: Option<String>,
    /// Weight of the stacks; by default the first of these with data in the profile
    #[arg(long, value_parser = Weight::ALL.map(Weight::name))]
    weight: Option<String>,
    /// Older profile: OUT is a flame graph (.svg) of IN, red where it has grown since OLDER and blue where
    /// it has shrunk
    #[arg(long, value_name = "OLDER")]
    base: Option<PathBuf>,
    /// Draw the threads of JFR files and reports apart: the thread is the outermost frame
    #[arg(long)]
    threads: bool,
    /// Add to the tables in the directory OUT, with a folder for each host, day and hour (Parquet)
    #[arg(long)]
    partition: bool,
    /// A row of the table label (Parquet); host=NAME sets the host in place of this machine's name
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
}

/// `jvmpi convert`.
pub fn convert(arguments: &Arguments) -> Result<ExitCode, Failure> {
    signals::listen(|signal| unfinished::end(signal));
    if arguments.is_to_parquet() {
        return to_parquet(arguments);
    }
    if arguments.partition || !arguments.label.is_empty() {
        return Err("--partition and --label are for Parquet: add --to parquet".into());
    }
    let format = output::format_of(&arguments.to, arguments.format.as_deref())?;
    let weight = arguments.weight.as_deref().map(str::parse).transpose()?;
    let is_picture = matches!(format, Format::Collapsed | Format::Svg | Format::Speedscope);
    let open = |path: &Path| {
        let (mut file, recording) = opened(path)?;
        // Files of JFR and pages always have the threads.
        let has_threads = file.encoding() == Encoding::Jfr || is_page(path);
        if has_threads && is_picture && !arguments.threads {
            file.merge_threads();
        }
        Ok::<_, String>((file, recording))
    };
    let (file, recording) = open(&arguments.from)?;
    let older = arguments.base.as_deref().map(open).transpose()?;
    if older.is_some() && format != Format::Svg {
        return Err("with --base, OUT is a flame graph: let its name end in .svg".into());
    }
    let output = Output { format, weight };
    let write = |out: &mut dyn Write| match &older {
        Some((older, _)) => {
            let (older, newer) = (older.profile(), file.profile());
            let weight = weight.or_else(|| Weight::of(newer).first().copied());
            profile::write_difference(older, newer, weight.unwrap_or(Weight::CpuSamples), out)
                .map(|()| Vec::new())
        }
        None => output.write(&name_of(&arguments.from), &file, None, recording.as_ref(), out),
    };
    let said = NewFile::create(&arguments.to)?.finish(write)?;
    for line in &said {
        eprintln!("jvmpi: warning: {}: {line}", arguments.from.display());
    }
    Ok(if file.problem().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads `KEY=VALUE`, with at least one character for each.
fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').unwrap_or_default();
    let key = key.trim();
    if key.is_empty() || value.is_empty() {
        return Err("a label is KEY=VALUE, as in release=1.2".to_owned());
    }
    Ok((key.to_owned(), value.to_owned()))
}

impl Arguments {
    fn is_to_parquet(&self) -> bool {
        let ends_so = self.to.extension().is_some_and(|it| it.eq_ignore_ascii_case("parquet"));
        self.format.as_ref().map_or(ends_so, |format| format.eq_ignore_ascii_case("parquet"))
    }
}

/// Writes tables into a directory.
#[cfg(feature = "parquet")]
fn to_parquet(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.weight.is_some() || arguments.base.is_some() {
        return Err("--weight and --base are not for Parquet: the tables have all weights".into());
    }
    if arguments.to == Path::new(output::STANDARD_OUTPUT) {
        return Err("- cannot be Parquet, which is a directory: name one".into());
    }
    let (hosts, labels): (Vec<_>, Vec<_>) =
        arguments.label.iter().cloned().partition(|(key, _)| key == "host");
    let host = match hosts.into_iter().next_back() {
        Some((_, name)) => name,
        None => crate::platform::system::host_name()
            .map_err(|why| format!("{why}; add --label host=NAME"))?,
    };
    let options =
        jvmpi_parquet::Options { host: &host, labels: &labels, partition: arguments.partition };
    let (from, file) = (&arguments.from, open(&arguments.from)?);
    let mut parts = None;
    let begins = |path: &Path| parts = Some(unfinished::Unfinished::new(path.to_owned()));
    let cut = jvmpi_parquet::write(from, &file, &arguments.to, &options, begins)
        .map_err(|error| format!("cannot write {}: {error}", arguments.to.display()))?;
    drop(parts);
    let problem = file.problem().or(cut.as_ref());
    if let Some(problem) = problem {
        eprintln!("jvmpi: warning: {}: {problem}", from.display());
    }
    Ok(if problem.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(not(feature = "parquet"))]
fn to_parquet(_: &Arguments) -> Result<ExitCode, Failure> {
    Err(Failure::built_without("parquet"))
}

/// Returns the name of the file in pages.
pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Reads a file of HPROF or JFR, or a page.
pub fn open(path: &Path) -> Result<File, String> {
    Ok(opened(path)?.0)
}

/// Reads the same, and the recording of a page.
pub fn opened(path: &Path) -> Result<(File, Option<Recording>), String> {
    let place = |error: &dyn Display| format!("{}: {error}", path.display());
    if is_page(path) {
        let bytes = fs::read(path).map_err(|error| place(&error))?;
        let read =
            jvmpi_report::read(&bytes).unwrap_or_else(|| Err("this page is not of jvmpi".into()));
        let (profile, recording) = read.map_err(|error| place(&error))?;
        return Ok((File::of_profile(profile), recording));
    }
    Ok((File::open(path).map_err(|error| place(&error))?, None))
}

/// Returns true if a regular file begins as pages do. What a pipe has could not be read again.
fn is_page(path: &Path) -> bool {
    const START: &[u8] = b"<!doctype html>";
    let mut start = Vec::new();
    let is_file = path.metadata().is_ok_and(|of| of.is_file());
    let file = is_file.then(|| fs::File::open(path)).and_then(Result::ok);
    file.is_some_and(|file| file.take(START.len() as u64).read_to_end(&mut start).is_ok())
        && start == START
}
