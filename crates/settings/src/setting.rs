//! One setting: its name, its type and its value.

use std::fmt;

/// A setting as the table of the settings declares it.
#[derive(Debug, PartialEq)]
pub struct Key {
    /// The name of the setting, as it is written.
    pub name: &'static str,
    /// The values it takes.
    pub valid: &'static [&'static str],
    /// One line for the user.
    pub help: &'static str,
}

/// The type of a setting.
pub trait Value: Sized + Clone + PartialEq + fmt::Display {
    /// The valid values, as errors and the documentation list them.
    const VALID: &'static [&'static str];

    /// Returns the value written as `text`; `None` if it is not valid.
    fn parse(text: &str) -> Option<Self>;
}

/// `key=value` as it was read; the value is valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub key: &'static Key,
    pub value: String,
}
