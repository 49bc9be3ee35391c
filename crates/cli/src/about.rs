//! Describes what is recorded, for the page.

use crate::process::Process;
use jvmpi_formats::profile::Time;
use jvmpi_report::Recording;
use std::ffi::OsString;

/// Describes the recording of a running JVM.
pub fn of_process(process: &Process) -> Recording {
    Recording {
        command: process.command_line(),
        pid: u32::try_from(process.number()).ok(),
        java: process.java(),
        started: process
            .age()
            .map(|age| Time(Time::now().0.saturating_sub(age.as_millis() as u64))),
        ..Recording::default()
    }
}

/// Describes the recording of a program that was started as this process. The version of its JDK is known later.
pub fn of_program(program: &[OsString], pid: u32) -> Recording {
    let words: Vec<_> = program.iter().map(|word| word.to_string_lossy()).collect();
    Recording { command: words.join(" "), pid: Some(pid), ..Recording::default() }
}
