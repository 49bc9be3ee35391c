//! One method: from its `Code` attribute and the edits to the new `Code` attribute.

use std::collections::BTreeMap;

use crate::bytes::Write;
use crate::flow::{Moment, follow, has_frames, initial_frame};
use crate::frame::{Frame, Type};
use crate::layout::{self, Layout, Point};
use crate::opcode::{self, Shape};
use crate::snippet::{Piece, Snippet};
use crate::stack_map::{Decoder, Encoder};
use crate::{Code, Error, Skip, Uninitialized, tables};

/// A piece of code and where it goes.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    /// The method's place in the file's order.
    pub method: usize,
    pub at: At,
    pub piece: Piece,
}

/// Where a piece of code goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Entry,
    /// Where `this` becomes initialized.
    Initialized,
    Before(u16),
    After(u16),
    Return,
    Throw,
}

/// Buffers that are used again for every method of a class.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    layout: Layout,
    sites: Vec<Site>,
    joins: Vec<Join>,
    runs: Vec<Run>,
    ranges: Vec<Range>,
}

/// A piece that goes before or after one instruction. The order of the fields is the order in
/// which sites stand in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Site {
    bci: u16,
    after: bool,
    /// Which of the method's edits.
    edit: usize,
}

/// A place in the new code that needs a frame.
#[derive(Clone, Copy, Debug)]
struct Join {
    position: u16,
    origin: Origin,
}

/// How to know a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// It is the method's implicit first frame.
    Initial,
    /// It holds before or after an instruction.
    Before(u16),
    After(u16),
    /// It is that of a handler for what is thrown in such instructions.
    Caught(This),
}

/// What a constructor's `this` is; a handler can cover only instructions that agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum This {
    /// Not initialized, and in local variable 0.
    Uninitialized,
    /// Initialized, or there is none.
    Usable,
}

/// Consecutive original instructions from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    start: u16,
    end: u16,
    this: This,
}

/// An entry to be added to the exception table, in positions of the new code.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u16,
    end: u16,
    handler: u16,
    this: This,
}

/// Appends the contents of a `Code` attribute with the edits made.
pub(crate) fn rewrite(
    code: &Code<'_>,
    edits: &[Edit],
    snippet: &mut Snippet,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<(), Skip> {
    let mut rewriter = Rewriter { code, edits, snippet, scratch, out, start: 0 };
    rewriter.find_sites()?;
    rewriter.find_points()?;
    rewriter.scratch.layout.place(code.bytes.len())?;

    let max_stack = rewriter.max_stack()?;
    let length_at = rewriter.write_head(max_stack)?;
    rewriter.write_code()?;
    rewriter.write_handlers()?;
    rewriter.set_length(length_at)?;
    rewriter.write_exception_table()?;
    rewriter.write_attributes()
}

struct Rewriter<'e, 'c> {
    code: &'e Code<'c>,
    edits: &'e [Edit],
    snippet: &'e mut Snippet,
    scratch: &'e mut Scratch,
    out: &'e mut Vec<u8>,
    /// Where in `out` the new code array starts.
    start: usize,
}

impl<'c> Rewriter<'_, 'c> {
    fn has(&self, at: At) -> bool {
        self.edits.iter().any(|edit| edit.at == at)
    }

    /// Whether an edit goes to the method's entry.
    fn is_entry(&self, edit: &Edit) -> bool {
        match edit.at {
            At::Entry => true,
            At::Initialized => !self.code.starts_uninitialized(),
            _ => false,
        }
    }

    /// Says which edits go before or after which instruction.
    fn find_sites(&mut self) -> Result<(), Skip> {
        let sites = &mut self.scratch.sites;
        sites.clear();
        let mut awaits_initialization = Vec::new();
        for (edit, at) in self.edits.iter().map(|edit| edit.at).enumerate() {
            match at {
                At::Before(bci) => sites.push(Site { bci, after: false, edit }),
                At::After(bci) => sites.push(Site { bci, after: true, edit }),
                At::Initialized if self.code.starts_uninitialized() => {
                    awaits_initialization.push(edit);
                }
                _ => {}
            }
        }
        if !awaits_initialization.is_empty() {
            for initialization in self.code.initializations()? {
                if initialization.object == Uninitialized::This {
                    let site = |&edit| Site { bci: initialization.call, after: true, edit };
                    sites.extend(awaits_initialization.iter().map(site));
                }
            }
        }
        sites.sort_unstable();
        Ok(())
    }

    /// Finds the instructions that cannot just be copied.
    fn find_points(&mut self) -> Result<(), Skip> {
        let length = |edit: &Edit| edit.piece.code.len();
        let entry = self.edits.iter().filter(|edit| self.is_entry(edit)).map(length).sum();
        let probe: usize = self.edits.iter().filter(|edit| edit.at == At::Return).map(length).sum();
        let probes_return = self.has(At::Return);
        let Scratch { layout, sites, .. } = &mut *self.scratch;
        let mut sites = sites.iter().peekable();
        let mut inserted: usize = entry;
        layout.points.clear();
        for instruction in self.code.instructions() {
            let instruction = instruction?;
            let shape = opcode::TABLE[usize::from(instruction.opcode())].1;
            let movable = match shape {
                Shape::Plain | Shape::Wide => true,
                Shape::Return => !probes_return,
                _ => false,
            };
            let has_site = sites.peek().is_some_and(|site| site.bci <= instruction.bci);
            if movable && !has_site {
                continue;
            }
            let (mut before, mut after) = (0, 0);
            while let Some(site) = sites.next_if(|site| site.bci <= instruction.bci) {
                if site.bci < instruction.bci {
                    return Err(Skip::NotAnInstruction { bci: site.bci });
                }
                let length = length(&self.edits[site.edit]);
                match site.after {
                    false => before += length,
                    true if opcode::ends_block(instruction.opcode()) => {}
                    true => after += length,
                }
            }
            if shape == Shape::Return {
                before += probe;
            }
            inserted += before + after;
            // The sums below must not overflow.
            if inserted > usize::from(u16::MAX) {
                return Err(Skip::TooLarge);
            }
            let mut point = Point::new(instruction, shape);
            (point.before, point.after) = (before as u32, after as u32);
            layout.points.push(point);
        }
        if let Some(site) = sites.next() {
            return Err(Skip::NotAnInstruction { bci: site.bci });
        }
        layout.entry = u16::try_from(entry).map_err(|_| Skip::TooLarge)?.into();
        Ok(())
    }

    /// The stack that is enough for the original code and every piece inserted into it.
    fn max_stack(&self) -> Result<u16, Skip> {
        let original = u32::from(self.code.max_stack);
        let needed = self.edits.iter().map(|edit| {
            let below = match edit.at {
                At::Throw => 1,
                _ if self.is_entry(edit) => 0,
                _ => original,
            };
            below + u32::from(edit.piece.stack)
        });
        u16::try_from(needed.fold(original, u32::max)).map_err(|_| Skip::TooLarge)
    }

    /// Writes what comes before the code array; returns where `code_length` is to be filled in.
    fn write_head(&mut self, max_stack: u16) -> Result<usize, Skip> {
        let length_at;
        if self.code.is_old_format() {
            self.out.u1(u8::try_from(max_stack).map_err(|_| Skip::TooLarge)?);
            self.out.u1(self.code.max_locals as u8);
            length_at = self.out.len();
            self.out.u2(0);
        } else {
            self.out.u2(max_stack);
            self.out.u2(self.code.max_locals);
            length_at = self.out.len();
            self.out.u4(0);
        }
        self.start = self.out.len();
        Ok(length_at)
    }

    fn set_length(&mut self, at: usize) -> Result<(), Skip> {
        let length = u16::try_from(self.out.len() - self.start).map_err(|_| Skip::TooLarge)?;
        if self.code.is_old_format() {
            self.out.set_u2(at, length);
        } else {
            self.out.set_u4(at, length.into());
        }
        Ok(())
    }

    /// Where in the new code the next byte goes. What exceeds a u2 is found in the end.
    fn position(&self) -> u16 {
        (self.out.len() - self.start) as u16
    }

    fn insert(&mut self, piece: &Piece, origin: Origin) {
        let position = self.position();
        for &join in &self.snippet.joins[piece.joins.clone()] {
            self.scratch.joins.push(Join { position: position.wrapping_add(join), origin });
        }
        self.out.extend_from_slice(&self.snippet.code[piece.code.clone()]);
    }

    /// Writes the original instructions and the pieces among them.
    fn write_code(&mut self) -> Result<(), Skip> {
        let edits = self.edits;
        self.scratch.joins.clear();
        for edit in edits {
            if self.is_entry(edit) {
                self.insert(&edit.piece, Origin::Initial);
            }
        }
        let mut site = 0;
        let mut copied = 0;
        for at in 0..self.scratch.layout.points.len() {
            let point = self.scratch.layout.points[at].clone();
            let bci = point.bci;
            self.out.extend_from_slice(&self.code.bytes[copied..usize::from(bci)]);
            copied = usize::from(point.end);
            site = self.insert_sites(site, bci, false);
            if point.shape == Shape::Return {
                for edit in edits.iter().filter(|edit| edit.at == At::Return) {
                    self.insert(&edit.piece, Origin::Before(bci));
                }
            }
            layout::write(&self.scratch.layout, &point, self.code, self.out)?;
            if point.shape == Shape::If && point.wide {
                // The inverted branch goes here.
                let position = self.position();
                self.scratch.joins.push(Join { position, origin: Origin::After(bci) });
            }
            site = self.insert_sites(site, bci, true);
        }
        self.out.extend_from_slice(&self.code.bytes[copied..]);
        Ok(())
    }

    /// Inserts the pieces of one side of an instruction, of which `site` is the first if there
    /// are any; returns the next site.
    fn insert_sites(&mut self, mut site: usize, bci: u16, after: bool) -> usize {
        let origin = if after { Origin::After(bci) } else { Origin::Before(bci) };
        while let Some(&Site { edit, .. }) =
            self.scratch.sites.get(site).filter(|site| site.bci == bci && site.after == after)
        {
            // Nothing runs behind a goto. Unreachable code would need a frame (§4.10.1).
            if !after || !opcode::ends_block(self.code.bytes[usize::from(bci)]) {
                self.insert(&self.edits[edit].piece, origin);
            }
            site += 1;
        }
        site
    }

    /// Writes the handlers for the exceptional way out, behind all other code.
    fn write_handlers(&mut self) -> Result<(), Skip> {
        let edits = self.edits;
        self.scratch.ranges.clear();
        if !self.has(At::Throw) {
            return Ok(());
        }
        self.find_runs()?;
        self.find_ranges()?;
        for this in [This::Uninitialized, This::Usable] {
            let handler = self.position();
            let mut used = false;
            for range in self.scratch.ranges.iter_mut().filter(|range| range.this == this) {
                range.handler = handler;
                used = true;
            }
            if used {
                let origin = Origin::Caught(this);
                self.scratch.joins.push(Join { position: handler, origin });
                for edit in edits.iter().filter(|edit| edit.at == At::Throw) {
                    self.insert(&edit.piece, origin);
                }
                self.out.u1(opcode::ATHROW);
            }
        }
        Ok(())
    }

    /// Finds which instructions are to be covered.
    fn find_runs(&mut self) -> Result<(), Skip> {
        let length = self.code.bytes.len() as u16;
        let runs = &mut self.scratch.runs;
        runs.clear();
        if !self.code.starts_uninitialized() {
            runs.push(Run { start: 0, end: length, this: This::Usable });
            return Ok(());
        }
        let has_frames = has_frames(self.code);
        // What announces a constructor only when `this` is initialized must not be followed by
        // the way out of a call of super() that failed.
        let from_entry = self.edits.iter().any(|edit| edit.at == At::Entry)
            || !self.edits.iter().any(|edit| edit.at == At::Initialized);
        follow(self.code, |moment, frame| {
            match (moment, this_in(frame)) {
                (Moment::Before(instruction), Some(this)) if from_entry || this == This::Usable => {
                    // Without frames the verifier merges what ways into a handler disagree on.
                    let this = if has_frames { this } else { This::Usable };
                    runs.push(Run { start: instruction.bci, end: instruction.end(), this });
                }
                // The verifiers check a handler against `this` both before and after a call that
                // initializes it: no frame fits both.
                (Moment::After(call), Some(This::Usable)) => {
                    runs.pop_if(|run| run.start == call.bci && run.this == This::Uninitialized);
                }
                _ => {}
            }
            Ok(())
        })?;
        runs.sort_unstable();
        runs.dedup_by(|next, run| {
            let joined = run.end == next.start && run.this == next.this;
            if joined {
                run.end = next.end;
            }
            joined
        });
        Ok(())
    }

    /// Finds the ranges of new code that hold the runs, except for returns with their probes: a
    /// probe that was run on the way out must not be run again.
    fn find_ranges(&mut self) -> Result<(), Skip> {
        let probes_return = self.has(At::Return);
        let Scratch { layout, runs, ranges, .. } = &mut *self.scratch;
        let mut add = |start, end, this| {
            if start < end {
                ranges.push(Range { start, end, handler: 0, this });
            }
        };
        let mut returns = layout
            .points
            .iter()
            .filter(|point| probes_return && point.shape == Shape::Return)
            .peekable();
        for run in runs {
            let mut start = layout.label(run.start)?;
            while let Some(point) = returns.next_if(|point| point.bci < run.end) {
                if point.bci >= run.start {
                    add(start, point.label() as u16, run.this);
                    start = point.new_end() as u16;
                }
            }
            add(start, layout.end(run.end)?, run.this);
        }
        Ok(())
    }

    fn write_exception_table(&mut self) -> Result<(), Skip> {
        let ranges = &self.scratch.ranges;
        let count = self.code.handlers().len() + ranges.len();
        self.out.u2(u16::try_from(count).map_err(|_| Skip::TooLarge)?);
        tables::handlers(self.code, &self.scratch.layout, self.out)?;
        for range in ranges {
            self.out.u2(range.start);
            self.out.u2(range.end);
            self.out.u2(range.handler);
            self.out.u2(0);
        }
        Ok(())
    }

    fn write_attributes(&mut self) -> Result<(), Skip> {
        // §4.10: older classes are verified without frames.
        let frames = self.code.method.class().major_version() >= 50;
        let mut new_frames = frames && !self.scratch.joins.is_empty();
        let count_at = self.out.len();
        let mut count = 0_u16;
        self.out.u2(0);
        for attribute in self.code.attributes() {
            let name = attribute.name;
            // CLDC's table (JSR 139) and one in a class that is too old: no verifier reads them.
            if name == b"StackMap" || (name == b"StackMapTable" && !frames) {
                continue;
            }
            count += 1;
            self.out.u2(attribute.name_index);
            let length_at = self.out.len();
            self.out.u4(0);
            let (info, layout) = (attribute.info, &self.scratch.layout);
            match name {
                b"LineNumberTable" => tables::line_numbers(info, layout, self.out)?,
                b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                    tables::local_variables(info, layout, self.out)?;
                }
                b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                    tables::type_annotations(info, layout, self.out)?;
                }
                b"StackMapTable" => {
                    new_frames = false;
                    self.write_frames(info)?;
                }
                _ => self.out.extend_from_slice(info),
            }
            self.set_attribute_length(length_at)?;
        }
        if new_frames {
            count = count.checked_add(1).ok_or(Skip::TooLarge)?;
            let name = self.snippet.constants.utf8(b"StackMapTable")?;
            self.out.u2(name);
            let length_at = self.out.len();
            self.out.u4(0);
            self.write_frames(&[0, 0])?;
            self.set_attribute_length(length_at)?;
        }
        self.out.set_u2(count_at, count);
        Ok(())
    }

    fn set_attribute_length(&mut self, at: usize) -> Result<(), Skip> {
        let length = u32::try_from(self.out.len() - at - 4).map_err(|_| Skip::TooLarge)?;
        self.out.set_u4(at, length);
        Ok(())
    }

    /// Writes the contents of the `StackMapTable` from those of the original one.
    fn write_frames(&mut self, info: &'c [u8]) -> Result<(), Skip> {
        let must_follow = |join: &Join| matches!(join.origin, Origin::Before(_) | Origin::After(_));
        if self.scratch.joins.iter().any(must_follow) {
            self.write_followed_frames(info)
        } else {
            self.copy_frames(info)
        }
    }

    /// The usual case: new frames stand only at the entry and behind all old ones.
    fn copy_frames(&mut self, info: &[u8]) -> Result<(), Skip> {
        let Scratch { layout, joins, .. } = &*self.scratch;
        let mut encoder = Encoder::new(layout, &[], self.out);
        let (initial, caught) =
            joins.split_at(joins.partition_point(|join| join.origin == Origin::Initial));
        encoder.copy(info, initial.iter().map(|join| join.position))?;
        for join in caught {
            if let Origin::Caught(this) = join.origin {
                let frame = caught_frame(this);
                encoder.write_full(join.position, &frame, &mut self.snippet.constants)?;
            }
        }
        encoder.finish()
    }

    /// The slow case: new frames stand among the old ones.
    fn write_followed_frames(&mut self, info: &'c [u8]) -> Result<(), Skip> {
        let initial = initial_frame(self.code)?;
        let frames = self.followed_frames(&initial)?;
        let Scratch { layout, joins, .. } = &*self.scratch;
        let constants = &mut self.snippet.constants;
        let mut encoder = Encoder::new(layout, &initial.locals, self.out);
        let mut decoder = Decoder::new(info, self.code.pool(), initial, self.code.max_locals)?;
        let mut joins = joins.iter().peekable();
        loop {
            let original = decoder.next()?;
            let position = match &original {
                Some((bci, _)) => Some(layout.label(*bci)?),
                None => None,
            };
            let is_next = |join: &&Join| position.is_none_or(|position| join.position < position);
            while let Some(join) = joins.next_if(is_next) {
                // §4.7.4: one frame at a place. Two pieces' guards may end in the same one.
                if joins.peek().is_none_or(|next| next.position != join.position) {
                    let bci = match join.origin {
                        Origin::Before(bci) | Origin::After(bci) => bci,
                        _ => 0,
                    };
                    let frame = frames.get(&join.origin).and_then(Option::as_ref);
                    let frame = frame.ok_or(Skip::UnknownFrame { bci })?;
                    encoder.write(join.position, frame, constants)?;
                }
            }
            let Some(((_, frame), position)) = original.zip(position) else { break };
            while joins.next_if(|join| join.position == position).is_some() {}
            encoder.write(position, frame, constants)?;
        }
        encoder.finish()
    }

    /// The frames of all joins; `None` for places that control cannot reach.
    fn followed_frames(
        &self,
        initial: &Frame<'c>,
    ) -> Result<BTreeMap<Origin, Option<Frame<'c>>>, Error> {
        let mut frames: BTreeMap<_, _> =
            self.scratch.joins.iter().map(|join| (join.origin, None)).collect();
        for (origin, frame) in &mut frames {
            match *origin {
                Origin::Initial => *frame = Some(initial.clone()),
                Origin::Caught(this) => *frame = Some(caught_frame(this)),
                Origin::Before(_) | Origin::After(_) => {}
            }
        }
        follow(self.code, |moment, frame| {
            let origin = match moment {
                Moment::Before(instruction) => Origin::Before(instruction.bci),
                Moment::After(instruction) => Origin::After(instruction.bci),
            };
            if let Some(wanted) = frames.get_mut(&origin) {
                *wanted = Some(frame.clone());
            }
            Ok(())
        })?;
        Ok(frames)
    }
}

/// Which handler can cover an instruction with this frame before it.
fn this_in(frame: &Frame<'_>) -> Option<This> {
    if frame.locals.first() == Some(&Type::UninitializedThis) {
        Some(This::Uninitialized)
    } else if frame.locals.iter().chain(&frame.stack).all(|&slot| slot != Type::UninitializedThis) {
        Some(This::Usable)
    } else {
        None
    }
}

/// The frame of a handler for everything: whatever the locals hold is assignable to it.
fn caught_frame(this: This) -> Frame<'static> {
    let locals = match this {
        This::Uninitialized => vec![Type::UninitializedThis],
        This::Usable => Vec::new(),
    };
    Frame { locals, stack: vec![Type::class("java/lang/Throwable")] }
}
