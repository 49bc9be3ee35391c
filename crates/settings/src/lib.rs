//! The settings of `libjvmpi.so`, and the quirks of the agents that it loads.
//!
//! Settings never share a string with an agent. They come from the environment variable
//! `JVMPI_OPTIONS` (`key=value`, separated by spaces or commas) and from the TOML file named by
//! `JVMPI_CONFIG`. A later source overrides an earlier one: built-in default, `quirks.toml` of the
//! shim itself, top of the file, `[agent."libfoo.so"]` section of the file, `JVMPI_OPTIONS`.
//!
//! ```
//! use jvmpi_settings::{Log, Options};
//!
//! let options = Options::parse("log=info virtual=own", None)?;
//! assert_eq!(options.log, Log::Info);
//! assert_eq!(options.describe(), "log=info virtual=own");
//! # Ok::<(), jvmpi_settings::OptionsError>(())
//! ```
//!
//! [`library`] examines the library of an agent without running code from it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod agents;
mod alloc;
mod config_file;
mod error;
pub mod library;
mod patterns;
mod platform;
mod section;
mod setting;
mod settings;
mod sources;
mod trace_file;

pub use agents::quirks_of;
pub use alloc::Alloc;
use config_file::{CONFIG_VARIABLE, Config, read_config};
pub use error::OptionsError;
use section::Agents;
pub use settings::{
    AgentOptions, Arenas, Check, ClassLoad, CpuTime, ExecStack, Getters, Hook, Ids, Instructions,
    Log, Names, Natives, OnLoad, Options, Park, Reset, SelfTest, Suspend, Unload, Virtual,
};
use sources::{OPTIONS_VARIABLE, environment_settings, overlay};
use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
pub use trace_file::TraceFile;

static OPTIONS: OnceLock<Options> = OnceLock::new();

/// Reads the settings of this process. They do not change afterwards.
///
/// # Errors
/// The errors of [`Options::from_environment`].
pub fn read() -> Result<&'static Options, OptionsError> {
    let options = Options::from_environment()?;
    Ok(OPTIONS.get_or_init(|| options))
}

/// Sets further settings, written as in `JVMPI_OPTIONS`, before [`read`] is called.
///
/// # Errors
/// The errors of [`Options::from_environment`], and an error if this process has already read
/// other settings.
pub fn set(more: &str) -> Result<(), OptionsError> {
    let options = Options::from_environment_and(more)?;
    let wanted = options.describe();
    if OPTIONS.get_or_init(|| options).describe() == wanted {
        return Ok(());
    }
    let why = format_args!(
        "this JVM has loaded {} before, and its settings cannot be changed any more: start it with \
         JVMPI_OPTIONS, or attach without settings",
        platform::SHIM
    );
    Err(OptionsError::new(more.trim(), why))
}

/// Returns the settings of this process, or the built-in ones if none were read.
pub fn get() -> &'static Options {
    OPTIONS.get_or_init(Options::default)
}

impl Options {
    /// Reads the settings of this process from `JVMPI_OPTIONS` and the file named by `JVMPI_CONFIG`. An
    /// empty variable counts as one that is not set.
    ///
    /// # Errors
    /// The errors of [`Options::parse`], and an error if the file cannot be read.
    pub fn from_environment() -> Result<Self, OptionsError> {
        Self::from_environment_and("")
    }

    fn from_environment_and(more: &str) -> Result<Self, OptionsError> {
        let environment = env::var_os(OPTIONS_VARIABLE).unwrap_or_default();
        let path = env::var_os(CONFIG_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let text = path.as_deref().map(read_config).transpose()?;
        let environment = format!("{} {more}", environment.to_string_lossy());
        Self::parse(&environment, path.as_deref().zip(text.as_deref()))
    }

    /// Parses the value of `JVMPI_OPTIONS` and the configuration file, given as its path (for
    /// errors) and its text.
    ///
    /// # Errors
    /// An unknown key or value, a key without a value, a key in the wrong place, bad TOML.
    pub fn parse(environment: &str, config: Option<(&Path, &str)>) -> Result<Self, OptionsError> {
        let environment = environment_settings(environment)?;
        let config = config.map(|(path, text)| Config::parse(path, text)).transpose()?;
        let Config { top, sections } = config.unwrap_or_default();

        let (mut options, _) = overlay([&top, &environment]);
        options.agents = Agents { top, sections, environment };
        Ok(options)
    }

    /// Returns the settings that differ from the built-in ones, on one line such as `log=info
    /// cputime=wall; libfoo.so: names=slash`. Empty if there are none.
    pub fn describe(&self) -> String {
        let Agents { top, sections, environment } = &self.agents;
        let (_, others) = overlay([top, environment]);
        let mut general = self.differences(&Self::default());
        general.extend(others.differences(&AgentOptions::default()));

        let special = sections.iter().filter_map(|(section, settings)| {
            let (_, own) = overlay([top, settings, environment]);
            let differences = own.differences(&others);
            (!differences.is_empty()).then(|| format!("{section}: {}", differences.join(" ")))
        });
        let general = Some(general.join(" ")).filter(|general| !general.is_empty());
        general.into_iter().chain(special).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "/etc/jvmpi.toml";

    pub fn options(environment: &str, file: &str) -> Options {
        Options::parse(environment, Some((Path::new(FILE), file))).unwrap()
    }

    pub fn environment_error(environment: &str) -> String {
        one_line_of(Options::parse(environment, None).unwrap_err())
    }

    pub fn file_error(file: &str) -> String {
        one_line_of(Options::parse("", Some((Path::new(FILE), file))).unwrap_err())
    }

    pub fn one_line_of(error: OptionsError) -> String {
        let text = error.to_string();
        assert!(!text.contains(char::is_control), "{text:?}");
        text
    }

    #[test]
    fn nothing_set_means_the_defaults() {
        let options = Options::parse("", None).unwrap();
        assert_eq!(options, Options::default());
        assert_eq!((options.log, options.suspend), (Log::Warn, Suspend::Auto));
        let agent = options.agent("libfoo.so", "");
        assert_eq!((agent.names, agent.cputime), (Names::Dot, CpuTime::Cpu));
        assert_eq!(options.describe(), "");
    }

    #[test]
    fn later_sources_override_earlier_ones() {
        let file = "names = 'slash'\nlog = \"info\"\n[agent.\"libfoo.so\"]\nnames = \"dot\"\n";
        let from_file = options("", file);
        assert_eq!(from_file.log, Log::Info);
        assert_eq!(from_file.agent("libbar.so", "").names, Names::Slash);
        assert_eq!(from_file.agent("libfoo.so", "").names, Names::Dot);
        assert_eq!(from_file.describe(), "log=info names=slash; libfoo.so: names=dot");

        let overridden = options("names=slash log=error", file);
        assert_eq!(overridden.log, Log::Error);
        assert_eq!(overridden.agent("libfoo.so", "").names, Names::Slash);
        assert_eq!(overridden.describe(), "log=error names=slash");
    }

    #[test]
    fn the_documented_file_does_what_its_comments_say() {
        let documented = include_str!("../../../docs/reference/options.md");
        let (_, file) = documented.split_once("```toml\n").unwrap();
        let (file, _) = file.split_once("```").unwrap();
        assert_eq!(
            options("", file).describe(),
            "log=info cputime=wall; libbar.so: cputime=cpu; libfoo.so: names=slash"
        );
    }
}
