//! `cargo xtask`. Runs the demo itself, because this package compiles in seconds; the other commands are in the package
//! `xtask`, which needs many more packages.
//!
//! The demo profiles a program with several threads, first with a small sampling agent in C in the style of JDK 1.2,
//! then with HPROF, and makes a report page.

use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use compat_tests::jdk::{self, Jdk};
use compat_tests::report::Report;
use compat_tests::{build, cargo, machine_dir, target_dir, text, workspace_root};

/// The running time of the demo program, in seconds.
const SECONDS: &str = "3";

/// The Java release of the demo program.
const RELEASE: u32 = 8;

/// The packages of libjvmpi.so, libhprof.so and the command.
const PACKAGES: [&str; 3] = ["jvmpi-shim", "jvmpi-hprof", "jvmpi-cli"];

/// The profile that compiles fastest. The libraries are slower than those that users get, but the picture is the same.
const PROFILE: &str = "quick";

/// The number of the agent's stacks that are shown.
const SHOWN: usize = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((name, rest)) if name == "demo" => demo(rest),
        _ => Err(start_xtask(&arguments)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Compiles the package `xtask` and replaces this process by its program. Returns the reason if that fails.
fn start_xtask(arguments: &[String]) -> String {
    let mut xtask = cargo();
    xtask.args(["run", "--quiet", "--package", "xtask", "--"]).args(arguments);
    // Paths in the arguments are relative to the user's directory.
    if let Ok(directory) = env::current_dir() {
        xtask.current_dir(directory);
    }
    format!("{xtask:?}: {}", xtask.exec())
}

/// Builds everything, runs the program under both profilers and shows the hottest stacks.
fn demo(arguments: &[String]) -> Result<(), String> {
    let jdk = match arguments.first() {
        Some(name) => jdk::other(name)?,
        None => jdk::with_javac()?.clone(),
    };
    println!(
        "The demo builds libjvmpi.so, libhprof.so and the command jvmpi, unoptimized and with only what it needs: the \
         first time that takes less than a minute on two cores. Then it profiles a small program twice."
    );
    let product = product()?;
    let (shim, command) = (product.join("libjvmpi.so"), product.join("jvmpi"));
    let agent = build::agent("sampler")?;
    let classes = build::output_dir().join("classes/demo");
    let classes = build::java(&workspace_root().join("crates/demo"), &classes, RELEASE, &[])?;
    let directory = target_dir().join("demo");
    fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;

    println!("\nJDK {} with sampler.c, an agent in C:", jdk.version);
    let samples = directory.join("samples.txt");
    let profile = sampled(&jdk, &shim, &agent, &classes, &samples)?;
    println!("the {SHOWN} hottest stacks; {} has more:", samples.display());
    println!("{}", hottest(&Report::parse(&profile)?)?);

    println!("\nJDK {} with HPROF:", jdk.version);
    let page = directory.join("report.html");
    record(&jdk, &command, &classes, &page)?;
    println!("\nTo see the report in a browser:\n  xdg-open {}", page.display());
    Ok(())
}

/// Builds the libraries and the command in one call of Cargo, which shows its progress. Returns their folder.
fn product() -> Result<PathBuf, String> {
    let mut build = cargo();
    build.args(["build", "--profile", PROFILE, "--no-default-features"]);
    build.args(PACKAGES.map(|package| ["--package", package]).as_flattened());
    build.arg("--target-dir").arg(target_dir());
    let status = build.status().map_err(|e| format!("{build:?}: {e}"))?;
    if !status.success() {
        return Err(format!("{build:?} ended with {status}"));
    }
    Ok(machine_dir().join(PROFILE))
}

/// Runs the program with the agent, and returns the agent's report.
fn sampled(
    jdk: &Jdk,
    shim: &Path,
    agent: &Path,
    classes: &str,
    out: &Path,
) -> Result<String, String> {
    let mut java = Command::new(jdk.java());
    java.arg(format!("-agentpath:{}", text(shim)?));
    java.env("LD_LIBRARY_PATH", agent.parent().unwrap_or(agent));
    java.arg(format!("-Xrunsampler:interval=1,depth=8,out={}", text(out)?));
    let _ = fs::remove_file(out);
    java.args(["-cp", classes, "Demo", SECONDS]);
    finish(java)?;
    fs::read_to_string(out).map_err(|e| format!("{}: {e}", out.display()))
}

/// Returns the share and the top frame of the hottest stacks in the agent's report.
fn hottest(report: &Report) -> Result<String, String> {
    let stacks =
        report.lines("stack").map(|stack| Ok((stack.int("count")?, stack.text("frames")?)));
    let mut stacks = stacks.collect::<Result<Vec<_>, String>>()?;
    stacks.sort_unstable_by(|a, b| b.cmp(a));
    let samples = report.one("total")?.int("samples")? as f64;
    let line = |(count, frames): (i64, &str)| {
        let top = frames.split(';').next().unwrap_or_default();
        format!("  {:6.2}%  {top}", 100.0 * count as f64 / samples)
    };
    Ok(stacks.into_iter().take(SHOWN).map(line).collect::<Vec<_>>().join("\n"))
}

fn record(jdk: &Jdk, command: &Path, classes: &str, page: &Path) -> Result<(), String> {
    let mut jvmpi = Command::new(command);
    jvmpi.args(["record", "--alloc", "--cpu", "-o", text(page)?, "--", text(&jdk.java())?]);
    jvmpi.args(["-cp", classes, "Demo", SECONDS]);
    finish(jvmpi)
}

fn finish(mut command: Command) -> Result<(), String> {
    println!("  {command:?}");
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("the program ended with {status}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hottest_stacks_have_their_share_and_their_top_frame() {
        let report = "stack count=70 frames=\"Demo.c:-3\"\nstack count=421 frames=\"Demo.a:1;Demo.b:2\"\n\
                      total samples=1000\n";
        let report = Report::parse(report).unwrap();
        assert_eq!(hottest(&report).unwrap(), "   42.10%  Demo.a:1\n    7.00%  Demo.c:-3");
    }
}
