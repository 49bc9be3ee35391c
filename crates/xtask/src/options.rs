//! Parses the options of a command: `--name VALUE` or `--name=VALUE`, and `--flag`.

use std::collections::BTreeMap;

/// The options that have not been taken yet.
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// Parses options that all have values.
    pub fn of(arguments: &[String]) -> Result<Self, String> {
        Self::with_flags(arguments, &[])
    }

    /// Parses options; those in `flags` have no value.
    pub fn with_flags(arguments: &[String], flags: &[&str]) -> Result<Self, String> {
        let mut options = BTreeMap::new();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let option = argument.strip_prefix("--");
            let option = option.ok_or_else(|| format!("{argument} is not an option"))?;
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None if flags.contains(&option) => (option, String::new()),
                None => {
                    let value = arguments.next();
                    (option, value.ok_or_else(|| format!("{argument} needs a value"))?.clone())
                }
            };
            options.insert(name.to_owned(), value);
        }
        Ok(Self(options))
    }

    /// Removes and returns the value of an option, if it was given.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// Fails if an option is left that the command does not know.
    pub fn finish(self) -> Result<(), String> {
        match self.0.into_keys().next() {
            Some(name) => Err(format!("unknown option --{name}")),
            None => Ok(()),
        }
    }
}
