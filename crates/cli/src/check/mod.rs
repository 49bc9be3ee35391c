//! `jvmpi check`: whether a library is a JVMPI agent that can run here.

mod symbols;

use crate::failure::Failure;
use jvmpi_formats::profile::printable;
use jvmpi_settings::library::{Contents, LibraryError, contents};
use serde_json::json;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use symbols::Missing;

/// Check if a library is a JVMPI agent that can run here
///
/// No code of the library is executed. The exit status is 0 if it is an agent that can be loaded, 1 if not.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi check /opt/agents/libfoo.so")]
pub struct Arguments {
    /// The agent's library
    library: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// `jvmpi check`.
pub fn check(Arguments { library, json }: &Arguments) -> Result<ExitCode, Failure> {
    // The dynamic loader would search for a name without a slash.
    let path = library.canonicalize().unwrap_or_else(|_| library.clone());
    let findings = Findings::of(&path);
    if *json {
        println!("{:#}", findings.to_json(&path));
    } else {
        findings.print(&path);
    }
    Ok(if findings.is_fit() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The result of examining a library.
enum Findings {
    Refused(LibraryError),
    Agent(Agent),
}

struct Agent {
    contents: Contents,
    missing: Missing,
    quirks: Vec<String>,
}

impl Findings {
    fn of(path: &Path) -> Self {
        match contents(path) {
            Err(error) => Self::Refused(error),
            Ok(contents) => {
                let missing = symbols::missing(path);
                let quirks =
                    if contents.has_no_quirks { vec![] } else { jvmpi_settings::quirks_of(path) };
                let mut quirks: Vec<_> = quirks.iter().map(ToString::to_string).collect();
                if contents.has_executable_stack {
                    quirks.push("execstack=copy with glibc 2.41 or later".into());
                }
                Self::Agent(Agent { contents, missing, quirks })
            }
        }
    }

    fn is_fit(&self) -> bool {
        match self {
            Self::Refused(_) => false,
            Self::Agent(agent) => agent.missing.is_nothing(),
        }
    }

    fn print(&self, path: &Path) {
        let agent = match self {
            Self::Refused(error) => {
                println!("no: {error}");
                return;
            }
            Self::Agent(agent) => agent,
        };
        println!("{}", path.display());
        row("machine", &agent.contents.machine.to_string());
        row("entry points", &list(&agent.contents.entry_points));
        row("needs", &list(&agent.contents.needed));
        row("missing", &list(agent.missing.libraries.iter().chain(&agent.missing.symbols)));
        row("quirks", &list(&agent.quirks));
        if self.is_fit() && !agent.contents.is_agent() {
            println!(
                "yes: java -agentpath:libjvmpi.so …; the program loads this library, which seems to ask for JVMPI \
                 by GetEnv"
            );
        } else if self.is_fit() {
            println!("yes: jvmpi run {} -- java …", path.display());
        } else {
            println!(
                "no: it cannot be loaded while something is missing; provide it or rebuild the agent"
            );
        }
    }

    fn to_json(&self, path: &Path) -> serde_json::Value {
        let file = path.to_string_lossy();
        match self {
            Self::Refused(error) => json!({ "file": file, "fit": false, "why": error.to_string() }),
            Self::Agent(agent) => json!({
                "file": file,
                "fit": self.is_fit(),
                "machine": agent.contents.machine.to_string(),
                "entry_points": agent.contents.entry_points,
                "needed": agent.contents.needed,
                "missing_libraries": agent.missing.libraries,
                "missing_symbols": agent.missing.symbols,
                "quirks": agent.quirks,
            }),
        }
    }
}

/// Joins the items with commas.
fn list(items: impl IntoIterator<Item: Display>) -> String {
    let items = items.into_iter().map(|item| printable(&item.to_string()).into_owned());
    let items: Vec<String> = items.collect();
    if items.is_empty() { "none".into() } else { items.join(", ") }
}

/// Prints what a name stands for, in as many lines as it takes.
fn row(name: &str, value: &str) {
    const WIDTH: usize = 80;
    let mut line = format!("  {name:<13}");
    for (i, word) in value.split(' ').enumerate() {
        if i > 0 && line.len() + 1 + word.len() > WIDTH {
            println!("{line}");
            line = " ".repeat(15);
        }
        line.push(' ');
        line.push_str(word);
    }
    println!("{line}");
}
