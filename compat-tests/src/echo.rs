//! Shows the output files of a JVM while it runs, for a user who runs a single case.

use std::io;
use std::path::Path;
use std::process::{Child, Command};

/// The variable that turns on the display of the JVMs' output.
pub const ECHO: &str = "JVMPI_TEST_ECHO";

/// Copies what a process writes into files to standard error until the process has ended.
#[derive(Debug)]
pub struct Echo(Child);

impl Echo {
    /// Starts to copy these files of the process if the user wants to see them.
    pub fn of(files: [&Path; 2], process: u32) -> Option<Self> {
        std::env::var_os(ECHO)?;
        let mut tail = Command::new("tail");
        tail.args(["-q", "-f", "-n", "+1", "-s", "0.05", &format!("--pid={process}")]).args(files);
        tail.stdout(io::stderr()).spawn().ok().map(Self)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}
