//! Programs of the system that the tests need.

use std::path::Path;
use std::process::Command;

use crate::text;

/// Runs a program, which must succeed. Returns its standard output and standard error.
pub fn output(command: &mut Command) -> Result<[String; 2], String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let [out, err] =
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    if output.status.success() {
        return Ok([out, err]);
    }
    Err(format!("{command:?} failed ({}):\n{out}{err}", output.status))
}

/// Runs a program, which must succeed. Returns its standard output.
pub fn run(command: &mut Command) -> Result<String, String> {
    output(command).map(|[out, _]| out)
}

/// Runs a program in a directory, and fails if the program does.
pub fn tool(name: &str, arguments: &[&str], directory: &Path) -> Result<(), String> {
    run(Command::new(name).args(arguments).current_dir(directory)).map(drop)
}

/// Copies a program that is started afterwards. This process must not write the copy itself: a child that another thread
/// starts meanwhile has the file open for writing until it executes its own program, and Linux starts no such file.
pub fn copy_program(from: &Path, to: &Path) -> Result<(), String> {
    tool("cp", &[text(from)?, text(to)?], Path::new("/"))
}
