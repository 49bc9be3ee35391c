//! The TOML file that `JVMPI_CONFIG` names: settings for all, and sections for agents.

use super::error::OptionsError;
use super::section::{Section, Sections};
use super::setting::Setting;
use super::settings::AgentOptions;
use super::sources::{names, setting};
use std::fs;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// The environment variable that names the file.
pub const CONFIG_VARIABLE: &str = "JVMPI_CONFIG";

/// The settings in a file.
#[derive(Default)]
pub struct Config {
    pub top: Vec<Setting>,
    pub sections: Sections,
}

impl Config {
    pub fn parse(path: &Path, text: &str) -> Result<Self, OptionsError> {
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
                config.top.push(setting(&place, name.get_ref(), value.get_ref().as_str())?);
                continue;
            }
            let sections = value.get_ref().as_table().ok_or_else(|| not_a_section(&place))?;
            for (library, section) in sections {
                let place = source(library.span().start);
                let section = section.get_ref().as_table().ok_or_else(|| not_a_section(&place))?;
                let mut settings = Vec::new();
                for (name, value) in section {
                    let place = source(name.span().start);
                    let Some(further) = value.get_ref().as_table() else {
                        settings.push(agent_setting(&place, name.get_ref(), value.get_ref())?);
                        continue;
                    };
                    // [agent.libfoo.so] without quotes is a table `so` in a section `libfoo`.
                    if !name.get_ref().contains('=') {
                        return Err(not_a_section(&place));
                    }
                    let further = further.iter().map(|(name, value)| {
                        agent_setting(&source(name.span().start), name.get_ref(), value.get_ref())
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

/// Reads the text of the file.
pub fn read_config(path: &Path) -> Result<String, OptionsError> {
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

/// Parses a setting in the section of an agent.
fn agent_setting(source: &str, name: &str, value: &DeValue<'_>) -> Result<Setting, OptionsError> {
    let setting = setting(source, name, value.as_str())?;
    if AgentOptions::KEYS.iter().any(|key| key.name == name) {
        return Ok(setting);
    }
    let valid = names(AgentOptions::KEYS);
    let what = format_args!(
        "'{name}' holds for all agents, so it goes to the top of the file; valid in a section: {valid}"
    );
    Err(OptionsError::new(source, what))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{file_error, one_line_of};

    #[test]
    fn file_errors_name_the_line() {
        assert_eq!(
            file_error("log = \"info\"\n\nname = \"dot\"\n"),
            "/etc/jvmpi.toml:3: unknown key 'name'; valid: log, suspend, alloc, arenas, ids, include, \
             exclude, getters, instructions, natives, virtual, park, execstack, selftest, names, cputime, unload, hook, classload, onload, reset, check, trace"
        );
        assert_eq!(
            file_error("[agent.\"libfoo.so\"]\nnames = \"a\\nb\"\n"),
            "/etc/jvmpi.toml:2: 'a\\nb' is not a value of 'names'; valid: dot, slash (The form of \
             class names in events.)"
        );
        assert_eq!(
            file_error("log = true\n"),
            "/etc/jvmpi.toml:1: 'log' needs a value, as in log = \"error\"; valid: error, warn, \
             info, debug"
        );
        assert_eq!(
            file_error("\n[agent.\"libfoo.so\"]\nlog = \"info\"\n"),
            "/etc/jvmpi.toml:3: 'log' holds for all agents, so it goes to the top of the file; \
             valid in a section: names, cputime, unload, hook, classload, onload, reset, check, trace"
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
                     [agent.\"libfoo.so\"], with the quotes, and below it: names, cputime, unload, hook, classload, onload, reset, check, trace"
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
}
