//! A flame graph as a picture that opens in a browser: it zooms and searches.

use super::collapsed;
use crate::model::Profile;
use crate::weight::{Unit, Weight};
use inferno::flamegraph::Options;
use inferno::flamegraph::color::{BasicPalette, Palette};
use inferno::{differential, flamegraph};
use std::io::{self, Write};

pub fn write(profile: &Profile, weight: Weight, out: &mut dyn Write) -> io::Result<()> {
    let lines = collapsed::lines(profile, weight);
    draw(&lines, &mut options(weight, profile.created.to_text()), weight, out)
}

/// Writes a flame graph of `after` in whose colours red has grown since `before` and blue has shrunk.
pub fn write_difference(
    before: &Profile,
    after: &Profile,
    weight: Weight,
    out: &mut dyn Write,
) -> io::Result<()> {
    let [old, new] =
        [before, after].map(|profile| collapsed::lines(profile, weight).join("\n").into_bytes());
    let mut lines = Vec::new();
    let as_they_are = differential::Options::default();
    differential::from_readers(as_they_are, &old[..], &new[..], &mut lines)?;
    let lines = String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect::<Vec<_>>();
    let times = format!("{} and {}", before.created.to_text(), after.created.to_text());
    draw(&lines, &mut options(weight, times), weight, out)
}

fn options(weight: Weight, subtitle: String) -> Options<'static> {
    let mut options = Options::default();
    options.title = weight.title().into();
    options.subtitle = Some(subtitle);
    options.colors = Palette::Basic(match weight.unit() {
        Unit::Bytes | Unit::Objects => BasicPalette::Mem,
        _ => BasicPalette::Hot,
    });
    // The same profile is the same picture.
    options.deterministic = true;
    // Nanoseconds are too many digits to read.
    (options.count_name, options.factor) = match weight.unit() {
        Unit::Samples => ("samples".into(), 1.0),
        Unit::Nanoseconds => ("ms".into(), 1e-6),
        Unit::Bytes => ("bytes".into(), 1.0),
        Unit::Objects => ("objects".into(), 1.0),
    };
    options
}

fn draw(
    lines: &[String],
    options: &mut Options<'_>,
    weight: Weight,
    out: &mut dyn Write,
) -> io::Result<()> {
    if lines.is_empty() {
        // A picture all the same: who opens it sees what there is.
        let nothing = format!("no {} 1", weight.title());
        return flamegraph::from_lines(options, [nothing.as_str()], out);
    }
    flamegraph::from_lines(options, lines.iter().map(String::as_str), out)
}
