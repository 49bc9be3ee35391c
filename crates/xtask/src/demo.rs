//! `cargo xtask demo`: a program with several threads under a sampling profiler from the days of
//! JDK 1.2.

use std::fs;
use std::process::Command;

use compat_tests::{build, jdk, target_dir, text};

use crate::jdk::named;

/// How long the demo program works, in seconds.
const SECONDS: &str = "3";

/// Builds everything, runs the program and shows the hottest stacks.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let jdk = match arguments.first() {
        Some(feature) => named(feature)?,
        None => jdk::with_javac()?.clone(),
    };
    println!("building libjvmpi.so, the agent sampler.c and the program Demo.java");
    let shim = build::released_shim()?;
    let agent = build::agent("sampler")?;
    let classes = build::classes(8)?;
    let directory = target_dir().join("demo");
    fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let report = directory.join("samples.txt");

    let mut java = Command::new(jdk.java());
    java.arg(format!("-agentpath:{}", text(&shim)?));
    java.env("LD_LIBRARY_PATH", agent.parent().unwrap_or(&agent));
    java.arg(format!("-Xrunsampler:interval=1,depth=8,top=5,out={}", text(&report)?));
    java.args(["-cp", &classes, "Demo", SECONDS]);
    println!("running on JDK {} for {SECONDS} seconds:\n  {java:?}", jdk.version);
    let status = java.status().map_err(|e| format!("{}: {e}", jdk.java().display()))?;
    if !status.success() {
        return Err(format!("the program ended with {status}"));
    }
    let profile = fs::read_to_string(&report).map_err(|e| format!("{}: {e}", report.display()))?;
    println!("\n{profile}\nthe report lies in {}", report.display());
    Ok(())
}
