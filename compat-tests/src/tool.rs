//! Programs of the system that the tests need.

use std::path::Path;
use std::process::Command;

use crate::text;

/// Runs a command, and fails with its output if the command does.
pub fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(format!("{program} failed ({}):\n{}", output.status, String::from_utf8_lossy(&said)))
}

/// Runs a program in a directory, and fails if the program does.
pub fn tool(name: &str, arguments: &[&str], directory: &Path) -> Result<(), String> {
    run(Command::new(name).args(arguments).current_dir(directory))
}

/// Copies a program that is started afterwards. This process must not write the copy itself: a child that another thread
/// starts meanwhile has the file open for writing until it executes its own program, and Linux starts no such file.
pub fn copy_program(from: &Path, to: &Path) -> Result<(), String> {
    tool("cp", &[text(from)?, text(to)?], Path::new("/"))
}
