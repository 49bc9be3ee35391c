//! The machine, its libraries, and the streams and the desktop that the user has.

use std::env;
use std::ffi::{OsStr, OsString};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

/// The variable with the directories of libraries.
pub const LIBRARY_PATH: &str = "PATH";
/// The JVM's library below its root, in the order in which they are tried.
pub const JVM_LIBRARIES: [&str; 2] = [r"bin\server\jvm.dll", r"bin\client\jvm.dll"];
/// The variable with the user's directory.
pub const HOME: &str = "USERPROFILE";

/// Returns the name of the target for which this command was built.
pub fn target() -> String {
    format!("{}-windows", env::consts::ARCH)
}

/// Returns no directory: libraries are beside the command.
pub fn library_directories() -> Vec<String> {
    Vec::new()
}

/// Returns the directories in which installers put Java runtimes.
pub fn java_directories() -> Vec<PathBuf> {
    let vendors = ["Java", "Eclipse Adoptium", "Microsoft", "Zulu", "Amazon Corretto", "BellSoft"];
    let programs = env::var_os("ProgramFiles").map(PathBuf::from);
    let programs = programs.filter(|directory| directory.is_absolute());
    vendors.iter().filter_map(|vendor| Some(programs.as_ref()?.join(vendor))).collect()
}

/// Returns true if this is the name of the launcher of Java programs.
pub fn is_java(name: &OsStr) -> bool {
    ["java", "java.exe"].iter().any(|java| name.eq_ignore_ascii_case(java))
}

/// Returns the program that this word of a command line stands for: for `java` the one of `JAVA_HOME`, if there is one. The
/// system looks for others in `PATH`.
pub fn program(word: &OsStr) -> OsString {
    let home = env::var_os("JAVA_HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let java = home.map(|home| home.join(r"bin\java.exe"));
    match java.filter(|java| is_java(word) && java.is_file()) {
        Some(java) => java.into_os_string(),
        None => word.to_owned(),
    }
}

/// Makes the process end without a message when the reader of its output ends, as in `jvmpi … | more`. Then `println!`
/// panics here.
pub fn end_quietly_with_the_reader() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |about| {
        let message = about.payload_as_str().unwrap_or_default();
        if message.starts_with("failed printing to stdout") {
            process::exit(1);
        }
        usual(about);
    }));
}

/// Shows a file in the program that the user's desktop has for it, and does not wait for it.
///
/// # Errors
/// Returns one line if there is no desktop.
pub fn open_in_viewer(path: &Path) -> Result<(), String> {
    let failed = |error| format!("cannot open {}: explorer: {error}", path.display());
    Command::new("explorer").arg(path).spawn().map(drop).map_err(failed)
}

/// Returns the name of this machine.
///
/// # Errors
/// Returns one line if the environment lacks it.
pub fn host_name() -> Result<String, String> {
    env::var("COMPUTERNAME").map_err(|error| format!("COMPUTERNAME: {error}"))
}

/// Returns facts about the machine for a bug report: names and values, in the order in which they are printed.
pub fn facts() -> Vec<(&'static str, String)> {
    let version = Command::new("cmd").args(["/c", "ver"]).output();
    let version = version.map_or_else(|error| error.to_string().into_bytes(), |said| said.stdout);
    vec![("system", String::from_utf8_lossy(&version).trim().to_owned())]
}
