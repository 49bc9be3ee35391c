//! A machine that runs the few instructions of generated methods and records their effects. It
//! reads code arrays itself, not through the crate under test.

use std::collections::BTreeMap;

use jvmpi_classfile::opcode::*;

/// An observable effect of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A call of the static method with this argument.
    Probe(i32),
    /// A local variable was assigned.
    Store(usize, i64),
    Return(i32),
    /// An exception left the method.
    Throw,
}

/// A method in the form that the machine runs.
pub struct Machine<'a> {
    pub code: &'a [u8],
    /// `start_pc`, `end_pc`, `handler_pc`.
    pub handlers: Vec<(usize, usize, usize)>,
    /// Values of `CONSTANT_Integer`s.
    pub integers: BTreeMap<u16, i32>,
}

/// Code that the machine runs around instructions.
#[derive(Default)]
pub struct Probes {
    pub entry: Option<i32>,
    pub before: BTreeMap<usize, i32>,
    pub after: BTreeMap<usize, i32>,
    pub returns: Option<i32>,
    pub throw: Option<i32>,
}

/// The numbers of events and instructions after which a run ends.
pub const MAX_EVENTS: usize = 400;
const MAX_STEPS: usize = 400_000;

impl Machine<'_> {
    /// Runs the method with `arguments` in the first locals, and with `probes`.
    pub fn run(&self, arguments: &[i32], probes: &Probes) -> Vec<Event> {
        let mut events = Vec::new();
        let mut locals = [0_i64; 16];
        for (local, &argument) in locals.iter_mut().zip(arguments) {
            *local = argument.into();
        }
        // A long takes one entry here.
        let mut stack: Vec<i64> = Vec::new();
        let mut pc = 0;
        events.extend(probes.entry.map(Event::Probe));
        for _ in 0..MAX_STEPS {
            if events.len() > MAX_EVENTS {
                break;
            }
            events.extend(probes.before.get(&pc).map(|&id| Event::Probe(id)));
            let code = &self.code[pc..];
            let short = |at: usize| i16::from_be_bytes([code[at], code[at + 1]]);
            let word = |at: usize| {
                i32::from_be_bytes([code[at], code[at + 1], code[at + 2], code[at + 3]])
            };
            let mut next = None;
            let length = match code[0] {
                NOP => 1,
                ICONST_M1..=ICONST_5 => {
                    stack.push(i64::from(code[0]) - i64::from(ICONST_0));
                    1
                }
                LCONST_0 | LCONST_1 => {
                    stack.push(i64::from(code[0] - LCONST_0));
                    1
                }
                ACONST_NULL => {
                    stack.push(0);
                    1
                }
                BIPUSH => {
                    stack.push((code[1] as i8).into());
                    2
                }
                SIPUSH => {
                    stack.push(short(1).into());
                    3
                }
                LDC_W => {
                    stack.push(self.integers[&(short(1) as u16)].into());
                    3
                }
                ILOAD_0..=ILOAD_3 => {
                    stack.push(locals[usize::from(code[0] - ILOAD_0)]);
                    1
                }
                ILOAD | LLOAD => {
                    stack.push(locals[usize::from(code[1])]);
                    2
                }
                ISTORE_0..=ISTORE_3 => {
                    let local = usize::from(code[0] - ISTORE_0);
                    locals[local] = stack.pop().unwrap();
                    events.push(Event::Store(local, locals[local]));
                    1
                }
                LSTORE => {
                    let local = usize::from(code[1]);
                    locals[local] = stack.pop().unwrap();
                    events.push(Event::Store(local, locals[local]));
                    2
                }
                IINC => {
                    let local = usize::from(code[1]);
                    let sum = locals[local] as i32;
                    locals[local] = sum.wrapping_add((code[2] as i8).into()).into();
                    3
                }
                POP | POP2 => {
                    stack.pop().unwrap();
                    1
                }
                IFEQ | IFNE | IFLT | IFGE => {
                    let value = stack.pop().unwrap();
                    let taken = match code[0] {
                        IFEQ => value == 0,
                        IFNE => value != 0,
                        IFLT => value < 0,
                        _ => value >= 0,
                    };
                    next = taken.then(|| i64::from(short(1)));
                    3
                }
                IF_ICMPLT | IF_ICMPGE => {
                    let (right, left) = (stack.pop().unwrap(), stack.pop().unwrap());
                    let taken = (left < right) == (code[0] == IF_ICMPLT);
                    next = taken.then(|| i64::from(short(1)));
                    3
                }
                GOTO => {
                    next = Some(short(1).into());
                    3
                }
                GOTO_W => {
                    next = Some(word(1).into());
                    5
                }
                TABLESWITCH | LOOKUPSWITCH => {
                    let key = stack.pop().unwrap();
                    let operands = 4 - pc % 4;
                    let cases = word(operands + 4);
                    let offset = if code[0] == TABLESWITCH {
                        let (low, high) = (i64::from(cases), i64::from(word(operands + 8)));
                        let case = (low..=high).contains(&key).then(|| (key - low) as usize);
                        case.map(|case| word(operands + 12 + 4 * case))
                    } else {
                        let case = |case| operands + 8 + 8 * case as usize;
                        let found = (0..cases).find(|&at| i64::from(word(case(at))) == key);
                        found.map(|at| word(case(at) + 4))
                    };
                    next = Some(offset.unwrap_or_else(|| word(operands)).into());
                    0
                }
                INVOKESTATIC => {
                    events.push(Event::Probe(stack.pop().unwrap() as i32));
                    3
                }
                IRETURN => {
                    events.extend(probes.returns.map(Event::Probe));
                    events.push(Event::Return(stack.pop().unwrap() as i32));
                    break;
                }
                ATHROW => {
                    let handler =
                        self.handlers.iter().find(|&&(start, end, _)| (start..end).contains(&pc));
                    let Some(&(_, _, handler)) = handler else {
                        events.extend(probes.throw.map(Event::Probe));
                        events.push(Event::Throw);
                        break;
                    };
                    stack.clear();
                    stack.push(0);
                    next = Some(handler as i64 - pc as i64);
                    1
                }
                opcode => panic!("no such instruction here: {opcode} at {pc}"),
            };
            match next {
                Some(offset) => pc = (pc as i64 + offset) as usize,
                None => {
                    events.extend(probes.after.get(&pc).map(|&id| Event::Probe(id)));
                    pc += length;
                }
            }
        }
        events.truncate(MAX_EVENTS);
        events
    }
}
