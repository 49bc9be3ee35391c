//! The shim's own settings, and the one table of them (`settings!` below).
//!
//! They never share a string with an agent: they come from the environment variable
//! `JVMPI_OPTIONS` (`key=value`, separated by spaces or commas) and from the TOML file named by
//! `JVMPI_CONFIG`. A later source overrides an earlier one: built-in default, `quirks.toml` of the
//! shim itself, top of the file, `[agent."libfoo.so"]` section of the file, `JVMPI_OPTIONS`.

mod patterns;

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

pub use patterns::Patterns;
use sha2::{Digest, Sha256};
use toml::de::{DeTable, DeValue};

/// The environment variable that holds `key=value` settings.
const OPTIONS_VARIABLE: &str = "JVMPI_OPTIONS";
/// The environment variable that names the TOML file.
const CONFIG_VARIABLE: &str = "JVMPI_CONFIG";
/// What comes before the checksum where a section names a library by that.
const CHECKSUM: &str = "sha256:";

static OPTIONS: OnceLock<Options> = OnceLock::new();

/// Reads the settings of this process, which hold from then on.
///
/// # Errors
/// As [`Options::from_environment`].
pub fn read() -> Result<&'static Options, OptionsError> {
    let options = Options::from_environment()?;
    Ok(OPTIONS.get_or_init(|| options))
}

/// The settings of this process: the built-in ones if it was not started with others.
pub fn get() -> &'static Options {
    OPTIONS.get_or_init(Options::default)
}

/// A setting as the table below declares it.
#[derive(Debug, PartialEq)]
pub struct Key {
    /// How the setting is written.
    pub name: &'static str,
    /// The values it takes.
    pub valid: &'static [&'static str],
    /// One line for the user.
    pub help: &'static str,
}

/// The type of a setting.
trait Value: Sized + Clone + PartialEq + fmt::Display {
    /// The valid values, as errors and the documentation list them.
    const VALID: &'static [&'static str];

    /// The value written as `text`; `None` if it is not valid.
    fn parse(text: &str) -> Option<Self>;
}

/// Turns a table of settings into typed structs. A line `key: Type { Variant = "word", … } =
/// default;` becomes a field, a [`Key`] and the enum `Type`; without the words in braces, `Type`
/// is one that implements [`Value`] already. A struct can have one more field, after `with`.
macro_rules! settings {
    ($(
        $(#[$about:meta])+
        struct $settings:ident $(with $more:ident: $more_type:ty)? {
            $(
                #[doc = $help:literal]
                $key:ident: $type:ident
                    $({ $($(#[$meaning:meta])+ $variant:ident = $word:literal,)+ })?
                    = $default:expr;
            )+
        }
    )+) => {$(
        $(#[$about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $settings {
            $(#[doc = $help] pub $key: $type,)+
            $($more: $more_type,)?
        }

        impl $settings {
            /// The settings of this table, in its order.
            pub const KEYS: &[Key] = &[$(Key {
                name: stringify!($key),
                valid: <$type as Value>::VALID,
                help: $help.trim_ascii(),
            },)+];

            /// Sets `key`; `None` if the value is not one of its valid ones.
            fn set(&mut self, key: &Key, value: &str) -> Option<()> {
                $(if key.name == stringify!($key) {
                    self.$key = <$type>::parse(value)?;
                })+
                Some(())
            }

            /// `key=value` of every setting that differs from `other`.
            fn differences(&self, other: &Self) -> Vec<String> {
                let mut differences = Vec::new();
                $(if self.$key != other.$key {
                    differences.push(format!("{}={}", stringify!($key), self.$key));
                })+
                differences
            }
        }

        impl Default for $settings {
            fn default() -> Self {
                Self { $($key: $default,)+ $($more: <$more_type>::default(),)? }
            }
        }

        $($(
            #[doc = $help]
            #[derive(Clone, Copy, Debug, Eq, PartialEq)]
            pub enum $type { $($(#[$meaning])+ $variant,)+ }

            impl Value for $type {
                const VALID: &'static [&'static str] = &[$($word),+];

                fn parse(text: &str) -> Option<Self> {
                    match text { $($word => Some(Self::$variant),)+ _ => None }
                }
            }

            impl fmt::Display for $type {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(match self { $(Self::$variant => $word,)+ })
                }
            }
        )?)+
    )+};
}

settings! {
    /// Settings that hold for the whole shim, and through [`Options::agent`] those of each agent.
    struct Options with agents: Agents {
        /// Which messages go to stderr.
        log: Log {
            /// Only what stops the JVM from starting or an agent from working.
            Error = "error",
            /// Also what an agent or its user should know.
            Warn = "warn",
            /// Also one line at the start of the JVM.
            Info = "info",
            /// Also what the shim does for the agents.
            Debug = "debug",
        } = Log::Warn;

        /// How a running thread is stopped to take its call trace.
        suspend: Suspend {
            /// By a signal, the trace being taken right there.
            Auto = "auto",
            /// By the JVMTI function `SuspendThread` only.
            Jvmti = "jvmti",
        } = Suspend::Auto;

        /// Where the shim learns of allocations.
        alloc: Alloc {
            /// By `sampled` from JDK 17 on, by `bytecode` before.
            Auto = "auto",
            /// From the VM, which reports every object.
            Sampled = "sampled",
            /// From rewritten code.
            Bytecode = "bytecode",
        } = Alloc::Auto;

        /// The arenas that agents see objects in, and how survivors of a collection move.
        arenas: Arenas {
            /// Everything is in arena 1.
            Single = "single",
            /// Survivors move from arena 1 to arena 2.
            Generational = "generational",
            /// Survivors move to a new arena and get new IDs; the old arena is deleted.
            Copying = "copying",
        } = Arenas::Single;

        /// Which classes report calls and instructions, unless `exclude` names them.
        include: Patterns = Patterns::all();

        /// Which classes do not report calls and instructions.
        exclude: Patterns = Patterns::none();

        /// Whose instructions are reported.
        instructions: Instructions {
            /// Those of classes that do not belong to the boot loader.
            Program = "program",
            /// Those of all classes.
            All = "all",
        } = Instructions::Program;

        /// Whether calls of native methods are reported.
        natives: Natives {
            /// Where a method in between can report them.
            Wrap = "wrap",
            /// Not at all.
            Off = "off",
        } = Natives::Wrap;
    }

    /// Settings that can differ from agent to agent.
    struct AgentOptions {
        /// How class names are written in events.
        names: Names {
            /// `java.lang.String`, as since JDK 1.3.
            Dot = "dot",
            /// `java/lang/String`, as in JDK 1.2.
            Slash = "slash",
        } = Names::Dot;

        /// Which time `GetCurrentThreadCpuTime` returns.
        cputime: CpuTime {
            /// The CPU time that the thread consumed.
            Cpu = "cpu",
            /// The time of day, as VMs without a thread clock did.
            Wall = "wall",
        } = CpuTime::Cpu;

        /// What `INSTRUCTION_START` tells of a `lookupswitch` beside the pair that it chooses.
        lookupswitch: Lookupswitch {
            /// How many pairs there are, as headers of version 1.2 have it.
            PairsTotal = "pairs_total",
            /// Whether it chooses the default, as the specification of J2SE 5 has it.
            IsDefault = "is_default",
        } = Lookupswitch::PairsTotal;
    }
}

impl From<Log> for log::LevelFilter {
    fn from(log: Log) -> Self {
        match log {
            Log::Error => Self::Error,
            Log::Warn => Self::Warn,
            Log::Info => Self::Info,
            Log::Debug => Self::Debug,
        }
    }
}

/// What [`Options::agent`] chooses from, in the order in which it counts.
#[derive(Clone, Debug, Default, PartialEq)]
struct Agents {
    top: Vec<Setting>,
    sections: Sections,
    environment: Vec<Setting>,
}

/// The sections of a file by whose they are.
type Sections = BTreeMap<Section, Vec<Setting>>;

/// Whose the settings of a section are: `[agent."libfoo.so"]`, or `[agent."libfoo.so"."a=b"]`.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Section {
    /// The name of the library's file, or its checksum behind [`CHECKSUM`].
    library: String,
    /// What stands among the agent's own options; empty if they do not matter.
    option: String,
}

impl Section {
    fn new(library: &str, option: &str) -> Self {
        Self { library: library.into(), option: option.into() }
    }

    /// Whether it is for a library of this name, whose agent has these options.
    fn is_for(&self, library: &str, options: &str) -> bool {
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

/// What the shim itself knows of agents.
static QUIRKS: LazyLock<Sections> = LazyLock::new(|| {
    let quirks = Config::parse(Path::new("quirks.toml"), include_str!("../quirks.toml"));
    quirks.unwrap_or_default().sections
});

impl Options {
    /// The settings of this process: `JVMPI_OPTIONS` and the file named by `JVMPI_CONFIG`. An
    /// empty variable counts as one that is not set.
    ///
    /// # Errors
    /// As [`Options::parse`]; also if the file cannot be read.
    pub fn from_environment() -> Result<Self, OptionsError> {
        let environment = env::var_os(OPTIONS_VARIABLE).unwrap_or_default();
        let path = env::var_os(CONFIG_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let text = path.as_deref().map(read_config).transpose()?;
        Self::parse(&environment.to_string_lossy(), path.as_deref().zip(text.as_deref()))
    }

    /// The settings written in the value of `JVMPI_OPTIONS` and in the file (its path, which
    /// errors name, and its text).
    ///
    /// # Errors
    /// An unknown key or value, a key without a value, a key in the wrong place, bad TOML.
    pub fn parse(environment: &str, config: Option<(&Path, &str)>) -> Result<Self, OptionsError> {
        let environment = environment_settings(environment)?;
        let config = config.map(|(path, text)| Config::parse(path, text)).transpose()?;
        let Config { top, sections } = config.unwrap_or_default();

        let (mut options, _) = overlay([&top, &environment])?;
        for section in sections.values() {
            overlay([section])?;
        }
        options.agents = Agents { top, sections, environment };
        Ok(options)
    }

    /// The settings for the agent in this library, which has these options of its own. The file is read
    /// only if a section names one by its checksum.
    pub fn agent(&self, library: impl AsRef<Path>, options: &str) -> AgentOptions {
        self.agent_with(&QUIRKS, library.as_ref(), options)
    }

    fn agent_with(&self, quirks: &Sections, library: &Path, options: &str) -> AgentOptions {
        let Agents { top, sections, environment } = &self.agents;
        let name = library.file_name().unwrap_or_default().to_string_lossy();
        let by_checksum = |section: &Section| section.library.starts_with(CHECKSUM);
        let checksum = quirks.keys().chain(sections.keys()).any(by_checksum);
        let checksum = checksum.then(|| checksum_of(library)).flatten().unwrap_or_default();
        let named = |sections: &Sections| {
            let of = |library: &str| {
                let its = sections.iter().filter(|(section, _)| section.is_for(library, options));
                its.flat_map(|(_, settings)| settings.clone()).collect::<Vec<_>>()
            };
            [of(&name), of(&checksum)].concat()
        };
        let (quirks, sections) = (named(quirks), named(sections));
        // Each was looked at when it was read.
        overlay([&quirks, top, &sections, environment])
            .map_or_else(|_| AgentOptions::default(), |o| o.1)
    }

    /// What the shim itself knows of the agent in this library and nothing overrides, as in
    /// `cputime=wall`. Empty if that is nothing.
    pub fn describe_quirks(&self, library: impl AsRef<Path>, options: &str) -> String {
        let without = self.agent_with(&Sections::new(), library.as_ref(), options);
        self.agent(library, options).differences(&without).join(" ")
    }

    /// The settings that are not the built-in ones, on one line as in `log=info cputime=wall;
    /// libfoo.so: names=slash`. Empty if there are none.
    pub fn describe(&self) -> String {
        let Agents { top, sections, environment } = &self.agents;
        let agent_options =
            |layers| overlay::<3>(layers).map_or_else(|_| AgentOptions::default(), |o| o.1);
        let none = Vec::new();
        let others = agent_options([top, &none, environment]);
        let mut general = self.differences(&Self::default());
        general.extend(others.differences(&AgentOptions::default()));

        let special = sections.iter().filter_map(|(section, settings)| {
            let differences = agent_options([top, settings, environment]).differences(&others);
            (!differences.is_empty()).then(|| format!("{section}: {}", differences.join(" ")))
        });
        let general = Some(general.join(" ")).filter(|general| !general.is_empty());
        general.into_iter().chain(special).collect::<Vec<_>>().join("; ")
    }
}

/// The file's checksum as a section names it, None if the file cannot be read.
fn checksum_of(library: &Path) -> Option<String> {
    let digest = Sha256::digest(fs::read(library).ok()?);
    Some(digest.iter().fold(CHECKSUM.to_owned(), |text, byte| format!("{text}{byte:02x}")))
}

/// `key=value` as it was read, and where.
#[derive(Clone, Debug, PartialEq)]
struct Setting {
    source: String,
    key: &'static Key,
    value: String,
}

/// Built-in defaults overridden by each of `layers` in turn.
fn overlay<const N: usize>(
    layers: [&Vec<Setting>; N],
) -> Result<(Options, AgentOptions), OptionsError> {
    let (mut options, mut agent) = (Options::default(), AgentOptions::default());
    for Setting { source, key, value } in layers.into_iter().flatten() {
        options.set(key, value).and_then(|()| agent.set(key, value)).ok_or_else(|| {
            let Key { name, valid, help } = key;
            OptionsError::new(
                source,
                format_args!(
                    "'{value}' is not a value of '{name}'; valid: {} ({help})",
                    valid.join(", ")
                ),
            )
        })?;
    }
    Ok((options, agent))
}

/// The settings in the value of `JVMPI_OPTIONS`.
fn environment_settings(text: &str) -> Result<Vec<Setting>, OptionsError> {
    text.split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty())
        .map(|word| {
            let (name, value) = word.split_once('=').unzip();
            let key = find_key(OPTIONS_VARIABLE, name.unwrap_or(word))?;
            let value = value.ok_or_else(|| missing_value(OPTIONS_VARIABLE, key))?;
            Ok(Setting { source: OPTIONS_VARIABLE.into(), key, value: value.into() })
        })
        .collect()
}

/// The settings in a configuration file.
#[derive(Default)]
struct Config {
    top: Vec<Setting>,
    sections: Sections,
}

impl Config {
    fn parse(path: &Path, text: &str) -> Result<Self, OptionsError> {
        let source = |offset: usize| {
            let line = 1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
            format!("{}:{line}", path.display())
        };
        let document = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            OptionsError::new(&source(offset), format_args!("not valid TOML: {}", error.message()))
        })?;

        let mut config = Self::default();
        for (name, value) in document.get_ref() {
            let place = source(name.span().start);
            if name.get_ref() != "agent" {
                config.top.push(file_setting(place, name.get_ref(), value.get_ref())?);
                continue;
            }
            let sections = value.get_ref().as_table().ok_or_else(|| not_a_section(&place))?;
            for (library, section) in sections {
                let place = source(library.span().start);
                let section = section.get_ref().as_table().ok_or_else(|| not_a_section(&place))?;
                if !is_name_or_checksum(library.get_ref()) {
                    return Err(not_a_checksum(&place));
                }
                let mut settings = Vec::new();
                for (name, value) in section {
                    let place = source(name.span().start);
                    let Some(further) = value.get_ref().as_table() else {
                        settings.push(agent_setting(place, name.get_ref(), value.get_ref())?);
                        continue;
                    };
                    // [agent.libfoo.so] without quotes is a table `so` in a section `libfoo`.
                    if !name.get_ref().contains('=') {
                        return Err(not_a_section(&place));
                    }
                    let further = further.iter().map(|(name, value)| {
                        agent_setting(source(name.span().start), name.get_ref(), value.get_ref())
                    });
                    let section = Section::new(library.get_ref(), name.get_ref());
                    config.sections.insert(section, further.collect::<Result<_, _>>()?);
                }
                config.sections.insert(Section::new(library.get_ref(), ""), settings);
            }
        }
        Ok(config)
    }
}

fn file_setting(source: String, name: &str, value: &DeValue<'_>) -> Result<Setting, OptionsError> {
    let key = find_key(&source, name)?;
    let value = value.as_str().ok_or_else(|| missing_value(&source, key))?.into();
    Ok(Setting { source, key, value })
}

/// A setting in the section of an agent.
fn agent_setting(source: String, name: &str, value: &DeValue<'_>) -> Result<Setting, OptionsError> {
    let setting = file_setting(source, name, value)?;
    let is_per_agent = AgentOptions::KEYS.iter().any(|key| key.name == setting.key.name);
    if is_per_agent { Ok(setting) } else { Err(not_per_agent(&setting)) }
}

fn find_key(source: &str, name: &str) -> Result<&'static Key, OptionsError> {
    let mut keys = Options::KEYS.iter().chain(AgentOptions::KEYS);
    keys.find(|key| key.name == name).ok_or_else(|| {
        let valid = names(Options::KEYS.iter().chain(AgentOptions::KEYS));
        OptionsError::new(source, format_args!("unknown key '{name}'; valid: {valid}"))
    })
}

fn missing_value(source: &str, Key { name, valid, .. }: &Key) -> OptionsError {
    let (example, valid) = (valid[0], valid.join(", "));
    let example = match source {
        OPTIONS_VARIABLE => format!("{name}={example}"),
        _ => format!("{name} = \"{example}\""),
    };
    OptionsError::new(
        source,
        format_args!("'{name}' needs a value, as in {example}; valid: {valid}"),
    )
}

fn not_per_agent(Setting { source, key, .. }: &Setting) -> OptionsError {
    let valid = names(AgentOptions::KEYS);
    OptionsError::new(
        source,
        format_args!(
            "'{}' holds for all agents, so it goes to the top of the file; valid in a section: \
             {valid}",
            key.name
        ),
    )
}

/// Whether a section's library is named as it can be.
fn is_name_or_checksum(library: &str) -> bool {
    let is_checksum = |digits: &str| {
        digits.len() == 64 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    library.strip_prefix(CHECKSUM).is_none_or(is_checksum)
}

fn not_a_checksum(source: &str) -> OptionsError {
    OptionsError::new(
        source,
        format_args!(
            "not a checksum; write [agent.\"{CHECKSUM}…\"] with the 64 digits that sha256sum prints"
        ),
    )
}

fn not_a_section(source: &str) -> OptionsError {
    OptionsError::new(
        source,
        format_args!(
            "not the section of an agent; write [agent.\"libfoo.so\"], with the quotes, and below \
             it: {}",
            names(AgentOptions::KEYS)
        ),
    )
}

fn names<'a>(keys: impl IntoIterator<Item = &'a Key>) -> String {
    keys.into_iter().map(|key| key.name).collect::<Vec<_>>().join(", ")
}

fn read_config(path: &Path) -> Result<String, OptionsError> {
    fs::read_to_string(path).map_err(|error| {
        OptionsError::new(
            CONFIG_VARIABLE,
            format_args!(
                "cannot read {}: {error}; name a readable TOML file or unset the variable",
                path.display()
            ),
        )
    })
}

/// Why the settings are refused: one line that names the source (`JVMPI_OPTIONS` or `file:line`),
/// what is wrong there and what is valid.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OptionsError(String);

impl OptionsError {
    fn new(source: &str, what: fmt::Arguments<'_>) -> Self {
        Self(one_line(&format!("{source}: {what}")))
    }
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionsError {}

/// `text` with control characters escaped.
fn one_line(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "/etc/jvmpi.toml";

    fn options(environment: &str, file: &str) -> Options {
        Options::parse(environment, Some((Path::new(FILE), file))).unwrap()
    }

    fn environment_error(environment: &str) -> String {
        one_line_of(Options::parse(environment, None).unwrap_err())
    }

    fn file_error(file: &str) -> String {
        one_line_of(Options::parse("", Some((Path::new(FILE), file))).unwrap_err())
    }

    fn one_line_of(error: OptionsError) -> String {
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
    fn environment_takes_spaces_and_commas() {
        let options =
            Options::parse("log=debug,names=slash  cputime=wall,\tsuspend=jvmti ", None).unwrap();
        assert_eq!((options.log, options.suspend), (Log::Debug, Suspend::Jvmti));
        let agent = options.agent("libfoo.so", "");
        assert_eq!((agent.names, agent.cputime), (Names::Slash, CpuTime::Wall));
        assert_eq!(options.describe(), "log=debug suspend=jvmti names=slash cputime=wall");
    }

    #[test]
    fn every_valid_value_of_every_key_is_accepted() {
        for key in Options::KEYS.iter().chain(AgentOptions::KEYS) {
            for value in key.valid {
                let setting = format!("{}={value}", key.name);
                let described = Options::parse(&setting, None).unwrap().describe();
                let default = default_value(key) == *value;
                assert_eq!(described, if default { "" } else { &setting });
            }
        }
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
    fn a_section_inherits_the_top_of_the_file() {
        let file = "cputime = \"wall\"\n[agent.\"libfoo.so\"]\nnames = \"slash\"\n";
        let agent = options("", file).agent("libfoo.so", "");
        assert_eq!((agent.names, agent.cputime), (Names::Slash, CpuTime::Wall));
    }

    #[test]
    fn a_section_holds_for_exactly_its_library() {
        let options = options("", "[agent.\"libfoo.so\"]\nnames = \"slash\"\n");
        for other in ["libfoo.so.1", "foo", "libFoo.so", ""] {
            assert_eq!(options.agent(other, ""), AgentOptions::default(), "{other}");
        }
        assert_eq!(options.describe(), "libfoo.so: names=slash");
    }

    #[test]
    fn a_section_can_name_its_library_by_checksum() {
        // That of `crate::options`' own source stands for a library's.
        let library = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/options.rs"));
        let checksum = checksum_of(library).unwrap();
        assert_eq!(checksum.len(), CHECKSUM.len() + 64);
        let file = format!("[agent.\"{checksum}\"]\nnames = \"slash\"\n");
        let options = options("", &file);
        assert_eq!(options.agent(library, "").names, Names::Slash);
        assert_eq!(options.agent("/no/such/file", "").names, Names::Dot);
        assert_eq!(
            file_error("[agent.\"sha256:abc\"]\nnames = \"slash\"\n"),
            "/etc/jvmpi.toml:1: not a checksum; write [agent.\"sha256:…\"] with the 64 digits that \
             sha256sum prints"
        );
    }

    #[test]
    fn a_section_can_depend_on_the_agent_s_options() {
        let file = "[agent.\"libfoo.so\".\"a=b\"]\nnames = \"slash\"\n[agent.\"libfoo.so\"]\n\
                    cputime = \"wall\"\nnames = \"dot\"\n";
        let options = options("", file);
        let names = |agent_options| options.agent("libfoo.so", agent_options).names;
        assert_eq!(names("c,a=b"), Names::Slash);
        assert_eq!([names("a=bc"), names("")], [Names::Dot; 2]);
        assert_eq!(options.agent("libfoo.so", "a=b").cputime, CpuTime::Wall);
        assert_eq!(options.describe(), "libfoo.so: cputime=wall; libfoo.so with a=b: names=slash");
        assert!(
            file_error("[agent.\"libfoo.so\".\"a=b\"]\nlog = \"info\"\n").contains("'log' holds")
        );
    }

    #[test]
    fn the_checksum_is_what_sha256sum_prints() {
        let file = env::temp_dir().join(format!("jvmpi-checksum-{}", std::process::id()));
        fs::write(&file, "abc").unwrap();
        let checksum = checksum_of(&file);
        fs::remove_file(&file).unwrap();
        let expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(checksum.as_deref(), Some(expected));
    }

    #[test]
    fn quirks_are_the_weakest_source() {
        let quirks = "[agent.\"libfoo.so\"]\ncputime = \"wall\"\nnames = \"slash\"\n";
        let quirks = Config::parse(Path::new("quirks.toml"), quirks).unwrap().sections;
        let agent = |environment: &str, file: &str| {
            let agent =
                options(environment, file).agent_with(&quirks, Path::new("/x/libfoo.so"), "");
            (agent.cputime, agent.names)
        };
        assert_eq!(agent("", ""), (CpuTime::Wall, Names::Slash));
        assert_eq!(agent("cputime=cpu", ""), (CpuTime::Cpu, Names::Slash));
        assert_eq!(agent("", "cputime = \"cpu\"\n"), (CpuTime::Cpu, Names::Slash));
        let section = "[agent.\"libfoo.so\"]\nnames = \"dot\"\n";
        assert_eq!(agent("", section), (CpuTime::Wall, Names::Dot));
    }

    #[test]
    fn the_quirks_that_come_with_the_shim_are_valid() {
        let text = include_str!("../quirks.toml");
        Options::parse("", Some((Path::new("quirks.toml"), text))).unwrap();
        let options = Options::parse("", None).unwrap();
        let hprof = "/opt/agents/libhprof.so";
        for (agent_options, cputime, quirks) in [
            ("cpu=samples,monitor=y,depth=8", CpuTime::Wall, "cputime=wall"),
            ("monitor=y", CpuTime::Wall, "cputime=wall"),
            ("cpu=times,monitor=n", CpuTime::Cpu, ""),
            ("file=monitor=yes", CpuTime::Cpu, ""),
            ("", CpuTime::Cpu, ""),
        ] {
            assert_eq!(options.agent(hprof, agent_options).cputime, cputime, "{agent_options}");
            assert_eq!(options.describe_quirks(hprof, agent_options), quirks, "{agent_options}");
        }
        let options = Options::parse("cputime=cpu", None).unwrap();
        assert_eq!(options.agent(hprof, "monitor=y").cputime, CpuTime::Cpu);
        assert_eq!(options.describe_quirks(hprof, "monitor=y"), "");
    }

    #[test]
    fn the_last_of_several_wins_in_the_environment() {
        assert_eq!(Options::parse("log=info log=debug", None).unwrap().log, Log::Debug);
    }

    #[test]
    fn environment_errors_name_the_key_and_what_is_valid() {
        assert_eq!(
            environment_error("lgo=info"),
            "JVMPI_OPTIONS: unknown key 'lgo'; valid: log, suspend, alloc, arenas, include, exclude, \
             instructions, natives, names, cputime, lookupswitch"
        );
        assert_eq!(
            environment_error("log=info,names=dots"),
            "JVMPI_OPTIONS: 'dots' is not a value of 'names'; valid: dot, slash (How class names \
             are written in events.)"
        );
        assert_eq!(
            environment_error("log"),
            "JVMPI_OPTIONS: 'log' needs a value, as in log=error; valid: error, warn, info, debug"
        );
        assert!(environment_error("=x").starts_with("JVMPI_OPTIONS: unknown key ''"));
        assert!(environment_error("log=").starts_with("JVMPI_OPTIONS: '' is not a value of 'log'"));
        assert!(environment_error("log=\u{1b}[2J").contains("\\u{1b}"));
    }

    #[test]
    fn file_errors_name_the_line() {
        assert_eq!(
            file_error("log = \"info\"\n\nname = \"dot\"\n"),
            "/etc/jvmpi.toml:3: unknown key 'name'; valid: log, suspend, alloc, arenas, include, \
             exclude, instructions, natives, names, cputime, lookupswitch"
        );
        assert_eq!(
            file_error("[agent.\"libfoo.so\"]\nnames = \"a\\nb\"\n"),
            "/etc/jvmpi.toml:2: 'a\\nb' is not a value of 'names'; valid: dot, slash (How class \
             names are written in events.)"
        );
        assert_eq!(
            file_error("log = true\n"),
            "/etc/jvmpi.toml:1: 'log' needs a value, as in log = \"error\"; valid: error, warn, \
             info, debug"
        );
        assert_eq!(
            file_error("\n[agent.\"libfoo.so\"]\nlog = \"info\"\n"),
            "/etc/jvmpi.toml:3: 'log' holds for all agents, so it goes to the top of the file; \
             valid in a section: names, cputime, lookupswitch"
        );
    }

    #[test]
    fn a_section_in_the_wrong_form_is_explained() {
        for (file, line) in [
            ("[agent.libfoo.so]\nnames = \"slash\"\n", 1),
            ("agent = \"libfoo.so\"\n", 1),
            ("log = \"info\"\n[agent]\n\"libfoo.so\" = \"slash\"\n", 3),
        ] {
            assert_eq!(
                file_error(file),
                format!(
                    "/etc/jvmpi.toml:{line}: not the section of an agent; write \
                     [agent.\"libfoo.so\"], with the quotes, and below it: names, cputime, lookupswitch"
                )
            );
        }
    }

    #[test]
    fn broken_toml_is_one_line() {
        for (file, line) in [
            ("log = \"info\"\nnames = slash\n", 2),
            ("log = \"info\"\nlog = \"warn\"\n", 2),
            ("\n\n[agent.\"libfoo.so\"\n", 3),
            ("log\n", 1),
        ] {
            let error = file_error(file);
            assert!(
                error.starts_with(&format!("/etc/jvmpi.toml:{line}: not valid TOML: ")),
                "{error}"
            );
        }
    }

    #[test]
    fn an_unreadable_file_is_one_line() {
        let error = one_line_of(read_config(Path::new("/no/such\nfile")).unwrap_err());
        assert!(error.starts_with("JVMPI_CONFIG: cannot read /no/such\\nfile: "), "{error}");
    }

    #[test]
    fn levels_are_those_of_the_log_crate() {
        for value in Options::KEYS[0].valid {
            let level = log::LevelFilter::from(Log::parse(value).unwrap());
            assert_eq!(level.as_str().to_lowercase(), *value);
        }
    }

    #[test]
    fn the_documentation_lists_exactly_these_keys() {
        let documented = include_str!("../../docs/options.md");
        let (settings, _) = documented.split_once("\n## Quirks\n").unwrap();
        let rows = settings.lines().filter(|line| line.starts_with("| `")).collect::<Vec<_>>();
        let whole = Options::KEYS.iter().map(|key| (key, "no"));
        let per_agent = AgentOptions::KEYS.iter().map(|key| (key, "yes"));
        let expected = whole.chain(per_agent).map(|(key, per_agent)| {
            let Key { name, valid, help } = key;
            let (valid, default) = (valid.join("`, `"), default_value(key));
            format!("| `{name}` | `{valid}` | `{default}` | {per_agent} | {help} |")
        });
        assert_eq!(rows, expected.collect::<Vec<_>>());
    }

    #[test]
    fn the_documented_file_does_what_its_comments_say() {
        let documented = include_str!("../../docs/options.md");
        let (_, file) = documented.split_once("```toml\n").unwrap();
        let (file, _) = file.split_once("```").unwrap();
        assert_eq!(
            options("", file).describe(),
            "log=info cputime=wall; libbar.so: cputime=cpu; libfoo.so: names=slash"
        );
    }

    /// The one value of `key` that changes nothing.
    fn default_value(key: &Key) -> &'static str {
        let is_default = |value: &&&str| {
            let (mut options, mut agent) = (Options::default(), AgentOptions::default());
            options.set(key, value).and_then(|()| agent.set(key, value)).unwrap();
            options == Options::default() && agent == AgentOptions::default()
        };
        key.valid.iter().find(is_default).unwrap()
    }
}
