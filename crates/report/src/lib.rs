//! One self-contained HTML page of a profile: hot methods, flame graph, call tree, allocation sites, heap,
//! monitors and threads. Two profiles make a comparison.
//!
//! ```
//! use jvmpi_formats::profile::File;
//!
//! let text = "JAVA PROFILE 1.0.1, created Wed Oct  4 13:13:42 2006\n\n\n--------\n\n";
//! let file = File::from_bytes(text.into())?;
//! let mut page = Vec::new();
//! jvmpi_report::write_files(&[("java.hprof.txt", &file, None)], None, &mut page)?;
//! assert!(page.starts_with(b"<!doctype html>"));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The page is one file with its data, its style and its scripts. Its content security policy keeps it from
//! loading or running anything else. `page/` has its parts, `data` prepares its data, and [`heap`] computes
//! retained sizes.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod data;
pub mod heap;
mod input;
mod page;

use std::io::{self, Write};

pub use input::{Input, Recording};
use jvmpi_formats::profile::{File, Profile};

/// Writes the page of a profile, or a comparison of the first profile with the second. With more profiles,
/// the page has numbers for each and compares the first with the last.
pub fn write(inputs: &[Input<'_>], out: &mut impl Write) -> io::Result<()> {
    page::write(&data::Data::of(inputs), out)
}

/// Returns the profile of a page that shows one, and its recording if the page has it. None if these are not the bytes
/// of a page. The objects of its heap are lost.
///
/// # Errors
/// Returns one line if the page has another version of its data, several profiles, or was damaged.
pub fn read(page: &[u8]) -> Option<Result<(Profile, Option<Recording>), String>> {
    page::data(page).map(data::read)
}

/// Writes the page of files under the given names, with their recordings if these are known, and with the objects of the
/// last heap dump of each, or of `heap`. Unreadable data is left out, and the page mentions it.
pub fn write_files(
    files: &[(&str, &File, Option<&Recording>)],
    heap: Option<&File>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut heaps = Vec::new();
    for (_, file, _) in files {
        let dumped = heap.unwrap_or(file);
        let problem = file.problem().or(dumped.problem()).map(|problem| problem.to_string());
        heaps.push(match dumped.profile().heap_dumps().next_back() {
            Some(dump) => {
                let (graph, cut) = heap::read(dumped, dump).map_err(io::Error::other)?;
                (Some(graph), problem.or(cut.map(|cut| cut.to_string())))
            }
            None => (None, problem),
        });
    }
    let inputs = files.iter().zip(&heaps).map(|((name, file, recording), (heap, problem))| Input {
        name,
        profile: file.profile(),
        heap: heap.as_ref(),
        problem: problem.as_deref(),
        recording: *recording,
    });
    write(&inputs.collect::<Vec<_>>(), out)
}
