//! `jvmpi dump show`: heap, object and monitor dumps as text.

mod hprof;
mod raw;
mod value;

use crate::failure::Failure;
use crate::output::Printable;
use jvmpi_formats::profile;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show heap dumps and monitor dumps
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi dump show java.hprof --histogram")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Show(Show),
}

/// Print the dumps in a file as text, one record per line
///
/// The file is an HPROF file, text or binary, also one of another tool such as jcmd GC.heap_dump. With --raw,
/// the file is the buffer that an agent got in HEAP_DUMP, OBJECT_DUMP or MONITOR_DUMP.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi dump show java.hprof --class java.lang.String | less")]
struct Show {
    /// The file
    file: PathBuf,
    /// Print only the number of objects of each class and their bytes
    #[arg(long, conflicts_with = "raw")]
    histogram: bool,
    /// Print only objects of the class with this name
    #[arg(long, value_name = "NAME", conflicts_with = "raw")]
    class: Option<String>,
    /// Read a raw buffer: a heap dump of this level, or another kind of dump
    #[arg(long, value_name = "KIND")]
    raw: Option<raw::Kind>,
    /// With --raw: the classes, in a file that an agent wrote; see docs/reference/dumps.md
    #[arg(long, value_name = "FILE", requires = "raw")]
    classes: Option<PathBuf>,
}

/// `jvmpi dump`.
pub fn dump(Arguments { command: Command::Show(show) }: &Arguments) -> Result<ExitCode, Failure> {
    let mut out = Printable(BufWriter::new(io::stdout().lock()));
    match show.raw {
        Some(kind) => raw::show(kind, &show.file, show.classes.as_deref(), &mut out)?,
        None => show_hprof(show, &mut out)?,
    }
    out.flush().map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn show_hprof(show: &Show, out: &mut dyn Write) -> Result<(), String> {
    let error = |error: io::Error| in_file(&show.file, &error);
    let file = profile::File::open(&show.file).map_err(error)?;
    let shown = if show.histogram {
        hprof::histograms(&file, show.class.as_deref(), out)
    } else {
        hprof::records(&file, show.class.as_deref(), out)
    };
    shown.map_err(error)?;
    file.problem().map_or(Ok(()), |problem| Err(format!("{}: {problem}", show.file.display())))
}

fn in_file(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
