//! The events that the code of an agent seems to use.
//!
//! An agent calls EnableEvent and RequestEvent through the interface's table, mostly with a constant:
//!
//! ```text
//! mov  edi, 42                # JVMPI_EVENT_CLASS_LOAD
//! call [rax+16]               # EnableEvent's place in the table
//! ```
//!
//! Unoptimized code loads the function's address into a register first. Both forms are searched for, within
//! straight stretches of code. It is unknown if `rax` points to the table; but other functions called
//! through such a table get a pointer first, not the number of an event.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register,
};
use jvmpi_settings::library::Code;
use jvmpi_sys::{EventType, JVMPI_Interface};
use std::collections::BTreeSet;
use std::mem::offset_of;

/// The functions in the table that take the number of an event first, and show the agent's wishes.
const CALLED: [u64; 2] = [
    offset_of!(JVMPI_Interface, EnableEvent) as u64,
    offset_of!(JVMPI_Interface, RequestEvent) as u64,
];

/// Returns the names of the events, in the order of their numbers. None if the code is for an
/// unsupported machine.
pub fn used_in(code: &[Code]) -> Option<Vec<&'static str>> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let numbers: BTreeSet<i32> =
        code.iter().flat_map(|code| numbers(&code.bytes, code.address)).collect();
    Some(numbers.into_iter().filter_map(EventType::of).map(EventType::name).collect())
}

/// The known values of the registers at one instruction.
#[derive(Default)]
struct Known {
    /// The constant in `edi`, the first argument.
    argument: Option<u32>,
    /// Registers that hold the address of one of the functions.
    functions: Vec<Register>,
}

fn numbers(bytes: &[u8], address: u64) -> BTreeSet<i32> {
    let mut info = InstructionInfoFactory::new();
    let mut known = Known::default();
    let mut found = BTreeSet::new();
    for instruction in &mut Decoder::with_ip(64, bytes, address, DecoderOptions::NONE) {
        if calls_one(&instruction, &known) {
            found.extend(known.argument.and_then(|number| i32::try_from(number).ok()));
        }
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch => {
                let registers = info.info(&instruction).used_registers().iter();
                let written = registers.filter(|used| {
                    !matches!(
                        used.access(),
                        OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess
                    )
                });
                let written: Vec<_> = written.map(|used| used.register().full_register()).collect();
                known.follow(&instruction, &written);
            }
            _ => known = Known::default(),
        }
    }
    found
}

impl Known {
    fn follow(&mut self, instruction: &Instruction, written: &[Register]) {
        self.functions.retain(|register| !written.contains(register));
        if written.contains(&Register::RDI) {
            self.argument = None;
        }
        if instruction.mnemonic() != Mnemonic::Mov || instruction.op0_kind() != OpKind::Register {
            return;
        }
        let to = instruction.op0_register().full_register();
        match instruction.op1_kind() {
            OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64
                if to == Register::RDI =>
            {
                self.argument = u32::try_from(instruction.immediate(1)).ok();
            }
            OpKind::Memory if is_place_in_a_table(instruction) => self.functions.push(to),
            _ => {}
        }
    }
}

/// Returns true if the instruction calls a function of the table; compilers jump to one that is called last.
fn calls_one(instruction: &Instruction, known: &Known) -> bool {
    if !matches!(
        instruction.flow_control(),
        FlowControl::IndirectCall | FlowControl::IndirectBranch
    ) {
        return false;
    }
    match instruction.op0_kind() {
        OpKind::Memory => is_place_in_a_table(instruction),
        OpKind::Register => known.functions.contains(&instruction.op0_register().full_register()),
        _ => false,
    }
}

/// Returns true if it reads one of the places at a register, other than one that leads to variables.
fn is_place_in_a_table(instruction: &Instruction) -> bool {
    let base = instruction.memory_base();
    CALLED.contains(&instruction.memory_displacement64())
        && instruction.memory_index() == Register::None
        && !matches!(base, Register::None | Register::RIP | Register::RSP | Register::RBP)
}

// The tests read code for x86-64.
#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use jvmpi_settings::library::contents;
    use jvmpi_settings::library::testing::Directory;

    #[test]
    fn constants_that_are_passed_are_found() {
        let directory = Directory::new("events");
        // The beginning of JVMPI_Interface; jvmpi.h needs jni.h, which may not be there.
        let source = "typedef int jint;
             typedef struct {
                 jint version;
                 void (*NotifyEvent)(void *);
                 jint (*EnableEvent)(jint, void *);
                 jint (*DisableEvent)(jint, void *);
                 jint (*RequestEvent)(jint, void *);
             } Interface;
             Interface *jvmpi;
             void enable(int number) { jvmpi->EnableEvent(number, 0); }
             void disable(void) { jvmpi->DisableEvent(60, 0); }
             int JVM_OnLoad(void *vm, char *options, void *reserved) {
                 jvmpi->EnableEvent(42, 0);
                 if (options) jvmpi->EnableEvent(33, 0);
                 jvmpi->EnableEvent(999, 0);
                 jvmpi->NotifyEvent(reserved);
                 return jvmpi->RequestEvent(59, 0);
             }";
        for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
            let file = directory.compile("agent", source, &["-shared", "-fPIC", level]);
            let events = used_in(&contents(&file).unwrap().code).unwrap();
            assert_eq!(events, ["THREAD_START", "CLASS_LOAD", "MONITOR_DUMP"], "{level}");
        }
    }
}
