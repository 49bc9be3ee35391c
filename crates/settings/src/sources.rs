//! `key=value` from one of the sources; of these, the environment variable `JVMPI_OPTIONS`.

use super::error::OptionsError;
use super::setting::{Key, Setting};
use super::settings::{AgentOptions, Options};

/// The environment variable that holds `key=value` settings.
pub const OPTIONS_VARIABLE: &str = "JVMPI_OPTIONS";

/// Returns the built-in defaults, overridden by each of `layers` in turn.
pub fn overlay<const N: usize>(layers: [&Vec<Setting>; N]) -> (Options, AgentOptions) {
    let (mut options, mut agent) = (Options::default(), AgentOptions::default());
    for Setting { key, value } in layers.into_iter().flatten() {
        // Cannot fail: the value is valid.
        let _ = (options.set(key, value), agent.set(key, value));
    }
    (options, agent)
}

/// Parses the settings in the value of `JVMPI_OPTIONS`.
pub fn environment_settings(text: &str) -> Result<Vec<Setting>, OptionsError> {
    text.split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty())
        .map(|word| {
            let (name, value) = word.split_once('=').unzip();
            setting(OPTIONS_VARIABLE, name.unwrap_or(word), value)
        })
        .collect()
}

/// Returns the setting of this name with this value. If there is none, or if the value is missing or not valid, returns an
/// error that names `source`.
pub fn setting(source: &str, name: &str, value: Option<&str>) -> Result<Setting, OptionsError> {
    let mut keys = Options::KEYS.iter().chain(AgentOptions::KEYS);
    let Some(key @ Key { valid, help, .. }) = keys.find(|key| key.name == name) else {
        let valid = names(Options::KEYS.iter().chain(AgentOptions::KEYS));
        let what = format_args!("unknown key '{name}'; valid: {valid}");
        return Err(OptionsError::new(source, what));
    };
    let (example, valid) = (valid[0], valid.join(", "));
    let Some(value) = value else {
        let example = match source {
            OPTIONS_VARIABLE => format!("{name}={example}"),
            _ => format!("{name} = \"{example}\""),
        };
        let what = format_args!("'{name}' needs a value, as in {example}; valid: {valid}");
        return Err(OptionsError::new(source, what));
    };
    let is_valid = Options::default().set(key, value).and(AgentOptions::default().set(key, value));
    if is_valid.is_none() {
        let what = format_args!("'{value}' is not a value of '{name}'; valid: {valid} ({help})");
        return Err(OptionsError::new(source, what));
    }
    Ok(Setting { key, value: value.to_owned() })
}

/// Returns the settings' names for an error message.
pub fn names<'a>(keys: impl IntoIterator<Item = &'a Key>) -> String {
    keys.into_iter().map(|key| key.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{CpuTime, Log, Names, Suspend};
    use crate::tests::environment_error;

    #[test]
    fn environment_takes_spaces_and_commas() {
        let options =
            Options::parse("log=debug,names=slash  cputime=wall,\tsuspend=jvmti ", None).unwrap();
        assert_eq!((options.log, options.suspend), (Log::Debug, Suspend::Jvmti));
        let agent = options.agent("libfoo.so", "");
        assert_eq!((agent.names, agent.cputime), (Names::Slash, CpuTime::Wall));
        assert_eq!(options.describe(), "log=debug suspend=jvmti names=slash cputime=wall");
    }

    #[test]
    fn the_last_of_several_wins_in_the_environment() {
        assert_eq!(Options::parse("log=info log=debug", None).unwrap().log, Log::Debug);
    }

    #[test]
    fn environment_errors_name_the_key_and_what_is_valid() {
        assert_eq!(
            environment_error("lgo=info"),
            "JVMPI_OPTIONS: unknown key 'lgo'; valid: log, suspend, alloc, arenas, ids, include, exclude, \
             getters, instructions, natives, virtual, park, execstack, selftest, names, cputime, unload, hook, classload, onload, reset, check, trace"
        );
        assert_eq!(
            environment_error("log=info,names=dots"),
            "JVMPI_OPTIONS: 'dots' is not a value of 'names'; valid: dot, slash (The form of class \
             names in events.)"
        );
        assert_eq!(
            environment_error("log"),
            "JVMPI_OPTIONS: 'log' needs a value, as in log=error; valid: error, warn, info, debug"
        );
        assert!(environment_error("=x").starts_with("JVMPI_OPTIONS: unknown key ''"));
        assert!(environment_error("log=").starts_with("JVMPI_OPTIONS: '' is not a value of 'log'"));
        assert!(environment_error("log=\u{1b}[2J").contains("\\u{1b}"));
    }
}
