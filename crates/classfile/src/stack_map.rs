//! The `StackMapTable` attribute (JVMS §4.7.4).

use crate::bytes::{Reader, Write};
use crate::frame::{Frame, Type, push, trimmed, values};
use crate::layout::Layout;
use crate::{ConstantPool, Constants, Error, Skip};

/// Reads a `StackMapTable` frame by frame.
#[derive(Debug)]
pub(crate) struct Decoder<'c> {
    reader: Reader<'c>,
    pool: &'c ConstantPool<'c>,
    left: u16,
    /// The index after that of the previous frame; 0 at the start.
    next: u32,
    max_locals: usize,
    /// The most recently read frame; at first the implicit one.
    frame: Frame<'c>,
}

impl<'c> Decoder<'c> {
    /// Starts reading. `info` is the attribute's contents, `initial` the implicit first frame.
    pub fn new(
        info: &'c [u8],
        pool: &'c ConstantPool<'c>,
        initial: Frame<'c>,
        max_locals: u16,
    ) -> Result<Self, Error> {
        let mut reader = Reader::new(info, "StackMapTable");
        let left = reader.u2()?;
        let max_locals = max_locals.into();
        Ok(Self { reader, pool, left, next: 0, max_locals, frame: initial })
    }

    /// Returns the next frame and its index.
    pub fn next(&mut self) -> Result<Option<(u16, &Frame<'c>)>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let frame_type = self.reader.u1()?;
        let delta = match frame_type {
            0..=127 => u16::from(frame_type % 64),
            247..=255 => self.reader.u2()?,
            _ => return Err(Error::BadFrame),
        };
        self.frame.stack.clear();
        match frame_type {
            64..=127 | 247 => {
                let value = Type::read(&mut self.reader, self.pool)?;
                push(&mut self.frame.stack, value);
            }
            248..=250 => {
                for _ in frame_type..251 {
                    self.chop()?;
                }
            }
            252..=254 => self.read_locals(u16::from(frame_type) - 251)?,
            255 => {
                self.frame.locals.clear();
                let count = self.reader.u2()?;
                self.read_locals(count)?;
                for _ in 0..self.reader.u2()? {
                    let value = Type::read(&mut self.reader, self.pool)?;
                    push(&mut self.frame.stack, value);
                }
            }
            _ => {}
        }
        let bci = self.next + u32::from(delta);
        self.next = bci + 1;
        let bci = u16::try_from(bci).map_err(|_| Error::BadBci(bci))?;
        Ok(Some((bci, &self.frame)))
    }

    fn read_locals(&mut self, count: u16) -> Result<(), Error> {
        for _ in 0..count {
            let value = Type::read(&mut self.reader, self.pool)?;
            push(&mut self.frame.locals, value);
        }
        if self.frame.locals.len() > self.max_locals {
            return Err(Error::BadFrame);
        }
        Ok(())
    }

    /// Removes the last local.
    fn chop(&mut self) -> Result<(), Error> {
        let locals = &mut self.frame.locals;
        let last = locals.pop().ok_or(Error::BadFrame)?;
        // The slot after a long or double is never a local of its own.
        if last == Type::Top && locals.last().is_some_and(|&first| first.slots() == 2) {
            locals.pop();
        }
        Ok(())
    }
}

/// Writes a `StackMapTable`.
#[derive(Debug)]
pub(crate) struct Encoder<'e, 'c> {
    layout: &'e Layout,
    out: &'e mut Vec<u8>,
    /// The offset of the count in `out`.
    count_at: usize,
    count: u32,
    /// The position after that of the previous frame; 0 at the start.
    next: u32,
    /// The locals of the previous frame; maintained only by [`write`](Self::write).
    locals: Vec<Type<'c>>,
}

impl<'e, 'c> Encoder<'e, 'c> {
    /// Starts the attribute's contents. `initial` are the locals of the implicit first frame,
    /// which only [`write`](Self::write) needs.
    pub fn new(layout: &'e Layout, initial: &[Type<'c>], out: &'e mut Vec<u8>) -> Self {
        let count_at = out.len();
        out.u2(0);
        let locals = trimmed(initial).to_vec();
        Self { layout, out, count_at, count: 0, next: 0, locals }
    }

    /// Writes the number of frames.
    pub fn finish(self) -> Result<(), Skip> {
        let count = u16::try_from(self.count).map_err(|_| Skip::TooLarge)?;
        self.out.set_u2(self.count_at, count);
        Ok(())
    }

    /// Writes a frame in the shortest form.
    pub fn write(
        &mut self,
        position: u16,
        frame: &Frame<'c>,
        constants: &mut Constants,
    ) -> Result<(), Error> {
        let delta = self.delta(position)?;
        let locals = trimmed(&frame.locals);
        let common = self.locals.iter().zip(locals).take_while(|(old, new)| old == new).count();
        let removed = values_behind(&self.locals, common);
        let added = values_behind(locals, common);
        let mut stack = values(&frame.stack);
        match (stack.next(), stack.next(), removed, added) {
            (None, _, 0, 0) => self.same(delta),
            (Some(value), None, 0, 0) => {
                self.same_with_stack(delta);
                value.write(self.layout, constants, self.out)?;
            }
            (None, _, 1..=3, 0) => {
                self.out.u1(251 - removed as u8);
                self.out.u2(delta);
            }
            (None, _, 0, 1..=3) => {
                self.out.u1(251 + added as u8);
                self.out.u2(delta);
                for value in values(locals.get(common..).unwrap_or_default()) {
                    value.write(self.layout, constants, self.out)?;
                }
            }
            _ => self.full(delta, frame, constants)?,
        }
        self.locals.clear();
        self.locals.extend_from_slice(locals);
        Ok(())
    }

    /// Writes a complete frame, which does not depend on the previous one.
    pub fn write_full(
        &mut self,
        position: u16,
        frame: &Frame<'c>,
        constants: &mut Constants,
    ) -> Result<(), Error> {
        let delta = self.delta(position)?;
        self.full(delta, frame, constants)
    }

    /// Copies a table in its form, with the new positions. `initial` are positions of frames
    /// equal to the implicit one, before all others.
    pub fn copy(&mut self, info: &[u8], initial: impl Iterator<Item = u16>) -> Result<(), Error> {
        let mut reader = Reader::new(info, "StackMapTable");
        let count = reader.u2()?;
        let mut bci = 0_u32;
        let mut initial = initial.peekable();
        for _ in 0..count {
            let frame_type = reader.u1()?;
            let delta = match frame_type {
                0..=127 => u16::from(frame_type % 64),
                247..=255 => reader.u2()?,
                _ => return Err(Error::BadFrame),
            };
            bci += u32::from(delta);
            let position = u16::try_from(bci).map_err(|_| Error::BadBci(bci))?;
            let position = self.layout.label(position)?;
            while let Some(inserted) = initial.next_if(|&inserted| inserted < position) {
                self.write_initial(inserted)?;
            }
            // The frame at the end of an entry guard may already exist.
            initial.next_if_eq(&position);
            bci += 1;
            let delta = self.delta(position)?;
            match frame_type {
                0..=63 => self.same(delta),
                64..=127 => {
                    self.same_with_stack(delta);
                    self.copy_types(&mut reader, 1_u8)?;
                }
                _ => {
                    self.out.u1(frame_type);
                    self.out.u2(delta);
                    match frame_type {
                        247 => self.copy_types(&mut reader, 1_u8)?,
                        252..=254 => self.copy_types(&mut reader, frame_type - 251)?,
                        255 => {
                            for _ in 0..2 {
                                let types = reader.u2()?;
                                self.out.u2(types);
                                self.copy_types(&mut reader, types)?;
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        reader.finish()?;
        initial.try_for_each(|inserted| self.write_initial(inserted))
    }

    fn copy_types(&mut self, reader: &mut Reader<'_>, count: impl Into<u16>) -> Result<(), Error> {
        for _ in 0..count.into() {
            let tag = reader.u1()?;
            self.out.u1(tag);
            match tag {
                0..=6 => {}
                7 => self.out.u2(reader.u2()?),
                8 => self.out.u2(self.layout.instruction(reader.u2()?)?),
                _ => return Err(Error::BadFrame),
            }
        }
        Ok(())
    }

    fn write_initial(&mut self, position: u16) -> Result<(), Error> {
        let delta = self.delta(position)?;
        self.same(delta);
        Ok(())
    }

    /// Counts a frame and returns its `offset_delta`.
    fn delta(&mut self, position: u16) -> Result<u16, Error> {
        let delta = u32::from(position).checked_sub(self.next).ok_or(Error::BadFrame)?;
        self.next = u32::from(position) + 1;
        self.count += 1;
        Ok(delta as u16)
    }

    fn same(&mut self, delta: u16) {
        match delta {
            0..=63 => self.out.u1(delta as u8),
            _ => {
                self.out.u1(251);
                self.out.u2(delta);
            }
        }
    }

    /// Writes the head of a frame with one value on the stack.
    fn same_with_stack(&mut self, delta: u16) {
        match delta {
            0..=63 => self.out.u1(64 + delta as u8),
            _ => {
                self.out.u1(247);
                self.out.u2(delta);
            }
        }
    }

    fn full(
        &mut self,
        delta: u16,
        frame: &Frame<'c>,
        constants: &mut Constants,
    ) -> Result<(), Error> {
        self.out.u1(255);
        self.out.u2(delta);
        for slots in [&frame.locals, &frame.stack] {
            let values = values(slots);
            self.out.u2(values.clone().count() as u16);
            for value in values {
                value.write(self.layout, constants, self.out)?;
            }
        }
        Ok(())
    }
}

/// Returns the number of values that start in the slots from `common` on.
fn values_behind(slots: &[Type<'_>], common: usize) -> usize {
    values(slots.get(common..).unwrap_or_default()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConstantPool;

    const INT: Type<'static> = Type::Int;
    const LONG: Type<'static> = Type::Long;
    const TOP: Type<'static> = Type::Top;

    fn frame(locals: &[Type<'static>], stack: &[Type<'static>]) -> Frame<'static> {
        let mut frame = Frame::default();
        locals.iter().for_each(|&value| push(&mut frame.locals, value));
        stack.iter().for_each(|&value| push(&mut frame.stack, value));
        frame
    }

    fn encode(initial: &[Type<'static>], frames: &[(u16, Frame<'static>)]) -> Vec<u8> {
        let layout = Layout::default();
        let mut constants = Constants::new(&ConstantPool::default());
        let mut out = Vec::new();
        let mut encoder = Encoder::new(&layout, &frame(initial, &[]).locals, &mut out);
        for (position, frame) in frames {
            encoder.write(*position, frame, &mut constants).unwrap();
        }
        encoder.finish().unwrap();
        out
    }

    #[test]
    fn the_shortest_form_is_chosen() {
        let cases: [(&[_], Frame<'_>, &[u8]); 12] = [
            (&[INT], frame(&[INT], &[]), &[9]),
            (&[LONG, INT], frame(&[LONG, INT, TOP], &[]), &[9]),
            (&[INT], frame(&[INT], &[LONG]), &[64 + 9, 4]),
            (&[INT], frame(&[INT], &[INT, INT]), &[255, 0, 9, 0, 1, 1, 0, 2, 1, 1]),
            (&[INT; 4], frame(&[INT], &[]), &[248, 0, 9]),
            (&[INT, LONG], frame(&[INT], &[]), &[250, 0, 9]),
            (&[INT; 4], frame(&[], &[]), &[255, 0, 9, 0, 0, 0, 0]),
            (&[], frame(&[LONG, TOP, INT], &[]), &[254, 0, 9, 4, 0, 1]),
            (&[LONG], frame(&[LONG, LONG], &[]), &[252, 0, 9, 4]),
            (&[], frame(&[INT; 4], &[]), &[255, 0, 9, 0, 4, 1, 1, 1, 1, 0, 0]),
            (&[INT], frame(&[LONG], &[]), &[255, 0, 9, 0, 1, 4, 0, 0]),
            (&[], frame(&[INT], &[LONG]), &[255, 0, 9, 0, 1, 1, 0, 1, 4]),
        ];
        for (initial, frame, expected) in cases {
            let encoded = encode(initial, &[(9, frame.clone())]);
            assert_eq!(encoded, [&[0, 1], expected].concat(), "{initial:?} to {frame:?}");
        }
        let far = encode(&[INT], &[(64, frame(&[INT], &[])), (129, frame(&[INT], &[INT]))]);
        assert_eq!(far, [0, 2, 251, 0, 64, 247, 0, 64, 1]);
    }

    #[test]
    fn written_data_is_read_back() {
        let file = [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 65, 0, 1];
        let pool = ConstantPool::read(&file, &mut Reader::starting_at(&file, 8, "pool")).unwrap();
        // All sequences of three of these frames.
        let frames = [
            frame(&[], &[]),
            frame(&[INT, LONG], &[]),
            frame(&[LONG, INT], &[INT]),
            frame(&[INT, LONG, TOP, LONG], &[LONG]),
            frame(&[INT, LONG, INT, INT], &[INT, LONG]),
            frame(&[TOP, INT], &[]),
        ];
        for (first, second) in frames.iter().flat_map(|f| frames.iter().map(move |s| (f, s))) {
            for third in &frames {
                let sequence = [(0, first.clone()), (70, second.clone()), (71, third.clone())];
                let encoded = encode(&[INT, LONG], &sequence);
                let initial = frame(&[INT, LONG], &[]);
                let mut decoder = Decoder::new(&encoded, &pool, initial, 10).unwrap();
                for (position, expected) in &sequence {
                    let (bci, found) = decoder.next().unwrap().unwrap();
                    assert_eq!((bci, found), (*position, expected), "{sequence:?}");
                }
                assert!(decoder.next().unwrap().is_none());
            }
        }
    }
}
