//! The files of a recording: snapshots while it runs, and the profile and heap dump of each JVM at its end.

use super::jvm::{Jvm, Recorded};
use super::options::Arguments;
use super::received::Received;
use crate::convert::name_of;
use crate::heap::DumpFile;
use crate::output::{self, NewFile, Output};
use jvmpi_formats::profile::{self, File, Format, Profile, Weight, printable};
use jvmpi_report::Recording;
use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files that are to be written.
pub struct Files {
    /// The first of them.
    pub path: PathBuf,
    /// The output if it is no regular file.
    first: Option<NewFile>,
    /// The directory for heap dumps, if there are any.
    pub heap_directory: Option<PathBuf>,
    output: Output,
    /// Stacks of calls with a smaller share of the time are one row.
    cutoff: f32,
    /// True while snapshots are saved: the files can be replaced.
    saves: bool,
}

impl Files {
    pub fn create(arguments: &Arguments) -> Result<Self, String> {
        let path = arguments.output();
        let format = output::format_of(&path, arguments.format.as_deref())?;
        if path == Path::new(output::STANDARD_OUTPUT) && arguments.heap && format != Format::Html {
            return Err(
                "--heap has a file of its own: name one with -o, or use --format html".into()
            );
        }
        let weight = arguments.weight()?;
        // A file is created again when it is written, so that nothing is left if this process is killed.
        let first = NewFile::create(&path)?;
        let output = Output { format, weight };
        // Other formats share the beginnings of stacks, or have no times.
        let cutoff = if format == Format::Text { arguments.cutoff } else { 0.0 };
        let heap_directory = arguments.heap.then(|| first.directory()).transpose()?;
        let first = Some(first).filter(NewFile::is_in_place);
        Ok(Self { path, saves: first.is_none(), first, heap_directory, output, cutoff })
    }

    /// Returns true if the profile goes to standard output.
    pub fn is_standard_output(&self) -> bool {
        self.path == Path::new(output::STANDARD_OUTPUT)
    }

    /// Replaces the file of a JVM by what it has sent, if it has recorded anything, so that there is a file if this
    /// process is killed. There are `before` other JVMs in front of it.
    pub fn save(&mut self, before: usize, received: &mut Received, about: &Recording) {
        if !self.saves {
            return;
        }
        let sample = about.alloc_interval.and_then(NonZeroU32::new);
        let path = nth(&self.path, before + 1, self.output.format);
        let written = received.read(sample, |file| {
            if Weight::of(file.profile()).is_empty() {
                return Ok(());
            }
            let write = |out: &mut dyn io::Write| {
                self.output.write(&name_of(&path), file, None, Some(about), out)
            };
            NewFile::create(&path)?.finish(write).map(drop)
        });
        if let Some(Err(why)) = written {
            eprintln!("jvmpi: warning: no snapshot is saved: {why}");
            self.saves = false;
        }
    }

    /// Writes the profile of each JVM: the first into the file that the user has named, others into files
    /// next to it.
    ///
    /// # Errors
    /// Returns one line, also if everything to write is cut off.
    pub fn write(&mut self, jvms: BTreeMap<usize, Jvm>, about: &Recording) -> Result<(), String> {
        if jvms.is_empty() {
            return Err(
                "no JVM was profiled: the program started none, or started it without the agent"
                    .into(),
            );
        }
        let all = jvms.len();
        let sample = about.alloc_interval.and_then(NonZeroU32::new);
        let cutoff = self.cutoff;
        let recorded: Vec<_> =
            jvms.into_values().filter_map(|jvm| jvm.recorded(sample, cutoff)).collect();
        if recorded.is_empty() {
            return Err(
                "nothing was recorded: the JVM exited before it sent a profile; if it was killed, use \
                 a smaller --every"
                    .into(),
            );
        }
        let format = self.output.format;
        let (mut place, with_heap) = (self.first.take(), self.heap_directory.is_some());
        let mut without_heap = Vec::new();
        // There, another profile would have no beginning.
        let most = if self.is_standard_output() { 1 } else { recorded.len() };
        if most < recorded.len() {
            let others = recorded.len() - most;
            eprintln!(
                "jvmpi: warning: {others} more JVMs were profiled: with -o FILE each has a file"
            );
        }
        for (number, Recorded { file, warnings, heap, .. }) in (1..).zip(&recorded).take(most) {
            let path = nth(&self.path, number, format);
            let place = place.take().map_or_else(|| NewFile::create(&path), Ok)?;
            let heap = heap.as_ref().map_err(String::clone);
            let in_page = (with_heap && format == Format::Html)
                .then(|| heap.clone().and_then(DumpFile::open));
            let in_file = (with_heap && format != Format::Html).then_some(heap);
            let objects = in_page.as_ref().and_then(|opened| opened.as_ref().ok());
            let said = place.finish(|out| {
                self.output.write(&name_of(&path), file, objects, Some(about), out)
            })?;
            for line in said.iter().chain(warnings) {
                eprintln!("jvmpi: warning: {}: {}", path.display(), printable(line));
            }
            let name = if self.is_standard_output() {
                "the profile".into()
            } else {
                path.display().to_string()
            };
            eprintln!(
                "jvmpi: {name} {}{}{}",
                summary(file, objects.is_some()),
                estimated(about),
                cut_off(file.profile())
            );
            let moved = in_file.map(|heap| {
                let path = beside(&path, format);
                heap?.give_name(NewFile::create(&path)?)?;
                eprintln!("jvmpi: {} has the heap", path.display());
                Ok(())
            });
            let failure = in_page.and_then(Result::err).or(moved.and_then(Result::err));
            without_heap.extend(failure.map(|why| (path, why)));
        }
        if !recorded.iter().any(|recorded| recorded.is_whole) {
            return Err(
                "no profile is complete: if the JVM is killed, use a smaller --every".into()
            );
        }
        if let Some((_, why)) =
            without_heap.first().filter(|_| without_heap.len() == recorded.len())
        {
            return Err(format!("there is no heap dump: {why}"));
        }
        for (path, why) in without_heap {
            eprintln!("jvmpi: warning: {}: no heap dump: {}", path.display(), printable(&why));
        }
        if recorded.len() < all {
            let silent = all - recorded.len();
            eprintln!("jvmpi: warning: {silent} of {all} JVMs exited before they sent a profile");
        }
        Ok(())
    }
}

/// Returns the file of the JVM with this number, from 1: `profile-2.svg` for `profile.svg`.
fn nth(path: &Path, number: usize, format: Format) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let (stem, extension) = split(path, format);
    path.with_file_name(format!("{stem}-{number}{extension}"))
}

/// Returns the name of the heap dump next to a file: `profile-heap.hprof` for `profile.svg`.
fn beside(path: &Path, format: Format) -> PathBuf {
    let (stem, _) = split(path, format);
    path.with_file_name(format!("{stem}-heap{}", Format::Binary.extension()))
}

/// Splits a file name in front of the extension of the format, if it has it.
fn split(path: &Path, format: Format) -> (String, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let end = name.to_ascii_lowercase().strip_suffix(format.extension()).map(str::len);
    let (stem, extension) = name.split_at(end.unwrap_or(name.len()));
    (stem.to_owned(), extension.to_owned())
}

/// Summarizes the contents of a profile in a few words.
fn summary(file: &File, has_heap: bool) -> String {
    let profile = file.profile();
    let received = Weight::of(profile).into_iter().map(|weight| {
        let sum = weight.sum(profile);
        match weight.unit() {
            profile::Unit::Nanoseconds => {
                format!("{:.1} s {}", Duration::from_nanos(sum).as_secs_f64(), weight.name())
            }
            _ => format!("{sum} {}", weight.name()),
        }
    });
    let received: Vec<_> = received.chain(has_heap.then(|| "the heap".into())).collect();
    if received.is_empty() {
        "is empty: nothing was recorded".into()
    } else {
        format!("has {}", received.join(", "))
    }
}

/// Returns the remark that the numbers of objects are estimates, if they are.
fn estimated(about: &Recording) -> String {
    let remark =
        |bytes: u32| format!("; allocations are estimated from a sample per {bytes} bytes");
    about.alloc_interval.map(remark).unwrap_or_default()
}

/// Returns the remark that some stacks have only their innermost frames, if that is so.
fn cut_off(profile: &Profile) -> String {
    let weights = [Weight::CpuSamples, Weight::WallSamples].into_iter();
    let stacks = weights.flat_map(|weight| profile::stacks(profile, weight));
    let samples: u64 = stacks.filter(|stack| stack.is_cut_off(profile)).map(|s| s.value).sum();
    match samples {
        0 => String::new(),
        samples => format!("; the stacks of {samples} are cut off: use a larger --depth"),
    }
}
