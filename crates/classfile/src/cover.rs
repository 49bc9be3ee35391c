//! The instructions that the handler for the exceptional exit covers.

use crate::flow::{Moment, follow, has_frames, initial_frame};
use crate::frame::{Class, Frame, Type};
use crate::layout::Layout;
use crate::opcode::Shape;
use crate::stack_map::Decoder;
use crate::{Code, Error};

/// The state of a constructor's `this`. A handler can cover only instructions with the same
/// state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum This {
    /// Not initialized, and in local variable 0.
    Uninitialized,
    /// Initialized, or there is no `this`.
    Usable,
    /// Initialized, and in local variable 0, where the handler's code expects it.
    Kept,
}

/// An entry to be added to the exception table, in positions of the new code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub start: u16,
    pub end: u16,
    /// Set when the handler is written.
    pub handler: u16,
    pub this: This,
}

/// Finds the ranges of new code that are to be covered.
///
/// With `from_entry`, a constructor counts as entered before it calls `super()`. Returns with
/// code before them are left out: that code has completed, and the handler's code must not
/// follow it. `this` is the state that the handler's code needs in methods other than
/// constructors.
pub(crate) fn cover(
    code: &Code<'_>,
    layout: &Layout,
    from_entry: bool,
    this: This,
    probed_returns: bool,
    ranges: &mut Vec<Range>,
) -> Result<(), Error> {
    ranges.clear();
    let mut add = |start, end, this| {
        if start < end {
            ranges.push(Range { start, end, handler: 0, this });
        }
    };
    let mut returns = layout
        .points
        .iter()
        .filter(|point| probed_returns && point.shape == Shape::Return)
        .peekable();
    let mut cover = |run: Run| -> Result<(), Error> {
        let mut start = layout.label(run.start)?;
        while let Some(point) = returns.next_if(|point| point.bci < run.end) {
            if point.bci >= run.start {
                add(start, point.label() as u16, run.this);
                start = point.new_end() as u16;
            }
        }
        add(start, layout.end(run.end)?, run.this);
        Ok(())
    };
    if code.starts_uninitialized() {
        constructor_runs(code, from_entry)?.into_iter().try_for_each(cover)
    } else {
        cover(Run { start: 0, end: code.bytes.len() as u16, this })
    }
}

/// Returns the frame of a handler, to which the locals of all covered instructions are
/// assignable.
pub(crate) fn caught_frame<'c>(code: &Code<'c>, this: This) -> Result<Frame<'c>, Error> {
    let locals = match this {
        This::Uninitialized => vec![Type::UninitializedThis],
        This::Usable => Vec::new(),
        This::Kept => vec![this_type(code)?],
    };
    Ok(Frame::caught(locals))
}

fn this_type<'c>(code: &Code<'c>) -> Result<Type<'c>, Error> {
    Class::from_name(code.method.class().name()).map(Type::Object)
}

/// Returns true if local variable 0 holds `this` throughout an instance method that is no
/// constructor.
pub(crate) fn keeps_this(code: &Code<'_>) -> Result<bool, Error> {
    for instruction in code.instructions() {
        if instruction?.stores_to() == Some(0) {
            return Ok(false);
        }
    }
    let Some(info) = code.attributes().find(b"StackMapTable") else { return Ok(true) };
    let this = this_type(code)?;
    let mut frames = Decoder::new(info, code.pool(), initial_frame(code)?, code.max_locals)?;
    while let Some((_, frame)) = frames.next()? {
        if frame.locals.first() != Some(&this) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Consecutive original instructions from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    start: u16,
    end: u16,
    this: This,
}

/// Finds the instructions of a constructor that can be covered.
fn constructor_runs(code: &Code<'_>, from_entry: bool) -> Result<Vec<Run>, Error> {
    let has_frames = has_frames(code);
    let mut runs: Vec<Run> = Vec::new();
    follow(code, |moment, frame| {
        match (moment, this_in(frame)) {
            (Moment::Before(instruction), Some(this)) if from_entry || this == This::Usable => {
                // Without frames the verifier merges the differing states of a handler's
                // predecessors.
                let this = if has_frames { this } else { This::Usable };
                runs.push(Run { start: instruction.bci, end: instruction.end(), this });
            }
            // The verifiers compare a handler's frame with `this` both before and after the call
            // that initializes it. No frame fits both.
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
    Ok(runs)
}

/// Returns the state of `this` in the frame before an instruction, if a handler can cover the
/// instruction.
fn this_in(frame: &Frame<'_>) -> Option<This> {
    if frame.locals.first() == Some(&Type::UninitializedThis) {
        Some(This::Uninitialized)
    } else if frame.locals.iter().chain(&frame.stack).all(|&slot| slot != Type::UninitializedThis) {
        Some(This::Usable)
    } else {
        None
    }
}
