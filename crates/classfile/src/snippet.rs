//! Code to insert.

use std::ops::Range;

use crate::bytes::Write;
use crate::descriptor::Kind;
use crate::opcode;
use crate::{Constants, FieldRef, MethodRef, Skip};

/// A piece of code that is inserted into a method, written instruction by instruction.
///
/// It may use what lies on the operand stack at the point of insertion, and must leave the stack
/// as it found it. Faults are remembered and make the edited method a [`Skip`].
#[derive(Debug)]
pub struct Snippet {
    /// The pieces of a class, one behind the other; the last one is being written.
    pub(crate) code: Vec<u8>,
    /// Where the pieces' guards end, relative to the start of their piece.
    pub(crate) joins: Vec<u16>,
    pub(crate) constants: Constants,
    start: usize,
    first_join: usize,
    /// Slots on the stack above those that were there at the start.
    height: i32,
    highest: i32,
    loads: bool,
    fault: Option<Skip>,
}

/// A finished piece.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// In [`Snippet::code`].
    pub code: Range<usize>,
    /// In [`Snippet::joins`].
    pub joins: Range<usize>,
    /// Whether it loads local variables.
    pub loads: bool,
    /// Slots it needs above those that are on the stack where it is inserted.
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

    /// Pushes an `int` by the shortest instruction there is.
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

    /// `aconst_null`
    pub fn push_null(&mut self) -> &mut Self {
        self.simple(opcode::ACONST_NULL, 0, 1)
    }

    /// Pushes `this`. In a constructor that is allowed only behind the call of `super()` or
    /// `this()`: see [`when_this_initialized`](crate::MethodEditor::when_this_initialized).
    pub fn load_this(&mut self) -> &mut Self {
        self.load(Kind::Reference, 0)
    }

    /// Pushes a local variable: `iload`, `lload`, `fload`, `dload` or `aload`.
    pub fn load(&mut self, kind: Kind, slot: u16) -> &mut Self {
        load(&mut self.code, kind, slot);
        self.loads = true;
        self.effect(0, kind.slots())
    }

    /// `pop`
    pub fn pop(&mut self) -> &mut Self {
        self.simple(opcode::POP, 1, 0)
    }

    /// `pop2`
    pub fn pop2(&mut self) -> &mut Self {
        self.simple(opcode::POP2, 2, 0)
    }

    /// `dup`
    pub fn dup(&mut self) -> &mut Self {
        self.simple(opcode::DUP, 1, 2)
    }

    /// `dup_x1`
    pub fn dup_x1(&mut self) -> &mut Self {
        self.simple(opcode::DUP_X1, 2, 3)
    }

    /// `dup_x2`
    pub fn dup_x2(&mut self) -> &mut Self {
        self.simple(opcode::DUP_X2, 3, 4)
    }

    /// `dup2`
    pub fn dup2(&mut self) -> &mut Self {
        self.simple(opcode::DUP2, 2, 4)
    }

    /// `dup2_x1`
    pub fn dup2_x1(&mut self) -> &mut Self {
        self.simple(opcode::DUP2_X1, 3, 5)
    }

    /// `dup2_x2`
    pub fn dup2_x2(&mut self) -> &mut Self {
        self.simple(opcode::DUP2_X2, 4, 6)
    }

    /// `swap`
    pub fn swap(&mut self) -> &mut Self {
        self.simple(opcode::SWAP, 2, 2)
    }

    /// `getstatic`
    pub fn get_static(&mut self, field: FieldRef) -> &mut Self {
        self.code.u1(opcode::GETSTATIC);
        self.code.u2(field.index);
        self.effect(0, field.kind.slots())
    }

    /// `invokestatic`
    pub fn invoke_static(&mut self, method: MethodRef) -> &mut Self {
        self.code.u1(opcode::INVOKESTATIC);
        self.code.u2(method.index);
        self.effect(method.argument_slots, method.result_slots)
    }

    /// Code that runs only while a static `boolean` or `int` field is not 0, as with [`Self::only_if`].
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

    /// Code that runs only if the condition, which pushes a `boolean` or an `int`, is not 0.
    ///
    /// Where the guard ends two ways meet, so the stack must be as high as at the start of the
    /// whole piece there, and in classes of version 50 and later a stack map frame must say what
    /// locals and stack hold. At a method's entry and on its exceptional way out the frame is
    /// known beforehand. Anywhere else the method's code is followed to find it, which makes
    /// rewriting about three times slower, and fails with [`Skip::UnknownFrame`] where control
    /// cannot get.
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
                // A guard that ends another one shares its frame.
                if self.joins[self.first_join..].last() != Some(&join) {
                    self.joins.push(join);
                }
            }
            _ => self.fail(Skip::TooLarge),
        }
        self
    }

    /// `areturn`, as the last instruction of a guarded piece at a method's entry.
    pub fn return_reference(&mut self) -> &mut Self {
        self.simple(opcode::ARETURN, 1, 0)
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
