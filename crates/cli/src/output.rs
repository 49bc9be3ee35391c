//! A profile as a file, in the format that the file's name tells.

use crate::platform::system;
use crate::unfinished::Unfinished;
use jvmpi_formats::profile::{
    self, BinaryWriter, File, Format, Jvm, LeftOut, TextWriter, Version, Weight, WholeFile,
    printable,
};
use jvmpi_report::Recording;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The name that stands for standard output.
pub const STANDARD_OUTPUT: &str = "-";

/// The output made of a profile.
#[derive(Clone, Copy)]
pub struct Output {
    /// The format of the output.
    pub format: Format,
    /// The weight of the stacks; None for the first one that has data.
    pub weight: Option<Weight>,
}

impl Output {
    /// Writes the profile of a file of this name, which may just have been recorded. A page gets the objects of `heap` in
    /// place of the file's own. Returns the data that the output could not hold, or the fault of the profile's file.
    ///
    /// # Errors
    /// Returns the error of `out`.
    pub fn write(
        &self,
        name: &str,
        file: &File,
        heap: Option<&File>,
        recording: Option<&Recording>,
        out: &mut dyn Write,
    ) -> io::Result<Vec<String>> {
        let profile = file.profile();
        let left_out = match self.format {
            Format::Text => file.write(&mut TextWriter::new(out, profile)?)?,
            Format::Binary => {
                // Only that one has room for heap dumps of 4 GiB and more.
                let has_heap = profile.heap_dumps().next().is_some();
                let version = if has_heap { Version::V1_0_2 } else { Version::V1_0_1 };
                file.write(&mut BinaryWriter::new(out, profile, version)?)?
            }
            Format::Collapsed | Format::Svg | Format::Pprof | Format::Speedscope => {
                profile::write_stacks(profile, self.format, self.weight, out)?;
                LeftOut::default()
            }
            Format::Jfr => {
                let jvm = recording.map(|recording| Jvm {
                    version: recording.java.as_deref().unwrap_or_default(),
                    command: &recording.command,
                    process: recording.pid.unwrap_or_default(),
                    started: recording.started,
                });
                profile::write_jfr(profile, jvm, out)?;
                LeftOut::default()
            }
            Format::Html => {
                let mut out = out;
                jvmpi_report::write_files(&[(name, file, recording)], heap, &mut out)?;
                LeftOut::default()
            }
        };
        let mut said: Vec<String> = Vec::new();
        if !left_out.sections.is_empty() {
            let sections = left_out.sections.join(", ");
            said.push(format!("{} files have no {sections}", self.format.extension()));
        }
        said.extend(file.problem().or(left_out.problem.as_ref()).map(ToString::to_string));
        Ok(said)
    }
}

/// Returns the name that the user has given, or a name of this kind of which there is no file: a file that the user has
/// not named is not replaced.
pub fn named(given: &Option<PathBuf>, stem: &str, extension: &str) -> PathBuf {
    let name = |number: u32, end: &str| match number {
        1 => PathBuf::from(format!("{stem}{end}{extension}")),
        _ => PathBuf::from(format!("{stem}.{number}{end}{extension}")),
    };
    // The file of a second JVM ends in -2.
    let is_free = |number: &u32| !name(*number, "").exists() && !name(*number, "-2").exists();
    given.clone().unwrap_or_else(|| name((1..).find(is_free).unwrap_or(1), ""))
}

/// Returns the format that the user has named, or that the name of the file selects.
///
/// # Errors
/// Returns one line if there is none.
pub fn format_of(path: &Path, named: Option<&str>) -> Result<Format, String> {
    match named {
        Some(ending) => Format::of_path(Path::new(&format!("-.{ending}")))
            .map_err(|_| format!("--format {ending}: unknown format; see --help")),
        None if path == Path::new(STANDARD_OUTPUT) => {
            Err("- selects no format: add --format, as in --format collapsed".into())
        }
        None => Format::of_path(path),
    }
}

/// Shows a file in the viewer of the user's desktop, if the user wants that.
pub fn show(path: &Path, is_wanted: bool) {
    if is_wanted && let Err(why) = system::open_in_viewer(path) {
        eprintln!("jvmpi: warning: {why}");
    }
}

/// A file that has its name only when it is whole, or standard output.
pub struct NewFile {
    path: PathBuf,
    /// None for standard output.
    place: Option<WholeFile>,
    _unfinished: Option<Unfinished>,
    file: BufWriter<Box<dyn Write>>,
}

impl NewFile {
    /// Creates the file next to its final place, so that a failure is reported early; `-` is standard output.
    ///
    /// # Errors
    /// Returns one line if the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, String> {
        let create = || {
            let (place, _unfinished, file): (_, _, Box<dyn Write>) =
                if path == Path::new(STANDARD_OUTPUT) {
                    (None, None, Box::new(io::stdout()))
                } else {
                    let place = WholeFile::new(path)?;
                    let unfinished = place.part().map(|part| Unfinished::new(part.to_owned()));
                    let file = place.create()?;
                    (Some(place), unfinished, Box::new(file))
                };
            Ok(Self { path: path.to_owned(), place, _unfinished, file: BufWriter::new(file) })
        };
        create().map_err(|error| cannot_write(path, &error))
    }

    /// Lets `write` write the contents, and moves the file to its final place.
    ///
    /// # Errors
    /// Returns one line if the file cannot be written. The file is removed.
    pub fn finish<T>(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
    ) -> Result<T, String> {
        write(&mut self.file)
            .and_then(|written| self.file.flush().map(|()| written))
            .and_then(|written| {
                self.place.as_ref().map_or(Ok(()), WholeFile::finish).map(|()| written)
            })
            .map_err(|error| cannot_write(&self.path, &error))
    }

    /// Returns true if it is no regular file, such as a pipe, and is written to directly.
    pub fn is_in_place(&self) -> bool {
        self.place.as_ref().is_none_or(|place| place.part().is_none())
    }

    /// Returns the directory from which a file can become the output by [`Self::replace_with`].
    ///
    /// # Errors
    /// Returns one line if it is not accessible.
    pub fn directory(&self) -> Result<PathBuf, String> {
        let temporary = std::env::temp_dir();
        let place = self.place.as_ref().and_then(WholeFile::directory).unwrap_or(&temporary);
        dunce::canonicalize(place).map_err(|error| cannot_write(place, &error))
    }

    /// Makes another file the output. It must be in the file system of [`Self::directory`].
    ///
    /// # Errors
    /// Returns one line if that fails.
    pub fn replace_with(self, other: &Path) -> Result<(), String> {
        let place =
            self.place.as_ref().ok_or("standard output cannot be a heap dump: name a file")?;
        place.replace_with(other).map_err(|error| cannot_write(&self.path, &error))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(place) = &self.place {
            place.give_up();
        }
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// Writes lines of text with nothing in them that would do something to a terminal.
pub struct Printable<W>(pub W);

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        for line in String::from_utf8_lossy(text).split_inclusive('\n') {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            write!(self.0, "{}{end}", printable(line))?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_and_escape_sequences_do_not() {
        let mut out = Printable(Vec::new());
        let name = "\u{1b}]0;title\u{7}";
        writeln!(out, "class {name}").unwrap();
        writeln!(out, "next").unwrap();
        assert_eq!(String::from_utf8(out.0).unwrap(), "class \\u{1b}]0;title\\u{7}\nnext\n");
    }
}
