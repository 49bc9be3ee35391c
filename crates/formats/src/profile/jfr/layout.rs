//! The chunks of a file, their events, and the values in these as the chunk's own metadata describes them.

use super::{HEADER, MAGIC};
use crate::profile::error::Error;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

/// The maximum number of objects in each other, and of constants that lead to a text.
const DEPTH: u32 = 16;

pub fn error(at: usize, what: impl Into<String>) -> Error {
    Error { at: at as u64, line: None, what: what.into() }
}

/// The header of a chunk.
pub struct Header {
    /// The end of the chunk in the file.
    pub end: usize,
    /// True if the file ends before the chunk does.
    pub is_cut: bool,
    /// In nanoseconds since 1970.
    pub start: u64,
    /// In nanoseconds; 0 if the chunk is not complete.
    pub duration: u64,
    ticks: u64,
    ticks_per_second: u64,
}

impl Header {
    pub fn read(bytes: &[u8], at: usize) -> Result<Self, Error> {
        let header = bytes[at..].get(..HEADER).filter(|header| header.starts_with(MAGIC));
        let header = header.ok_or_else(|| error(at, "no chunk of JFR begins here"))?;
        if header[4..6] != [0, 2] || header[67] & 1 == 0 {
            let version = format!("{}.{}", header[5], header[7]);
            let what =
                format!("version {version} of JFR is not supported: record with JDK 11 or newer");
            return Err(error(at, what));
        }
        let number = |place: usize| {
            u64::from_be_bytes(header[place..place + 8].try_into().unwrap_or_default())
        };
        let length = usize::try_from(number(8)).unwrap_or(usize::MAX);
        // A JVM writes the length when the chunk is complete.
        let is_cut = length < HEADER || length > bytes.len() - at;
        Ok(Self {
            end: if is_cut { bytes.len() } else { at + length },
            is_cut,
            start: number(32),
            duration: number(40),
            ticks: number(48),
            ticks_per_second: number(56),
        })
    }

    /// Returns a duration in nanoseconds.
    pub fn duration(&self, ticks: u64) -> u64 {
        let each = u128::from(self.ticks_per_second.max(1));
        u64::try_from(u128::from(ticks) * 1_000_000_000 / each).unwrap_or(u64::MAX)
    }

    /// Returns a time in nanoseconds since 1970.
    pub fn time(&self, ticks: u64) -> u64 {
        self.start.saturating_add(self.duration(ticks.saturating_sub(self.ticks)))
    }
}

/// The events in these bytes: their types, places and contents. Ends with the place of one that is not whole.
pub struct Events<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<(u64, usize, &'a [u8]), usize>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = std::mem::replace(&mut self.at, self.bytes.len());
        let left = self.bytes.get(start..).filter(|left| !left.is_empty())?;
        let mut read = || {
            let mut at = left;
            let length = usize::try_from(varint(&mut at)?).ok()?;
            let mut body = at.get(..length.checked_sub(left.len() - at.len())?)?;
            let of = varint(&mut body)?;
            self.at = start + length;
            Some((of, start, body))
        };
        Some(read().ok_or(start))
    }
}

fn varint(at: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..=56).step_by(7) {
        let byte = take(at, 1)?[0];
        // The ninth byte is the last, and has eight bits.
        let is_last = byte & 0x80 == 0 || shift == 56;
        let bits = if shift == 56 { byte } else { byte & 0x7f };
        value |= u64::from(bits) << shift;
        if is_last {
            break;
        }
    }
    Some(value)
}

fn take<'a>(at: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = at.split_at_checked(usize::try_from(length).ok()?)?;
    *at = rest;
    Some(taken)
}

/// Reads a text, a constant of type `of`, or nothing.
fn text<'a>(at: &mut &'a [u8], of: u64) -> Option<Option<Leaf<'a>>> {
    let kind = take(at, 1)?[0];
    let text = match kind {
        0 => return Some(None),
        1 => Cow::Borrowed(""),
        2 => return Some(Some(Leaf::Constant((of, varint(at)?)))),
        3..=5 => {
            let length = varint(at)?;
            if kind == 4 {
                let units = (0..length).map(|_| varint(at).map(|unit| unit as u16));
                String::from_utf16_lossy(&units.collect::<Option<Vec<_>>>()?).into()
            } else {
                match take(at, length)? {
                    bytes if kind == 3 || bytes.is_ascii() => String::from_utf8_lossy(bytes),
                    latin => latin.iter().map(|byte| char::from(*byte)).collect::<String>().into(),
                }
            }
        }
        _ => return None,
    };
    Some(Some(Leaf::Text(text)))
}

/// The type and the number of a constant.
pub type Constant = (u64, u64);

/// A value without parts.
#[derive(Clone)]
pub enum Leaf<'a> {
    /// The values of an object's fields follow.
    Object,
    Number(u64),
    Text(Cow<'a, str>),
    Constant(Constant),
}

/// A function that gets values with the names of their fields.
pub type Visit<'v, 'a> = &'v mut dyn FnMut(&str, Leaf<'a>);

/// A type.
pub struct Type {
    pub name: Rc<str>,
    pub fields: Vec<Field>,
}

/// A field of a type.
pub struct Field {
    pub name: Rc<str>,
    of: u64,
    is_pooled: bool,
    is_array: bool,
}

impl Field {
    /// Returns a field without a name.
    pub fn of(of: u64) -> Self {
        Self { name: "".into(), of, is_pooled: false, is_array: false }
    }
}

/// The types and constants of a chunk.
#[derive(Default)]
pub struct Layout<'a> {
    pub types: FxHashMap<u64, Type>,
    /// The bytes at which constants begin.
    constants: FxHashMap<Constant, &'a [u8]>,
    /// The number of values that may still be read: types without fields take no bytes.
    steps: Cell<u64>,
}

impl<'a> Layout<'a> {
    /// Creates it for a chunk of this length.
    pub fn new(length: usize) -> Self {
        Self { steps: Cell::new(length as u64 * 16), ..Self::default() }
    }

    /// Reads the metadata, behind its number.
    pub fn metadata(&mut self, mut at: &'a [u8]) -> Option<()> {
        let at = &mut at;
        let _times_and_id = [varint(at)?, varint(at)?, varint(at)?];
        let mut strings = Vec::new();
        for _ in 0..varint(at)? {
            let Some(Leaf::Text(text)) = text(at, 0)? else { return None };
            strings.push(Rc::from(text));
        }
        self.element(at, &strings, 0, 0)
    }

    /// Reads an element of the metadata, and those in it. `class` is the type that they describe.
    fn element(
        &mut self,
        at: &mut &'a [u8],
        strings: &[Rc<str>],
        mut class: u64,
        depth: u32,
    ) -> Option<()> {
        let string = |at: &mut &[u8]| strings.get(usize::try_from(varint(at)?).ok()?);
        let kind = string(at)?;
        let (mut name, mut number) = (kind.clone(), 0);
        let (mut is_pooled, mut is_array) = (false, false);
        for _ in 0..varint(at)? {
            let (key, value) = (string(at)?, string(at)?);
            match &**key {
                "name" => name = value.clone(),
                "id" | "class" => number = value.parse().ok()?,
                "constantPool" => is_pooled = **value == *"true",
                "dimension" => is_array = **value != *"0",
                _ => {}
            }
        }
        if **kind == *"class" {
            class = number;
            self.types.insert(class, Type { name, fields: Vec::new() });
        } else if **kind == *"field" {
            let field = Field { name, of: number, is_pooled, is_array };
            self.types.get_mut(&class)?.fields.push(field);
        }
        if depth == DEPTH {
            return None;
        }
        for _ in 0..varint(at)? {
            self.element(at, strings, class, depth + 1)?;
        }
        Some(())
    }

    /// Finds the constants of a checkpoint, behind its number.
    pub fn checkpoint(&mut self, mut at: &'a [u8]) -> Option<()> {
        let at = &mut at;
        let _times_and_place = [varint(at)?, varint(at)?, varint(at)?];
        let _kind = take(at, 1)?;
        for _ in 0..varint(at)? {
            let (of, count) = (varint(at)?, varint(at)?);
            for _ in 0..count {
                let number = varint(at)?;
                let start = *at;
                self.value(&Field::of(of), at, 0, &mut |_, _| {})?;
                self.constants.insert((of, number), start);
            }
        }
        Some(())
    }

    /// Passes the values in a field.
    pub fn value(
        &self,
        field: &Field,
        at: &mut &'a [u8],
        depth: u32,
        visit: Visit<'_, 'a>,
    ) -> Option<()> {
        if depth == DEPTH {
            return None;
        }
        let count = if field.is_array { varint(at)? } else { 1 };
        for _ in 0..count {
            self.steps.set(self.steps.get().checked_sub(1)?);
            let of = self.types.get(&field.of)?;
            let leaf = match &*of.name {
                _ if field.is_pooled => Leaf::Constant((field.of, varint(at)?)),
                "short" | "char" | "int" | "long" => Leaf::Number(varint(at)?),
                "boolean" | "byte" => Leaf::Number(take(at, 1)?[0].into()),
                "float" => Leaf::Number(take(at, 4)?[0].into()),
                "double" => Leaf::Number(take(at, 8)?[0].into()),
                "java.lang.String" => match text(at, field.of)? {
                    Some(leaf) => leaf,
                    None => continue,
                },
                _ => {
                    visit(&field.name, Leaf::Object);
                    for field in &of.fields {
                        self.value(field, at, depth + 1, visit)?;
                    }
                    continue;
                }
            };
            visit(&field.name, leaf);
        }
        Some(())
    }

    /// Passes the values in a constant. Nothing is passed of one that is missing.
    pub fn constant(&self, constant: Constant, visit: Visit<'_, 'a>) {
        if let Some(mut at) = self.constants.get(&constant).copied() {
            let _ = self.value(&Field::of(constant.0), &mut at, 0, visit);
        }
    }

    /// Returns the fields of a constant with these names.
    pub fn fields<const N: usize>(&self, constant: Constant, names: [&str; N]) -> [Leaf<'a>; N] {
        let mut found = names.map(|_| Leaf::Object);
        self.constant(constant, &mut |name, leaf| {
            if let Some(place) = names.iter().position(|other| *other == name) {
                found[place] = leaf;
            }
        });
        found
    }

    /// Returns the first text in a value, such as that of a symbol.
    pub fn text(&self, leaf: Leaf<'a>, depth: u32) -> Option<Cow<'a, str>> {
        let constant = match leaf {
            Leaf::Text(text) => return Some(text),
            Leaf::Constant(constant) if depth < DEPTH => constant,
            _ => return None,
        };
        let mut found = None;
        self.constant(constant, &mut |_, leaf| {
            if found.is_none() {
                found = self.text(leaf, depth + 1);
            }
        });
        found
    }
}
