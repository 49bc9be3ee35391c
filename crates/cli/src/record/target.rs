//! The subject of a recording.

use super::received::Received;
use crate::agent::Agent;
use crate::channel::{self, Channel, Entrance};
use crate::commands::Dump;
use crate::failure::Failure;
use crate::heap::DumpFile;
use crate::launch::{not_executed, with_jvm_option};
use crate::platform::program::status_of;
use crate::platform::signals;
use crate::process::Process;
use crate::waiting::Waiting;
use jvmpi_formats::profile::DumpKind;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command};

/// The subject of a recording.
pub enum Target {
    /// A JVM that runs already.
    Process(Process),
    /// A program that was started, with all its JVMs: they have this variable with this value in their environment.
    Program(Child, &'static str, String),
}

impl Target {
    /// Loads HPROF with these options into the process if there is one, or starts the program with it. `hear` gets the
    /// events of the connections. `adapt` changes how the program is started.
    ///
    /// # Errors
    /// Returns the reason why HPROF is not loaded or the program not started.
    pub fn start(
        options: &str,
        settings: &[String],
        process: Option<Process>,
        program: &[OsString],
        waiting: &Waiting,
        hear: impl Fn(channel::Event) + Clone + Send + 'static,
        adapt: impl FnOnce(&mut Command),
    ) -> Result<(Self, Entrance), Failure> {
        let channel = Channel::open(process.as_ref())?;
        let address = if process.is_some() { channel.options() } else { channel.option() };
        let agent = Agent::hprof(&format!("{options},{address}"))?;
        let (variable, secret) = channel.secret();
        let entrance = channel.serve(hear);
        if let Some(process) = process {
            agent.attach(settings, &process, waiting)?;
            return Ok((Self::Process(process), entrance));
        }
        let mut command = with_jvm_option(program, &agent.agentpath_option()?, settings)?;
        adapt(command.env(variable, &secret));
        let started = signals::pass_to(&mut command).spawn();
        let started = started.map_err(|error| not_executed(&program[0], &error))?;
        Ok((Self::Program(started, variable, secret), entrance))
    }

    /// Returns the process of a JVM, given by the number that it has in its own namespace.
    ///
    /// # Errors
    /// Returns the reason if it is unknown.
    pub fn process(&self, number: Option<u32>) -> Result<Process, String> {
        let (name, value) = match self {
            Self::Process(process) => return Ok(process.clone()),
            Self::Program(_, name, value) => (name, value),
        };
        let number = number.and_then(|number| number.try_into().ok());
        let process = Process::jvm(number.ok_or("the JVM has no process number")?)?;
        if process.has_variable(name, value) {
            return Ok(process);
        }
        // The number is from another namespace, such as a container's.
        Err(format!("process {process} is not the JVM that was recorded"))
    }

    /// Returns the exit status of the program that was started, if it has ended.
    pub fn ended(&mut self) -> Option<u8> {
        let Self::Program(program, ..) = self else { return None };
        program.try_wait().map_or(Some(1), |status| status.map(status_of))
    }

    /// Dumps the heap of a JVM that has sent all its data, for an output in this directory. Signals from now on end the
    /// wait for it.
    ///
    /// # Errors
    /// Returns the reason why there is no dump.
    pub fn dump_heap(
        &self,
        received: &Received,
        directory: &Path,
        waiting: &Waiting,
    ) -> Result<DumpFile, String> {
        // A collection at the end of a JVM can hang: some collectors have stopped by then.
        let objects = match received.last {
            Some(DumpKind::AtExit) => Dump::AllObjects,
            Some(_) => Dump::LiveObjects,
            None => return Err("the JVM exited before its heap could be dumped".into()),
        };
        let process = self.process(received.process())?;
        process.is_alive()?;
        DumpFile::of(&process, objects, directory, &waiting.renewed())
    }
}
