//! The formats, and what of them is made from the stacks of a profile.

mod collapsed;
mod flame_graph;
mod made_frames;
pub(super) mod measures;
mod name_tree;
#[cfg(feature = "otlp")]
mod otlp;
mod pprof;
mod protobuf;
mod speedscope;
mod symbols;

use crate::profile::model::Profile;
use crate::profile::weight::Weight;
use std::io::{self, Write};
use std::path::Path;

/// A format of profiles. The extension of the file name selects it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// HPROF's text.
    Text,
    /// HPROF's binary format.
    Binary,
    /// Stacks, one in a line.
    Collapsed,
    /// A flame graph as a picture.
    Svg,
    /// The format of pprof, compressed.
    Pprof,
    /// The format of speedscope.
    Speedscope,
    /// JDK Flight Recorder, which [`write_jfr`](crate::profile::write_jfr) writes.
    Jfr,
    /// An HTML report, which another crate writes.
    Html,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 8] = [
        Self::Text,
        Self::Binary,
        Self::Collapsed,
        Self::Svg,
        Self::Pprof,
        Self::Speedscope,
        Self::Jfr,
        Self::Html,
    ];

    /// Returns the extension of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Text => ".txt",
            Self::Binary => ".hprof",
            Self::Collapsed => ".collapsed",
            Self::Svg => ".svg",
            Self::Pprof => ".pb.gz",
            Self::Speedscope => ".json",
            Self::Jfr => ".jfr",
            Self::Html => ".html",
        }
    }

    /// Returns the format of a file of this name.
    ///
    /// # Errors
    /// Returns a line with the ends of names that select a format.
    pub fn of_path(path: &Path) -> Result<Self, String> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let found = Self::ALL.into_iter().find(|format| name.ends_with(format.extension()));
        found.ok_or_else(|| {
            let endings = Self::ALL.map(Self::extension).join(" ");
            format!("{}: the name selects no format; it must end in {endings}", path.display())
        })
    }

    /// Returns true if files of this format have stacks alone. Except for [`Format::Jfr`], [`write_stacks`] writes them.
    pub const fn is_of_stacks(self) -> bool {
        matches!(self, Self::Collapsed | Self::Svg | Self::Pprof | Self::Speedscope | Self::Jfr)
    }
}

/// Writes the stacks of a profile in one of the formats that [are made of them](Format::is_of_stacks).
///
/// Without `weight`, it is the first of [`Weight::ALL`] that has data. Formats that can hold
/// several (pprof and speedscope) have all, and show this one first.
///
/// # Errors
///
/// Returns the errors of `out`, and `Unsupported` for another format or one that this build lacks.
pub fn write_stacks(
    profile: &Profile,
    format: Format,
    weight: Option<Weight>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let weight = weight.or_else(|| Weight::of(profile).first().copied());
    let weight = weight.unwrap_or(Weight::CpuSamples);
    match format {
        Format::Collapsed => collapsed::write(profile, weight, out),
        Format::Svg => flame_graph::write(profile, weight, out),
        Format::Pprof => pprof::write(profile, weight, out),
        Format::Speedscope => speedscope::write(profile, weight, out),
        _ => {
            let what = format!("{} files are not made here", format.extension());
            Err(io::Error::new(io::ErrorKind::Unsupported, what))
        }
    }
}

pub use flame_graph::write_difference;
pub use measures::Family;
#[cfg(feature = "otlp")]
pub use otlp::{AttributeValue, otlp, otlp_rejected};
pub use pprof::write_family;
