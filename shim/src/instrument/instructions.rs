//! Rewriting that reports instructions: a call before each one, which gets the operands of a
//! branch.

use crate::records::class::TRACKER;
use crate::records::numbered;
use jvmpi_classfile::opcode::*;
use jvmpi_classfile::{ClassFile, Editor, Instruction, MethodRef, Snippet};

/// The conditions of branches, numbered by the offset of the opcode from the first of its kind.
pub const EQ: i32 = 0;
pub const NE: i32 = 1;
pub const LT: i32 = 2;
pub const GE: i32 = 3;
pub const GT: i32 = 4;
pub const LE: i32 = 5;

/// The natives of the Tracker that report instructions.
struct Natives {
    instruction: MethodRef,
    compared: MethodRef,
    same: MethodRef,
    tableswitch: MethodRef,
    lookupswitch: MethodRef,
}

/// Adds reports of every instruction. The methods have the numbers from `first` on.
pub fn edit(
    class: &ClassFile<'_>,
    editor: &mut Editor<'_>,
    first: usize,
) -> Result<(), jvmpi_classfile::Error> {
    if !class.methods().any(|method| method.has_code()) {
        return Ok(());
    }
    let constants = editor.constants();
    let mut native =
        |name: &str, descriptor: &str| constants.method_ref(TRACKER.to_bytes(), name, descriptor);
    let natives = Natives {
        instruction: native("instruction", "(II)V")?,
        compared: native("compared", "(IIIII)V")?,
        same: native("same", "(Ljava/lang/Object;Ljava/lang/Object;III)V")?,
        tableswitch: native("tableswitch", "(IIIII)V")?,
        lookupswitch: native("lookupswitch", "(IIII)V")?,
    };
    for method in class.methods() {
        let (Some(code), Some(mut edits)) = (method.code()?, editor.method(method.index())) else {
            continue;
        };
        let number = (first + method.index()) as i32;
        // The branches whose outcome is known in advance.
        let known = code.uninitialized_comparisons()?;
        for instruction in code.instructions() {
            let instruction = instruction?;
            let at = known.binary_search_by_key(&instruction.bci, |comparison| comparison.bci);
            let branches = at.ok().map(|at| known[at].branches);
            edits.before(instruction.bci, |code| {
                report(code, &natives, number, instruction, branches)
            });
        }
    }
    Ok(())
}

/// Calls the native for this instruction, with the operands of a branch.
fn report<'s>(
    code: &'s mut Snippet,
    natives: &Natives,
    number: i32,
    instruction: Instruction<'_>,
    branches: Option<bool>,
) -> &'s mut Snippet {
    let opcode = instruction.opcode();
    let (code, native) = match (opcode, instruction.switch()) {
        _ if let Some(branches) = branches => {
            (code.push_int(branches.into()).push_int(0).push_int(NE), natives.compared)
        }
        (IFEQ..=IFLE, _) => {
            (code.dup().push_int(0).push_int((opcode - IFEQ).into()), natives.compared)
        }
        (IF_ICMPEQ..=IF_ICMPLE, _) => {
            (code.dup2().push_int((opcode - IF_ICMPEQ).into()), natives.compared)
        }
        (IF_ACMPEQ | IF_ACMPNE, _) => {
            (code.dup2().push_int((opcode - IF_ACMPEQ).into()), natives.same)
        }
        (IFNULL | IFNONNULL, _) => {
            (code.dup().push_null().push_int((opcode - IFNULL).into()), natives.same)
        }
        (_, Some(switch)) => match switch.table_bounds() {
            Some((low, high)) => (code.dup().push_int(low).push_int(high), natives.tableswitch),
            None => {
                let keys = switch.cases().map(|(key, _)| key).collect();
                (code.dup().push_int(numbered::number_keys(keys) as i32), natives.lookupswitch)
            }
        },
        _ => (code, natives.instruction),
    };
    code.push_int(instruction.bci.into()).push_int(number).invoke_static(native)
}
