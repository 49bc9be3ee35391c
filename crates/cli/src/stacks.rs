//! `jvmpi stacks`: all threads of a running JVM with their stacks, once.

use crate::answer::understand_threads;
use crate::commands::{Dump, MOST_THREADS};
use crate::failure::Failure;
use crate::heap::DumpFile;
use crate::output::Printable;
use crate::platform::attach;
use crate::process::Process;
use crate::unfinished;
use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

/// Print the stacks of all threads of a running JVM, once
///
/// The JVM writes them, in the format of its thread dumps: each thread with its state, its CPU time, the monitors that
/// it has and those that it waits for, and deadlocks. Virtual threads, which have no CPU time of their own, follow; JDK
/// 21 does not know their states. No agent is loaded, and the program continues.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi stacks Tomcat")]
pub struct Arguments {
    /// The JVM: its process ID, or a part of its main class or JAR file
    #[arg(value_name = "PID")]
    pid: String,
}

/// `jvmpi stacks`.
pub fn stacks(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let process = Process::find(&arguments.pid)?;
    let waiting = unfinished::waiting();
    let answer = attach::execute(&process, &waiting, "threaddump", MOST_THREADS)?;
    let mut threads = understand_threads(&answer)
        .map_err(|why| format!("the JVM {process} has not written a thread dump: {why}"))?;
    match DumpFile::of(&process, Dump::Threads, &env::temp_dir(), &waiting) {
        Ok(file) => threads.push_str(&virtual_threads(&file.text()?)),
        // Before JDK 21 there are no virtual threads.
        Err(why) if why.contains("Unknown diagnostic command") => {}
        Err(why) => return Err(why.into()),
    }
    let mut out = Printable(io::stdout().lock());
    // Only what is not at the beginning of a line can be part of a name.
    let threads = threads.replace("\n\t", "\n        ");
    out.write_all(threads.as_bytes()).and_then(|()| out.flush()).map_err(|e| e.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the virtual threads of a dump of all threads, which has a paragraph for each.
fn virtual_threads(dump: &str) -> String {
    let is_virtual = |paragraph: &&str| {
        let head = paragraph.lines().next().and_then(|line| line.rsplit_once('"'));
        head.is_some_and(|(name, rest)| name.starts_with('#') && rest.starts_with(" virtual"))
    };
    let threads = dump.split("\n\n").filter(is_virtual);
    threads.map(|thread| format!("{}\n\n", thread.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_threads_are_picked_from_the_dumps_of_all_versions() {
        let dump = "4711\n2026-11-29\n21.0.8\n\n#1 \"main\"\n      Main.main(Main.java:4)\n\n\
                    #18 \"\" virtual\n      Main.run(Main.java:3)\n\n#22 \" virtual\"\n\n\
                    #24 \"a\" virtual BLOCKED 2026-11-29\n    at Main.run(Main.java:3)\n\n";
        let threads = "#18 \"\" virtual\n      Main.run(Main.java:3)\n\n\
                       #24 \"a\" virtual BLOCKED 2026-11-29\n    at Main.run(Main.java:3)\n\n";
        assert_eq!(virtual_threads(dump), threads);
    }
}
