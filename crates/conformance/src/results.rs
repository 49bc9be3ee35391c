//! The results of a run: the outcome of each case on each JVM.

use crate::manifest::{Excuse, Manifest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The outcome of a case on a JVM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The state.
    pub state: State,
    /// The reason why the state is not `pass`; empty if it is.
    pub reason: String,
}

/// The state of a case, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The rule holds.
    Pass,
    /// The rule does not hold, and no exception is known.
    Fail,
    /// The rule does not hold because of a known fault of the library.
    Todo,
    /// The rule does not hold because of a known bug in the JVM.
    Bug,
    /// The case was not run.
    Skip,
}

impl State {
    /// All states.
    pub const ALL: [Self; 5] = [Self::Pass, Self::Fail, Self::Todo, Self::Bug, Self::Skip];

    /// Returns the word.
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

/// The outcomes of all cases that were run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Results {
    /// The outcomes by JVM, then by case.
    pub jvms: BTreeMap<String, BTreeMap<String, Outcome>>,
    /// The duration of the runs by JVM, in milliseconds.
    pub milliseconds: BTreeMap<String, u64>,
}

impl Results {
    /// For other programs. `cases` has the section and the rule of each case that was tried.
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

    /// Returns the number of cases in this state on a JVM.
    pub fn count(&self, jvm: &str, state: State) -> usize {
        let cases = self.jvms.get(jvm).into_iter().flat_map(BTreeMap::values);
        cases.filter(|outcome| outcome.state == state).count()
    }

    /// Returns every failed case, with its JVM and the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let all = self.jvms.iter().flat_map(|(jvm, cases)| {
            cases.iter().map(move |(id, outcome)| (jvm.as_str(), id.as_str(), outcome))
        });
        all.filter(|(_, _, outcome)| outcome.state == State::Fail)
            .map(|(jvm, id, outcome)| (jvm, id, outcome.reason.as_str()))
    }

    /// Returns true if at least one case was run and none failed.
    pub fn is_good(&self) -> bool {
        self.jvms.values().any(|cases| !cases.is_empty()) && self.failures().next().is_none()
    }

    /// Returns the cases in the manifest's order, each with its outcomes on all JVMs.
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
    fn json_has_the_outcome_and_the_rule_of_each_case() {
        let manifest = Manifest::of_the_suite();
        let case = manifest.cases().next().unwrap();
        let text = results("11/zgc", &case.id, State::Bug).to_json(&manifest);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["jvms"]["11/zgc"][&*case.id]["state"], "bug");
        assert_eq!(json["milliseconds"]["11/zgc"], 7);
        let rule = serde_json::json!({ "section": case.section, "rule": case.rule });
        assert_eq!(json["cases"], serde_json::json!({ &*case.id: rule }));
    }

    #[test]
    fn results_without_cases_or_with_failures_are_not_good() {
        assert!(!Results::default().is_good());
        let failed = results("17/g1", "threads-002", State::Fail);
        assert_eq!(failed.failures().collect::<Vec<_>>(), [("17/g1", "threads-002", "")]);
        assert!(!failed.is_good());
        assert!(results("11/g1", "ids-001", State::Bug).is_good());
    }
}
