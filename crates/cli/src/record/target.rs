//! The subject of a recording.

use super::received::Received;
use crate::attach::Objects;
use crate::heap::HeapDump;
use crate::process::Process;
use crate::waiting::Waiting;
use jvmpi_formats::profile::DumpKind;
use std::path::Path;
use std::process::Child;

/// The subject of a recording.
pub enum Target {
    /// A JVM that runs already.
    Process(Process),
    /// A program that was started, with all its JVMs: they have this variable with this value in their environment.
    Program(Child, &'static str, String),
}

impl Target {
    /// Returns the process of the JVM that has sent this.
    ///
    /// # Errors
    /// Returns the reason if it is unknown.
    pub fn process(&self, received: &Received) -> Result<Process, String> {
        let (name, value) = match self {
            Self::Process(process) => return Ok(process.clone()),
            Self::Program(_, name, value) => (name, value),
        };
        let number = received.process().and_then(|number| number.try_into().ok());
        let process = Process::jvm(number.ok_or("the JVM has no process number")?)?;
        if process.has_variable(name, value) {
            return Ok(process);
        }
        // The number is from another namespace, such as a container's.
        Err(format!("process {process} is not the JVM that was recorded"))
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
    ) -> Result<HeapDump, String> {
        // A collection at the end of a JVM can hang: some collectors have stopped by then.
        let objects = match received.last() {
            Some(DumpKind::AtExit) => Objects::All,
            Some(_) => Objects::Live,
            None => return Err("the JVM exited before its heap could be dumped".into()),
        };
        let process = self.process(received)?;
        process.is_alive()?;
        HeapDump::of(&process, objects, directory, &waiting.renewed())
    }
}
