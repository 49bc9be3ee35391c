//! An agent, and the options that make a JVM load it.

use crate::installation;
use crate::launch::check_settings;
use crate::platform::{attach, system};
use crate::process::Process;
use crate::waiting::Waiting;
use jvm::platform::names::file_and_options;
use jvmpi_settings::library::{LibraryError, examine};
use std::env;
use std::env::consts::{DLL_EXTENSION, DLL_PREFIX, DLL_SUFFIX};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf, is_separator};

/// An agent as the user names it.
pub struct Agent {
    name: OsString,
    options: Option<OsString>,
}

impl Agent {
    /// Splits `foo:options`.
    pub fn parse(text: &OsStr) -> Self {
        let (name, options) = split(text);
        Self { name: name.into(), options: options.map(OsStr::to_owned) }
    }

    /// Returns HPROF with these options.
    ///
    /// # Errors
    /// Returns the places that were searched for its library.
    pub fn hprof(options: &str) -> Result<Self, String> {
        let name = installation::libhprof()?.into_os_string();
        Ok(Self { name, options: Some(options.into()) })
    }

    /// Returns the agent's library. None if it was given by name, so that only the JVM can find it.
    ///
    /// # Errors
    /// Fails if there is no file of this path.
    fn library(&self) -> Result<Option<PathBuf>, LibraryError> {
        let given = Path::new(&self.name);
        let is_file_name = given.extension().is_some_and(|extension| extension == DLL_EXTENSION);
        if is_path(given) || (is_file_name && given.exists()) {
            // The program may work in another directory.
            return dunce::canonicalize(given).map(Some).map_err(|_| LibraryError::no_file(given));
        }
        let parts = [DLL_PREFIX.as_ref(), self.name.as_os_str(), DLL_SUFFIX.as_ref()];
        let name = parts.join(OsStr::new(""));
        let beside = installation::libjvmpi().ok().and_then(|path| Some(path.parent()?.to_owned()));
        let directories = beside.into_iter().chain(library_path());
        let mut candidates = directories.map(|directory| directory.join(&name));
        Ok(candidates.find(|path| path.is_file()).and_then(|path| dunce::canonicalize(path).ok()))
    }

    /// Returns the option with which a JVM loads it.
    ///
    /// # Errors
    /// Returns the fault of its library, or an error if its path cannot be written in the option.
    pub fn agentpath_option(&self) -> Result<OsString, String> {
        let name = self.examined()?.map_or_else(|| self.name.clone(), PathBuf::into_os_string);
        let mut option = OsString::from("-agentpath:");
        option.push(installation::libjvmpi()?);
        option.push("=");
        option.push(self.specification(&name)?);
        Ok(option)
    }

    /// Loads it into a running JVM, with these settings of jvmpi.
    ///
    /// # Errors
    /// Returns a bad setting, the fault of its library, or the message of the JVM.
    pub fn attach(
        &self,
        settings: &[String],
        process: &Process,
        waiting: &Waiting,
    ) -> Result<(), String> {
        check_settings(settings)?;
        let libjvmpi = installation::libjvmpi()?;
        let library = self.examined()?;
        let files: Vec<&Path> =
            [&libjvmpi].into_iter().chain(&library).map(PathBuf::as_path).collect();
        let commands = |seen: &[PathBuf]| {
            let name = seen.get(1).map_or(self.name.as_os_str(), |path| path.as_os_str());
            let set = (!settings.is_empty()).then(|| format!("!set {}", settings.join(" ")).into());
            Ok(set.into_iter().chain([self.specification(name)?]).collect())
        };
        attach::load_agent(process, &files, commands, waiting)
    }

    /// Checks the agent's library, and returns its path if it is known.
    fn examined(&self) -> Result<Option<PathBuf>, String> {
        let library = self.library().map_err(|error| error.to_string())?;
        if let Some(path) = &library {
            examine(path).map_err(|error| error.to_string())?;
        }
        Ok(library)
    }

    /// Returns the specification that libjvmpi.so gets, when this is the agent's name or path.
    fn specification(&self, name: &OsStr) -> Result<OsString, String> {
        if split(name).1.is_some() {
            return Err(format!(
                "the path {} contains a colon, which starts the options: make a symbolic link to it without one",
                name.display()
            ));
        }
        let options = self.options.iter().flat_map(|options| [OsStr::new(":"), options]);
        Ok([name].into_iter().chain(options).collect())
    }
}

/// Splits `foo:options` at the colon that begins the options.
pub fn split(text: &OsStr) -> (&OsStr, Option<&OsStr>) {
    let (name, options) = file_and_options(text.as_encoded_bytes());
    // SAFETY: the bytes are those of the text before and behind a colon, which is ASCII.
    let text = |bytes| unsafe { OsStr::from_encoded_bytes_unchecked(bytes) };
    (text(name), options.map(text))
}

/// Returns true if the path has a directory, also as a last part without a name.
fn is_path(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| is_separator((*byte).into()))
}

/// Returns the directories of `LD_LIBRARY_PATH`, or `PATH` on Windows. An empty entry would mean the working directory, into which another
/// user may have put a library, so it is left out.
pub fn library_path() -> Vec<PathBuf> {
    let path = env::var_os(system::LIBRARY_PATH).unwrap_or_default();
    env::split_paths(&path).filter(|directory| !directory.as_os_str().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_begin_after_the_first_colon() {
        let agent = Agent::parse(OsStr::new("./libfoo.so:a=b:c"));
        assert_eq!(agent.name, "./libfoo.so");
        assert_eq!(agent.options.as_deref(), Some(OsStr::new("a=b:c")));
        assert_eq!(Agent::parse(OsStr::new("foo")).options, None);
        assert_eq!(Agent::parse(OsStr::new("foo:")).options, Some(OsString::new()));
    }
}
