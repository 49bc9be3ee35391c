//! A flame graph as a picture that opens in a browser: it zooms and searches.

use super::name_tree::{NameTree, ROOT, Values};
use crate::profile::model::Profile;
use crate::profile::printable;
use crate::profile::weight::{Unit, Weight};
use std::fmt::{self, Display};
use std::io::{self, Write};

/// Writes a flame graph of the profile.
pub fn write(profile: &Profile, weight: Weight, out: &mut dyn Write) -> io::Result<()> {
    draw(NameTree::of(profile, weight), false, weight, &profile.created.to_text(), out)
}

/// Writes a flame graph of `after`: red has grown since `before`, blue has shrunk.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_difference(
    before: &Profile,
    after: &Profile,
    weight: Weight,
    out: &mut dyn Write,
) -> io::Result<()> {
    let times = format!("{} and {}", before.created.to_text(), after.created.to_text());
    draw(NameTree::of_runs(before, after, weight), true, weight, &times, out)
}

/// A frame of the picture.
struct Frame<'a> {
    name: &'a str,
    /// With those of all frames above it.
    values: Values,
    x: f64,
    width: f64,
    depth: usize,
}

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 10.0;
const FRAME: usize = 16;
/// Above the frames are the title and what can be clicked, below them the details.
const ABOVE: usize = 64;
const BELOW: usize = 32;
/// Narrower frames are not drawn, nor what is above them.
const NARROWEST: f64 = 0.1;
/// The greatest width of a letter.
const CHARACTER: f64 = 7.0;

const SCRIPT: &str = include_str!("flame_graph.js");
const STYLE: &str =
    "text { font: 12px monospace; fill: #000 } #title { font-size: 17px; text-anchor: middle }
#subtitle { text-anchor: middle; fill: #666 } #search, #reset { cursor: pointer; fill: #06c }
#matched { text-anchor: end } #frames > g { cursor: pointer } #frames text { pointer-events: none }
#frames > g:hover > rect { stroke: #000; stroke-width: 0.5 } .parent { opacity: 0.5 }";

fn frames(tree: &NameTree) -> Vec<Frame<'_>> {
    let (totals, children) = (tree.totals(), tree.children());
    let scale = (WIDTH - 2.0 * LEFT) / (totals[0][1] as f64).max(1.0);
    let mut frames = Vec::new();
    let mut open = vec![(ROOT, 0u64, 0)];
    while let Some((node, mut start, depth)) = open.pop() {
        let values = totals[node as usize];
        let width = values[1] as f64 * scale;
        if width < NARROWEST {
            continue;
        }
        let x = LEFT + start as f64 * scale;
        let name = if node == ROOT { "all" } else { tree.name_of(node) };
        frames.push(Frame { name, values, x, width, depth });
        for child in &children[node as usize] {
            open.push((*child, start, depth + 1));
            start = start.saturating_add(totals[*child as usize][1]);
        }
    }
    frames
}

fn draw(
    mut tree: NameTree,
    is_difference: bool,
    weight: Weight,
    subtitle: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    if tree.totals()[0][1] == 0 {
        // An empty profile still makes a picture, so that the viewer sees that it is empty.
        tree = NameTree::new(false);
        tree.add_names(&[&format!("no {}", weight.title())], [1, 1]);
    }
    let frames = frames(&tree);
    let depth = frames.iter().map(|frame| frame.depth + 1).max().unwrap_or(0);
    let height = ABOVE + FRAME * depth + BELOW;
    let total = frames.first().map_or(1.0, |root| root.values[1] as f64);
    let change = |[before, after]: Values| after as f64 - before as f64;
    let changes = frames.iter().skip(1).map(|frame| change(frame.values).abs());
    let largest = changes.fold(1.0, f64::max);
    write!(
        out,
        r##"<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<svg version="1.1" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" xmlns="http://www.w3.org/2000/svg">
<style>{STYLE}</style>
<rect width="100%" height="100%" fill="#f8f8f8"/>
<text id="title" x="{middle}" y="24">{title}</text>
<text id="subtitle" x="{middle}" y="42">{subtitle}</text>
<text id="reset" x="{LEFT}" y="24" style="display: none">reset zoom</text>
<text id="search" x="{search}" y="24">search</text>
<text id="matched" x="{right}" y="{bottom}"></text>
<text id="details" x="{LEFT}" y="{bottom}"></text>
<g id="frames">
"##,
        middle = WIDTH / 2.0,
        title = Xml(weight.title()),
        subtitle = Xml(subtitle),
        search = WIDTH - LEFT - 12.0 * CHARACTER,
        right = WIDTH - LEFT,
        bottom = height - BELOW / 3,
    )?;
    for frame in &frames {
        let Frame { name, values, x, width, .. } = *frame;
        let amount = amount(values[1], weight.unit());
        let mut share = format!("{:.2}%", 100.0 * values[1] as f64 / total);
        if frame.depth == 0 {
            share = "100%".into();
        } else if is_difference {
            share += &format!("; {:+.2}%", 100.0 * change(values) / total);
        }
        let color = match frame.depth {
            0 => "#d0d0d0".into(),
            _ if is_difference => color_of_change(change(values) / largest),
            _ => color_of_name(name, weight.unit()),
        };
        let y = ABOVE + FRAME * (depth - 1 - frame.depth);
        writeln!(
            out,
            r#"<g><title>{name} ({amount}, {share})</title><rect x="{x:.4}" y="{y}" width="{width:.4}" height="{height}" fill="{color}" rx="1"/><text x="{text_x:.4}" y="{text_y}">{text}</text></g>"#,
            name = Xml(name),
            height = FRAME - 1,
            text_x = x + 3.0,
            text_y = y + 12,
            text = Xml(&fitting(name, width)),
        )?;
    }
    write!(out, "</g>\n<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n")
}

/// Returns as much of a name as fits into a frame of this width.
fn fitting(name: &str, width: f64) -> String {
    let most = ((width - 6.0) / CHARACTER) as usize;
    match name.chars().count() {
        _ if most < 3 => String::new(),
        length if length <= most => name.to_owned(),
        _ => name.chars().take(most - 2).chain("..".chars()).collect(),
    }
}

/// `1,234 samples`. Nanoseconds are too many digits to read.
fn amount(value: u64, unit: Unit) -> String {
    let (value, unit) = match unit {
        Unit::Samples => (value as f64, "samples"),
        Unit::Nanoseconds => (value as f64 / 1e6, "ms"),
        Unit::Bytes => (value as f64, "bytes"),
        Unit::Objects => (value as f64, "objects"),
    };
    let digits = if value < 10.0 && value.fract() != 0.0 { 3 } else { 0 };
    let text = format!("{value:.digits$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped}{fraction} {unit}")
}

/// Returns a color of its own for each name, the same in all pictures: warm for time, green for memory.
fn color_of_name(name: &str, unit: Unit) -> String {
    // FNV-1a.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let part = |shift: u32, most: u64| (hash >> shift & 0xff) * most / 0xff;
    let (red, green, blue) = match unit {
        Unit::Bytes | Unit::Objects => (80 + part(24, 90), 175 + part(32, 75), 80 + part(40, 100)),
        _ => (215 + part(24, 40), 80 + part(32, 140), 40 + part(40, 50)),
    };
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Returns the color of a change from -1 to 1: white for 0, and stronger red or blue for a greater change.
fn color_of_change(change: f64) -> String {
    let rest = (255.0 - 215.0 * change.abs().min(1.0)) as u8;
    if change >= 0.0 {
        format!("#ff{rest:02x}{rest:02x}")
    } else {
        format!("#{rest:02x}{rest:02x}ff")
    }
}

/// Text of an element or attribute.
struct Xml<'a>(&'a str);

impl Display for Xml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in printable(self.0).chars() {
            match c {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&apos;")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_grouped() {
        for (value, unit, expected) in [
            (0, Unit::Samples, "0 samples"),
            (999, Unit::Objects, "999 objects"),
            (1_234_567, Unit::Bytes, "1,234,567 bytes"),
            (543_000_000, Unit::Nanoseconds, "543 ms"),
            (1_500_000, Unit::Nanoseconds, "1.500 ms"),
            (12_345_678_900, Unit::Nanoseconds, "12,346 ms"),
        ] {
            assert_eq!(amount(value, unit), expected);
        }
    }

    #[test]
    fn names_are_cut_to_the_width_of_the_frame() {
        assert_eq!(fitting("java.lang.Object.wait", 1000.0), "java.lang.Object.wait");
        assert_eq!(fitting("java.lang.Object.wait", 62.0), "java.l..");
        assert_eq!(fitting("main", 20.0), "");
    }

    #[test]
    fn frames_lie_within_the_one_below_them() {
        let mut tree = NameTree::new(false);
        for (names, value) in
            [(&["a", "b"][..], 3), (&["a", "c", "d"], 5), (&["e"], 2), (&["a"], u64::MAX)]
        {
            tree.add_names(names, [0, value]);
        }
        let frames = frames(&tree);
        let root = &frames[0];
        assert_eq!((root.name, root.x, root.width), ("all", LEFT, WIDTH - 2.0 * LEFT));
        for frame in &frames {
            assert!(frame.x >= LEFT && frame.x + frame.width <= WIDTH - LEFT + 0.01);
        }
    }

    #[test]
    fn same_name_has_the_same_color_everywhere() {
        let color = color_of_name("Main.main", Unit::Samples);
        assert_eq!(color, color_of_name("Main.main", Unit::Nanoseconds));
        assert_ne!(color, color_of_name("Main.other", Unit::Samples));
        assert_eq!(
            (color_of_change(0.0), color_of_change(-1.0)),
            ("#ffffff".into(), "#2828ff".into())
        );
    }
}
