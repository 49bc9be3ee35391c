//! The record of the JVMs on which the whole suite has been run, `suite/tried.json`, and the page
//! `docs/reference/supported-jvms.md` that is made of it.

use crate::results::{Results, State};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The record, as it is when this crate is compiled.
const RECORD: &str = include_str!("../suite/tried.json");

/// The text of the page before its table.
const INTRODUCTION: &str = include_str!("tried.md");

/// The last run of the whole suite on a JVM with a collector.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Trial {
    /// The JVM's version, for example `17.0.9`.
    pub version: String,
    /// The day of the run in UTC, for example `2026-11-26`.
    pub date: String,
    /// The number of cases in each state that occurred.
    pub cases: BTreeMap<State, usize>,
}

/// The last runs by machine (`amd64`), then by JVM and collector (`17/g1`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Tried(pub BTreeMap<String, BTreeMap<String, Trial>>);

impl Tried {
    /// Returns the record of the suite.
    ///
    /// # Panics
    /// Never: a test parses the file.
    pub fn of_the_suite() -> Self {
        serde_json::from_str(RECORD).expect("suite/tried.json is checked by a test")
    }

    /// Replaces the entries of the JVMs in these results, which are of the whole suite. `version` returns the version of
    /// the JVM with this name.
    pub fn add(
        &mut self,
        results: &Results,
        machine: &str,
        date: &str,
        version: impl Fn(&str) -> String,
    ) {
        let entries = self.0.entry(machine.to_owned()).or_default();
        for jvm in results.jvms.keys() {
            let count = |state| (state, results.count(jvm, state));
            let cases = State::ALL.map(count).into_iter().filter(|(_, count)| *count > 0).collect();
            let trial = Trial { version: version(jvm), date: date.to_owned(), cases };
            entries.insert(jvm.clone(), trial);
        }
    }

    /// Formats the record as the file of the suite.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Returns true if the suite was run on a JVM of this feature version, on any machine, and no case failed there.
    pub fn supports(&self, feature: u32) -> bool {
        let of_it = |jvm: &String| jvm.split(['/', '-']).next() == Some(&feature.to_string());
        let all = self.0.values().flatten().filter(|(jvm, _)| of_it(jvm));
        let mut failures = all.map(|(_, trial)| trial.count(State::Fail)).peekable();
        failures.peek().is_some() && failures.all(|failures| failures == 0)
    }

    /// Returns the page. JVMs that differ only in the collector share a row if their results are the same.
    pub fn page(&self) -> String {
        let mut rows: BTreeMap<_, (&Trial, Vec<&str>)> = BTreeMap::new();
        for (machine, trials) in &self.0 {
            for (jvm, trial) in trials {
                let (jvm, collector) = jvm.split_once('/').unwrap_or((jvm, ""));
                let key = (machine, jvm, &trial.version, &trial.date, &trial.cases);
                rows.entry(key).or_insert((trial, Vec::new())).1.push(collector);
            }
        }
        let mut text = INTRODUCTION.to_owned();
        text.push_str("\n| JDK | version | machine | date | collectors | cases that pass | fail | known fault | skipped |\n");
        text.push_str("|---|---|---|---|---|---|---|---|---|\n");
        for ((machine, jvm, version, date, _), (trial, collectors)) in rows {
            let known = trial.count(State::Todo) + trial.count(State::Bug);
            let _ = writeln!(
                text,
                "| {} | {version} | {machine} | {date} | {} | {} | {} | {known} | {} |",
                jvm.replace("-zero", ", zero VM"),
                collectors.join(", "),
                trial.count(State::Pass),
                trial.count(State::Fail),
                trial.count(State::Skip),
            );
        }
        text
    }
}

impl Trial {
    /// Returns the number of cases in this state.
    fn count(&self, state: State) -> usize {
        self.cases.get(&state).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Outcome;

    fn results(jvms: &[(&str, State)]) -> Results {
        let mut results = Results::default();
        for (jvm, state) in jvms {
            let outcome = Outcome { state: *state, reason: String::new() };
            results.jvms.insert((*jvm).to_owned(), [("ids-001".to_owned(), outcome)].into());
        }
        results
    }

    #[test]
    fn later_run_replaces_the_earlier_one() {
        let mut tried = Tried::default();
        let version = |_: &str| "28-ea".to_owned();
        tried.add(&results(&[("28/g1", State::Fail)]), "amd64", "2026-11-01", version);
        assert!(!tried.supports(28));
        tried.add(&results(&[("28/g1", State::Pass)]), "amd64", "2026-11-02", version);
        assert!(tried.supports(28) && !tried.supports(2) && !tried.supports(29));
        tried.add(&results(&[("28/zgc", State::Fail)]), "amd64", "2026-11-03", version);
        assert!(!tried.supports(28));
        assert_eq!(serde_json::from_str::<Tried>(&tried.to_json()).unwrap(), tried);
    }

    #[test]
    fn collectors_with_the_same_result_share_a_row() {
        let mut tried = Tried::default();
        let all = [("17/g1", State::Pass), ("17/serial", State::Pass), ("17/zgc", State::Bug)];
        tried.add(&results(&all), "amd64", "2026-11-26", |_| "17.0.9".to_owned());
        let page = tried.page();
        let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| 17 |")).collect();
        assert_eq!(rows.len(), 2, "{page}");
        assert!(
            rows.contains(&"| 17 | 17.0.9 | amd64 | 2026-11-26 | g1, serial | 1 | 0 | 0 | 0 |")
        );
        assert!(rows.contains(&"| 17 | 17.0.9 | amd64 | 2026-11-26 | zgc | 0 | 0 | 1 | 0 |"));
    }
}
