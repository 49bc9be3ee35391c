//! Determines from their code how constructors begin.

use crate::records::construction::{Beginning, Signature};
use jvmpi_classfile::{ClassFile, Method, opcode};

/// Returns how a constructor begins.
pub fn of(class: &ClassFile<'_>, constructor: &Method<'_>) -> Beginning {
    Beginning {
        own: Signature::of(class.name(), constructor.descriptor()),
        next: next(class, constructor).unwrap_or(Signature::NONE),
    }
}

/// Returns the constructor that this one calls for its object, if it calls, creates and
/// leaves nothing before.
fn next(class: &ClassFile<'_>, constructor: &Method<'_>) -> Option<Signature> {
    let mut furthest = 0;
    for instruction in constructor.code().ok()??.instructions() {
        let instruction = instruction.ok()?;
        let bci = i64::from(instruction.bci);
        match instruction.opcode() {
            opcode::INVOKESPECIAL => {
                let called = class.constant_pool().member(instruction.constant()?).ok()?;
                let is_own =
                    called.class == class.name() || Some(called.class) == class.super_name();
                let is_next = called.name == b"<init>" && is_own && furthest <= bci;
                return is_next.then(|| Signature::of(called.class, called.descriptor));
            }
            opcode::INVOKEVIRTUAL
            | opcode::INVOKESTATIC
            | opcode::INVOKEINTERFACE
            | opcode::INVOKEDYNAMIC
            | opcode::NEW
            | opcode::NEWARRAY
            | opcode::ANEWARRAY
            | opcode::MULTIANEWARRAY
            | opcode::MONITORENTER
            | opcode::MONITOREXIT
            | opcode::TABLESWITCH
            | opcode::LOOKUPSWITCH
            | opcode::ATHROW
            | opcode::RETURN => return None,
            _ => {}
        }
        if let Some(target) = instruction.branch_target() {
            if target < bci {
                return None;
            }
            furthest = furthest.max(target);
        }
    }
    None
}
