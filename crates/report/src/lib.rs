//! One self-contained HTML page of a profile: hot methods, flame graph, call tree, allocation sites, heap,
//! monitors and threads. Two profiles make a comparison.
//!
//! The page is one file with its data, its style and its scripts. Its content security policy keeps it from
//! loading or running anything else. `page/` has its parts, `data` prepares its data, and [`heap`] computes
//! retained sizes.

mod data;
pub mod heap;
mod page;

use std::io::{self, Write};
use std::time::Duration;

use jvmpi_formats::profile::{File, Profile};

/// A profile to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its name on the page: the file's name.
    pub name: &'a str,
    /// The profile.
    pub profile: &'a Profile,
    /// The objects of its heap dump, as a [`heap::Collector`] gathers them.
    pub heap: Option<&'a heap::Graph>,
    /// The reason why data is missing, if some is: the place where the file is cut off.
    pub problem: Option<&'a str>,
    /// The program and the conditions of the recording, if they are known.
    pub recording: Option<&'a Recording>,
}

/// The profiled program and the conditions of the recording.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The command line of the program.
    pub command: String,
    /// Its process number.
    pub pid: Option<u32>,
    /// The JVM, as in `Java 17.0.9`.
    pub java: Option<String>,
    /// The time from the start of the recording to its end.
    pub duration: Duration,
    /// The time from one CPU sample to the next, if CPU time was sampled.
    pub interval: Option<Duration>,
}

/// Writes the page of a profile, or a comparison of the first profile with the second. With more profiles,
/// the page has numbers for each and compares the first with the last.
pub fn write(inputs: &[Input<'_>], out: &mut impl Write) -> io::Result<()> {
    page::write(&data::Data::of(inputs), out)
}

/// Writes the page of files under the given names, with the objects of the last heap dump of each. Unreadable
/// data is left out, and the page mentions it.
pub fn write_files(files: &[(&str, &File)], out: &mut impl Write) -> io::Result<()> {
    write_all(files, None, out)
}

/// Writes the page of a file that was just recorded.
pub fn write_recorded(
    name: &str,
    file: &File,
    recording: &Recording,
    out: &mut impl Write,
) -> io::Result<()> {
    write_all(&[(name, file)], Some(recording), out)
}

fn write_all(
    files: &[(&str, &File)],
    recording: Option<&Recording>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut heaps = Vec::new();
    for (_, file) in files {
        let problem = file.problem().map(|problem| problem.to_string());
        heaps.push(match file.profile().heap_dumps().next_back() {
            Some(dump) => {
                let (graph, cut) = heap::read(file, dump).map_err(io::Error::other)?;
                (Some(graph), problem.or(cut.map(|cut| cut.to_string())))
            }
            None => (None, problem),
        });
    }
    let inputs = files.iter().zip(&heaps).map(|((name, file), (heap, problem))| Input {
        name,
        profile: file.profile(),
        heap: heap.as_ref(),
        problem: problem.as_deref(),
        recording,
    });
    write(&inputs.collect::<Vec<_>>(), out)
}
