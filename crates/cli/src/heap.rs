//! `jvmpi heap`: a heap dump of a running JVM, which the JVM writes itself.

use crate::about;
use crate::commands::Dump;
use crate::convert::{self, name_of};
use crate::failure::Failure;
use crate::output::{self, NewFile, Output};
use crate::platform::attach;
use crate::process::Process;
use crate::progress::Progress;
use crate::temporary::temporary_in;
use crate::unfinished::{self, Unfinished};
use crate::waiting::Waiting;
use jvmpi_formats::profile::{File, Format, printable};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tempfile::TempDir;

/// Write a heap dump of a running JVM
///
/// The name of the file selects the format: .hprof (HPROF binary, for heap analyzers), .html (a report) or
/// .txt (HPROF text). The JVM runs a collection and writes the dump. The program is stopped meanwhile and
/// continues. jvmpi report makes a page of an .hprof file later.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    jvmpi heap --pid 4711 -o heap.html\n  \
    jvmpi heap --pid 4711 --all -o heap.hprof")]
pub struct Arguments {
    /// The JVM: its process ID, or a part of its main class or JAR file
    #[arg(short, long)]
    pid: String,
    /// Include unreachable objects, and run no collection before
    #[arg(long)]
    all: bool,
    /// Output file; by default heap.hprof, or another name if there is a file of this name
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show the file when it is written
    #[arg(long)]
    open: bool,
}

/// `jvmpi heap`.
pub fn heap(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let path = &output::named(&arguments.output, "heap", ".hprof");
    let format = Format::of_path(path)?;
    if format.is_of_stacks() {
        let path = path.display();
        return Err(format!("{path}: a heap dump has no stacks; use .hprof, .html or .txt").into());
    }
    let process = Process::find(&arguments.pid)?;
    let waiting = unfinished::waiting();
    let place = NewFile::create(path)?;
    let directory = place.directory()?;
    let objects = if arguments.all { Dump::AllObjects } else { Dump::LiveObjects };
    let progress = Progress::of(&process);
    progress.show_dumping();
    let dump = DumpFile::of(&process, objects, &directory, &waiting)?;
    drop(progress);
    if format == Format::Binary {
        dump.give_name(place)?;
    } else {
        let file = dump.open()?;
        let about = about::of_process(&process);
        let output = Output { format, weight: None };
        let said =
            place.finish(|out| output.write(&name_of(path), &file, None, Some(&about), out))?;
        for line in &said {
            eprintln!("jvmpi: warning: {}: {}", path.display(), printable(line));
        }
    }
    eprintln!("jvmpi: {}", path.display());
    output::show(path, arguments.open);
    Ok(ExitCode::SUCCESS)
}

/// The file with a dump in a private directory. Removed when it is dropped.
#[derive(Debug)]
pub struct DumpFile {
    path: PathBuf,
    _unfinished: Unfinished,
    _directory: TempDir,
}

impl DumpFile {
    /// Makes the JVM write a dump, for an output in this directory.
    ///
    /// # Errors
    /// Returns the reason why there is no dump.
    pub fn of(
        process: &Process,
        what: Dump,
        directory: &Path,
        waiting: &Waiting,
    ) -> Result<Self, String> {
        let directory = temporary_in(directory, ".jvmpi-")?;
        let unfinished = Unfinished::new(directory.path().to_owned());
        let path = attach::dump(process, directory.path(), what, waiting)?;
        Ok(Self { path, _unfinished: unfinished, _directory: directory })
    }

    /// Returns its text, if it is one.
    ///
    /// # Errors
    /// Returns one line if it cannot be read.
    pub fn text(&self) -> Result<String, String> {
        let text =
            fs::read(&self.path).map_err(|error| format!("{}: {error}", self.path.display()))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Opens the heap dump.
    ///
    /// # Errors
    /// Returns one line if it cannot be read.
    pub fn open(&self) -> Result<File, String> {
        let file = convert::open(&self.path)?;
        match file.problem() {
            Some(problem) => Err(format!("the JVM's heap dump: {problem}")),
            None => Ok(file),
        }
    }

    /// Makes the dump the contents of the output.
    ///
    /// # Errors
    /// Returns one line if that fails.
    pub fn give_name(&self, output: NewFile) -> Result<(), String> {
        output.replace_with(&self.path)
    }
}
