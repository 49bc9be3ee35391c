//! `jvmpi dump show`: heap and monitor dumps as text.

mod hprof;
mod value;

use crate::failure::Failure;
use crate::output::Printable;
use jvmpi_formats::profile;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
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
/// The file is an HPROF file, text or binary, also one of another tool such as jcmd GC.heap_dump.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi dump show java.hprof --class java.lang.String | less")]
struct Show {
    /// The file
    file: PathBuf,
    /// Print only the number of objects of each class and their bytes
    #[arg(long)]
    histogram: bool,
    /// Print only objects of the class with this name
    #[arg(long, value_name = "NAME")]
    class: Option<String>,
}

/// `jvmpi dump`.
pub fn dump(Arguments { command: Command::Show(show) }: &Arguments) -> Result<ExitCode, Failure> {
    let mut out = Printable(BufWriter::new(io::stdout().lock()));
    show_hprof(show, &mut out)?;
    out.flush().map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn show_hprof(show: &Show, out: &mut dyn Write) -> Result<(), String> {
    let error = |error: io::Error| format!("{}: {error}", show.file.display());
    let file = profile::File::open(&show.file).map_err(error)?;
    let shown = if show.histogram {
        hprof::histograms(&file, show.class.as_deref(), out)
    } else {
        hprof::records(&file, show.class.as_deref(), out)
    };
    shown.map_err(error)?;
    file.problem().map_or(Ok(()), |problem| Err(format!("{}: {problem}", show.file.display())))
}
