//! INSTRUCTION_START.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jvmpi_classfile::{ClassFile, Instruction, opcode};

use crate::prelude::*;

cases![every_step, all_classes];

/// Every step of every method leads to the next one: nothing is missing or too much, and every
/// branch goes where it was said to.
fn every_step(vm: &Vm<'_>) -> Result<(), String> {
    let java = vm.java("Instructions")?;
    let directory = java.directory().to_owned();
    let java = java.agent("instructions", "prefix=")?.flag("-Xverify:all");
    let outcome = java.settings("include=Instructions*:Made*").run()?;
    let alone = vm.java("Instructions")?.run()?;
    equal("what the program prints", &outcome.stdout, &alone.stdout)?;
    let made = if vm.jdk.feature >= 27 { 2 } else { 3 };
    equal("results", outcome.expects.all().len(), made)?;
    let report = outcome.report();
    equal("unknown methods", report.one("total")?.int("unknown")?, 0)?;
    equal("wrong threads", report.count("wrong_thread"), 0)?;

    let mut steps: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    for step in report.lines("step") {
        steps.entry(step.text("method")?).or_default().push(step);
    }
    let classes = build::classes(8)?;
    let classes = Path::new(&classes);
    let mut branches = 0;
    for name in ["Instructions", "Instructions$Base", "Instructions$Derived"] {
        branches += follow(&classes.join(name).with_extension("class"), name, &mut steps)?;
    }
    for name in ["MadeOld", "MadeNew"] {
        branches += follow(&directory.join(name).with_extension("class"), name, &mut steps)?;
    }
    ensure!(branches > 200, "only {branches} branches");
    ensure!(steps.keys().all(|method| method.starts_with("Instructions$")), "{:?}", steps.keys());
    Ok(())
}

/// Follows the steps of the class's methods and takes them out; how many branches there were.
fn follow(
    file: &Path,
    name: &str,
    steps: &mut BTreeMap<&str, Vec<&Line>>,
) -> Result<usize, String> {
    let bytes = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let class = ClassFile::parse(&bytes).map_err(|e| e.to_string())?;
    let mut branches = 0;
    for method in class.methods() {
        let name = format!("{name}.{}", String::from_utf8_lossy(method.name()));
        let Some(steps) = steps.remove(name.as_str()) else { continue };
        let Some(code) = method.code().map_err(|e| e.to_string())? else { continue };
        let instructions: BTreeMap<i64, Instruction<'_>> =
            code.instructions().flatten().map(|i| (i64::from(i.bci), i)).collect();
        // The possible next instructions; none before a call and after one.
        let mut next = vec![0];
        let mut returns = Vec::new();
        for step in steps {
            let at = step.int("offset")?;
            ensure!(next.contains(&at), "{name} goes to {at} instead of {next:?}");
            let instruction = instructions.get(&at).ok_or(format!("nothing at {at} of {name}"))?;
            let behind = i64::from(instruction.end());
            next = match instruction.opcode() {
                opcode::IFEQ..=opcode::IF_ACMPNE | opcode::IFNULL | opcode::IFNONNULL => {
                    branches += 1;
                    match step.int("is_true")? {
                        1 => vec![instruction.branch_target().ok_or("no target")?],
                        0 => vec![behind],
                        other => return Err(format!("is_true is {other}")),
                    }
                }
                opcode::TABLESWITCH | opcode::LOOKUPSWITCH => {
                    branches += 1;
                    vec![chosen(instruction, step)?]
                }
                opcode::GOTO => vec![instruction.branch_target().ok_or("no target")?],
                opcode::JSR => {
                    returns.push(behind);
                    vec![instruction.branch_target().ok_or("no target")?]
                }
                opcode::WIDE if instruction.bytes[1] == opcode::RET => {
                    vec![returns.pop().ok_or("no jsr before ret")?]
                }
                opcode::IRETURN..=opcode::RETURN => vec![0],
                opcode::ATHROW => vec![],
                _ => vec![behind],
            };
            let throws = matches!(
                instruction.opcode(),
                opcode::ATHROW | opcode::IASTORE | opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE
            );
            if throws {
                let covers =
                    |h: &jvmpi_classfile::Handler| (h.start..h.end).contains(&instruction.bci);
                let handlers = code.handlers().filter(covers).map(|h| i64::from(h.handler));
                next.extend(handlers);
            }
        }
        equal(&format!("where {name} ends"), next, [0])?;
    }
    Ok(branches)
}

/// Returns the target of a switch, according to the event.
fn chosen(instruction: &Instruction<'_>, step: &Line) -> Result<i64, String> {
    let switch = instruction.switch().ok_or("no switch")?;
    let mut cases = switch.cases();
    if let Some((low, high)) = switch.table_bounds() {
        equal("low", step.int("low")?, i64::from(low))?;
        equal("hi", step.int("hi")?, i64::from(high))?;
        let key = step.int("key")?;
        let case = cases.find(|(case, _)| i64::from(*case) == key);
        return Ok(case.map_or(switch.default_target(), |(_, target)| target));
    }
    equal("pairs", step.int("pairs")?, switch.len() as i64)?;
    let pair = usize::try_from(step.int("pair")?).map_err(|e| e.to_string())?;
    ensure!(pair <= switch.len(), "pair {pair} of {}", switch.len());
    Ok(cases.nth(pair).map_or(switch.default_target(), |(_, target)| target))
}

/// Only with `instructions=all` are the boot loader's classes among them.
fn all_classes(vm: &Vm<'_>) -> Result<(), String> {
    for (settings, expected) in [("instructions=all", true), ("", false)] {
        let java = vm.java("Hello")?.agent("instructions", "prefix=java.io.PrintStream.println")?;
        let outcome = java.settings(settings).run()?;
        equal(settings, outcome.report().count("step") > 0, expected)?;
        ensure!(outcome.report().one("total")?.int("events")? > 0, "no events at all");
    }
    Ok(())
}
