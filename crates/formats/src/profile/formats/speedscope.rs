//! The format of speedscope, <https://www.speedscope.app/file-format-schema.json>: JSON.

use super::made_frames::{NO_FRAMES, thread_name};
use crate::profile::model::{Line, NameId, Profile, ThreadSerial};
use crate::profile::weight::{Unit, Weight, stacks};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use std::fmt::{self, Display};
use std::io::{self, Write};

/// A frame: its name, file and line.
type Frame = (String, String, Option<u32>);

pub fn write(profile: &Profile, weight: Weight, out: &mut dyn Write) -> io::Result<()> {
    let mut weights = Weight::of(profile);
    if !weights.contains(&weight) {
        weights.push(weight);
    }
    let mut frames = IndexSet::default();
    let profiles: Vec<_> =
        weights.iter().map(|weight| sampled(profile, *weight, &mut frames)).collect();
    let active = weights.iter().position(|other| *other == weight).unwrap_or(0);
    write!(
        out,
        "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\
         \"exporter\":\"jvmpi\",\"name\":{},\"activeProfileIndex\":{active},\"shared\":{{\"frames\":[",
        Json(&profile.created.to_text())
    )?;
    for (n, (name, file, line)) in frames.iter().enumerate() {
        write!(out, "{}{{\"name\":{}", comma(n), Json(name))?;
        if !file.is_empty() {
            write!(out, ",\"file\":{}", Json(file))?;
        }
        if let Some(line) = line {
            write!(out, ",\"line\":{line}")?;
        }
        write!(out, "}}")?;
    }
    write!(out, "]}},\"profiles\":[")?;
    for (n, text) in profiles.iter().enumerate() {
        write!(out, "{}{text}", comma(n))?;
    }
    writeln!(out, "]}}")
}

/// Returns the stacks with one weight, outermost frame first.
fn sampled(
    profile: &Profile,
    weight: Weight,
    frames: &mut IndexSet<Frame, FxBuildHasher>,
) -> String {
    let mut samples = String::new();
    let mut weights = String::new();
    let mut total: u64 = 0;
    let mut number = |frame: Frame| frames.insert_full(frame).0.to_string();
    for (n, stack) in stacks(profile, weight).into_iter().enumerate() {
        let mut sample = Vec::new();
        let named = |name: &str| (name.to_owned(), String::new(), None);
        if stack.thread != ThreadSerial(0) {
            let name = thread_name(profile, stack.thread).unwrap_or("<unknown thread>");
            sample.push(number(named(&format!("[{name}]"))));
        }
        if stack.frames.is_empty() {
            sample.push(number(named(NO_FRAMES)));
        }
        for (frame, method) in
            stack.frames.outermost_first().iter().filter_map(|id| profile.frame(*id))
        {
            let text = |id: NameId| profile.names.get(id);
            let name = profile.qualified(method);
            let line = if let Line::Number(line) = frame.line { Some(line) } else { None };
            sample.push(number((name, text(method.source).to_owned(), line)));
        }
        sample.extend(stack.subject.as_ref().map(|name| number(named(name))));
        samples += &format!("{}[{}]", comma(n), sample.join(","));
        weights += &format!("{}{}", comma(n), stack.value);
        total = total.saturating_add(stack.value);
    }
    let unit = match weight.unit() {
        Unit::Samples | Unit::Objects => "none",
        Unit::Nanoseconds => "nanoseconds",
        Unit::Bytes => "bytes",
    };
    format!(
        "{{\"type\":\"sampled\",\"name\":{},\"unit\":\"{unit}\",\"startValue\":0,\"endValue\":{total},\
         \"samples\":[{samples}],\"weights\":[{weights}]}}",
        Json(weight.title())
    )
}

/// Returns the text before the element of a list with this index.
fn comma(index: usize) -> &'static str {
    if index == 0 { "" } else { "," }
}

/// A text as JSON has it.
struct Json<'a>(&'a str);

impl Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}
