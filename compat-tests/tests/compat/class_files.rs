//! `CLASS_LOAD_HOOK` of the classes that were loaded before it was enabled.

use std::fs;
use std::path::Path;

use compat_tests::report::Report;
use compat_tests::run::{Outcome, Vm};
use jvmpi_classfile::ClassFile;

use crate::assert::equal;
use crate::cases;

cases![
    loaded_classes_are_shown_once,
    loaded_classes_can_be_changed,
    the_next_agent_gets_what_the_last_has_made,
    files_are_shown_when_the_event_is_enabled,
    files_of_loaded_classes_can_be_left_out,
    method_events_are_switched_in_the_handler.on_every_jdk(),
];

fn run(vm: &Vm<'_>, options: &str, argument: &str) -> Result<Outcome, String> {
    vm.java("LoadedFiles")?.agent("loaded_files", options)?.argument(argument).run()
}

/// Returns the number of classes that were shown once and before their CLASS_LOAD, as all but
/// `others` were.
fn all_shown_but(outcome: &Outcome, others: &[&str]) -> Result<i64, String> {
    let wrong = outcome.report().lines("wrong").map(|line| line.text("name"));
    equal("not shown once", wrong.collect::<Result<Vec<_>, _>>()?, others.to_vec())?;
    equal("errors", outcome.report().count("error"), 0)?;
    outcome.report().one("check")?.int("right")
}

/// Returns the class in its file, without the parts that the VM does not keep.
fn contents(file: &[u8]) -> Result<String, String> {
    let class = ClassFile::parse(file).map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut members = Vec::new();
    for field in class.fields() {
        members.push((
            text(field.name()),
            text(field.descriptor()),
            field.access_flags(),
            Vec::new(),
        ));
    }
    for method in class.methods() {
        let code = method.code().map_err(|error| error.to_string())?;
        let code = code.map_or(Vec::new(), |code| code.bytes().to_vec());
        members.push((text(method.name()), text(method.descriptor()), method.access_flags(), code));
    }
    members.sort();
    let interfaces: Vec<_> = class.interface_names().map(text).collect();
    let parent = class.super_name().map(text);
    Ok(format!("{} {parent:?} {interfaces:?} {members:?}", text(class.name())))
}

fn same_as_in_the_jdk(directory: &Path) -> Result<usize, String> {
    let read = |folder: &str, name: &std::ffi::OsStr| fs::read(directory.join(folder).join(name));
    let mut compared = 0;
    for entry in fs::read_dir(directory.join("originals")).map_err(|e| e.to_string())? {
        let name = entry.map_err(|e| e.to_string())?.file_name();
        let both = [read("shown", &name), read("originals", &name)];
        let [shown, original] = both.map(|file| contents(&file.map_err(|e| e.to_string())?));
        let (shown, original) = (shown?, original?);
        ensure!(shown == original, "shown:\n{shown}\nin the JDK:\n{original}");
        compared += 1;
    }
    Ok(compared)
}

fn loaded_classes_are_shown_once(vm: &Vm<'_>) -> Result<(), String> {
    let launch = vm.java("LoadedFiles")?.agent("loaded_files", "save=1")?.argument("shown");
    let directory = launch.directory().to_owned();
    let outcome = launch.run()?;
    let shown = all_shown_but(&outcome, &[])?;
    ensure!(shown > 300, "only {shown} classes");
    equal("before JVM_INIT_DONE", outcome.report().one("jvm_init_done")?.int("shown")?, 1)?;
    let compared = same_as_in_the_jdk(&directory)?;
    ensure!(compared > 300, "only {compared} classes are in the JDK");
    Ok(())
}

fn loaded_classes_can_be_changed(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = run(vm, "change=1", "changed")?;
    for when in ["at first", "with methods", "without methods"] {
        let line = outcome.expects.find("expect", "when", when)?;
        equal(when, line.text("text")?, "java.lang.Object#")?;
        equal(when, line.int("number")?, 42)?;
    }
    all_shown_but(&outcome, &[])?;
    let said: Vec<_> =
        outcome.stderr.lines().filter(|line| line.contains("stays as it is")).collect();
    ensure!(said.len() == 1 && said[0].contains("java/lang/Integer"), "{said:#?}");
    ensure!(said[0].ends_with("has more methods (JVMTI error 63)"), "{}", said[0]);
    Ok(())
}

fn the_next_agent_gets_what_the_last_has_made(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("LoadedFiles")?.agent("loaded_files", "change=1")?;
    let outcome = java.another_agent("loaded_files", "")?.argument("changed").run()?;
    let text = |report: &Report| {
        report.one("object").and_then(|line| line.text("text").map(str::to_owned))
    };
    let texts = vec![text(outcome.report())?, text(&outcome.other_reports()[0])?];
    equal("what they were shown", texts, vec!["@".to_owned(), "#".to_owned()])
}

/// Classes loaded while the event is disabled are not shown, even when it is enabled again.
fn files_are_shown_when_the_event_is_enabled(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = run(vm, "late=1", "late")?;
    equal("before JVM_INIT_DONE", outcome.report().one("jvm_init_done")?.int("shown")?, 0)?;
    equal("Object", outcome.report().count("object"), 1)?;
    let wrong = outcome.report().lines("wrong").filter(|line| line.int("after_load") == Ok(0));
    let wrong: Vec<_> = wrong.map(|line| line.text("name")).collect::<Result<_, _>>()?;
    equal("not shown", wrong, vec!["LoadedFiles$Between"])?;
    let hooks = outcome.report().lines("wrong").map(|line| line.int("hooks"));
    let hooks = hooks.collect::<Result<Vec<_>, _>>()?;
    ensure!(hooks.iter().all(|count| *count <= 1), "shown twice: {hooks:?}");
    Ok(())
}

fn files_of_loaded_classes_can_be_left_out(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("LoadedFiles")?.agent("loaded_files", "")?.settings("hook=late");
    let outcome = java.argument("changed").run()?;
    equal("Object", outcome.report().count("object"), 0)?;
    outcome.report().find("wrong", "name", "java/lang/Object").map(drop)
}

/// The first handlers run while the shim reads the files of loaded classes. Object stays rewritten.
fn method_events_are_switched_in_the_handler(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = vm.java("Hello")?.agent("toggled_in_hook", "")?.run()?;
    outcome.checks(&["off", "on"])?;
    let end = outcome.report().one("end")?;
    ensure!(end.int("hooks")? > 300 && end.int("entries")? > 1000, "{end}");
    ensure!(!outcome.stderr.contains("is not rewritten"), "{}", outcome.stderr);
    Ok(())
}
