//! The text of the page: the files of `page/` with the data inserted.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use sha2::{Digest, Sha256};

use crate::data::DIGITS;

const PAGE: &str = include_str!("../page/page.html");
const STYLE: &str = include_str!("../page/style.css");

/// The scripts, in the order of their dependencies.
const SCRIPTS: &[&str] = &[
    include_str!("../page/dom.js"),
    include_str!("../page/data.js"),
    include_str!("../page/stacks.js"),
    include_str!("../page/table.js"),
    include_str!("../page/tree-table.js"),
    include_str!("../page/menu.js"),
    include_str!("../page/flame.js"),
    include_str!("../page/time.js"),
    include_str!("../page/views/overview.js"),
    include_str!("../page/views/code.js"),
    include_str!("../page/views/sites.js"),
    include_str!("../page/views/heap.js"),
    include_str!("../page/views/monitors.js"),
    include_str!("../page/views/threads.js"),
    include_str!("../page/main.js"),
];

/// Writes the page with this data.
pub(crate) fn write(data: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    let script = format!("(() => {{\n'use strict';\n{}}})();\n", SCRIPTS.concat());
    let parts =
        [("{{policy}}", policy(&script)), ("{{style}}", STYLE.to_owned()), ("{{script}}", script)];
    let (before, after) = PAGE.split_once("{{data}}").unwrap_or((PAGE, ""));
    let fill = |text: &str| {
        parts.iter().fold(text.to_owned(), |text, (place, part)| text.replace(place, part))
    };
    out.write_all(fill(before).as_bytes())?;
    data.serialize(&mut Serializer::with_formatter(&mut *out, InScript(CompactFormatter)))?;
    out.write_all(fill(after).as_bytes())
}

/// Returns the data of a page. None if this is none.
pub(crate) fn data(page: &[u8]) -> Option<&[u8]> {
    const BEFORE: &[u8] = br#"<script type="application/json" id="data">"#;
    if !page.starts_with(b"<!doctype html>") {
        return None;
    }
    let start = page.windows(BEFORE.len()).position(|text| text == BEFORE)? + BEFORE.len();
    // The data has no `<` in it.
    let length = page[start..].iter().position(|byte| *byte == b'<')?;
    Some(&page[start..start + length])
}

/// Returns a policy that permits no loading and only this script, so that text of a
/// profile cannot run.
fn policy(script: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text)));
    format!(
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src {}; script-src {}",
        hash(STYLE),
        hash(script)
    )
}

fn base64(bytes: &[u8]) -> String {
    let digits = bytes.chunks(3).flat_map(|chunk| {
        let bits = (0..3).fold(0, |bits, i| bits << 8 | u32::from(*chunk.get(i).unwrap_or(&0)));
        (0..4).map(move |i| match i <= chunk.len() {
            true => DIGITS[(bits >> (18 - 6 * i) & 63) as usize] as char,
            false => '=',
        })
    });
    digits.collect()
}

/// JSON without `<`, so that it cannot end its script element.
struct InScript(CompactFormatter);

impl Formatter for InScript {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut parts = fragment.split('<');
        self.0.write_string_fragment(writer, parts.next().unwrap_or_default())?;
        for part in parts {
            writer.write_all(b"\\u003c")?;
            self.0.write_string_fragment(writer, part)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_base64() {
        for (bytes, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), expected);
        }
    }

    #[test]
    fn data_does_not_end_its_script() {
        let mut text = Vec::new();
        let data = ["</script><script>alert(1)</script>", "<!--<script>"];
        data.serialize(&mut Serializer::with_formatter(&mut text, InScript(CompactFormatter)))
            .unwrap();
        assert!(!text.contains(&b'<'));
        assert_eq!(serde_json::from_slice::<[String; 2]>(&text).unwrap(), data);
    }
}
