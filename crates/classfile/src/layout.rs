//! The positions of a method's instructions after code was inserted.
//!
//! At an original index `b` the new code has, in this order: the code inserted after the
//! instruction before `b`, the *label* of `b` (the target of branches to `b`), the code inserted
//! before `b`, and the instruction itself. Code for the method's entry precedes the label of 0,
//! so that a loop to index 0 does not run it again.

use crate::bytes::Write;
use crate::code::{Code, Instruction, Switch, padding};
use crate::opcode::{self, Shape};
use crate::{Error, Skip};

/// An instruction that cannot be copied unchanged, or that has code inserted before or after it.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub bci: u16,
    /// The index of the byte after it.
    pub end: u16,
    pub shape: Shape,
    /// True if control never continues after it.
    pub ends_block: bool,
    /// True if a branch gets its long form.
    pub wide: bool,
    /// The original offset of a branch with a 16-bit offset.
    pub offset: i16,
    /// The number of bytes inserted before and after it.
    pub before: u32,
    pub after: u32,
    /// The position of the instruction itself in the new code.
    pub position: u32,
}

impl Point {
    pub fn new(instruction: Instruction<'_>, shape: Shape) -> Self {
        let offset = match (shape, instruction.bytes) {
            (Shape::If | Shape::Jump, &[_, high, low]) => i16::from_be_bytes([high, low]),
            _ => 0,
        };
        Self {
            bci: instruction.bci,
            end: instruction.end(),
            shape,
            ends_block: opcode::ends_block(instruction.opcode()),
            wide: false,
            offset,
            before: 0,
            after: 0,
            position: 0,
        }
    }

    /// Returns the target of branches to it.
    pub fn label(&self) -> u32 {
        self.position - self.before
    }

    /// Returns its end in the new code.
    pub fn new_end(&self) -> u32 {
        let length = u32::from(self.end - self.bci);
        let length = match self.shape {
            // The inverted branch jumps over a goto_w.
            Shape::If if self.wide => 3 + 5,
            Shape::Jump if self.wide => 5,
            Shape::Switch => {
                length - u32::from(padding(self.bci)) + u32::from(padding(self.position))
            }
            _ => length,
        };
        self.position + length
    }
}

/// The mapping from indices of the original code to those of the new code. Reused for many
/// methods.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// Ordered by index.
    pub points: Vec<Point>,
    /// The length of the code inserted at the entry.
    pub entry: u32,
    /// The label of every original index and of the end.
    labels: Vec<u32>,
}

/// The number of rounds in which branches that grew too long are searched. After that, all
/// remaining ones are made wide, so that the time stays linear.
const MAX_ROUNDS: usize = 16;

impl Layout {
    /// Computes all positions, with long forms for branches that need them.
    pub fn place(&mut self, length: usize) -> Result<(), Skip> {
        for round in 0.. {
            self.assign(length);
            let new_length = self.new_length();
            if new_length > u32::from(u16::MAX) {
                return Err(Skip::TooLarge);
            }
            // No offset inside a method this short can overflow.
            if new_length <= i16::MAX as u32 || !self.widen(round >= MAX_ROUNDS)? {
                break;
            }
        }
        Ok(())
    }

    fn assign(&mut self, length: usize) {
        self.labels.clear();
        let mut position = self.entry;
        for point in &mut self.points {
            let plain = u32::from(point.bci) - self.labels.len() as u32;
            self.labels.extend(position..=position + plain);
            point.position = position + plain + point.before;
            let end = point.new_end();
            // No valid index is inside an instruction, except perhaps that of a line number.
            let inside = u32::from(point.end - point.bci);
            self.labels.extend((1..inside).map(|at| (point.position + at).min(end - 1)));
            position = end + point.after;
        }
        let plain = (length - self.labels.len()) as u32;
        self.labels.extend(position..=position + plain);
    }

    /// Makes branches wide whose offset no longer fits, or all with `all`. Returns true if there
    /// were any.
    fn widen(&mut self, all: bool) -> Result<bool, Error> {
        let mut widened = false;
        for at in 0..self.points.len() {
            let point = &self.points[at];
            if point.wide || !matches!(point.shape, Shape::If | Shape::Jump) {
                continue;
            }
            let distance = self.branch(point, point.offset.into())?;
            if all || i16::try_from(distance).is_err() {
                self.points[at].wide = true;
                widened = true;
            }
        }
        Ok(widened)
    }

    /// Returns the offset from the instruction's new position to the label of a branch's target.
    pub fn branch(&self, point: &Point, offset: i32) -> Result<i32, Error> {
        let target = i64::from(point.bci) + i64::from(offset);
        let label = usize::try_from(target).ok().and_then(|target| {
            // The end of the code has a label but no instruction.
            self.labels.split_last()?.1.get(target)
        });
        match label {
            Some(&label) => Ok(label as i32 - point.position as i32),
            None => Err(Error::BadBci(target as u32)),
        }
    }

    /// Returns the length of the new code, without handlers.
    pub fn new_length(&self) -> u32 {
        self.labels.last().copied().unwrap_or(0)
    }

    /// Returns the target of branches to an index; for the original length, the end of the code.
    pub fn label(&self, bci: u16) -> Result<u16, Error> {
        self.labels
            .get(usize::from(bci))
            .map(|&label| label as u16)
            .ok_or(Error::BadBci(bci.into()))
    }

    /// Returns the position of the instruction at an index itself.
    pub fn instruction(&self, bci: u16) -> Result<u16, Error> {
        match self.points.binary_search_by_key(&bci, |point| point.bci) {
            Ok(at) => Ok(self.points[at].position as u16),
            Err(_) => self.label(bci),
        }
    }

    /// Returns the end of the instruction before an index: the end of a range of instructions.
    pub fn end(&self, bci: u16) -> Result<u16, Error> {
        match self.points.binary_search_by_key(&bci, |point| point.end) {
            Ok(at) => Ok(self.points[at].new_end() as u16),
            Err(_) => self.label(bci),
        }
    }
}

/// Writes a point's instruction at its new position.
pub(crate) fn write(
    layout: &Layout,
    point: &Point,
    code: &Code<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let bytes = &code.bytes[usize::from(point.bci)..usize::from(point.end)];
    match (point.shape, bytes) {
        (Shape::If, _) if point.wide => {
            out.u1(opcode::inverted(bytes[0]));
            out.u2(3 + 5);
            out.u1(opcode::GOTO_W);
            out.u4((layout.branch(point, point.offset.into())? - 3) as u32);
        }
        (Shape::Jump, _) if point.wide => {
            out.u1(bytes[0] - opcode::GOTO + opcode::GOTO_W);
            out.u4(layout.branch(point, point.offset.into())? as u32);
        }
        (Shape::If | Shape::Jump, _) => {
            out.u1(bytes[0]);
            out.u2(layout.branch(point, point.offset.into())? as u16);
        }
        (Shape::WideJump, &[opcode, a, b, c, d]) => {
            out.u1(opcode);
            out.u4(layout.branch(point, i32::from_be_bytes([a, b, c, d]))? as u32);
        }
        (Shape::Switch, _) => {
            let instruction = Instruction { bci: point.bci, bytes };
            write_switch(layout, point, &Switch::read(instruction)?, bytes, out)?;
        }
        _ => out.extend_from_slice(bytes),
    }
    Ok(())
}

fn write_switch(
    layout: &Layout,
    point: &Point,
    switch: &Switch<'_>,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let operands = out.len() + 1 + usize::from(padding(point.position));
    // A switch that keeps its alignment keeps its padding, even if that is not 0.
    out.extend_from_slice(&bytes[..1 + usize::from(padding(point.bci))]);
    out.resize(operands, 0);
    out.u4(layout.branch(point, switch.default)? as u32);
    match switch.table_bounds() {
        Some((low, high)) => {
            out.u4(low as u32);
            out.u4(high as u32);
        }
        None => out.u4(switch.len() as u32),
    }
    for (key, offset) in switch.offsets() {
        if switch.low.is_none() {
            out.u4(key as u32);
        }
        out.u4(layout.branch(point, offset)? as u32);
    }
    Ok(())
}
