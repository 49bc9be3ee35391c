//! A Java agent that uses ASM to rewrite methods as the shim does for method events.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use compat_tests::{build, jdk, text, workspace_root};

/// The path of ASM from Debian's libasm-java.
const ASM: &str = "/usr/share/java/asm.jar";

fn sources() -> PathBuf {
    workspace_root().join("crates/xtask/java")
}

fn output() -> PathBuf {
    build::output_dir().join("asm")
}

/// Compiles the agent and returns the folder with its classes.
fn classes() -> Result<String, String> {
    if !Path::new(ASM).is_file() {
        return Err(format!("no {ASM}; apt-get install libasm-java"));
    }
    build::java(&sources(), &output().join("classes"), 8, &[ASM])
}

/// Returns the class path of the agent, for programs that use its rewriting.
///
/// # Errors
/// Fails if ASM or a Java compiler is missing.
pub fn class_path() -> Result<String, String> {
    Ok(format!("{}:{ASM}", classes()?))
}

/// Returns the JVM options that load the agent.
///
/// # Errors
/// Fails if ASM or a Java compiler is missing.
pub fn java_agent() -> Result<Vec<String>, String> {
    let error = |e: std::io::Error| format!("the Java agent: {e}");
    let (classes, output) = (classes()?, output());
    let boot = build::java(&sources().join("boot"), &output.join("boot"), 8, &[])?;
    let manifest = output.join("manifest");
    let lines = [
        "Premain-Class: AsmAgent",
        "Can-Retransform-Classes: true",
        &format!("Class-Path: {ASM}"),
        "",
    ];
    fs::write(&manifest, lines.join("\n")).map_err(error)?;
    let jar = output.join("agent.jar");
    let status = Command::new(jdk::with_javac()?.home.join("bin/jar"))
        .arg("cfm")
        .args([&jar, &manifest])
        .args(["-C", &classes, "."])
        .status()
        .map_err(error)?;
    if !status.success() {
        return Err(format!("jar ended with {status}"));
    }
    Ok(vec![format!("-Xbootclasspath/a:{boot}"), format!("-javaagent:{}", text(&jar)?)])
}
