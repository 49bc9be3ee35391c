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

    /// Returns its condition, as in ` with a=b`; empty if there is none.
    pub fn condition(&self) -> String {
        let option = Some(&self.option).filter(|option| !option.is_empty());
        option.map(|option| format!(" with {}", one_line(option))).unwrap_or_default()
    }

    /// Returns true if it is for a library of this name, loaded with these options.
    pub fn is_for(&self, library: &str, options: &str) -> bool {
        let has_option = || options.split(',').any(|option| option.trim() == self.option);
        self.library == library && (self.option.is_empty() || has_option())
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", one_line(&self.library), self.condition())
    }
}
