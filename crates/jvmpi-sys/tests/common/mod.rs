//! Compiles C against `jvmpi.h`.

// Not every test uses all of it.
#![allow(dead_code)]

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path of the header under test.
pub fn header() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../jvmpi.h")
}

/// Returns the C compiler, with `jvmpi.h` and `jni.h` on its include path. If this machine has no `jni.h`, writes a
/// line to stderr and returns `None`.
pub fn cc(test: &str) -> Option<Command> {
    set_up(test, usual())
}

fn usual() -> Command {
    Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
}

/// Returns the same compiler if it can compile `language`.
pub fn cc_of(test: &str, language: &str) -> Option<Command> {
    if compiles(test, language, usual()) {
        return cc(test);
    }
    skip(test, &format!("{:?} does not compile {language}", usual().get_program()));
    None
}

/// Returns true if the compiler supports the language and finds the headers of its standard library.
fn compiles(test: &str, language: &str, mut cc: Command) -> bool {
    let header = if language == "c" { "stdio.h" } else { "cstddef" };
    let source = scratch(test).join("has-headers");
    fs::write(&source, format!("#include <{header}>\n")).unwrap();
    run(cc.args(["-fsyntax-only", &format!("-x{language}")]).arg(&source)).is_ok()
}

/// Returns a 32-bit compiler for the language, configured like [`cc`]: `cc -m32`, or a cross compiler. If this
/// machine has neither, or lacks the headers of the standard library, writes a line to stderr and returns `None`.
pub fn cc_32(test: &str, language: &str) -> Option<Command> {
    let command = |(cc, flags): &(&str, &[&str])| {
        let mut cc = Command::new(cc);
        cc.args(*flags);
        cc
    };
    match COMPILERS_32.iter().find(|cc| compiles(test, language, command(cc))) {
        Some(cc) => set_up(test, command(cc)),
        None => {
            let packages = "gcc-i686-linux-gnu g++-i686-linux-gnu";
            skip(test, &format!("no 32-bit compiler; apt-get install {packages}"));
            None
        }
    }
}

const COMPILERS_32: [(&str, &[&str]); 2] = [("cc", &["-m32"]), ("i686-linux-gnu-gcc", &[])];

fn set_up(test: &str, mut cc: Command) -> Option<Command> {
    let Some(include) = jni_include() else {
        skip(test, "no jni.h");
        return None;
    };
    // JDK headers are system headers, so that only our header can cause warnings.
    for directory in include {
        cc.arg("-isystem").arg(directory);
    }
    cc.arg("-I").arg(header().parent().unwrap());
    Some(cc)
}

/// Writes to stderr why a test is skipped, bypassing the capture of the test runner.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "{test}: skipped: {why}");
}

/// Returns the directories of `jni.h` and `jni_md.h` in the first JDK that has them.
fn jni_include() -> Option<[PathBuf; 2]> {
    java_homes().into_iter().find_map(|home| {
        let include = home.join("include");
        include.join("jni.h").is_file().then_some(())?;
        let platform = subdirectories(&include).into_iter().find(|d| d.join("jni_md.h").is_file());
        Some([include, platform?])
    })
}

/// Returns the possible JDK directories: `JAVA_HOME`, those of the tools on `PATH`, those of the distribution.
fn java_homes() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    let path = env::var_os("PATH").unwrap_or_default();
    for tool in ["javac", "java"] {
        let found = env::split_paths(&path).find_map(|dir| fs::canonicalize(dir.join(tool)).ok());
        // HOME/bin/javac
        homes.extend(found.and_then(|tool| Some(tool.parent()?.parent()?.to_owned())));
    }
    homes.extend(subdirectories("/usr/lib/jvm".as_ref()));
    homes
}

fn subdirectories(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(|p| p.is_dir()).collect();
    found.sort();
    found
}

/// Returns a directory for the files of one test.
pub fn scratch(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// Runs a command. Returns its standard output, or its exit status and stderr if it failed.
pub fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{stderr}", output.status));
    }
    Ok(String::from_utf8(output.stdout).unwrap())
}
