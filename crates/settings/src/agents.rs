//! Settings for one agent, chosen among the sources by its library and its own options.

use super::config_file::Config;
use super::section::{Agents, Sections};
use super::setting::Setting;
use super::settings::{AgentOptions, Options};
use super::sources::overlay;
use std::borrow::Cow;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;
use std::sync::LazyLock;

/// The built-in settings of known agents.
static QUIRKS: LazyLock<Sections> = LazyLock::new(|| {
    let hprof = format!("{DLL_PREFIX}hprof{DLL_SUFFIX}");
    let text = include_str!("../quirks.toml").replace("libhprof.so", &hprof);
    let quirks = Config::parse(Path::new("quirks.toml"), &text);
    quirks.unwrap_or_default().sections
});

/// Returns the built-in settings for the agent in this library, as in `cputime=wall with monitor=y`: behind `with` is
/// the text that must be among the agent's own options, if there must be one.
pub fn quirks_of(library: impl AsRef<Path>) -> Vec<String> {
    let name = name_of(library.as_ref());
    let sections = QUIRKS.iter().filter(|(section, _)| section.library == name);
    let quirks = sections.flat_map(|(section, settings)| {
        let settings = settings.iter().map(|Setting { key, value }| (key.name, value));
        settings.map(|(key, value)| format!("{key}={value}{}", section.condition()))
    });
    quirks.collect()
}

/// Returns the name by which sections refer to the library.
fn name_of(library: &Path) -> Cow<'_, str> {
    library.file_name().unwrap_or_default().to_string_lossy()
}

impl Options {
    /// Returns the settings for the agent in this library, which gets these options.
    pub fn agent(&self, library: impl AsRef<Path>, options: &str) -> AgentOptions {
        self.agent_with(&QUIRKS, library.as_ref(), options)
    }

    /// Returns the options like [`agent`](Self::agent), for a library other than the one known by its
    /// name.
    pub fn agent_without_quirks(&self, library: impl AsRef<Path>, options: &str) -> AgentOptions {
        self.agent_with(&Sections::new(), library.as_ref(), options)
    }

    fn agent_with(&self, quirks: &Sections, library: &Path, options: &str) -> AgentOptions {
        let Agents { top, sections, environment } = &self.agents;
        let name = name_of(library);
        let named = |sections: &Sections| {
            let its = sections.iter().filter(|(section, _)| section.is_for(&name, options));
            its.flat_map(|(_, settings)| settings.clone()).collect::<Vec<_>>()
        };
        let (quirks, sections) = (named(quirks), named(sections));
        overlay([&quirks, top, &sections, environment]).1
    }

    /// Returns the built-in settings for the agent in this library that no other source overrides, such
    /// as `cputime=wall`. Empty if there are none.
    pub fn describe_quirks(&self, library: impl AsRef<Path>, options: &str) -> String {
        let without = self.agent_without_quirks(&library, options);
        self.agent(library, options).differences(&without).join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{CpuTime, Names};
    use crate::tests::{file_error, options};

    #[test]
    fn a_section_holds_for_exactly_its_library() {
        let options = options("", "[agent.\"libfoo.so\"]\nnames = \"slash\"\n");
        for other in ["libfoo.so.1", "foo", "libFoo.so", ""] {
            assert_eq!(options.agent(other, ""), AgentOptions::default(), "{other}");
        }
        assert_eq!(options.describe(), "libfoo.so: names=slash");
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
            ("cpu=samples,monitor=y,depth=8", CpuTime::Wall, "cputime=wall unload=off"),
            ("monitor=y", CpuTime::Wall, "cputime=wall unload=off"),
            ("cpu=times,monitor=n", CpuTime::Cpu, ""),
            ("file=monitor=yes", CpuTime::Cpu, ""),
            ("", CpuTime::Cpu, ""),
        ] {
            assert_eq!(options.agent(hprof, agent_options).cputime, cputime, "{agent_options}");
            assert_eq!(options.describe_quirks(hprof, agent_options), quirks, "{agent_options}");
        }
        assert_eq!(quirks_of(hprof), ["cputime=wall with monitor=y", "unload=off with monitor=y"]);
        assert_eq!(quirks_of("/opt/agents/libfoo.so"), [""; 0]);
        let options = Options::parse("cputime=cpu", None).unwrap();
        assert_eq!(options.agent(hprof, "monitor=y").cputime, CpuTime::Cpu);
        assert_eq!(options.describe_quirks(hprof, "monitor=y"), "unload=off");
    }
}
