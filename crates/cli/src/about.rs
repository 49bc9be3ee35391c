//! Describes what is recorded, for the page.

use crate::jdk_version::version_of_jdk;
use crate::platform::system;
use crate::process::Process;
use jvmpi_formats::profile::Time;
use jvmpi_report::Recording;
use std::env;
use std::env::consts::EXE_EXTENSION;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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

/// Describes the recording of a program that was started as this process.
pub fn of_program(program: &[OsString], pid: u32) -> Recording {
    let words: Vec<_> = program.iter().map(|word| word.to_string_lossy()).collect();
    Recording {
        command: words.join(" "),
        pid: Some(pid),
        java: program.first().and_then(java_of_program),
        ..Recording::default()
    }
}

/// Returns the version of the JDK if the program is its `java`.
fn java_of_program(program: &OsString) -> Option<String> {
    if !system::is_java(Path::new(program).file_name()?) {
        return None;
    }
    let program = PathBuf::from(system::program(program)).with_extension(EXE_EXTENSION);
    let candidates: Vec<PathBuf> = if program.components().count() > 1 {
        vec![program]
    } else {
        env::split_paths(&env::var_os("PATH")?).map(|directory| directory.join(&program)).collect()
    };
    let java = candidates.into_iter().find_map(|path| path.canonicalize().ok())?;
    version_of_jdk(java.parent()?.parent()?)
}
