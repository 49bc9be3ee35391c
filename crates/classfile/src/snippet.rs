//! Code to insert.

use std::ops::Range;

use crate::bytes::Write;
use crate::descriptor::Kind;
use crate::opcode;
use crate::{Constants, FieldRef, MethodRef, Skip};

/// A piece of code that is inserted into a method, written instruction by instruction.
///
/// It may use the values on the operand stack at the point of insertion, and must leave the stack
/// unchanged. Errors are recorded, and make the edited method a [`Skip`].
#[derive(Debug)]
pub struct Snippet {
    /// The pieces of a class, one after the other; the last one is being written.
    pub(crate) code: Vec<u8>,
    /// The ends of the pieces' guards, relative to the start of their piece.
    pub(crate) joins: Vec<u16>,
    pub(crate) constants: Constants,
    start: usize,
    first_join: usize,
    /// The number of stack slots above those at the start.
    height: i32,
    highest: i32,
    loads: bool,
    fault: Option<Skip>,
}

/// A finished piece.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The range in [`Snippet::code`].
    pub code: Range<usize>,
    /// The range in [`Snippet::joins`].
    pub joins: Range<usize>,
    /// True if it loads local variables.
    pub loads: bool,
    /// The number of stack slots that it needs above those at the point of insertion.
    pub stack: u16,
}

impl Snippet {
    pub(crate) fn new(constants: Constants) -> Self {
        Self {
            code: Vec::new(),
            joins: Vec::new(),
            constants,
            start: 0,
            first_join: 0,
            height: 0,
            highest: 0,
            loads: false,
            fault: None,
        }
    }

    /// Writes the next piece.
    pub(crate) fn write(
        &mut self,
        write: impl FnOnce(&mut Self) -> &mut Self,
    ) -> Result<Piece, Skip> {
        (self.start, self.first_join) = (self.code.len(), self.joins.len());
        (self.height, self.highest, self.loads, self.fault) = (0, 0, false, None);
        write(self);
        match self.fault {
            Some(fault) => Err(fault),
            None if self.height != 0 => Err(Skip::Unbalanced),
            None => Ok(Piece {
                code: self.start..self.code.len(),
                joins: self.first_join..self.joins.len(),
                loads: self.loads,
                stack: u16::try_from(self.highest).map_err(|_| Skip::TooLarge)?,
            }),
        }
    }

    /// Pushes an `int` with the shortest possible instruction.
    pub fn push_int(&mut self, value: i32) -> &mut Self {
        let code = &mut self.code;
        match value {
            -1..=5 => code.u1((i32::from(opcode::ICONST_0) + value) as u8),
            -128..=127 => code.extend_from_slice(&[opcode::BIPUSH, value as u8]),
            -32768..=32767 => {
                code.u1(opcode::SIPUSH);
                code.u2(value as u16);
            }
            _ => match self.constants.integer(value) {
                Ok(index) => {
                    code.u1(opcode::LDC_W);
                    code.u2(index);
                }
                Err(error) => self.fail(error.into()),
            },
        }
        self.effect(0, 1)
    }

    /// Appends `iadd`.
    pub fn add(&mut self) -> &mut Self {
        self.simple(opcode::IADD, 2, 1)
    }

    /// Appends `aconst_null`.
    pub fn push_null(&mut self) -> &mut Self {
        self.simple(opcode::ACONST_NULL, 0, 1)
    }

    /// Pushes `this`. In a constructor this is permitted only after the call of `super()` or `this()`:
    /// see [`when_this_initialized`](crate::MethodEditor::when_this_initialized).
    pub fn load_this(&mut self) -> &mut Self {
        self.load(Kind::Reference, 0)
    }

    /// Pushes a local variable: `iload`, `lload`, `fload`, `dload` or `aload`.
    pub fn load(&mut self, kind: Kind, slot: u16) -> &mut Self {
        load(&mut self.code, kind, slot);
        self.loads = true;
        self.effect(0, kind.slots())
    }

    /// Appends `pop`.
    pub fn pop(&mut self) -> &mut Self {
        self.simple(opcode::POP, 1, 0)
    }

    /// Appends `pop2`.
    pub fn pop2(&mut self) -> &mut Self {
        self.simple(opcode::POP2, 2, 0)
    }

    /// Appends `dup`.
    pub fn dup(&mut self) -> &mut Self {
        self.simple(opcode::DUP, 1, 2)
    }

    /// Appends `dup_x1`.
    pub fn dup_x1(&mut self) -> &mut Self {
        self.simple(opcode::DUP_X1, 2, 3)
    }

    /// Appends `dup_x2`.
    pub fn dup_x2(&mut self) -> &mut Self {
        self.simple(opcode::DUP_X2, 3, 4)
    }

    /// Appends `dup2`.
    pub fn dup2(&mut self) -> &mut Self {
        self.simple(opcode::DUP2, 2, 4)
    }

    /// Appends `dup2_x1`.
    pub fn dup2_x1(&mut self) -> &mut Self {
        self.simple(opcode::DUP2_X1, 3, 5)
    }

    /// Appends `dup2_x2`.
    pub fn dup2_x2(&mut self) -> &mut Self {
        self.simple(opcode::DUP2_X2, 4, 6)
    }

    /// Appends `swap`.
    pub fn swap(&mut self) -> &mut Self {
        self.simple(opcode::SWAP, 2, 2)
    }

    /// Appends `getstatic`.
    pub fn get_static(&mut self, field: FieldRef) -> &mut Self {
        self.code.u1(opcode::GETSTATIC);
        self.code.u2(field.index);
        self.effect(0, field.kind.slots())
    }

    /// Appends `invokestatic`.
    pub fn invoke_static(&mut self, method: MethodRef) -> &mut Self {
        self.code.u1(opcode::INVOKESTATIC);
        self.code.u2(method.index);
        self.effect(method.argument_slots, method.result_slots)
    }

    /// Appends code that runs only while a static `boolean` or `int` field is not 0, like
    /// [`Self::only_if`].
    pub fn guard(
        &mut self,
        flag: FieldRef,
        guarded: impl FnOnce(&mut Self) -> &mut Self,
    ) -> &mut Self {
        if flag.kind != Kind::Int {
            self.fail(Skip::Unbalanced);
        }
        self.only_if(|code| code.get_static(flag), guarded)
    }

    /// Appends code that runs only if the condition, which pushes a `boolean` or an `int`, is not 0.
    ///
    /// Two paths join at the end of the guard, so the stack must be as high there as at the start of
    /// the whole piece. Classes of version 50 and later need a stack map frame there. At a method's
    /// entry and on its exceptional exit, the frame is known in advance. Elsewhere the method's code is
    /// followed to find it, which makes rewriting about three times slower. If control cannot reach the
    /// place, the edit fails with [`Skip::UnknownFrame`].
    pub fn only_if(
        &mut self,
        condition: impl FnOnce(&mut Self) -> &mut Self,
        guarded: impl FnOnce(&mut Self) -> &mut Self,
    ) -> &mut Self {
        if self.height != 0 {
            self.fail(Skip::Unbalanced);
        }
        condition(self);
        let branch = self.code.len();
        self.code.u1(opcode::IFEQ);
        self.code.u2(0);
        self.effect(1, 0);
        guarded(self);
        if self.height != 0 {
            self.fail(Skip::Unbalanced);
        }
        let join = self.code.len();
        match (i16::try_from(join - branch), u16::try_from(join - self.start)) {
            (Ok(offset), Ok(join)) => {
                self.code.set_u2(branch + 1, offset as u16);
                // A guard at the end of another one shares its frame.
                if self.joins[self.first_join..].last() != Some(&join) {
                    self.joins.push(join);
                }
            }
            _ => self.fail(Skip::TooLarge),
        }
        self
    }

    /// Appends `areturn`, as the last instruction of a guarded piece at a method's entry.
    pub fn return_reference(&mut self) -> &mut Self {
        self.simple(opcode::ARETURN, 1, 0)
    }

    /// Appends `return`, as the last instruction of a guarded piece at a method's entry.
    pub fn return_void(&mut self) -> &mut Self {
        self.simple(opcode::RETURN, 0, 0)
    }

    fn simple(&mut self, opcode: u8, pops: u16, pushes: u16) -> &mut Self {
        self.code.u1(opcode);
        self.effect(pops, pushes)
    }

    fn effect(&mut self, pops: u16, pushes: u16) -> &mut Self {
        self.height += i32::from(pushes) - i32::from(pops);
        self.highest = self.highest.max(self.height);
        self
    }

    fn fail(&mut self, fault: Skip) {
        self.fault.get_or_insert(fault);
    }
}

/// Appends the shortest instruction that pushes a local variable.
pub(crate) fn load(code: &mut Vec<u8>, kind: Kind, slot: u16) {
    match slot {
        0..=3 => code.u1(opcode::ILOAD_0 + 4 * kind.offset() + slot as u8),
        4..=255 => code.extend_from_slice(&[opcode::ILOAD + kind.offset(), slot as u8]),
        _ => {
            code.extend_from_slice(&[opcode::WIDE, opcode::ILOAD + kind.offset()]);
            code.u2(slot);
        }
    }
}
