//! Places in the new code at which two paths join, and the `StackMapTable` with frames for them.

use std::collections::BTreeMap;

use crate::cover::{This, caught_frame};
use crate::flow::{Moment, follow, initial_frame};
use crate::frame::Frame;
use crate::layout::Layout;
use crate::stack_map::{Decoder, Encoder};
use crate::{Code, Constants, Error, Skip};

/// A place in the new code that needs a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join {
    pub position: u16,
    pub origin: Origin,
}

/// The source of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// The method's implicit first frame.
    Initial,
    /// The frame before or after an instruction.
    Before(u16),
    After(u16),
    /// The frame of the handler for exceptions in such instructions.
    Caught(This),
}

/// Writes the contents of a `StackMapTable` based on the original one. `joins` are in order.
pub(crate) fn write_frames<'c>(
    code: &Code<'c>,
    info: &'c [u8],
    joins: &[Join],
    layout: &Layout,
    constants: &mut Constants,
    out: &mut Vec<u8>,
) -> Result<(), Skip> {
    let among = |join: &Join| matches!(join.origin, Origin::Before(_) | Origin::After(_));
    if joins.iter().any(among) {
        write_among(code, info, joins, layout, constants, out)
    } else {
        write_around(code, info, joins, layout, constants, out)
    }
}

/// Handles the usual case: new frames occur only at the entry and after all old ones.
fn write_around(
    code: &Code<'_>,
    info: &[u8],
    joins: &[Join],
    layout: &Layout,
    constants: &mut Constants,
    out: &mut Vec<u8>,
) -> Result<(), Skip> {
    let mut encoder = Encoder::new(layout, &[], out);
    let (initial, caught) =
        joins.split_at(joins.partition_point(|join| join.origin == Origin::Initial));
    encoder.copy(info, initial.iter().map(|join| join.position))?;
    for join in caught {
        if let Origin::Caught(this) = join.origin {
            encoder.write_full(join.position, &caught_frame(code, this)?, constants)?;
        }
    }
    encoder.finish()
}

/// Handles the slow case: new frames occur among the old ones.
fn write_among<'c>(
    code: &Code<'c>,
    info: &'c [u8],
    joins: &[Join],
    layout: &Layout,
    constants: &mut Constants,
    out: &mut Vec<u8>,
) -> Result<(), Skip> {
    let initial = initial_frame(code)?;
    let frames = find_frames(code, info, &initial, joins)?;
    let mut encoder = Encoder::new(layout, &initial.locals, out);
    let mut decoder = Decoder::new(info, code.pool(), initial, code.max_locals)?;
    let mut joins = joins.iter().peekable();
    loop {
        let original = match decoder.next()? {
            Some((bci, frame)) => Some((layout.label(bci)?, frame)),
            None => None,
        };
        let position = original.as_ref().map(|&(position, _)| position);
        while let Some(join) =
            joins.next_if(|join| position.is_none_or(|position| join.position < position))
        {
            let frame = frames.get(&join.origin).and_then(Option::as_ref);
            encoder.write(join.position, frame.ok_or(unknown(join.origin))?, constants)?;
        }
        let Some((position, frame)) = original else { return encoder.finish() };
        // §4.7.4 permits one frame per place.
        joins.next_if(|join| join.position == position);
        encoder.write(position, frame, constants)?;
    }
}

fn unknown(origin: Origin) -> Skip {
    match origin {
        Origin::Before(bci) | Origin::After(bci) => Skip::UnknownFrame { bci },
        Origin::Initial | Origin::Caught(_) => Skip::UnknownFrame { bci: 0 },
    }
}

/// Returns the frames of all joins; `None` for places that control cannot reach.
fn find_frames<'c>(
    code: &Code<'c>,
    info: &'c [u8],
    initial: &Frame<'c>,
    joins: &[Join],
) -> Result<BTreeMap<Origin, Option<Frame<'c>>>, Error> {
    let known = |origin| match origin {
        Origin::Initial => Ok(Some(initial.clone())),
        Origin::Caught(this) => caught_frame(code, this).map(Some),
        Origin::Before(_) | Origin::After(_) => Ok(None),
    };
    let frames: Result<BTreeMap<_, _>, Error> =
        joins.iter().map(|join| Ok((join.origin, known(join.origin)?))).collect();
    let mut frames = frames?;
    // Handlers need only the frames of the table.
    let mut recorded = Decoder::new(info, code.pool(), initial.clone(), code.max_locals)?;
    while let Some((bci, frame)) = recorded.next()? {
        if let Some(wanted) = frames.get_mut(&Origin::Before(bci)) {
            *wanted = Some(frame.clone());
        }
    }
    if frames.values().all(Option::is_some) {
        return Ok(frames);
    }
    follow(code, |moment, frame| {
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
