//! The findings: each place is reported once, and its count is reported at the end.

use crate::check::rules::Rule;
use crate::check::stack::Stack;
use std::collections::HashMap;
use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

/// The rules that an agent has broken.
pub struct Findings {
    /// The agent's library, as messages name it.
    agent: String,
    aborts: bool,
    found: Mutex<HashMap<(&'static str, Stack), u64>>,
}

impl Findings {
    pub fn new(agent: String, aborts: bool) -> Self {
        Self { agent, aborts, found: Mutex::default() }
    }

    /// Reports that a call of the agent breaks the rule.
    #[cold]
    pub fn report(&self, rule: &'static Rule, what: impl Display) {
        self.report_at(rule, Stack::of_agent(), what);
    }

    /// Reports it for this place in the agent.
    #[cold]
    pub fn report_at(&self, rule: &'static Rule, place: Stack, what: impl Display) {
        let lines = place.describe();
        {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            let count = found.entry((rule.id, place)).or_default();
            *count += 1;
            if *count > 1 {
                return;
            }
        }
        let Rule { id, section, text, remedy } = rule;
        let mut message = format!("[jvmpi] check: {id}: {text}\n    what:  {what}\n");
        for (i, line) in lines.iter().enumerate() {
            let head = if i == 0 { "where:" } else { "      " };
            let _ = writeln!(message, "    {head} {line}");
        }
        let _ = write!(
            message,
            "    do:    {remedy}\n    see:   {section} in the specification, and docs/reference/checks.md#{}\n",
            rule.anchor()
        );
        print(&message);
        if self.aborts {
            // SAFETY: abort may be called anywhere.
            unsafe { libc::abort() }
        }
    }

    /// One line for the whole run, and one for each place that was come across again.
    pub fn summarize(&self) {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.is_empty() {
            print(&format!("[jvmpi] check: {} has broken no rule\n", self.agent));
            return;
        }
        let mut lines: Vec<String> = found
            .iter()
            .filter(|(_, count)| **count > 1)
            .map(|((id, place), count)| {
                let place = place.describe().into_iter().next().unwrap_or_default();
                format!(
                    "[jvmpi] check: {count} times {id} at {}\n",
                    place.trim_start_matches("#0 ")
                )
            })
            .collect();
        lines.sort();
        let places = if found.len() == 1 { "place" } else { "places" };
        print(&format!(
            "[jvmpi] check: {} breaks rules in {} {places}\n{}",
            self.agent,
            found.len(),
            lines.concat()
        ));
    }
}

/// One write, so that what several threads say does not mix.
fn print(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
