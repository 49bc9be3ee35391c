//! The commands of HotSpot's attach protocol.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The number of arguments of a command.
pub const ARGUMENTS: usize = 3;

/// The maximum length of the answer to a command other than `threaddump`.
pub const MOST_ANSWER: usize = 1 << 16;

/// The maximum length of a thread dump, with which a program of 100,000 threads gets along.
pub const MOST_THREADS: usize = 1 << 30;

/// The name of a dump in a directory of its own.
pub const DUMP: &str = "dump";

/// A file that a JVM writes.
#[derive(Clone, Copy, Debug)]
pub enum Dump {
    /// The heap dump of the objects that are reachable: the JVM runs a full collection first.
    LiveObjects,
    /// The heap dump of all objects that are in memory; no collection runs.
    AllObjects,
    /// The stacks of all threads, also of virtual ones.
    Threads,
}

impl Dump {
    /// Returns the command that writes the dump to this path, and its arguments.
    pub fn command(self, path: &Path) -> (&'static str, [OsString; ARGUMENTS]) {
        let none = OsString::new();
        let path = path.as_os_str();
        match self {
            Self::LiveObjects => ("dumpheap", [path.into(), "-live".into(), none]),
            Self::AllObjects => ("dumpheap", [path.into(), "-all".into(), none]),
            Self::Threads => {
                let parts = [OsStr::new("Thread.dump_to_file \""), path, OsStr::new("\"")];
                ("jcmd", [parts.join(OsStr::new("")), none.clone(), none])
            }
        }
    }

    /// Returns what messages call the dump.
    pub fn name(self) -> &'static str {
        if let Self::Threads = self { "thread dump" } else { "heap dump" }
    }
}
