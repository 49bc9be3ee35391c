//! The list of all cases: the rule and the items that each proves, and the JVMs on which it is known to fail.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// All cases, grouped by the JVM run that tests them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The runs, in the order of the specification.
    #[serde(rename = "run")]
    pub runs: Vec<Run>,
}

/// A run of a JVM with an agent and a program, and the cases that it tests.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The name of the run.
    pub name: String,
    /// The agent, `suite/agents/NAME.c`.
    pub agent: String,
    /// The class with `main` in `suite/workloads`.
    pub workload: String,
    /// The agent's options; `None` if the agent gets NULL.
    pub options: Option<String>,
    /// Settings of `libjvmpi.so`, for behavior that the specification leaves to the VM.
    #[serde(default)]
    pub settings: String,
    /// The expected exit status of the JVM.
    #[serde(default)]
    pub exit: i32,
    /// The cases.
    #[serde(rename = "case")]
    pub cases: Vec<Case>,
}

/// A rule, and the JVMs on which it is known not to hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// A topic and a number, for example `threads-007`. An ID is never reused for another rule.
    pub id: String,
    /// The section of the specification.
    pub section: String,
    /// The rule, as a sentence.
    pub rule: String,
    /// The functions, events, fields and constants that the case proves. The case must fail if one of these functions
    /// has no effect, or one of these events is not sent.
    pub about: Vec<String>,
    /// The JVMs on which the case does not pass, with the reasons.
    #[serde(default)]
    pub except: Vec<Exception>,
}

/// A JVM or a group of JVMs on which a case does not pass.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The JVMs: `all`, a version, a collector or both (`11`, `zgc`, `11/zgc`, `17-zero/serial`), a version and all
    /// later ones (`21+`), or those of a machine (`windows`).
    pub on: String,
    /// The kind of exception.
    pub state: Excuse,
    /// The reason.
    pub reason: String,
    /// The bug number in the JDK's bug database.
    #[serde(default)]
    pub bug: String,
}

/// The kinds of exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Excuse {
    /// The library has a known fault.
    Todo,
    /// The JVM is at fault.
    Bug,
    /// The JVM lacks the tested feature.
    Skip,
}

impl Manifest {
    /// Returns the manifest of the suite.
    ///
    /// # Panics
    /// Panics if the manifest is malformed, which a test rules out.
    pub fn of_the_suite() -> Self {
        toml::from_str(include_str!("../suite/manifest.toml")).expect("a well-formed manifest")
    }

    /// Returns all cases in their order.
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        self.runs.iter().flat_map(|run| &run.cases)
    }

    /// Returns the names of all agents.
    pub fn agents(&self) -> BTreeSet<&str> {
        self.runs.iter().map(|run| run.agent.as_str()).collect()
    }
}

impl Case {
    /// Returns the exception for a JVM of this name on a machine, if there is one.
    pub fn exception(&self, jvm: &str, machine: &str) -> Option<&Exception> {
        self.except.iter().find(|exception| exception.on == machine || exception.is_on(jvm))
    }
}

impl Exception {
    fn is_on(&self, jvm: &str) -> bool {
        let (version, gc) = jvm.split_once('/').unwrap_or((jvm, ""));
        // A vendor's build has what its version has. `17-zero` is another VM.
        let version = match version.split_once('-') {
            Some((version, vendor)) if vendor != "zero" => version,
            _ => version,
        };
        if let Some(first) = self.on.strip_suffix('+') {
            let number = |text: &str| text.split('-').next()?.parse::<u32>().ok();
            return number(version) >= number(first);
        }
        self.on == "all"
            || [version, gc].contains(&&*self.on)
            || self.on.split_once('/') == Some((version, gc))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exception_applies_to_the_named_jvms() {
        let is_on = |on: &str, jvm: &str| {
            let on = on.to_owned();
            Exception { on, state: Excuse::Skip, reason: String::new(), bug: String::new() }
                .is_on(jvm)
        };
        for (on, jvm) in [
            ("all", "11/g1"),
            ("11", "11/g1"),
            ("g1", "11/g1"),
            ("11/g1", "11/g1"),
            ("11/zgc", "11-debian/zgc"),
            ("17-zero", "17-zero/serial"),
            ("21+", "21/g1"),
            ("21+", "26/serial"),
        ] {
            assert!(is_on(on, jvm), "{on} {jvm}");
        }
        for (on, jvm) in [("21+", "17/g1"), ("17", "17-zero/serial"), ("11/zgc", "11/g1")] {
            assert!(!is_on(on, jvm), "{on} {jvm}");
        }
    }
}
