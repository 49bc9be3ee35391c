//! Attributes of `Code` with indices of the code array, rewritten for the new positions.

use crate::Error;
use crate::bytes::{Reader, Write};
use crate::layout::Layout;

/// Writes a `LineNumberTable` (JVMS §4.7.12). Inserted code belongs to the line of the
/// instruction that it precedes or follows, entry code to the first line.
pub(crate) fn line_numbers(info: &[u8], layout: &Layout, out: &mut Vec<u8>) -> Result<(), Error> {
    let mut reader = Reader::new(info, "LineNumberTable");
    let count = reader.u2()?;
    out.u2(count);
    for _ in 0..count {
        let start = reader.u2()?;
        out.u2(start_of(start, layout)?);
        out.extend_from_slice(reader.take(2)?);
    }
    reader.finish()
}

/// Writes a `LocalVariableTable` or `LocalVariableTypeTable` (JVMS §4.7.13, §4.7.14).
pub(crate) fn local_variables(
    info: &[u8],
    layout: &Layout,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut reader = Reader::new(info, "LocalVariableTable");
    let count = reader.u2()?;
    out.u2(count);
    for _ in 0..count {
        range(&mut reader, layout, out)?;
        out.extend_from_slice(reader.take(6)?);
    }
    reader.finish()
}

/// Writes an exception table (JVMS §4.7.3), without its count. A handler also covers the code
/// inserted between covered instructions and before the first of them.
pub(crate) fn handlers(
    code: &crate::Code<'_>,
    layout: &Layout,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    for entry in code.handlers() {
        out.u2(layout.label(entry.start)?);
        out.u2(layout.end(entry.end)?);
        out.u2(layout.label(entry.handler)?);
        out.u2(entry.catch_type);
    }
    Ok(())
}

/// Writes a `RuntimeVisibleTypeAnnotations` or `RuntimeInvisibleTypeAnnotations` (JVMS
/// §4.7.20). `added` entries precede the original ones of the exception table.
pub(crate) fn type_annotations(
    info: &[u8],
    layout: &Layout,
    added: u16,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut reader = Reader::new(info, "type annotations");
    let count = reader.u2()?;
    out.u2(count);
    for _ in 0..count {
        let target = reader.u1()?;
        out.u1(target);
        match target {
            // localvar_target
            0x40 | 0x41 => {
                let ranges = reader.u2()?;
                out.u2(ranges);
                for _ in 0..ranges {
                    range(&mut reader, layout, out)?;
                    out.extend_from_slice(reader.take(2)?);
                }
            }
            // catch_target: an entry of the exception table.
            0x42 => out.u2(reader.u2()?.wrapping_add(added)),
            // offset_target
            0x43..=0x46 => out.u2(layout.instruction(reader.u2()?)?),
            // type_argument_target
            0x47..=0x4B => {
                out.u2(layout.instruction(reader.u2()?)?);
                out.extend_from_slice(reader.take(1)?);
            }
            _ => return Err(Error::BadAnnotation),
        }
        let start = reader.at();
        let path = reader.u1()?;
        reader.take(2 * usize::from(path))?;
        skip_annotation(&mut reader, 0)?;
        out.extend_from_slice(&info[start..reader.at()]);
    }
    reader.finish()
}

/// Writes `start_pc` and `length` of a range of instructions.
fn range(reader: &mut Reader<'_>, layout: &Layout, out: &mut Vec<u8>) -> Result<(), Error> {
    let (start, length) = (reader.u2()?, reader.u2()?);
    let end = start.checked_add(length).ok_or(Error::BadBci(start.into()))?;
    let new_start = start_of(start, layout)?;
    out.u2(new_start);
    out.u2(layout.end(end)?.saturating_sub(new_start));
    Ok(())
}

/// Returns the start of a line or of a variable's scope. A start at the method's entry includes
/// the code inserted there.
fn start_of(bci: u16, layout: &Layout) -> Result<u16, Error> {
    if bci == 0 { Ok(0) } else { layout.label(bci) }
}

/// Skips an `annotation` (JVMS §4.7.16).
fn skip_annotation(reader: &mut Reader<'_>, depth: u8) -> Result<(), Error> {
    let _type = reader.u2()?;
    for _ in 0..reader.u2()? {
        let _name = reader.u2()?;
        skip_value(reader, depth)?;
    }
    Ok(())
}

/// Skips an `element_value` (JVMS §4.7.16.1).
fn skip_value(reader: &mut Reader<'_>, depth: u8) -> Result<(), Error> {
    if depth == 64 {
        return Err(Error::BadAnnotation);
    }
    match reader.u1()? {
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's' | b'c' => {
            reader.take(2)?;
        }
        b'e' => {
            reader.take(4)?;
        }
        b'@' => skip_annotation(reader, depth + 1)?,
        b'[' => {
            for _ in 0..reader.u2()? {
                skip_value(reader, depth + 1)?;
            }
        }
        _ => return Err(Error::BadAnnotation),
    }
    Ok(())
}
