//! Random methods near the size limits of a branch and of a method, so that all forms of widening
//! occur. With the probes, their behavior must not change, and they must verify.

use std::collections::BTreeMap;
use std::fs;

use crate::support::machine::{Machine, Probes};
use crate::support::{Jdk, scratch, write_classes};
use jvmpi_classfile::builder::{Body, ClassBuilder};
use jvmpi_classfile::opcode::*;
use jvmpi_classfile::{ClassFile, Editor, MethodRef, Rewritten, Skip, Snippet};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// A piece of a generated method. The four int arguments are in locals 0 to 3; locals 4 and 5 are
/// free. Targets are statement numbers.
#[derive(Clone, Debug)]
enum Statement {
    /// Does nothing for this number of bytes.
    Fill(u16),
    /// Adds to a local.
    Add {
        local: u8,
        amount: i8,
    },
    /// A branch on a local, with a long in locals 4 and 5 after it that is not in its target's
    /// frame.
    If {
        opcode: u8,
        local: u8,
        target: usize,
    },
    /// A branch on two locals.
    Compare {
        opcode: u8,
        target: usize,
    },
    Goto {
        wide: bool,
        target: usize,
    },
    Switch {
        table: bool,
        local: u8,
        low: i32,
        targets: Vec<usize>,
    },
    /// Assigns one of two locals, with a value on the stack at the join.
    Choose {
        local: u8,
    },
    Return {
        local: u8,
    },
    Throw,
}

#[derive(Clone, Debug)]
struct Program {
    statements: Vec<Statement>,
    /// The first and last covered statement, and the statement at which their handler continues.
    tries: Vec<(usize, usize, usize)>,
}

/// The code to insert, by statement number.
#[derive(Clone, Debug)]
struct Edits {
    entry: bool,
    returns: bool,
    throw: bool,
    before: Vec<(usize, u16)>,
    after: Vec<(usize, u16)>,
}

fn statement(count: usize) -> impl Strategy<Value = Statement> {
    let local = 0..4_u8;
    let target = 0..count;
    prop_oneof![
        3 => prop_oneof![0..40_u16, 0..3000_u16].prop_map(Statement::Fill),
        3 => (local.clone(), -3..4_i8).prop_map(|(local, amount)| Statement::Add { local, amount }),
        4 => (0..4_usize, local.clone(), target.clone()).prop_map(|(kind, local, target)| {
            Statement::If { opcode: [IFEQ, IFNE, IFLT, IFGE][kind], local, target }
        }),
        2 => (any::<bool>(), target.clone()).prop_map(|(less, target)| {
            Statement::Compare { opcode: if less { IF_ICMPLT } else { IF_ICMPGE }, target }
        }),
        2 => (any::<bool>(), target.clone())
            .prop_map(|(wide, target)| Statement::Goto { wide, target }),
        2 => (any::<bool>(), local.clone(), -2..2_i32, prop::collection::vec(target, 1..5))
            .prop_map(|(table, local, low, targets)| {
                Statement::Switch { table, local, low, targets }
            }),
        2 => local.clone().prop_map(|local| Statement::Choose { local }),
        1 => local.prop_map(|local| Statement::Return { local }),
        1 => Just(Statement::Throw),
    ]
}

fn program() -> impl Strategy<Value = Program> {
    (20..150_usize).prop_flat_map(|count| {
        let tries = prop::collection::vec((0..count, 0..count, 0..count), 0..4).prop_map(|tries| {
            tries.into_iter().map(|(a, b, to)| (a.min(b), a.max(b), to)).collect()
        });
        (prop::collection::vec(statement(count), count), tries)
            .prop_map(|(statements, tries)| Program { statements, tries })
    })
}

fn edits() -> impl Strategy<Value = Edits> {
    let places = || prop::collection::vec((0..150_usize, 1..400_u16), 0..12);
    (any::<bool>(), any::<bool>(), any::<bool>(), places(), places()).prop_map(
        |(entry, returns, throw, before, after)| Edits { entry, returns, throw, before, after },
    )
}

/// A program with computed positions.
struct Assembled {
    body: Body,
    /// The start of each statement.
    starts: Vec<usize>,
}

impl Program {
    /// Computes the positions. Branches that do not reach their target use a nearer one. Returns
    /// `None` if the code is too large for a method.
    fn assemble(&self) -> Option<Assembled> {
        let mut starts = Vec::new();
        let mut at = 0;
        for statement in &self.statements {
            starts.push(at);
            at += statement.length(at);
        }
        // The end of the last statement; the handlers follow.
        let end = at;
        if end + 4 * self.tries.len() + 2 > 65_535 {
            return None;
        }
        let mut frames: BTreeMap<usize, Frame> = BTreeMap::new();
        let mut code = Vec::new();
        for (index, statement) in self.statements.iter().enumerate() {
            let reach = |from: usize, target: usize| {
                let mut target = target;
                while starts[target].abs_diff(from) > 32_000 {
                    target = target.midpoint(index);
                }
                starts[target]
            };
            statement.encode(&mut code, &mut frames, reach, &starts);
            assert_eq!(code.len(), starts[index] + statement.length(starts[index]));
        }
        code.extend([ICONST_0, IRETURN]);
        frames.insert(end, Frame::Ints);
        let mut handlers = Vec::new();
        for &(first, last, target) in &self.tries {
            let until = starts.get(last + 1).copied().unwrap_or(end);
            if starts[first] < until {
                let handler = code.len();
                handlers.push([starts[first] as u16, until as u16, handler as u16]);
                frames.insert(handler, Frame::Caught);
                frames.insert(starts[target], Frame::Ints);
                code.extend([POP, GOTO_W]);
                code.extend((starts[target] as i32 - (handler as i32 + 1)).to_be_bytes());
            }
        }
        if code.len() > 65_535 {
            return None;
        }
        // Code after an unconditional branch needs a frame.
        for start in &starts {
            frames.entry(*start).or_insert(Frame::Ints);
        }
        let mut body = Body::new(3, 6, code);
        for [start, end, handler] in handlers {
            body = body.handler(start, end, handler);
        }
        body.attributes.push(("StackMapTable", encode_frames(&frames)));
        Some(Assembled { body, starts })
    }
}

/// A frame of a generated method: the arguments and the values on the stack.
#[derive(Clone, Copy, Debug)]
enum Frame {
    Ints,
    IntsAndInt,
    Caught,
}

fn encode_frames(frames: &BTreeMap<usize, Frame>) -> Vec<u8> {
    let mut table = (frames.len() as u16).to_be_bytes().to_vec();
    let mut next = 0;
    for (&at, frame) in frames {
        let delta = (at - next) as u16;
        next = at + 1;
        table.push(if let Frame::Ints = frame { 251 } else { 247 });
        table.extend(delta.to_be_bytes());
        match frame {
            Frame::Ints => {}
            Frame::IntsAndInt => table.push(1),
            // The class builder's first class is the method's, the second Throwable.
            Frame::Caught => table.extend([7, 0, 6]),
        }
    }
    table
}

impl Statement {
    fn length(&self, at: usize) -> usize {
        match self {
            Self::Fill(length) => usize::from(*length),
            Self::Add { .. } => 3,
            Self::If { .. } => 1 + 2 + 1 + 3 + 2 + 1,
            Self::Compare { .. } => 5,
            Self::Goto { wide, .. } => 3 + 2 * usize::from(*wide),
            Self::Switch { table, targets, .. } => {
                let operands = (at + 1 + 1 + 3) & !3;
                let cases = if *table { 12 + 4 * targets.len() } else { 8 + 8 * targets.len() };
                operands + cases - at
            }
            Self::Choose { .. } => 1 + 3 + 1 + 3 + 1 + 1,
            Self::Return { .. } => 2,
            Self::Throw => 2,
        }
    }

    /// Appends the statement.
    fn encode(
        &self,
        code: &mut Vec<u8>,
        frames: &mut BTreeMap<usize, Frame>,
        reach: impl Fn(usize, usize) -> usize,
        starts: &[usize],
    ) {
        let at = code.len();
        let mut branch = |from: usize, target: usize| {
            let to = reach(from, target);
            frames.insert(to, Frame::Ints);
            (to as i32 - from as i32) as i16
        };
        match self {
            Self::Fill(length) => code.resize(at + usize::from(*length), NOP),
            Self::Add { local, amount } => {
                code.extend([IINC, *local, *amount as u8]);
            }
            Self::If { opcode, local, target } => {
                let offset = branch(at + 4, *target);
                code.extend([LCONST_1, LSTORE, 4, ILOAD_0 + local, *opcode]);
                code.extend(offset.to_be_bytes());
                code.extend([LLOAD, 4, POP2]);
            }
            Self::Compare { opcode, target } => {
                let offset = branch(at + 2, *target);
                code.extend([ILOAD_0, ILOAD_1, *opcode]);
                code.extend(offset.to_be_bytes());
            }
            Self::Goto { wide: false, target } => {
                let offset = branch(at, *target);
                code.push(GOTO);
                code.extend(offset.to_be_bytes());
            }
            Self::Goto { wide: true, target } => {
                frames.insert(starts[*target], Frame::Ints);
                code.push(GOTO_W);
                code.extend((starts[*target] as i32 - at as i32).to_be_bytes());
            }
            Self::Switch { table, local, low, targets } => {
                code.extend([ILOAD_0 + local, if *table { TABLESWITCH } else { LOOKUPSWITCH }]);
                code.resize((code.len() + 3) & !3, 0);
                let mut offset = |target: usize| {
                    frames.insert(starts[target], Frame::Ints);
                    (starts[target] as i32 - (at as i32 + 1)).to_be_bytes()
                };
                code.extend(offset(targets[0]));
                let count = targets.len() as i32;
                if *table {
                    code.extend(low.to_be_bytes());
                    code.extend((low + count - 1).to_be_bytes());
                } else {
                    code.extend(count.to_be_bytes());
                }
                for (key, target) in (*low..).zip(targets) {
                    if !table {
                        code.extend((key * 2).to_be_bytes());
                    }
                    code.extend(offset(*target));
                }
            }
            Self::Choose { local } => {
                code.extend([ILOAD_0, IFEQ, 0, 7, ILOAD_1, GOTO, 0, 4, ILOAD_2]);
                code.push(ISTORE_0 + local);
                frames.insert(at + 8, Frame::Ints);
                frames.insert(at + 9, Frame::IntsAndInt);
            }
            Self::Return { local } => code.extend([ILOAD_0 + local, IRETURN]),
            Self::Throw => code.extend([ACONST_NULL, ATHROW]),
        }
    }
}

fn class_file(major: u16, name: &str, assembled: &Assembled) -> Vec<u8> {
    let mut class = ClassBuilder::new(major, name);
    assert_eq!(class.class("java/lang/Throwable"), 6);
    let mut body = assembled.body.clone();
    if major < 50 {
        body.attributes.clear();
    }
    class.method(9, "m", "(IIII)I", &body);
    class.finish()
}

/// Returns a probe with `count` calls.
fn calls(id: i32, count: u16, probe: MethodRef) -> impl Fn(&mut Snippet) -> &mut Snippet {
    move |code| (0..count).fold(code, |code, _| code.push_int(id).invoke_static(probe))
}

/// Applies the edits, and returns them for the machine, with one call instead of many.
fn apply(bytes: &[u8], assembled: &Assembled, edits: &Edits) -> (Rewritten, Probes) {
    let class = ClassFile::parse(bytes).unwrap();
    let mut editor = Editor::new(&class);
    let probe = editor.constants().method_ref("Tracker", "probe", "(I)V").unwrap();
    let mut method = editor.method(0).unwrap();
    let mut probes = Probes::default();
    if edits.entry {
        method.at_entry(calls(1, 1, probe));
        probes.entry = Some(1);
    }
    if edits.returns {
        method.before_returns(calls(2, 1, probe));
        probes.returns = Some(2);
    }
    if edits.throw {
        // The int is too large for an instruction operand.
        method.on_throw(calls(1 << 20, 1, probe));
        probes.throw = Some(1 << 20);
    }
    let count = assembled.starts.len();
    for &(statement, length) in &edits.before {
        let bci = assembled.starts[statement % count];
        let id = 1000 + bci as i32;
        if probes.before.insert(bci, id).is_none() {
            method.before(bci as u16, calls(id, length, probe));
        }
    }
    for &(statement, length) in &edits.after {
        let bci = assembled.starts[statement % count];
        let id = 100_000 + bci as i32;
        if probes.after.insert(bci, id).is_none() {
            method.after(bci as u16, calls(id, length, probe));
        }
    }
    (editor.finish(), probes)
}

/// Returns the events, with consecutive events of the same probe merged.
fn events(machine: &Machine<'_>, arguments: [i32; 4], probes: &Probes) -> Vec<String> {
    let mut events: Vec<_> =
        machine.run(&arguments, probes).into_iter().map(|event| format!("{event:?}")).collect();
    events.dedup_by(|next, event| next == event && event.starts_with("Probe"));
    events
}

fn machine<'a>(class: &'a ClassFile<'a>) -> Machine<'a> {
    let code = class.method(0).unwrap().code().unwrap().unwrap();
    let pool = class.constant_pool();
    let integers = (0..pool.len() as u16)
        .filter(|&index| pool.tag(index) == Some(3))
        .map(|index| (index, integer(class.bytes(), index)))
        .collect();
    Machine {
        code: code.bytes(),
        handlers: code
            .handlers()
            .map(|handler| (handler.start.into(), handler.end.into(), handler.handler.into()))
            .collect(),
        integers,
    }
}

/// Returns the value of a `CONSTANT_Integer`, found by walking the pool.
fn integer(bytes: &[u8], wanted: u16) -> i32 {
    let mut at = 10;
    for _ in 1..wanted {
        at += match bytes[at] {
            1 => 3 + usize::from(u16::from_be_bytes([bytes[at + 1], bytes[at + 2]])),
            7 => 3,
            _ => 5,
        };
    }
    i32::from_be_bytes(bytes[at + 1..at + 5].try_into().unwrap())
}

fn check(program: &Program, edits: &Edits, arguments: [i32; 4]) -> Result<(), TestCaseError> {
    let Some(assembled) = program.assemble() else { return Ok(()) };
    let bytes = class_file(65, "T", &assembled);
    let (rewritten, probes) = apply(&bytes, &assembled, edits);
    if let [(0, skip)] = rewritten.skipped[..] {
        prop_assert_eq!(skip, Skip::TooLarge);
        return Ok(());
    }
    let (before, after) =
        (ClassFile::parse(&bytes).unwrap(), ClassFile::parse(&rewritten.bytes).unwrap());
    let expected = events(&machine(&before), arguments, &probes);
    let found = events(&machine(&after), arguments, &Probes::default());
    // Merging may have shortened one of the lists.
    let length = expected.len().min(found.len());
    prop_assert_eq!(expected.is_empty(), found.is_empty());
    prop_assert_eq!(&expected[..length], &found[..length]);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn probes_are_all_that_changes(
        program in program(),
        edits in edits(),
        arguments in prop::array::uniform4(-2..3_i32),
    ) {
        check(&program, &edits, arguments)?;
    }
}

#[test]
fn verifiers_accept_methods_with_widened_branches() {
    let Some(jdk) = Jdk::at_least(24) else {
        return println!("skipped: no JDK 24 or later to verify with");
    };
    let mut runner = TestRunner::deterministic();
    let directory = scratch().join("random-methods");
    fs::create_dir_all(directory.join("module")).unwrap();
    let (mut originals, mut classes) = (Vec::new(), Vec::new());
    let strategy = (program(), edits());
    while classes.len() < 150 {
        let (program, edits) = strategy.new_tree(&mut runner).unwrap().current();
        let Some(assembled) = program.assemble() else { continue };
        // The verifier by type inference checks every fourth class.
        let major = if classes.len() % 4 == 3 { 49 } else { 65 };
        let name = format!("T{}", classes.len());
        let bytes = class_file(major, &name, &assembled);
        let (rewritten, _) = apply(&bytes, &assembled, &edits);
        if !rewritten.skipped.is_empty() {
            continue;
        }
        let class = ClassFile::parse(&rewritten.bytes).unwrap();
        let code = class.method(0).unwrap().code().unwrap().unwrap();
        let inverted = |window: &[jvmpi_classfile::Instruction<'_>]| {
            (IFEQ..=IF_ACMPNE).contains(&window[0].opcode())
                && window[0].branch_target() == Some(i64::from(window[0].bci) + 8)
                && window[1].opcode() == GOTO_W
        };
        let instructions: Vec<_> = code.instructions().map(Result::unwrap).collect();
        if !instructions.windows(2).any(inverted) {
            continue;
        }
        fs::write(directory.join("module").join(&name).with_extension("class"), &bytes).unwrap();
        originals.push((name.clone(), bytes));
        classes.push((name, rewritten.bytes));
    }
    for (state, classes) in [("before", originals), ("after", classes)] {
        let file = scratch().join(format!("random-methods-{state}.bin"));
        write_classes(&file, &classes);
        let outcomes = jdk.judge("Link", &["-Xverify:all"], &[directory.as_ref(), file.as_ref()]);
        let failed: Vec<_> = outcomes.lines().filter(|line| !line.ends_with(" linked")).collect();
        assert!(failed.is_empty(), "{state}: {failed:#?}");
    }
}
