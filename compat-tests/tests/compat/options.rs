//! The shim's own settings.

use std::fs;

use compat_tests::machine::Machine;

use crate::prelude::*;

cases![
    unusable_settings_are_refused,
    file_with_a_section_for_one_agent,
    log_goes_to_standard_error,
    a_known_agent_gets_what_it_needs,
    unload_off_concerns_one_agent,
    java_code_in_jvm_onload,
];

/// One error line with all of these words in it, and exit status 1.
pub fn refused(vm: &Vm<'_>, settings: &str, words: &[&str]) -> Result<(), String> {
    let java = vm.java("Hello")?.agent("idle", "")?.settings(settings);
    let outcome = java.run_to(1)?;
    let [line] = outcome.errors()[..] else {
        return Err(format!("not one error line: {}", outcome.stderr));
    };
    for word in words {
        ensure!(line.contains(word), "does not name {word}: {line}");
    }
    Ok(())
}

fn unusable_settings_are_refused(vm: &Vm<'_>) -> Result<(), String> {
    refused(vm, "naems=slash", &["naems", "names", "cputime", "log"])?;
    refused(vm, "log=info,names=backslash", &["names", "backslash", "slash", "dot"])?;
    let java = vm.java("Hello")?.agent("idle", "")?.variable("JVMPI_CONFIG", "no-such-file.toml");
    let outcome = java.run_to(1)?;
    let errors = outcome.errors();
    ensure!(errors.len() == 1 && errors[0].contains("no-such-file.toml"), "{errors:?}");
    Ok(())
}

fn file_with_a_section_for_one_agent(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Hello")?;
    let java = java.another_agent("events", "events=42")?.another_agent("events", "events=42")?;
    let file = vm.file("jvmpi.toml");
    let library = Machine::this().library("events-2");
    let contents = format!("names = \"dot\"\n\n[agent.\"{library}\"]\nnames = \"slash\"\n");
    fs::write(&file, contents).map_err(|e| e.to_string())?;
    let outcome = java.variable("JVMPI_CONFIG", text(&file)?).run()?;
    outcome.other_reports()[0].find("class_load", "name", "java.lang.Object")?;
    for name in ["java/lang/Object", "[Ljava/lang/String;", "Hello"] {
        outcome.other_reports()[1].find("class_load", "name", name)?;
    }
    Ok(())
}

fn log_goes_to_standard_error(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Hello")?.agent("idle", "")?.settings("log=info");
    let outcome = java.run()?;
    equal("output", outcome.stdout.as_str(), "hello \n")?;
    let lines: Vec<_> = outcome.stderr.lines().collect();
    ensure!(!lines.is_empty(), "no line about the start");
    for line in lines {
        ensure!(line.starts_with("[jvmpi] "), "without prefix: {line}");
    }
    let quiet = vm.java("Hello")?.agent("idle", "")?.run()?;
    equal("standard error without log=", quiet.stderr.as_str(), "")
}

/// The agent has the file name of one that the shim knows.
fn a_known_agent_gets_what_it_needs(vm: &Vm<'_>) -> Result<(), String> {
    let agent = build::agent_with("cpu_time", &Machine::this().library("hprof"), &[])?;
    let slept = |options: &str, settings: &str| -> Result<i64, String> {
        let java = vm.java("CpuTime")?.shim(&format!("{}:{options}", text(&agent)?))?;
        let java = java.property("agent.path", text(&agent)?).settings(settings);
        java.run()?.expects.one("expect")?.int("slept")
    };
    let known = slept("cpu=times,monitor=y", "")?;
    ensure!(known >= 199, "sleep took {known} ms");
    for (options, settings) in [("cpu=times", ""), ("monitor=y", "cputime=cpu")] {
        let consumed = slept(options, settings)?;
        ensure!(consumed < 150, "sleep consumed {consumed} ms with {options}");
    }
    Ok(())
}

/// The other agents get CLASS_UNLOAD. None gets events of the shim's own threads and classes.
fn unload_off_concerns_one_agent(vm: &Vm<'_>) -> Result<(), String> {
    let agent = build::agent("unload")?;
    let java = vm.java("Unload")?.shim(text(&agent)?)?.property("agent.path", text(&agent)?);
    let java = java.another_agent("events", "events=43+5")?;
    let java = java.another_agent("events", "events=33+42+43")?;
    let file = vm.file("jvmpi.toml");
    let library = Machine::this().library("events-1");
    let contents = format!("[agent.\"{library}\"]\nunload = \"off\"\n");
    fs::write(&file, contents).map_err(|e| e.to_string())?;
    let outcome = java.variable("JVMPI_CONFIG", text(&file)?).run()?;
    equal("unloaded", outcome.expects.one("expect")?.int("unloaded")?, 10)?;
    let [without, with] = outcome.other_reports() else { return Err("not two reports".into()) };
    equal("events with unload=off", without.count("class_unload"), 0)?;
    ensure!(with.count("class_unload") >= 10, "nothing was unloaded");
    for line in with.all().iter().filter(|line| line.word != "class_unload") {
        ensure!(!line.text("name")?.to_lowercase().contains("jvmpi"), "{line}");
    }
    Ok(())
}

/// The program's classes can be had when the VM is ready, from JDK 21 on before, and the events are complete.
fn java_code_in_jvm_onload(vm: &Vm<'_>) -> Result<(), String> {
    let options = "events=33+42+46,call=OnLoad";
    let early = i64::from(vm.jdk.feature >= 21);
    for (settings, called) in [("", early), ("onload=init", 1)] {
        let java = vm.java("OnLoad")?.agent("events", options)?.settings(settings);
        let outcome = java.run()?;
        equal("calls by the agent", outcome.expects.one("expect")?.int("called")?, called)?;
        let report = outcome.report();
        equal("found by the agent", report.one("on_load")?.int("found")?, called)?;
        report.find("class_load", "name", "java.lang.Object")?;
        report.find("class_load", "name", "OnLoad")?;
        report.find("thread_start", "name", "main")?;
        report.one("jvm_init_done")?;
    }
    let xrun = vm.java("OnLoad")?.shim_alone()?.xrun("events", &format!(":{options}"))?;
    let outcome = xrun.settings("onload=init").run()?;
    let warning = "[jvmpi] warning: onload=init has no effect on ";
    ensure!(outcome.stderr.contains(warning), "{}", outcome.stderr);
    Ok(())
}
