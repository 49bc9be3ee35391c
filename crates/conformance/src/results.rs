//! What has come out, of one case on one JVM and of all.

use crate::manifest::{Excuse, Manifest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of a case on a JVM.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Outcome {
    /// In one word.
    pub state: State,
    /// Why it is not `pass`; empty if it is.
    pub reason: String,
}

/// What became of a case, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The rule holds.
    Pass,
    /// The rule does not hold, and nobody knew.
    Fail,
    /// It does not hold yet.
    Todo,
    /// It does not hold because of a bug in the JVM.
    Bug,
    /// It was not tried.
    Skip,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Pass, Self::Fail, Self::Todo, Self::Bug, Self::Skip];

    /// The word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Todo => "todo",
            Self::Bug => "bug",
            Self::Skip => "skip",
        }
    }
}

impl From<Excuse> for State {
    fn from(excuse: Excuse) -> Self {
        match excuse {
            Excuse::Todo => Self::Todo,
            Excuse::Bug => Self::Bug,
            Excuse::Skip => Self::Skip,
        }
    }
}

/// What became of the cases that were tried: by JVM, then by case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Results {
    /// By the JVM's name, then by the case's.
    pub jvms: BTreeMap<String, BTreeMap<String, Outcome>>,
    /// How long the runs of each JVM took, in milliseconds.
    pub milliseconds: BTreeMap<String, u64>,
}

impl Results {
    /// Adds what another part of the same run has found.
    ///
    /// # Errors
    /// If both have tried a case on the same JVM.
    pub fn add(&mut self, other: Self) -> Result<(), String> {
        for (jvm, cases) in other.jvms {
            let own = self.jvms.entry(jvm.clone()).or_default();
            for (id, outcome) in cases {
                if own.insert(id.clone(), outcome).is_some() {
                    return Err(format!("{id} on {jvm} is in two of the files"));
                }
            }
        }
        for (jvm, time) in other.milliseconds {
            *self.milliseconds.entry(jvm).or_default() += time;
        }
        Ok(())
    }

    /// Reads what [`Results::to_json`] has written.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn from_json(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// For other programs, and to be merged. `cases` has the section and the rule of each case that was tried.
    #[must_use]
    pub fn to_json(&self, manifest: &Manifest) -> String {
        #[derive(Serialize)]
        struct Rule<'a> {
            section: &'a str,
            rule: &'a str,
        }
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            results: &'a Results,
            cases: BTreeMap<&'a str, Rule<'a>>,
        }
        let was_tried = |id: &String| self.jvms.values().any(|cases| cases.contains_key(id));
        let cases = manifest.cases().filter(|case| was_tried(&case.id));
        let cases = cases
            .map(|case| (&*case.id, Rule { section: &case.section, rule: &case.rule }))
            .collect();
        let document = Document { results: self, cases };
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        text
    }

    /// How many cases of a JVM came out so.
    #[must_use]
    pub fn count(&self, jvm: &str, state: State) -> usize {
        let cases = self.jvms.get(jvm).into_iter().flat_map(BTreeMap::values);
        cases.filter(|outcome| outcome.state == state).count()
    }

    /// Every case that fails, with its JVM and the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let all = self.jvms.iter().flat_map(|(jvm, cases)| {
            cases.iter().map(move |(id, outcome)| (jvm.as_str(), id.as_str(), outcome))
        });
        all.filter(|(_, _, outcome)| outcome.state == State::Fail)
            .map(|(jvm, id, outcome)| (jvm, id, outcome.reason.as_str()))
    }

    /// Whether something was tried and nothing fails.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.jvms.values().any(|cases| !cases.is_empty()) && self.failures().next().is_none()
    }

    /// The cases in the manifest's order, each with what came out on each JVM.
    pub fn table<'a>(
        &'a self,
        manifest: &'a Manifest,
    ) -> impl Iterator<Item = (&'a crate::manifest::Case, Vec<Option<&'a Outcome>>)> {
        manifest
            .cases()
            .map(|case| (case, self.jvms.values().map(|outcomes| outcomes.get(&case.id)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(jvm: &str, id: &str, state: State) -> Results {
        let outcome = Outcome { state, reason: String::new() };
        let cases = BTreeMap::from([(id.to_owned(), outcome)]);
        let milliseconds = BTreeMap::from([(jvm.to_owned(), 7)]);
        Results { jvms: BTreeMap::from([(jvm.to_owned(), cases)]), milliseconds }
    }

    #[test]
    fn parts_are_put_together_and_none_twice() {
        let mut all = results("17/g1", "threads-001", State::Pass);
        all.add(results("17/g1", "threads-002", State::Fail)).unwrap();
        all.add(results("21/g1", "threads-001", State::Todo)).unwrap();
        assert_eq!(all.milliseconds["17/g1"], 14);
        assert_eq!(all.failures().collect::<Vec<_>>(), [("17/g1", "threads-002", "")]);
        assert!(!all.is_good());
        let twice = all.add(results("21/g1", "threads-001", State::Pass)).unwrap_err();
        assert_eq!(twice, "threads-001 on 21/g1 is in two of the files");
    }

    #[test]
    fn written_and_read_again_it_is_the_same() {
        let manifest = Manifest::of_the_suite();
        let case = manifest.cases().next().unwrap();
        let written = results("11/zgc", &case.id, State::Bug);
        let text = written.to_json(&manifest);
        assert_eq!(Results::from_json(&text), Ok(written));
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rule = serde_json::json!({ "section": case.section, "rule": case.rule });
        assert_eq!(json["cases"], serde_json::json!({ &*case.id: rule }));
    }

    #[test]
    fn nothing_tried_is_not_good() {
        assert!(!Results::default().is_good());
        assert!(results("11/g1", "ids-001", State::Bug).is_good());
    }
}
