//! The rewriting of one method: from its `Code` attribute and the edits to the new `Code` attribute.

use crate::bytes::Write;
use crate::code::Caught;
use crate::cover::{Range, This, cover, keeps_this};
use crate::flow::has_frames;
use crate::join::{Join, Origin, write_frames};
use crate::layout::{self, Layout, Point};
use crate::opcode::{self, Shape};
use crate::snippet::{Piece, Snippet};
use crate::{Code, Skip, Uninitialized, tables};

/// A piece of code and its place.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    /// The method's index in file order.
    pub method: usize,
    pub at: At,
    pub piece: Piece,
}

/// The place of a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Entry,
    /// The place where `this` becomes initialized.
    Initialized,
    Before(u16),
    After(u16),
    /// Before a handler's first instruction.
    Catch(u16),
    Return,
    Throw,
}

/// Buffers that are reused for every method of a class.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    layout: Layout,
    /// The edits for the entry, for the returns, and for the handler of the exceptional exit.
    entry: Vec<usize>,
    returns: Vec<usize>,
    throw: Vec<usize>,
    /// The edits before or after single instructions.
    sites: Vec<Site>,
    /// The catch-all handlers with pieces before them, in order.
    catches: Vec<Catch>,
    joins: Vec<Join>,
    ranges: Vec<Range>,
}

/// A catch-all handler with pieces before it. Exceptions of these pieces go to a separate handler, which
/// continues after the pieces: HotSpot's C1 refuses handlers that are also reached by normal control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Catch {
    bci: u16,
    /// The position of the pieces' own handler in the new code.
    handler: u16,
}

/// A piece before or after one instruction. The order of the fields is the order of the sites in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Site {
    bci: u16,
    after: bool,
    /// The index of the method's edit.
    edit: usize,
}

/// Appends the contents of a `Code` attribute with the edits applied.
pub(crate) fn rewrite(
    code: &Code<'_>,
    edits: &[Edit],
    snippet: &mut Snippet,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<(), Skip> {
    let mut rewriter = Rewriter { code, edits, snippet, scratch, out, start: 0 };
    rewriter.sort_edits()?;
    rewriter.find_points()?;
    rewriter.scratch.layout.place(code.bytes.len())?;

    let length_at = rewriter.write_head()?;
    rewriter.write_code()?;
    rewriter.write_catches()?;
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
    /// The offset in `out` at which the new code array starts.
    start: usize,
}

impl<'c> Rewriter<'_, 'c> {
    /// Sorts the edits by their places.
    fn sort_edits(&mut self) -> Result<(), Skip> {
        let Scratch { entry, returns, throw, sites, catches, .. } = &mut *self.scratch;
        for edits in [&mut *entry, &mut *returns, &mut *throw] {
            edits.clear();
        }
        sites.clear();
        catches.clear();
        let mut initialized = Vec::new();
        for (edit, at) in self.edits.iter().map(|edit| edit.at).enumerate() {
            match at {
                At::Before(bci) => sites.push(Site { bci, after: false, edit }),
                At::After(bci) => sites.push(Site { bci, after: true, edit }),
                At::Catch(bci) => {
                    sites.push(Site { bci, after: false, edit });
                    match self.code.caught_at(bci) {
                        Some(Caught::All) => catches.push(Catch { bci, handler: 0 }),
                        Some(Caught::Some) => {}
                        None => return Err(Skip::NotAHandler { bci }),
                    }
                }
                At::Initialized if self.code.starts_uninitialized() => initialized.push(edit),
                At::Entry | At::Initialized => entry.push(edit),
                At::Return => returns.push(edit),
                At::Throw => throw.push(edit),
            }
        }
        if !initialized.is_empty() {
            for initialization in self.code.initializations()? {
                if initialization.object == Uninitialized::This {
                    let site = |&edit| Site { bci: initialization.call, after: true, edit };
                    sites.extend(initialized.iter().map(site));
                }
            }
        }
        sites.sort_unstable();
        catches.sort_unstable();
        catches.dedup();
        Ok(())
    }

    /// Finds the instructions that cannot be copied unchanged.
    fn find_points(&mut self) -> Result<(), Skip> {
        let length = |&edit: &usize| self.edits[edit].piece.code.len();
        let Scratch { layout, entry, returns, sites, .. } = &mut *self.scratch;
        let entry: usize = entry.iter().map(length).sum();
        let probe: usize = returns.iter().map(length).sum();
        let mut sites = sites.iter().peekable();
        let mut inserted = entry;
        layout.points.clear();
        for instruction in self.code.instructions() {
            let instruction = instruction?;
            let shape = opcode::TABLE[usize::from(instruction.opcode())].1;
            let movable = match shape {
                Shape::Plain | Shape::Wide => true,
                Shape::Return => returns.is_empty(),
                _ => false,
            };
            let has_site = sites.peek().is_some_and(|site| site.bci <= instruction.bci);
            if movable && !has_site {
                continue;
            }
            let mut point = Point::new(instruction, shape);
            let (mut before, mut after) = (0, 0);
            while let Some(site) = sites.next_if(|site| site.bci <= instruction.bci) {
                if site.bci < instruction.bci {
                    return Err(Skip::NotAnInstruction { bci: site.bci });
                }
                match site.after {
                    false => before += length(&site.edit),
                    true if point.ends_block => {}
                    true => after += length(&site.edit),
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
            (point.before, point.after) = (before as u32, after as u32);
            layout.points.push(point);
        }
        if let Some(site) = sites.next() {
            return Err(Skip::NotAnInstruction { bci: site.bci });
        }
        layout.entry = u16::try_from(entry).map_err(|_| Skip::TooLarge)?.into();
        Ok(())
    }

    /// Returns a stack size that suffices for the original code and every inserted piece.
    fn max_stack(&self) -> Result<u16, Skip> {
        let original = u32::from(self.code.max_stack);
        let piece = |edit: usize| u32::from(self.edits[edit].piece.stack);
        let Scratch { entry, returns, throw, sites, .. } = &*self.scratch;
        let among = sites.iter().map(|site| site.edit).chain(returns.iter().copied());
        let below = |edit: usize| match self.edits[edit].at {
            At::Catch(_) => 1,
            _ => original,
        };
        let needed = among.map(|edit| below(edit) + piece(edit));
        // The stack is empty at the entry; in a handler it has the exception.
        let needed = needed.chain(entry.iter().map(|&edit| piece(edit)));
        let needed = needed.chain(throw.iter().map(|&edit| 1 + piece(edit)));
        u16::try_from(needed.fold(original, u32::max)).map_err(|_| Skip::TooLarge)
    }

    /// Writes the part before the code array. Returns the offset at which `code_length` is to be filled in.
    fn write_head(&mut self) -> Result<usize, Skip> {
        let (max_stack, max_locals) = (self.max_stack()?, self.code.max_locals);
        let old = self.code.is_old_format();
        if old {
            self.out.u1(u8::try_from(max_stack).map_err(|_| Skip::TooLarge)?);
            self.out.u1(max_locals as u8);
        } else {
            self.out.u2(max_stack);
            self.out.u2(max_locals);
        }
        let length_at = self.out.len();
        self.start = length_at + if old { 2 } else { 4 };
        self.out.resize(self.start, 0);
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

    /// Returns the position of the next byte in the new code. A value beyond a u2 is detected at the end.
    fn position(&self) -> u16 {
        (self.out.len() - self.start) as u16
    }

    fn insert(&mut self, edit: usize, origin: Origin) {
        let Piece { code, joins, .. } = &self.edits[edit].piece;
        let position = self.position();
        for &join in &self.snippet.joins[joins.clone()] {
            self.scratch.joins.push(Join { position: position.wrapping_add(join), origin });
        }
        self.out.extend_from_slice(&self.snippet.code[code.clone()]);
    }

    /// Writes the original instructions and the pieces among them.
    fn write_code(&mut self) -> Result<(), Skip> {
        self.scratch.joins.clear();
        for at in 0..self.scratch.entry.len() {
            self.insert(self.scratch.entry[at], Origin::Initial);
        }
        let mut site = 0;
        let mut copied = 0;
        for at in 0..self.scratch.layout.points.len() {
            let point = self.scratch.layout.points[at].clone();
            let bci = point.bci;
            self.out.extend_from_slice(&self.code.bytes[copied..usize::from(bci)]);
            copied = usize::from(point.end);

            site = self.insert_sites(site, &point, false);
            if point.shape == Shape::Return {
                for at in 0..self.scratch.returns.len() {
                    self.insert(self.scratch.returns[at], Origin::Before(bci));
                }
            }
            let join = Join { position: self.position(), origin: Origin::Before(bci) };
            let is_known = self.scratch.joins.last().is_some_and(|j| j.position == join.position);
            let is_catch =
                self.scratch.catches.binary_search_by_key(&bci, |catch| catch.bci).is_ok();
            if is_catch && !is_known {
                self.scratch.joins.push(join);
            }
            layout::write(&self.scratch.layout, &point, self.code, self.out)?;
            if point.shape == Shape::If && point.wide {
                // The target of the inverted branch.
                let position = self.position();
                self.scratch.joins.push(Join { position, origin: Origin::After(bci) });
            }
            site = self.insert_sites(site, &point, true);
        }
        self.out.extend_from_slice(&self.code.bytes[copied..]);
        Ok(())
    }

    /// Inserts the pieces of one side of an instruction, starting at `site`. Returns the next site.
    fn insert_sites(&mut self, mut site: usize, point: &Point, after: bool) -> usize {
        let bci = point.bci;
        let origin = if after { Origin::After(bci) } else { Origin::Before(bci) };
        while let Some(&Site { edit, .. }) =
            self.scratch.sites.get(site).filter(|site| site.bci == bci && site.after == after)
        {
            // No code runs directly after a goto. Unreachable code would need a frame (§4.10.1).
            if !after || !point.ends_block {
                self.insert(edit, origin);
            }
            site += 1;
        }
        site
    }

    /// Writes the handlers for exceptions of the pieces before handlers.
    fn write_catches(&mut self) -> Result<(), Skip> {
        for at in 0..self.scratch.catches.len() {
            let (bci, position) = (self.scratch.catches[at].bci, self.position());
            self.scratch.catches[at].handler = position;
            self.scratch.joins.push(Join { position, origin: Origin::Before(bci) });
            let target = self.scratch.layout.instruction(bci)?;
            self.out.u1(opcode::GOTO_W);
            self.out.u4((i32::from(target) - i32::from(position)) as u32);
        }
        Ok(())
    }

    /// Writes the handlers for the exceptional exit, after all other code.
    fn write_handlers(&mut self) -> Result<(), Skip> {
        self.scratch.ranges.clear();
        if self.scratch.throw.is_empty() {
            return Ok(());
        }
        let has = |at| self.edits.iter().any(|edit| edit.at == at);
        // If code reports a constructor only when `this` is initialized, a failed call of super() must not be
        // followed by the code for the exceptional exit.
        let from_entry = has(At::Entry) || !has(At::Initialized);
        let Scratch { layout, returns, throw, ranges, .. } = &mut *self.scratch;
        let loads = throw.iter().any(|&edit| self.edits[edit].piece.loads);
        let this = match loads && !self.code.method.is_static() && !self.code.starts_uninitialized()
        {
            true if keeps_this(self.code)? => This::Kept,
            true => return Err(Skip::UnknownFrame { bci: 0 }),
            false => This::Usable,
        };
        cover(self.code, layout, from_entry, this, !returns.is_empty(), ranges)?;
        for this in [This::Uninitialized, This::Usable, This::Kept] {
            let position = self.position();
            let mut covers = false;
            for range in self.scratch.ranges.iter_mut().filter(|range| range.this == this) {
                range.handler = position;
                covers = true;
            }
            if covers {
                let origin = Origin::Caught(this);
                self.scratch.joins.push(Join { position, origin });
                for at in 0..self.scratch.throw.len() {
                    self.insert(self.scratch.throw[at], origin);
                }
                self.out.u1(opcode::ATHROW);
            }
        }
        Ok(())
    }

    fn write_exception_table(&mut self) -> Result<(), Skip> {
        let Scratch { layout, ranges, catches, .. } = &*self.scratch;
        let count = catches.len() + self.code.handlers().len() + ranges.len();
        self.out.u2(u16::try_from(count).map_err(|_| Skip::TooLarge)?);
        // These entries come first, because the first entry that covers an instruction applies.
        for Catch { bci, handler } in catches {
            self.out.u2(layout.label(*bci)?);
            self.out.u2(layout.instruction(*bci)?);
            self.out.u2(*handler);
            self.out.u2(0);
        }
        tables::handlers(self.code, layout, self.out)?;
        for range in ranges {
            self.out.u2(range.start);
            self.out.u2(range.end);
            self.out.u2(range.handler);
            // A catch type of 0 catches everything.
            self.out.u2(0);
        }
        Ok(())
    }

    fn write_attributes(&mut self) -> Result<(), Skip> {
        let frames = has_frames(self.code);
        let mut lacks_frames = frames && !self.scratch.joins.is_empty();
        let count_at = self.out.len();
        let mut count = 0_u16;
        self.out.u2(0);
        for attribute in self.code.attributes() {
            // CLDC's table (JSR 139), and a StackMapTable in a class that is too old (§4.10), are read by no
            // verifier.
            if attribute.name == b"StackMap" || (attribute.name == b"StackMapTable" && !frames) {
                continue;
            }
            lacks_frames &= attribute.name != b"StackMapTable";
            count += 1;
            self.write_attribute(attribute.name_index, attribute.name, attribute.info)?;
        }
        if lacks_frames {
            count = count.checked_add(1).ok_or(Skip::TooLarge)?;
            let name = b"StackMapTable";
            let index = self.snippet.constants.utf8(name)?;
            self.write_attribute(index, name, &[0, 0])?;
        }
        self.out.set_u2(count_at, count);
        Ok(())
    }

    /// Writes an attribute of the original code with its new positions.
    fn write_attribute(
        &mut self,
        name_index: u16,
        name: &[u8],
        info: &'c [u8],
    ) -> Result<(), Skip> {
        self.out.u2(name_index);
        let length_at = self.out.len();
        self.out.u4(0);
        let Scratch { layout, joins, catches, .. } = &*self.scratch;
        let out = &mut *self.out;
        match name {
            b"LineNumberTable" => tables::line_numbers(info, layout, out)?,
            b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                tables::local_variables(info, layout, out)?;
            }
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                tables::type_annotations(info, layout, catches.len() as u16, out)?;
            }
            b"StackMapTable" => {
                write_frames(self.code, info, joins, layout, &mut self.snippet.constants, out)?;
            }
            _ => out.extend_from_slice(info),
        }
        let length = self.out.len() - length_at - 4;
        self.out.set_u4(length_at, u32::try_from(length).map_err(|_| Skip::TooLarge)?);
        Ok(())
    }
}
