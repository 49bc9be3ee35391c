//! `jvmpi run`: a program with an agent.

use crate::attach;
use crate::failure::{Failure, NO_PROGRAM, NOT_EXECUTABLE, NOT_STARTED};
use crate::installation;
use crate::process::Process;
use agent_library::{LibraryError, examine};
use clap::value_parser;
use options::Options;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Run a Java program, or one that runs already, with a JVMPI agent
///
/// The command is replaced by the program, whose exit status and signals are its own. A `java` gets
/// the agent on its command line; any other program, such as a script, in JAVA_TOOL_OPTIONS, so that
/// every JVM it starts has the agent. What is wrong with the agent's library is said before
/// anything starts, with exit status 125.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi run ./libfoo.so:depth=8 -- java -jar app.jar")]
#[command(
    override_usage = "jvmpi run [--setting KEY=VALUE]... AGENT[:OPTIONS] -- PROGRAM...\n       \
                            jvmpi run --pid PID AGENT[:OPTIONS]"
)]
pub struct Arguments {
    /// A setting of libjvmpi.so, as names=slash; can be given several times
    #[arg(long = "setting", value_name = "KEY=VALUE", conflicts_with = "pid")]
    settings: Vec<String>,
    /// Load the agent into the running JVM of this process number
    #[arg(long, value_parser = value_parser!(libc::pid_t).range(1..))]
    pid: Option<libc::pid_t>,
    /// The agent: a path, or foo for libfoo.so; what follows the first colon are its own options
    #[arg(value_name = "AGENT[:OPTIONS]")]
    agent: OsString,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "pid", conflicts_with = "pid")]
    program: Vec<OsString>,
}

/// `jvmpi run`; returns only if no program is started.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let Some(pid) = arguments.pid {
        Agent::parse(&arguments.agent).attach(&Process::jvm(pid)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let not_started = |message: String| Failure::from(message).with_status(NOT_STARTED);
    let agent = Agent::parse(&arguments.agent);
    let option = agent.agentpath_option().map_err(not_started)?;
    let mut program = with_jvm_option(&arguments.program, &option).map_err(not_started)?;
    if !arguments.settings.is_empty() {
        program.env("JVMPI_OPTIONS", with_settings(&arguments.settings).map_err(not_started)?);
    }
    let error = program.exec();
    Err(not_executed(&arguments.program[0], &error))
}

/// An agent as the user names it.
pub struct Agent {
    name: OsString,
    options: Option<OsString>,
}

impl Agent {
    /// Splits `foo:options` at the first colon.
    pub fn parse(text: &OsStr) -> Self {
        let mut parts = text.as_bytes().splitn(2, |byte| *byte == b':');
        let mut part = || parts.next().map(|part| OsString::from_vec(part.to_vec()));
        Self { name: part().unwrap_or_default(), options: part() }
    }

    /// The agent's library. None if it was given by name and only the JVM can tell where it is.
    ///
    /// # Errors
    /// There is no file of this path.
    pub fn library(&self) -> Result<Option<PathBuf>, LibraryError> {
        let given = Path::new(&self.name);
        let is_file_name = self.name.as_bytes().ends_with(b".so");
        if self.name.as_bytes().contains(&b'/') || (is_file_name && given.exists()) {
            // The program may work in another directory.
            let path = given.canonicalize();
            return path.map(Some).map_err(|_| LibraryError::NoFile { path: given.into() });
        }
        let name = [OsStr::new("lib"), &self.name, OsStr::new(".so")].join(OsStr::new(""));
        let search = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let beside = installation::libjvmpi().ok().and_then(|path| Some(path.parent()?.to_owned()));
        let directories = beside.into_iter().chain(env::split_paths(&search));
        let mut candidates = directories.map(|directory| directory.join(&name));
        Ok(candidates.find(|path| path.is_file()).and_then(|path| path.canonicalize().ok()))
    }

    /// The option with which a JVM loads it.
    ///
    /// # Errors
    /// What is wrong with its library, or that its path cannot be written in the option.
    fn agentpath_option(&self) -> Result<OsString, String> {
        let name = self.examined()?.map_or_else(|| self.name.clone(), PathBuf::into_os_string);
        let mut option = OsString::from("-agentpath:");
        option.push(installation::libjvmpi()?);
        option.push("=");
        option.push(self.specification(&name)?);
        Ok(option)
    }

    /// Has a JVM that runs already load it.
    ///
    /// # Errors
    /// What is wrong with its library, or what the JVM says.
    fn attach(&self, process: &Process) -> Result<(), String> {
        let libjvmpi = installation::libjvmpi()?;
        let library = self.examined()?;
        let files: Vec<&Path> =
            [&libjvmpi].into_iter().chain(&library).map(PathBuf::as_path).collect();
        let seen = attach::visible(process, &files)?;
        let name = seen.get(1).map_or(self.name.as_os_str(), |path| path.as_os_str());
        attach::load_agent(process, &seen[0], &self.specification(name)?)
    }

    /// The path of its library if it is known; it can be that of an agent.
    fn examined(&self) -> Result<Option<PathBuf>, String> {
        let library = self.library().map_err(|error| error.to_string())?;
        if let Some(path) = &library {
            examine(path).map_err(|error| error.to_string())?;
        }
        Ok(library)
    }

    /// What libjvmpi.so is told of it, when this is its name or path.
    fn specification(&self, name: &OsStr) -> Result<OsString, String> {
        if name.as_bytes().contains(&b':') {
            return Err(format!(
                "{} has a colon in its path, after which options begin: make a link to it without",
                name.display()
            ));
        }
        let options = self.options.iter().flat_map(|options| [OsStr::new(":"), options]);
        Ok([name].into_iter().chain(options).collect())
    }
}

/// The program with an option for its JVM: on the command line of `java`, in `JAVA_TOOL_OPTIONS` of
/// others, which may start several.
///
/// # Errors
/// If the option cannot be written in the variable.
pub fn with_jvm_option(program: &[OsString], option: &OsStr) -> Result<Command, String> {
    let mut command = Command::new(&program[0]);
    if Path::new(&program[0]).file_name() == Some(OsStr::new("java")) {
        command.arg(option);
    } else {
        let mut all = env::var_os(JAVA_TOOL_OPTIONS).unwrap_or_default();
        if !all.is_empty() {
            all.push(" ");
        }
        all.push(quoted(option));
        command.env(JAVA_TOOL_OPTIONS, all);
    }
    command.args(&program[1..]);
    Ok(command)
}

const JAVA_TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// A word of `JAVA_TOOL_OPTIONS`, where white space separates words and either kind of quotes keeps
/// it; a backslash protects nothing.
fn quoted(word: &OsStr) -> OsString {
    let is_special =
        |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b || b"'\"".contains(byte);
    if !word.as_bytes().iter().any(is_special) {
        return word.into();
    }
    let pieces: Vec<Vec<u8>> =
        word.as_bytes().split(|byte| *byte == b'\'').map(<[u8]>::to_vec).collect();
    let text = pieces.join(&b"'\"'\"'"[..]);
    OsString::from_vec([b"'", text.as_slice(), b"'"].concat())
}

/// What `JVMPI_OPTIONS` becomes with more settings.
fn with_settings(settings: &[String]) -> Result<OsString, String> {
    Options::parse(&settings.join(" "), None)
        .map_err(|error| error.to_string().replace("JVMPI_OPTIONS", "--setting"))?;
    let mut all = env::var_os("JVMPI_OPTIONS").unwrap_or_default();
    for setting in settings {
        all.push(" ");
        all.push(setting);
    }
    Ok(all)
}

/// Why a program was not started.
pub fn not_executed(program: &OsStr, error: &io::Error) -> Failure {
    let (why, status) = match error.kind() {
        io::ErrorKind::NotFound => ("there is no such program".to_owned(), NO_PROGRAM),
        _ => (error.to_string(), NOT_EXECUTABLE),
    };
    Failure::from(format!("{}: {why}", program.display())).with_status(status)
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

    #[test]
    fn a_word_is_quoted_where_it_must_be() {
        for (word, expected) in [
            ("-agentpath:/a=b:c", "-agentpath:/a=b:c"),
            ("a b", "'a b'"),
            ("it's", "'it'\"'\"'s'"),
            ("\"", "'\"'"),
        ] {
            assert_eq!(quoted(OsStr::new(word)), expected, "{word}");
        }
    }
}
