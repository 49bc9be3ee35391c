//! `CLASS_LOAD_HOOK` of the classes that were loaded before it was enabled.

use crate::prelude::*;

cases![
    loaded_classes_are_shown_once,
    loaded_classes_can_be_changed,
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

/// Classes of lambdas are not: JVMTI lets nobody change hidden classes. If this fails one day, more can be reported.
fn loaded_classes_are_shown_once(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = run(vm, "", "shown")?;
    let shown = all_shown_but(&outcome, &[])?;
    ensure!(shown > 300, "only {shown} classes");
    ensure!(
        outcome.report().one("check")?.int("lambdas")? > 0,
        "all classes of lambdas can be changed"
    );
    equal("before JVM_INIT_DONE", outcome.report().one("jvm_init_done")?.int("shown")?, 1)
}

/// The next agent gets what the last one has made.
fn loaded_classes_can_be_changed(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("LoadedFiles")?.agent("loaded_files", "change=1")?;
    let outcome = java.another_agent("loaded_files", "")?.argument("changed").run()?;
    for (report, text) in [(outcome.report(), "@"), (&outcome.other_reports()[0], "#")] {
        equal("the text of Object that is shown", report.one("object")?.text("text")?, text)?;
    }
    for when in ["at first", "with methods", "without methods"] {
        let line = outcome.expects.find("expect", "when", when)?;
        equal(when, line.text("text")?, "java.lang.Object#")?;
        equal(when, line.int("number")?, 42)?;
    }
    all_shown_but(&outcome, &[])?;
    let said: Vec<_> =
        outcome.stderr.lines().filter(|line| line.contains("stays as it is")).collect();
    ensure!(said.len() == 1 && said[0].contains("java/lang/Integer"), "{said:#?}");
    ensure!(said[0].ends_with("has other access flags (JVMTI error 70)"), "{}", said[0]);
    Ok(())
}

/// Classes loaded while the event is disabled are not shown, even when it is enabled again. The files of rewritten classes
/// are shown without the code that was added.
fn files_are_shown_when_the_event_is_enabled(vm: &Vm<'_>) -> Result<(), String> {
    let outcome = run(vm, "late=1,methods=1", "late")?;
    equal("errors", outcome.report().count("error"), 0)?;
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
    let outcome = vm.java("Hello")?.agent("loaded_files", "methods=1,toggle=1")?.run()?;
    outcome.checks(&["off", "on"])?;
    let end = outcome.report().one("end")?;
    ensure!(end.int("shown")? > 300 && end.int("entries")? > 1000, "{end}");
    ensure!(!outcome.stderr.contains("is not rewritten"), "{}", outcome.stderr);
    Ok(())
}
