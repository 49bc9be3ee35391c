//! `jvmpi heap`: a heap dump of a running JVM, which the JVM writes itself.

use crate::about;
use crate::attach::{self, Objects};
use crate::convert::{self, name_of};
use crate::directory::temporary_in;
use crate::failure::Failure;
use crate::output::{NewFile, Output};
use crate::process::Process;
use crate::progress::Progress;
use crate::signals;
use crate::unfinished::{self, Unfinished};
use crate::waiting::Waiting;
use clap::value_parser;
use jvmpi_formats::profile::{File, Format, printable};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
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
    /// Process ID of the JVM
    #[arg(short, long, value_parser = value_parser!(libc::pid_t).range(1..))]
    pid: libc::pid_t,
    /// Include unreachable objects, and run no collection before
    #[arg(long)]
    all: bool,
    /// Output file
    #[arg(short, long, value_name = "FILE", default_value = "heap.hprof")]
    output: PathBuf,
}

/// The time from a signal to the end of the command. It must end within a second.
const END: Duration = Duration::from_millis(900);

/// `jvmpi heap`.
pub fn heap(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let path = arguments.output.as_path();
    let format = Format::of_path(path).map_err(|error| error.to_string())?;
    if format.is_of_stacks() {
        let path = path.display();
        return Err(format!("{path}: a heap dump has no stacks; use .hprof, .html or .txt").into());
    }
    let process = Process::jvm(arguments.pid)?;
    let waiting = Waiting::default();
    let interrupted = waiting.clone();
    signals::listen(move |signal| {
        interrupted.interrupt();
        // The wait for the JVM ends before; all else, such as the reader of a pipe, is not waited for.
        thread::sleep(END);
        unfinished::end(signal);
    });
    let place = NewFile::create(path)?;
    let directory = place.directory()?;
    let objects = if arguments.all { Objects::All } else { Objects::Live };
    let progress = Progress::line(format!("process {process}"));
    progress.show_dumping();
    let dump = HeapDump::of(&process, objects, &directory, &waiting)?;
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
    Ok(ExitCode::SUCCESS)
}

/// A heap dump in a private directory next to the output. Removed when it is dropped.
#[derive(Debug)]
pub struct HeapDump {
    path: PathBuf,
    _unfinished: Unfinished,
    _directory: TempDir,
}

impl HeapDump {
    /// Makes the JVM write a dump of its heap, for an output in this directory.
    ///
    /// # Errors
    /// Returns the reason why there is no dump.
    pub fn of(
        process: &Process,
        objects: Objects,
        directory: &Path,
        waiting: &Waiting,
    ) -> Result<Self, String> {
        let directory = temporary_in(directory, ".jvmpi-")?;
        let unfinished = Unfinished::new(directory.path().to_owned());
        let path = attach::dump_heap(process, directory.path(), objects, waiting)?;
        Ok(Self { path, _unfinished: unfinished, _directory: directory })
    }

    /// Opens the dump.
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
