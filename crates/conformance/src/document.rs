//! Generates tables from the manifest: each function, event, field and constant with the cases that prove it, and all
//! cases. The site has them at the end of `docs/reference/conformance.md`.

use crate::header::{self, Kind};
use crate::manifest::{Case, Excuse, Manifest};
use crate::results::State;
use std::fmt::Write as _;

/// The items that no case can prove, with the reason.
pub const NOT_PROVED: &[(&str, &str)] = &[
    ("JVMPI_GC_ROOT_NATIVE_STACK", "what native code holds are JNI's references"),
    ("JVMPI_GC_ROOT_THREAD_OBJ", "a record of profile files, which no dump has"),
];

/// Returns the tables, each below a heading.
pub fn tables(manifest: &Manifest) -> String {
    let mut text = String::new();
    for kind in Kind::ALL {
        let _ = write!(text, "\n## {}\n\n| name | cases | state |\n|---|---|---|\n", kind.title());
        for (_, name) in header::items().iter().filter(|(k, _)| *k == kind) {
            let cases: Vec<_> = manifest.cases().filter(|case| case.about.contains(name)).collect();
            let ids: Vec<_> = cases.iter().map(|case| case.id.as_str()).collect();
            let state = match NOT_PROVED.iter().find(|(item, _)| item == name) {
                Some((_, why)) => format!("not proved: {why}"),
                None => state(&cases),
            };
            let _ = writeln!(text, "| `{name}` | {} | {state} |", ids.join(", "));
        }
    }
    text.push_str("\n## Cases\n\n| case | section | rule |\n|---|---|---|\n");
    for case in manifest.cases() {
        let _ = writeln!(text, "| {} | {} | {} |", case.id, case.section, case.rule);
    }
    text
}

/// Returns the combined state of these cases.
fn state(cases: &[&Case]) -> String {
    let exceptions = cases.iter().flat_map(|case| &case.except);
    let mut known: Vec<_> = exceptions
        .filter(|exception| exception.state != Excuse::Skip)
        .map(|exception| format!("{} on {}", State::from(exception.state).name(), exception.on))
        .collect();
    known.sort();
    known.dedup();
    if known.is_empty() { "pass".into() } else { known.join(", ") }
}
