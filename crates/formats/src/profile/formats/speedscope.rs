//! The format of speedscope, <https://www.speedscope.app/file-format-schema.json>: JSON.

use super::symbols::{Symbols, labels};
use crate::profile::model::Profile;
use crate::profile::weight::{Unit, Weight, stacks};
use std::fmt::{self, Display};
use std::io::{self, Write};

pub fn write(profile: &Profile, weight: Weight, out: &mut dyn Write) -> io::Result<()> {
    let mut weights = Weight::of(profile);
    if !weights.contains(&weight) {
        weights.push(weight);
    }
    let mut symbols = Symbols::default();
    let profiles: Vec<_> =
        weights.iter().map(|weight| sampled(profile, *weight, &mut symbols)).collect();
    let active = weights.iter().position(|other| *other == weight).unwrap_or(0);
    write!(
        out,
        "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\
         \"exporter\":\"jvmpi\",\"name\":{},\"activeProfileIndex\":{active},\"shared\":{{\"frames\":[",
        Json(&profile.created.to_text())
    )?;
    let strings: Vec<_> = symbols.strings().collect();
    let functions: Vec<_> = symbols.functions().map(|(_, function)| function).collect();
    for (number, (function, line)) in symbols.locations() {
        let [name, _, file] = functions[function as usize - 1].map(|at| strings[at as usize]);
        write!(out, "{}{{\"name\":{}", comma(number as usize - 1), Json(name))?;
        if !file.is_empty() {
            write!(out, ",\"file\":{}", Json(file))?;
        }
        if line > 0 {
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

/// Returns the stacks with one weight, outermost frame first. Frames are locations, counted from 0.
fn sampled(profile: &Profile, weight: Weight, symbols: &mut Symbols) -> String {
    let mut samples = String::new();
    let mut weights = String::new();
    let mut total: u64 = 0;
    for (n, stack) in stacks(profile, weight).into_iter().enumerate() {
        let mut sample = symbols.stack(profile, &stack);
        let [thread, _] = labels(profile, &stack);
        sample.extend(thread.map(|name| symbols.named(&format!("[{name}]"))));
        let sample: Vec<_> = sample.iter().rev().map(|frame| (frame - 1).to_string()).collect();
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
