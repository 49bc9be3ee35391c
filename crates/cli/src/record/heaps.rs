//! The heap dumps at the end of a recording.

use super::received::Received;
use crate::attach::Objects;
use crate::heap::HeapDump;
use crate::process::Process;
use crate::waiting::Waiting;
use jvmpi_formats::profile::DumpKind;
use std::path::PathBuf;

/// Makes the heap dumps of the JVMs of a recording.
pub struct Heaps {
    directory: PathBuf,
    waiting: Waiting,
    /// The variable in the environment of each JVM of a program that was started, with its value.
    variable: Option<(&'static str, String)>,
}

impl Heaps {
    /// Makes dumps of a JVM that was attached to, for an output in this directory.
    pub fn new(directory: PathBuf, waiting: Waiting) -> Self {
        Self { directory, waiting, variable: None }
    }

    /// Makes dumps of the JVMs of a program. All of them have this variable in their environment.
    pub fn of_program(
        directory: PathBuf,
        waiting: Waiting,
        (name, value): (&'static str, &str),
    ) -> Self {
        Self { directory, waiting, variable: Some((name, value.to_owned())) }
    }

    /// Dumps the heap of a JVM that has sent all its data: the one that was attached to, or the one that says its
    /// number. Signals from now on end the wait for it.
    ///
    /// # Errors
    /// Returns the reason why there is no dump.
    pub fn dump(
        &self,
        received: &Received,
        attached: Option<&Process>,
    ) -> Result<HeapDump, String> {
        // A collection at the end of a JVM can hang: some collectors have stopped by then.
        let objects = match received.last() {
            Some(DumpKind::AtExit) => Objects::All,
            Some(_) => Objects::Live,
            None => return Err("the JVM exited before its heap could be dumped".into()),
        };
        let number = match attached {
            Some(process) => Some(process.number()),
            None => received.process().and_then(|number| number.try_into().ok()),
        };
        let process = Process::jvm(number.ok_or("the JVM has no process number")?)?;
        if let Some((name, value)) = &self.variable
            && !process.has_variable(name, value)
        {
            // The number is from another namespace, such as a container's.
            return Err(format!("process {process} is not the JVM that was recorded"));
        }
        HeapDump::of(&process, objects, &self.directory, &self.waiting.renewed())
    }
}
