//! `jvmpi report`: a page to look at.

use crate::convert::{name_of, opened};
use crate::failure::Failure;
use crate::output::{self, NewFile};
use crate::platform::signals;
use crate::unfinished;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write an HTML report of a profile, or compare two profiles
///
/// The report is one file, which opens in any browser and loads nothing. It shows hot methods, a flame graph,
/// the call tree, allocation sites, the heap, monitors and threads. With several profiles, it compares the
/// first with the last.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi report before.txt after.txt -o difference.html")]
pub struct Arguments {
    /// Profiles: HPROF files, text or binary, JFR files, or reports
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Output file; by default report.html, or another name if there is a file of this name
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show the page when it is written
    #[arg(long)]
    open: bool,
}

/// `jvmpi report`.
pub fn report(Arguments { files, output, open }: &Arguments) -> Result<ExitCode, Failure> {
    signals::listen(|signal| unfinished::end(signal));
    let output = output::named(output, "report", ".html");
    let page = NewFile::create(&output)?;
    let all = files.iter().map(|path| Ok((name_of(path), opened(path)?)));
    let all = all.collect::<Result<Vec<_>, String>>()?;
    let named = all.iter().map(|(name, (file, recording))| (&**name, file, recording.as_ref()));
    let named: Vec<_> = named.collect();
    page.finish(|mut out| jvmpi_report::write_files(&named, None, &mut out))?;
    let mut status = ExitCode::SUCCESS;
    for (path, (_, (file, _))) in files.iter().zip(&all) {
        if let Some(problem) = file.problem() {
            eprintln!("jvmpi: warning: {}: {problem}", path.display());
            status = ExitCode::FAILURE;
        }
    }
    eprintln!("jvmpi: {}", output.display());
    output::show(&output, *open);
    Ok(status)
}
