//! The list of all cases: what each proves, of what, and where it is known to fail.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// All cases, by the runs of a JVM in which they are tried.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// In the order of the specification.
    #[serde(rename = "run")]
    pub runs: Vec<Run>,
}

/// A run of a JVM: an agent and a program, and the cases that they try.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// What it is called.
    pub name: String,
    /// The agent, `suite/agents/NAME.c`.
    pub agent: String,
    /// The class with `main` in `suite/workloads`.
    pub workload: String,
    /// What the agent gets as its options; none if it gets NULL.
    pub options: Option<String>,
    /// Settings of `libjvmpi.so`, for what the specification leaves to the VM.
    #[serde(default)]
    pub settings: String,
    /// The exit status that the JVM is to end with.
    #[serde(default)]
    pub exit: i32,
    /// What it tries.
    #[serde(rename = "case")]
    pub cases: Vec<Case>,
}

/// A rule, and how it is known to fare.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// A topic and a number, as in `threads-007`. Never given to another rule.
    pub id: String,
    /// The section of the specification.
    pub section: String,
    /// What must hold, in a sentence.
    pub rule: String,
    /// The functions, events, fields and constants that it proves. It fails where one of these functions
    /// does nothing or one of these events is not sent.
    pub about: Vec<String>,
    /// Where it does not pass, and why.
    #[serde(default)]
    pub except: Vec<Exception>,
}

/// Where a case does not pass.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The JVMs: `all`, a version, a collector or both, as in `11`, `zgc`, `11/zgc`, `17-zero/serial`; or a
    /// version and all later ones, as in `21+`.
    pub on: String,
    /// What is the matter.
    pub state: Excuse,
    /// Why.
    pub reason: String,
    /// The number of the JDK's bug.
    #[serde(default)]
    pub bug: String,
}

/// Why a case need not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Excuse {
    /// It could pass and does not yet.
    Todo,
    /// The JVM is at fault.
    Bug,
    /// There is nothing to try.
    Skip,
}

impl Manifest {
    /// The one that the suite consists of.
    ///
    /// # Panics
    /// If it is malformed, which a test prevents.
    #[must_use]
    pub fn of_the_suite() -> Self {
        toml::from_str(include_str!("../suite/manifest.toml")).expect("a well-formed manifest")
    }

    /// All cases in their order.
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        self.runs.iter().flat_map(|run| &run.cases)
    }

    /// The names of all agents.
    #[must_use]
    pub fn agents(&self) -> BTreeSet<&str> {
        self.runs.iter().map(|run| run.agent.as_str()).collect()
    }
}

impl Case {
    /// What is known of it on a JVM of this name.
    #[must_use]
    pub fn exception(&self, jvm: &str) -> Option<&Exception> {
        self.except.iter().find(|exception| exception.is_on(jvm))
    }
}

impl Exception {
    fn is_on(&self, jvm: &str) -> bool {
        if let Some(first) = self.on.strip_suffix('+') {
            let number = |text: &str| text.split(['/', '-']).next()?.parse::<u32>().ok();
            return number(jvm) >= number(first);
        }
        self.on == "all" || self.on == jvm || jvm.split('/').any(|part| part == self.on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_name_jvms() {
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
