//! The settings by the agents that they are for.

use super::error::one_line;
use super::setting::Setting;
use std::collections::BTreeMap;
use std::fmt;

/// The settings that `Options::agent` chooses from; later fields override earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agents {
    pub top: Vec<Setting>,
    pub sections: Sections,
    pub environment: Vec<Setting>,
}

/// The sections of a file by the agents that they are for.
pub type Sections = BTreeMap<Section, Vec<Setting>>;

/// The agents that a section is for: `[agent."libfoo.so"]`, or `[agent."libfoo.so"."a=b"]`.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Section {
    /// The name of the library's file.
    pub library: String,
    /// The text that must be among the agent's own options; empty if they do not matter.
    pub option: String,
}

impl Section {
    pub fn new(library: &str, option: &str) -> Self {
        Self { library: library.into(), option: option.into() }
    }

    /// Returns true if it is for a library of this name, loaded with these options.
    pub fn is_for(&self, library: &str, options: &str) -> bool {
        let has_option = || options.split(',').any(|option| option.trim() == self.option);
        self.library == library && (self.option.is_empty() || has_option())
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.library))?;
        if self.option.is_empty() { Ok(()) } else { write!(f, " with {}", one_line(&self.option)) }
    }
}
