//! `jvmpi run`: a program with an agent.

use crate::agent::Agent;
use crate::failure::{Failure, NOT_STARTED};
use crate::launch::{not_executed, with_jvm_option};
use crate::platform::{program::become_program, signals};
use crate::process::Process;
use crate::waiting::Waiting;
use std::ffi::OsString;
use std::process::ExitCode;

/// Run a Java program with a JVMPI agent, or load the agent into a running JVM
///
/// The program replaces jvmpi in its process, so its exit status and signals are its own. A `java` command
/// gets the agent on its command line. Any other program, such as a script, gets it in JAVA_TOOL_OPTIONS,
/// so that every JVM that it starts has the agent. If the agent's library has a fault, jvmpi prints it,
/// starts nothing and exits with status 125.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    jvmpi run ./libfoo.so:depth=8 -- java -jar app.jar\n  \
    jvmpi run --setting names=slash foo -- ./gradlew run\n  \
    jvmpi run --pid 4711 /opt/profiler/libfoo.so")]
#[command(
    override_usage = "jvmpi run [--setting KEY=VALUE]... AGENT[:OPTIONS] -- PROGRAM...\n       \
                            jvmpi run [--setting KEY=VALUE]... --pid PID AGENT[:OPTIONS]"
)]
pub struct Arguments {
    /// Setting of jvmpi, for example names=slash; can be given several times
    #[arg(long = "setting", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Load the agent into this running JVM: its process ID, or a part of its main class or JAR file
    #[arg(long)]
    pid: Option<String>,
    /// The agent: a path, or foo for libfoo.so or foo.dll; the text after the first colon is its options
    #[arg(value_name = "AGENT[:OPTIONS]")]
    agent: OsString,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "pid", conflicts_with = "pid")]
    program: Vec<OsString>,
}

/// `jvmpi run`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let Some(pid) = &arguments.pid {
        let process = Process::find(pid)?;
        let waiting = Waiting::default();
        let interrupted = waiting.clone();
        signals::listen(move |_| interrupted.interrupt());
        Agent::parse(&arguments.agent).attach(&arguments.settings, &process, &waiting)?;
        return Ok(ExitCode::SUCCESS);
    }
    let not_started = |message: String| Failure::from(message).or_status(NOT_STARTED);
    let agent = Agent::parse(&arguments.agent);
    let mut program = agent
        .agentpath_option()
        .and_then(|option| with_jvm_option(&arguments.program, &option, &arguments.settings))
        .map_err(not_started)?;
    become_program(&mut program).map_err(|error| not_executed(&arguments.program[0], &error))
}
