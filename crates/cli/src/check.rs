//! `jvmpi check`: whether a library is a JVMPI agent that can run here.

use crate::failure::Failure;
use crate::platform::missing;
use jvmpi_formats::profile::printable;
use jvmpi_settings::library::{Contents, LibraryError, contents};
use serde_json::json;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    let path = dunce::canonicalize(library).unwrap_or_else(|_| library.clone());
    let file = path.to_string_lossy();
    let agent = Agent::of(&path);
    match &agent {
        Ok(agent) if *json => println!("{:#}", agent.to_json(&file)),
        Ok(agent) => agent.print(&file),
        Err(why) if *json => {
            println!("{:#}", json!({ "file": file, "fit": false, "why": why.to_string() }));
        }
        Err(why) => println!("no: {why}"),
    }
    Ok(if agent.is_ok_and(|agent| agent.is_fit()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Libraries and symbols that the dynamic loader does not find.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Missing {
    pub libraries: Vec<String>,
    pub symbols: Vec<String>,
}

impl Missing {
    fn is_nothing(&self) -> bool {
        self.libraries.is_empty() && self.symbols.is_empty()
    }
}

/// A library that is an agent.
struct Agent {
    contents: Contents,
    missing: Missing,
    quirks: Vec<String>,
}

impl Agent {
    fn of(path: &Path) -> Result<Self, LibraryError> {
        let contents = contents(path)?;
        let missing = missing::of(path);
        let mut quirks =
            if contents.has_no_quirks { vec![] } else { jvmpi_settings::quirks_of(path) };
        if contents.has_executable_stack {
            quirks.push("execstack=copy with glibc 2.41 or later".into());
        }
        Ok(Self { contents, missing, quirks })
    }

    fn is_fit(&self) -> bool {
        self.missing.is_nothing()
    }

    fn print(&self, file: &str) {
        println!("{file}");
        row("machine", &self.contents.machine.to_string());
        row("entry points", &list(&self.contents.entry_points));
        row("needs", &list(&self.contents.needed));
        row("missing", &list(self.missing.libraries.iter().chain(&self.missing.symbols)));
        row("quirks", &list(&self.quirks));
        if !self.is_fit() {
            println!(
                "no: it cannot be loaded while something is missing; provide it or rebuild the agent"
            );
        } else {
            println!("yes: jvmpi run {file} -- java …");
        }
    }

    fn to_json(&self, file: &str) -> serde_json::Value {
        json!({
            "file": file,
            "fit": self.is_fit(),
            "machine": self.contents.machine.to_string(),
            "entry_points": self.contents.entry_points,
            "needed": self.contents.needed,
            "missing_libraries": self.missing.libraries,
            "missing_symbols": self.missing.symbols,
            "quirks": self.quirks,
        })
    }
}

/// Joins the items with commas.
fn list(items: impl IntoIterator<Item: Display>) -> String {
    let items = items.into_iter().map(|item| printable(&item.to_string()).into_owned());
    let items: Vec<String> = items.collect();
    if items.is_empty() { "none".into() } else { items.join(", ") }
}

/// Prints what a name stands for.
fn row(name: &str, value: &str) {
    println!("  {name:<13} {value}");
}
