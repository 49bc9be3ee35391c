//! The `Code` attribute (JVMS §4.7.3) and the instructions in it (§6.5).

use crate::attribute::Attributes;
use crate::bytes::Reader;
use crate::opcode::{self, Shape};
use crate::{ConstantPool, Error, Method};

/// A method's `Code` attribute.
#[derive(Clone, Copy, Debug)]
pub struct Code<'c> {
    pub(crate) method: Method<'c>,
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
    pub(crate) bytes: &'c [u8],
    /// The exception table, 8 bytes per entry.
    pub(crate) handlers: &'c [u8],
    pub(crate) attributes: Attributes<'c>,
}

impl<'c> Method<'c> {
    /// Returns its `Code` attribute (JVMS §4.7.3), `None` if it has none.
    ///
    /// # Errors
    /// Fails if the attribute is malformed. Its instructions are not checked.
    pub fn code(&self) -> Result<Option<Code<'c>>, Error> {
        self.code_info().map(|info| Code::read(*self, info)).transpose()
    }
}

impl<'c> Code<'c> {
    /// Reads the contents after the attribute's name and length.
    fn read(method: Method<'c>, info: &'c [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(info, "Code attribute");
        let (max_stack, max_locals, length) = if has_old_format(method) {
            (reader.u1()?.into(), reader.u1()?.into(), reader.u2()?.into())
        } else {
            (reader.u2()?, reader.u2()?, reader.u4()?)
        };
        if length == 0 || length > u32::from(u16::MAX) {
            return Err(Error::BadCodeLength(length));
        }
        let bytes = reader.take(length as usize)?;
        let handler_count = reader.u2()?;
        let handlers = reader.take(8 * usize::from(handler_count))?;
        let attributes = Attributes::read(&mut reader, method.class().constant_pool())?;
        reader.finish()?;
        Ok(Self { method, max_stack, max_locals, bytes, handlers, attributes })
    }

    /// Returns true if `max_stack` and `max_locals` take one byte, `code_length` two.
    pub(crate) fn is_old_format(&self) -> bool {
        has_old_format(self.method)
    }

    /// Returns true if this is a constructor that has to call another one before it may use `this`.
    pub(crate) fn starts_uninitialized(&self) -> bool {
        self.method.is_constructor() && self.method.class().name() != b"java/lang/Object"
    }

    pub(crate) fn pool(&self) -> &'c ConstantPool<'c> {
        self.method.class().constant_pool()
    }

    /// Returns the number of slots of the operand stack.
    #[must_use]
    pub fn max_stack(&self) -> u16 {
        self.max_stack
    }

    /// Returns the number of slots of local variables.
    #[must_use]
    pub fn max_locals(&self) -> u16 {
        self.max_locals
    }

    /// Returns the code array: 1 to 65,535 bytes.
    #[must_use]
    pub fn bytes(&self) -> &'c [u8] {
        self.bytes
    }

    /// Returns the code's own attributes.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'c> {
        self.attributes
    }

    /// Returns the instructions in order. An error ends the iteration.
    #[must_use]
    pub fn instructions(&self) -> Instructions<'c> {
        Instructions { code: self.bytes, at: 0 }
    }

    /// Returns the instructions from `bci` on, which must be the start of one.
    pub(crate) fn instructions_from(&self, bci: u16) -> Instructions<'c> {
        Instructions { code: self.bytes, at: usize::from(bci) }
    }

    /// Returns the exception table in order.
    pub fn handlers(&self) -> impl ExactSizeIterator<Item = Handler> + Clone + use<'c> {
        self.handlers.chunks_exact(8).map(|entry| {
            let field = |at| u16::from_be_bytes([entry[at], entry[at + 1]]);
            Handler { start: field(0), end: field(2), handler: field(4), catch_type: field(6) }
        })
    }

    /// Returns the first instructions of the handlers that [`on_catch`](crate::MethodEditor::on_catch) accepts, in
    /// order.
    #[must_use]
    pub fn catches(&self) -> Vec<u16> {
        let mut catches: Vec<_> = self.handlers().map(|entry| entry.handler).collect();
        catches.sort_unstable();
        catches.dedup();
        catches.retain(|&handler| self.caught_at(handler).is_some());
        catches
    }

    /// Returns the exceptions that the handler at an index catches, `None` if no code can be inserted there: there
    /// is no handler, or the handler covers itself and catches only some exceptions, so it cannot handle others.
    pub(crate) fn caught_at(&self, handler: u16) -> Option<Caught> {
        let mut entries = self.handlers().filter(|entry| entry.handler == handler).peekable();
        entries.peek()?;
        if entries.clone().any(|entry| entry.catch_type == 0) {
            return Some(Caught::All);
        }
        let covers_itself = entries.any(|entry| (entry.start..entry.end).contains(&handler));
        (!covers_itself).then_some(Caught::Some)
    }

    /// Returns the entries of all `LineNumberTable` attributes (JVMS §4.7.12): `start_pc` and `line_number`, in
    /// file order.
    pub fn line_numbers(&self) -> impl Iterator<Item = (u16, u16)> + use<'c> {
        self.attributes
            .filter(|attribute| attribute.name == b"LineNumberTable")
            .flat_map(|table| table.info.get(2..).unwrap_or_default().chunks_exact(4))
            .map(|line| {
                (u16::from_be_bytes([line[0], line[1]]), u16::from_be_bytes([line[2], line[3]]))
            })
    }
}

/// The exceptions that a handler catches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caught {
    /// All exceptions.
    All,
    /// Exceptions of some classes.
    Some,
}

/// An entry of an exception table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The first covered index.
    pub start: u16,
    /// The index after the covered ones; at most the length of the code.
    pub end: u16,
    /// The start of the handler.
    pub handler: u16,
    /// The `CONSTANT_Class` of the caught exceptions; 0 catches everything.
    pub catch_type: u16,
}

/// One instruction of a code array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instruction<'a> {
    /// The bytecode index: its start in the code array.
    pub bci: u16,
    /// All its bytes, opcode first; at least one.
    pub bytes: &'a [u8],
}

impl<'a> Instruction<'a> {
    /// Returns its opcode; for a widened instruction that is [`opcode::WIDE`].
    #[must_use]
    pub fn opcode(&self) -> u8 {
        self.bytes[0]
    }

    /// Returns the index of the byte after it; at most 65,535, the maximum length of code.
    #[must_use]
    pub fn end(&self) -> u16 {
        self.bci.saturating_add(self.bytes.len() as u16)
    }

    /// Returns the constant pool index, for an instruction that has one as its first operand.
    #[must_use]
    pub fn constant(&self) -> Option<u16> {
        match *self.bytes {
            [opcode::LDC, index] => Some(index.into()),
            [
                opcode::LDC_W
                | opcode::LDC2_W
                | opcode::GETSTATIC..=opcode::INVOKEDYNAMIC
                | opcode::NEW
                | opcode::ANEWARRAY
                | opcode::CHECKCAST
                | opcode::INSTANCEOF
                | opcode::MULTIANEWARRAY,
                high,
                low,
                ..,
            ] => Some(u16::from_be_bytes([high, low])),
            _ => None,
        }
    }

    /// Returns the local variable that an `aload` pushes.
    #[must_use]
    pub fn loads_from(&self) -> Option<u16> {
        self.variable(opcode::ALOAD, opcode::ALOAD_0)
    }

    /// Returns the local variable that an `astore` sets.
    #[must_use]
    pub fn stores_to(&self) -> Option<u16> {
        self.variable(opcode::ASTORE, opcode::ASTORE_0)
    }

    /// Returns the operand of an instruction that has a separate form for each of the first four variables.
    fn variable(&self, long: u8, first: u8) -> Option<u16> {
        match *self.bytes {
            [short] if (first..first + 4).contains(&short) => Some((short - first).into()),
            [opcode, slot] if opcode == long => Some(slot.into()),
            [opcode::WIDE, opcode, high, low] if opcode == long => {
                Some(u16::from_be_bytes([high, low]))
            }
            _ => None,
        }
    }

    /// Returns the target of an `if`, `goto` or `jsr`, wide or not. In a malformed file it can be outside the code.
    #[must_use]
    pub fn branch_target(&self) -> Option<i64> {
        let offset = match (opcode::TABLE[usize::from(self.bytes[0])].1, self.bytes) {
            (Shape::If | Shape::Jump, &[_, high, low]) => i16::from_be_bytes([high, low]).into(),
            (Shape::WideJump, &[_, a, b, c, d]) => i32::from_be_bytes([a, b, c, d]),
            _ => return None,
        };
        Some(i64::from(self.bci) + i64::from(offset))
    }

    /// Returns the operands of a `tableswitch` or `lookupswitch`.
    #[must_use]
    pub fn switch(&self) -> Option<Switch<'a>> {
        Switch::read(*self).ok()
    }
}

/// The operands of a `tableswitch` or `lookupswitch` (JVMS §6.5), without the padding.
#[derive(Clone, Copy, Debug)]
pub struct Switch<'a> {
    bci: u16,
    pub(crate) default: i32,
    /// The lowest key of a `tableswitch`, whose keys are consecutive.
    pub(crate) low: Option<i32>,
    /// Offsets of a `tableswitch`; keys and offsets of a `lookupswitch`.
    cases: &'a [u8],
}

impl<'a> Switch<'a> {
    pub(crate) fn read(instruction: Instruction<'a>) -> Result<Self, Error> {
        let mut reader = Reader::new(instruction.bytes, "switch");
        let opcode = reader.u1()?;
        reader.take(usize::from(padding(instruction.bci)))?;
        let default = reader.i4()?;
        let low = match opcode {
            opcode::TABLESWITCH => {
                let low = reader.i4()?;
                reader.i4()?;
                Some(low)
            }
            opcode::LOOKUPSWITCH => {
                reader.i4()?;
                None
            }
            opcode => return Err(Error::BadOpcode { bci: instruction.bci, opcode }),
        };
        let cases = &instruction.bytes[reader.at()..];
        Ok(Self { bci: instruction.bci, default, low, cases })
    }

    /// Returns the target if no case matches.
    #[must_use]
    pub fn default_target(&self) -> i64 {
        i64::from(self.bci) + i64::from(self.default)
    }

    /// Returns the lowest and highest key of a `tableswitch`, `None` for a `lookupswitch`.
    #[must_use]
    pub fn table_bounds(&self) -> Option<(i32, i32)> {
        self.low.map(|low| (low, low.wrapping_add(self.len() as i32 - 1)))
    }

    /// Returns the number of cases.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cases.len() / self.width()
    }

    /// Returns true if there is only the default.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// Returns the keys and targets of the cases in file order.
    pub fn cases(&self) -> impl Iterator<Item = (i32, i64)> + use<'a> {
        let bci = i64::from(self.bci);
        self.offsets().map(move |(key, offset)| (key, bci + i64::from(offset)))
    }

    /// Returns the keys and branch offsets of the cases.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = (i32, i32)> + use<'a> {
        let low = self.low;
        self.cases.chunks_exact(self.width()).zip(0_i32..).map(move |(case, ordinal)| {
            let word =
                |at| i32::from_be_bytes([case[at], case[at + 1], case[at + 2], case[at + 3]]);
            match low {
                Some(low) => (low.wrapping_add(ordinal), word(0)),
                None => (word(0), word(4)),
            }
        })
    }

    fn width(&self) -> usize {
        if self.low.is_some() { 4 } else { 8 }
    }
}

/// Returns the number of bytes between the opcode of a switch at `bci` and its first operand (JVMS §6.5).
pub(crate) fn padding(bci: impl Into<u32>) -> u8 {
    (3 - bci.into() % 4) as u8
}

/// The instructions of a code array.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    code: &'a [u8],
    at: usize,
}

impl<'a> Instructions<'a> {
    /// Returns the instructions of a code array that does not come from a class file.
    #[must_use]
    pub fn of(code: &'a [u8]) -> Self {
        Self { code, at: 0 }
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let &opcode = self.code.get(self.at)?;
        let length = match opcode::TABLE[usize::from(opcode)] {
            (0, shape) => variable_length(self.code, self.at, shape),
            (length, _) => Ok(length.into()),
        };
        let bytes = length.and_then(|length| {
            let end = self.at.saturating_add(length);
            self.code.get(self.at..end).ok_or(Error::Truncated { part: "code" })
        });
        let bci = self.at as u16;
        Some(match bytes {
            Ok(bytes) => {
                self.at += bytes.len();
                Ok(Instruction { bci, bytes })
            }
            Err(error) => {
                self.at = self.code.len();
                Err(error)
            }
        })
    }
}

/// Returns the length of a switch or widened instruction; it may exceed the end of the code.
#[cold]
fn variable_length(code: &[u8], at: usize, shape: Shape) -> Result<usize, Error> {
    let bad = |opcode| Err(Error::BadOpcode { bci: at as u16, opcode });
    let mut reader = Reader::starting_at(code, at, "code");
    let opcode = reader.u1()?;
    match shape {
        Shape::Wide => match reader.u1()? {
            opcode::IINC => Ok(6),
            opcode::ILOAD..=opcode::ALOAD | opcode::ISTORE..=opcode::ASTORE | opcode::RET => Ok(4),
            modified => bad(modified),
        },
        Shape::Switch => {
            reader.take(usize::from(padding(at as u32)))?;
            reader.i4()?;
            let cases = if opcode == opcode::TABLESWITCH {
                let (low, high) = (reader.i4()?, reader.i4()?);
                (i64::from(high) - i64::from(low) + 1) * 4
            } else {
                i64::from(reader.i4()?) * 8
            };
            let cases = usize::try_from(cases).or(bad(opcode))?;
            Ok((reader.at() - at).saturating_add(cases))
        }
        _ => bad(opcode),
    }
}

fn has_old_format(method: Method<'_>) -> bool {
    method.class().has_old_code()
}
