//! `cargo xtask demo`: profiles a program with several threads, first with a small sampling agent in C in the style of
//! JDK 1.2, then with HPROF, and makes a report page.

use std::fs;
use std::path::Path;
use std::process::Command;

use compat_tests::jdk::Jdk;
use compat_tests::{build, jdk, target_dir, text};

use crate::jdk::named;

/// The running time of the demo program, in seconds.
const SECONDS: &str = "3";

/// Builds everything, runs the program under both profilers and shows the hottest stacks.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let jdk = match arguments.first() {
        Some(feature) => named(feature)?,
        None => jdk::with_javac()?.clone(),
    };
    println!(
        "building libjvmpi.so, libhprof.so, jvmpi, the agent sampler.c and the program Demo.java"
    );
    // The test builds, because release builds take minutes longer.
    let product = build::product("checked")?;
    let (shim, command) = (product.join("libjvmpi.so"), product.join("jvmpi"));
    let agent = build::agent("sampler")?;
    let classes = build::classes(8)?;
    let directory = target_dir().join("demo");
    fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;

    println!("\nJDK {} with an agent in C:", jdk.version);
    let samples = directory.join("samples.txt");
    let profile = sampled(&jdk, &shim, &agent, &classes, &samples)?;
    println!("\n{profile}\nJDK {} with HPROF:", jdk.version);
    let page = directory.join("report.html");
    record(&jdk, &command, &classes, &page)?;
    println!(
        "\nreport of sampler.c: {}\nreport of HPROF, for a browser: {}",
        samples.display(),
        page.display()
    );
    Ok(())
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
    java.arg(format!("-Xrunsampler:interval=1,depth=8,top=5,out={}", text(out)?));
    java.args(["-cp", classes, "Demo", SECONDS]);
    finish(java)?;
    fs::read_to_string(out).map_err(|e| format!("{}: {e}", out.display()))
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
