//! Mutation tests of the suite: each function is disabled in turn, and each event dropped in turn, to check that the
//! cases about it fail.

use crate::compile::Compiled;
use crate::header::{self, Kind};
use crate::manifest::Manifest;
use crate::results::State;
use crate::run::{Implementation, Place, in_parallel, run_one};
use std::fmt::Write as _;
use std::path::Path;

/// The result of one mutation.
#[derive(Clone, Debug)]
pub struct Noticed {
    /// The function or the event.
    pub item: String,
    /// The cases about it that failed, as they should.
    pub by: Vec<String>,
    /// The cases about it that passed although they should fail.
    pub not_by: Vec<String>,
}

/// Returns the functions and events that can be removed, one at a time.
pub fn items() -> Vec<String> {
    let items = header::items().into_iter();
    let is_taken = |(kind, name): &(Kind, String)| match kind {
        Kind::Function => name != "version" && name != "NotifyEvent",
        Kind::Event => true,
        _ => false,
    };
    items.filter(is_taken).map(|(_, name)| name).collect()
}

/// Removes each item in turn and runs the cases about it. `mutant` is the library that removes it, as a layer between
/// the interface and the agent.
pub fn run(
    manifest: &Manifest,
    compiled: &Compiled,
    place: &Place,
    implementation: &Implementation,
    mutant: &Path,
    items: &[String],
    workers: usize,
) -> Vec<Noticed> {
    in_parallel(items, workers, |item| {
        let between = Some((mutant.to_owned(), item.clone()));
        let implementation = Implementation { between, ..implementation.clone() };
        without(item, manifest, compiled, place, &implementation)
    })
}

fn without(
    item: &str,
    manifest: &Manifest,
    compiled: &Compiled,
    place: &Place,
    implementation: &Implementation,
) -> Noticed {
    let (mut by, mut not_by) = (Vec::new(), Vec::new());
    for run in &manifest.runs {
        let about = |id: &str| {
            run.cases.iter().any(|case| case.id == id && case.about.iter().any(|a| a == item))
        };
        if !run.cases.iter().any(|case| about(&case.id)) {
            continue;
        }
        for (id, outcome) in run_one(run, compiled, place, implementation) {
            match outcome.state {
                _ if !about(&id) => {}
                State::Pass => not_by.push(id),
                State::Skip => {}
                _ => by.push(id),
            }
        }
    }
    Noticed { item: item.to_owned(), by, not_by }
}

/// Formats one line per mutation.
pub fn table(noticed: &[Noticed]) -> String {
    let mut text = String::new();
    for Noticed { item, by, not_by } in noticed {
        let by = if by.is_empty() { "NO CASE".into() } else { by.join(" ") };
        let _ = write!(text, "{item}: detected by {by}");
        if !not_by.is_empty() {
            let _ = write!(text, "; MISSED BY {}", not_by.join(" "));
        }
        text.push('\n');
    }
    text
}

/// Returns the mutations that no case detected, or that some case about the item missed.
pub fn faults(noticed: &[Noticed]) -> Vec<&Noticed> {
    noticed.iter().filter(|n| n.by.is_empty() || !n.not_by.is_empty()).collect()
}
