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
    println!("{}", hottest(&profile));

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
    java.args(["-cp", classes, "Demo", SECONDS]);
    finish(java)?;
    fs::read_to_string(out).map_err(|e| format!("{}: {e}", out.display()))
}

/// Returns the share and the top frame of the first stacks in the agent's report. A stack is a paragraph: a line with its
/// rank and its share, and a line per frame.
fn hottest(report: &str) -> String {
    let stacks = report.split("\n\n").skip(2).take(SHOWN);
    let lines = stacks.map(|stack| {
        let mut lines = stack.lines();
        let share = lines.next().and_then(|line| line.split_whitespace().nth(1));
        format!("  {:>7}  {}", share.unwrap_or_default(), lines.next().unwrap_or_default().trim())
    });
    lines.collect::<Vec<_>>().join("\n")
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
        let report = "samples 9\nseconds 3.0\n\nrank  share   count\n\n   1  42.10%     400\n          Demo.a(Demo.java:1)\n          \
                      Demo.b(Demo.java:2)\n\n   2   7.00%      70\n          Demo.c(Native method)\n";
        assert_eq!(
            hottest(report),
            "   42.10%  Demo.a(Demo.java:1)\n    7.00%  Demo.c(Native method)"
        );
    }
}
