//! Writes heap and object dumps.

use super::{Class, Constant, Frame, Listed, Record, Root};
use crate::dump::buffer::{Buffer, Full};
use crate::dump::{ID, Id, Type, Value};
use crate::heap_tag::{self as tag, NO_FRAME};

/// The level of a heap dump.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Level 0: every object with its type.
    Objects,
    /// Level 1: also the references between objects.
    References,
    /// Level 2: also all primitive values.
    Values,
}

impl Level {
    /// Returns the level with this number.
    pub fn from_number(number: i32) -> Option<Self> {
        [Self::Objects, Self::References, Self::Values]
            .into_iter()
            .find(|level| *level as i32 == number)
    }

    /// Returns true if dumps of this level contain primitive values.
    pub fn has_primitives(self) -> bool {
        self == Self::Values
    }

    /// Returns true if dumps of this level contain values of this type.
    pub fn has(self, of_type: Type) -> bool {
        self.has_primitives() || of_type == Type::Reference
    }
}

/// The position of a record's values in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place(usize);

/// Appends records to a buffer.
pub struct HeapWriter {
    buffer: Buffer,
    level: Level,
}

/// Fills a slice from its beginning.
struct Filler<'a>(&'a mut [u8]);

impl<'a> Filler<'a> {
    #[inline]
    fn bytes<const N: usize>(self, bytes: [u8; N]) -> Self {
        let (first, rest) =
            self.0.split_first_chunk_mut::<N>().expect("the slice is as long as the record");
        *first = bytes;
        Self(rest)
    }

    #[inline]
    fn u1(self, value: u8) -> Self {
        self.bytes([value])
    }

    #[inline]
    fn u4(self, value: u32) -> Self {
        self.bytes(value.to_be_bytes())
    }

    #[inline]
    fn id(self, id: Id) -> Self {
        self.bytes(id.to_ne_bytes())
    }
}

impl HeapWriter {
    /// Creates a writer for a dump of this level. Object dumps have level 2.
    pub fn new(buffer: Buffer, level: Level) -> Self {
        Self { buffer, level }
    }

    /// Returns the level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Returns the buffer with the records.
    pub fn finish(self) -> Buffer {
        self.buffer
    }

    /// Extends the buffer by `length` bytes.
    #[inline]
    fn part(&mut self, length: usize) -> Result<Filler<'_>, Full> {
        let position = self.buffer.extend(length)?;
        Ok(Filler(&mut self.buffer[position..]))
    }

    /// Appends an object to a dump of level 0.
    #[inline]
    pub fn listed(&mut self, object: Listed) -> Result<(), Full> {
        let code = object.elements.map_or(0, |of_type| of_type as u8);
        self.part(1 + ID)?.u1(code).id(object.id);
        Ok(())
    }

    /// Appends a root. If it has a frame, returns the position of the frame number, which
    /// [`set_frame`](Self::set_frame) may change later.
    pub fn root(&mut self, root: Root) -> Result<Option<Place>, Full> {
        let in_frame = |writer: &mut Self, kind, object, frame: Frame| {
            let number = frame.number.unwrap_or(NO_FRAME);
            writer.part(1 + 2 * ID + 4)?.u1(kind).id(object).id(frame.thread).u4(number);
            Ok(Some(Place(writer.buffer.len() - 4)))
        };
        match root {
            Root::Unknown(object) => self.part(1 + ID)?.u1(tag::ROOT_UNKNOWN).id(object),
            Root::JniGlobal { object, reference } => {
                self.part(1 + 2 * ID)?.u1(tag::ROOT_JNI_GLOBAL).id(object).id(reference)
            }
            Root::JniLocal(object, frame) => {
                return in_frame(self, tag::ROOT_JNI_LOCAL, object, frame);
            }
            Root::JavaFrame(object, frame) => {
                return in_frame(self, tag::ROOT_JAVA_FRAME, object, frame);
            }
            Root::NativeStack { object, thread } => {
                self.part(1 + 2 * ID)?.u1(tag::ROOT_NATIVE_STACK).id(object).id(thread)
            }
            Root::StickyClass(object) => self.part(1 + ID)?.u1(tag::ROOT_STICKY_CLASS).id(object),
            Root::ThreadBlock { object, thread } => {
                self.part(1 + 2 * ID)?.u1(tag::ROOT_THREAD_BLOCK).id(object).id(thread)
            }
            Root::MonitorUsed(object) => self.part(1 + ID)?.u1(tag::ROOT_MONITOR_USED).id(object),
        };
        Ok(None)
    }

    /// Sets the frame number of a root.
    pub fn set_frame(&mut self, place: Place, number: Option<u32>) {
        Filler(&mut self.buffer[place.0..place.0 + 4]).u4(number.unwrap_or(NO_FRAME));
    }

    /// The maximum size of an object's record without its values, in bytes.
    pub const HEAD: usize = 1 + 2 * ID + 4 + 1;

    /// Returns the size of a class's record, in bytes.
    pub fn class_length(class: &Class<'_>) -> usize {
        let constant = |constant: &Constant| 2 + 1 + constant.value.of_type().width();
        let constants: usize = class.constants.iter().map(constant).sum();
        1 + 7 * ID + 4 + class.interfaces.len() * ID + 2 + constants + class.statics.len()
    }

    /// Appends a class.
    pub fn class(&mut self, class: &Class<'_>) -> Result<(), Full> {
        let part = self.part(1 + 7 * ID + 4 + class.interfaces.len() * ID)?;
        let part = part.u1(tag::CLASS_DUMP).id(class.id).id(class.superclass).id(class.loader);
        let part = part.id(class.signers).id(class.protection_domain).id(class.name).id(0);
        class.interfaces.iter().fold(part.u4(class.instance_size), |part, id| part.id(*id));
        let count = u16::try_from(class.constants.len()).map_err(|_| Full)?;
        self.buffer.append(&count.to_be_bytes())?;
        for constant in &class.constants {
            let of_type = constant.value.of_type();
            self.buffer.append(&constant.index.to_be_bytes())?;
            self.buffer.append(&[of_type as u8])?;
            let position = self.buffer.extend(of_type.width())?;
            constant.value.write(&mut self.buffer[position..]);
        }
        self.buffer.append(class.statics)
    }

    /// Appends an instance with `length` bytes of values, which are zero until they are set.
    #[inline]
    pub fn instance(&mut self, id: Id, class: Id, length: u32) -> Result<Place, Full> {
        const HEAD: usize = 1 + 2 * ID + 4;
        let part = self.part(HEAD + length as usize)?;
        part.u1(tag::INSTANCE_DUMP).id(id).id(class).u4(length);
        Ok(Place(self.buffer.len() - length as usize))
    }

    /// Appends an array of references, which are NULL until they are set.
    #[inline]
    pub fn objects(&mut self, id: Id, class: Id, count: u32) -> Result<Place, Full> {
        const HEAD: usize = 1 + 2 * ID + 4;
        let part = self.part(HEAD + count as usize * ID)?;
        part.u1(tag::OBJ_ARRAY_DUMP).id(id).u4(count).id(class);
        Ok(Place(self.buffer.len() - count as usize * ID))
    }

    /// Sets a value at `offset` bytes from `place`, where the values of its record begin.
    ///
    /// # Panics
    /// Panics if the value would end beyond the end of the buffer.
    #[inline]
    pub fn set(&mut self, place: Place, offset: usize, value: Value) {
        let begin = place.0 + offset;
        value.write(&mut self.buffer[begin..begin + value.of_type().width()]);
    }

    /// Appends an array of a primitive type, with elements in the host's byte order.
    pub fn primitives(&mut self, id: Id, of_type: Type, elements: &[u8]) -> Result<(), Full> {
        let count = elements.len() / of_type.width();
        let count = u32::try_from(count).map_err(|_| Full)?;
        let place = self.primitives_to_be_set(id, of_type, count)?;
        if self.level.has_primitives() {
            self.set_primitives(place, 0, of_type, elements);
        }
        Ok(())
    }

    /// Appends an array of a primitive type, with elements that are zero until they are set.
    pub fn primitives_to_be_set(
        &mut self,
        id: Id,
        of_type: Type,
        count: u32,
    ) -> Result<Place, Full> {
        let length = if self.level.has_primitives() { count as usize * of_type.width() } else { 0 };
        let part = self.part(1 + ID + 4 + 1 + length)?;
        part.u1(tag::PRIM_ARRAY_DUMP).id(id).u4(count).u1(of_type as u8);
        Ok(Place(self.buffer.len() - length))
    }

    /// Sets elements from index `first` on, of the array that has its values at `place`. The elements are in
    /// the host's byte order.
    ///
    /// # Panics
    /// Panics if the elements would end beyond the end of the buffer.
    pub fn set_primitives(&mut self, place: Place, first: usize, of_type: Type, elements: &[u8]) {
        let begin = place.0 + first * of_type.width();
        let length = elements.len() / of_type.width() * of_type.width();
        big_endian(of_type, elements, &mut self.buffer[begin..begin + length]);
    }

    /// Appends a record that a reader returned.
    pub fn record(&mut self, record: &Record<'_>) -> Result<(), Full> {
        match record {
            Record::Root(root) => self.root(*root).map(drop),
            Record::Class(class) => self.class(class),
            Record::Instance { id, class, values } => {
                let place = self.instance(*id, *class, values.len() as u32)?;
                self.buffer[place.0..].copy_from_slice(values);
                Ok(())
            }
            Record::Objects { id, class, elements } => {
                let place = self.objects(*id, *class, elements.count() as u32)?;
                for (i, element) in elements.iter().enumerate() {
                    self.set(place, i * ID, Value::Reference(element));
                }
                Ok(())
            }
            Record::Primitives { id, of_type, count, values } => {
                let part = self.part(1 + ID + 4 + 1)?;
                part.u1(tag::PRIM_ARRAY_DUMP).id(*id).u4(*count).u1(*of_type as u8);
                self.buffer.append(values)
            }
        }
    }
}

/// Copies elements from the host's byte order to big-endian.
fn big_endian(of_type: Type, elements: &[u8], to: &mut [u8]) {
    fn swap<const N: usize>(elements: &[u8], to: &mut [u8]) {
        let (from, _) = elements.as_chunks::<N>();
        let (to, _) = to.as_chunks_mut::<N>();
        for (from, to) in from.iter().zip(to) {
            *to = *from;
            if cfg!(target_endian = "little") {
                to.reverse();
            }
        }
    }
    match of_type.width() {
        2 => swap::<2>(elements, to),
        4 => swap::<4>(elements, to),
        8 => swap::<8>(elements, to),
        _ => to.copy_from_slice(&elements[..to.len()]),
    }
}
