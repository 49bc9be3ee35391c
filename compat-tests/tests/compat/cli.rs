//! The command `jvmpi`, where it needs a JVM.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use compat_tests::jdk::Gc;
use compat_tests::run::Vm;
use compat_tests::{build, text};

use crate::assert::equal;
use crate::cases;

cases![
    run_gives_java_the_agent,
    run_gives_a_script_the_agent,
    run_is_the_program,
    run_refuses_what_is_no_agent,
    run_attaches,
    run_tells_why_it_cannot_attach,
    doctor_tells_what_works,
];

/// The agent `events`, its options, and a folder whose name has to be quoted.
fn events_agent(vm: &Vm<'_>) -> Result<String, String> {
    let directory = vm.file("with blank's");
    let copy = |to: &PathBuf| {
        fs::create_dir_all(&directory)?;
        fs::copy(build::agent("events").map_err(std::io::Error::other)?, to).map(|_| ())
    };
    let agent = directory.join("libevents.so");
    copy(&agent).map_err(|e| format!("{}: {e}", agent.display()))?;
    Ok(format!("{}:events=42", text(&agent)?))
}

fn run_gives_java_the_agent(vm: &Vm<'_>) -> Result<(), String> {
    let agent = events_agent(vm)?;
    let java = vm.java("Hello")?.argument("run");
    let arguments = ["run", "--setting", "names=slash", &agent, "--"];
    let outcome = java.behind_jvmpi(&arguments)?.run()?;
    equal("output", outcome.stdout.as_str(), "hello run\n")?;
    equal("standard error", outcome.stderr.as_str(), "")?;
    outcome.report().find("class_load", "name", "java/lang/Object").map(|_| ())
}

fn run_gives_a_script_the_agent(vm: &Vm<'_>) -> Result<(), String> {
    let agent = events_agent(vm)?;
    let java = vm.java("Hello")?.variable("JAVA_TOOL_OPTIONS", "-Dset=before");
    let script = "exec \"$0\" \"$@\"";
    let outcome = java.behind_jvmpi(&["run", &agent, "--", "sh", "-c", script])?.run()?;
    equal("output", outcome.stdout.as_str(), "hello \n")?;
    ensure!(outcome.stderr.contains(": -Dset=before '-agentpath:"), "{}", outcome.stderr);
    outcome.report().find("class_load", "name", "java.lang.Object").map(|_| ())
}

/// The process that was started is the JVM: signals are its own, and its exit status.
fn run_is_the_program(vm: &Vm<'_>) -> Result<(), String> {
    let agent = events_agent(vm)?;
    let mut java = vm.java("Wait")?.behind_jvmpi(&["run", &agent, "--"])?.start()?;
    java.wait_for("ready")?;
    let executable = fs::read_link(format!("/proc/{}/exe", java.process()));
    equal("executable", executable.map_err(|e| e.to_string())?, vm.jdk.java())?;
    java.finish(0).map(|_| ())
}

fn run_refuses_what_is_no_agent(vm: &Vm<'_>) -> Result<(), String> {
    let library = build::agent("no_onload")?;
    let java = vm.java("Hello")?;
    let outcome = java.behind_jvmpi(&["run", text(&library)?, "--"])?.run_to(125)?;
    equal("output", outcome.stdout.as_str(), "")?;
    let refusal = format!("jvmpi: error: {} does not export JVM_OnLoad", text(&library)?);
    ensure!(outcome.stderr.starts_with(&refusal), "{}", outcome.stderr);
    equal("lines", outcome.stderr.lines().count(), 1)
}

fn run_attaches(vm: &Vm<'_>) -> Result<(), String> {
    let agent = build::agent("events")?;
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    let said = jvmpi(&[
        "run",
        "--pid",
        &java.process().to_string(),
        &format!("{}:events=33,a b", text(&agent)?),
    ])?;
    equal("output", said.as_str(), "")?;
    let outcome = java.finish(0)?;
    equal("output of the program", outcome.stdout.as_str(), "ready\ndone\n")?;
    outcome.report().find("thread_start", "name", "main").map(|_| ())
}

fn run_tells_why_it_cannot_attach(vm: &Vm<'_>) -> Result<(), String> {
    let mut java = vm.java("Wait")?.start()?;
    java.wait_for("ready")?;
    let process = java.process().to_string();
    let Err(refusal) = jvmpi(&["run", "--pid", &process, "no_such_agent"]) else {
        return Err("an agent that is not there is loaded".into());
    };
    let line = format!("jvmpi: error: the JVM {process} has not loaded {}", text(&build::shim()?)?);
    ensure!(
        refusal.contains(&line) && refusal.contains("its standard error says why"),
        "{refusal}"
    );
    let outcome = java.finish(0)?;
    equal("lines of the shim", outcome.errors().len(), 1)?;
    let Err(refusal) = jvmpi(&["run", "--pid", &process, "no_such_agent"]) else {
        return Err("a process that has ended has loaded an agent".into());
    };
    ensure!(refusal.contains(&format!("there is no process {process}")), "{refusal}");
    Ok(())
}

/// What `jvmpi` prints with these arguments.
fn jvmpi(arguments: &[&str]) -> Result<String, String> {
    let mut jvmpi = Command::new(build::command()?);
    jvmpi.args(arguments).env("JVMPI_LIBRARY", build::shim()?);
    let output = jvmpi.output().map_err(|e| e.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{jvmpi:?}: {}: {stderr}", output.status);
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}

fn doctor_tells_what_works(vm: &Vm<'_>) -> Result<(), String> {
    let home = text(&vm.jdk.home)?;
    let said = jvmpi(&["doctor", "--report", home])?;
    let java = format!("\nJava {}", vm.jdk.version);
    ensure!(said.contains(&java) && said.contains(home), "{said}");
    let works = said.lines().find_map(|line| line.strip_prefix("  works with  "));
    let works: Vec<_> = works.ok_or("works with nothing")?.split(", ").collect();
    for gc in Gc::ALL {
        equal(gc.name(), works.contains(&gc.name()), vm.jdk.supports(gc))?;
    }
    Ok(())
}
