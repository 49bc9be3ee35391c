//! The encoding of numbers: the state that the writer and the reader of a thread's records both keep.
//!
//! A number is written as the difference from the last one at the same place of a record of the same kind.
//! A method is written as its place in a table of recently named methods. Both forget everything where a
//! [fresh](crate::trace::file::Header::FRESH) chunk begins.

/// The records of the format, by their first byte.
pub mod tag {
    /// The end of the records inside the previous event, or inside the innermost open event.
    pub const END: u8 = 0;
    // 1 to 61: that event.
    /// The event with the number that follows, requested.
    pub const REQUESTED: u8 = 0x40;
    /// The number of records in the order before those that follow.
    pub const SEEN: u8 = 0x41;
    /// The place in the order of the record behind; and the time.
    pub const PLACE: u8 = 0x42;
    /// The time.
    pub const TIME: u8 = 0x43;
    /// The `env_id` of the events behind.
    pub const ENV: u8 = 0x44;
    /// METHOD_ENTRY of a method that is not in the table.
    pub const ENTRY: u8 = 0x45;
    /// METHOD_EXIT, likewise.
    pub const EXIT: u8 = 0x46;
    /// A call that contains what is behind, up to the call itself.
    pub const BEGIN: u8 = 0x47;
    /// The function of a thread that CreateSystemThread has made begins.
    pub const RUN: u8 = 0x48;
    /// The call of this function or, added to it, of those behind it.
    pub const CALL: u8 = 0x60;
    /// METHOD_ENTRY of a method in the table; the lowest three bits and the next byte are its place.
    pub const HIT: u8 = 0x80;
    /// Added to it, it is METHOD_EXIT.
    pub const HIT_EXIT: u8 = 0x40;
}

/// The bits of [`tag::HIT`] that are part of the place.
pub const HIT_MASK: u8 = 0x07;

/// The number of methods that are remembered.
pub const SLOTS: usize = 2048;

const _: () = assert!(SLOTS == (HIT_MASK as usize + 1) << 8);

/// Returns the place that a method has in the table.
#[inline]
pub fn slot_of(method: u64) -> usize {
    // Method IDs are addresses of words.
    ((method >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - SLOTS.ilog2())) as usize
}

/// The rows of [`State::last`]: one for each tag below [`tag::HIT`].
const ROWS: usize = tag::HIT as usize;
/// Numbers of a record that have a predecessor of their own; further ones share them.
const COLUMNS: usize = 16;

/// The remembered numbers and methods.
pub struct State {
    /// The last numbers, by tag and place in the record.
    last: [[u64; COLUMNS]; ROWS],
    /// By [`slot_of`]. A method ID is not 0.
    pub methods: [u64; SLOTS],
    pub time: u64,
    pub env: u64,
    /// The number of records of the order that have passed.
    pub seen: u64,
    row: usize,
    column: usize,
}

impl State {
    /// Nothing is remembered.
    pub const fn new() -> Self {
        Self {
            last: [[0; COLUMNS]; ROWS],
            methods: [0; SLOTS],
            time: 0,
            env: 0,
            seen: 0,
            row: 0,
            column: 0,
        }
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        self.last = [[0; COLUMNS]; ROWS];
        self.methods = [0; SLOTS];
    }

    /// A record with this tag begins.
    pub fn begin(&mut self, tag: u8) {
        (self.row, self.column) = (usize::from(tag), 0);
    }

    /// Returns the column of the next number.
    pub fn column(&self) -> usize {
        self.column
    }

    /// Has the next item of a list compared with the last one.
    pub fn go_to(&mut self, column: usize) {
        self.column = column;
    }

    /// Returns the predecessor of the next number of the record.
    #[inline]
    pub fn predecessor(&mut self) -> &mut u64 {
        let place = &mut self.last[self.row][self.column % COLUMNS];
        self.column += 1;
        place
    }
}

/// The destination of bytes: memory of a given size, and then more.
pub struct Out<'a> {
    room: &'a mut [u8],
    /// The number of bytes written to the memory.
    pub used: usize,
    /// The bytes that the memory has no room for.
    pub more: Vec<u8>,
}

impl<'a> Out<'a> {
    #[inline]
    pub fn new(room: &'a mut [u8]) -> Self {
        Self { room, used: 0, more: Vec::new() }
    }

    #[inline]
    pub fn byte(&mut self, byte: u8) {
        match self.room.get_mut(self.used) {
            Some(place) => {
                *place = byte;
                self.used += 1;
            }
            None => self.more.push(byte),
        }
    }

    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        let room = &mut self.room[self.used..];
        let (first, rest) = bytes.split_at(bytes.len().min(room.len()));
        room[..first.len()].copy_from_slice(first);
        self.used += first.len();
        self.more.extend_from_slice(rest);
    }

    /// Seven bits a byte, the lowest first.
    #[inline]
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    /// Small where the two are near to each other.
    #[inline]
    pub fn difference(&mut self, from: u64, to: u64) {
        let difference = to.wrapping_sub(from) as i64;
        self.number(((difference << 1) ^ (difference >> 63)) as u64);
    }
}

/// Bytes to read. Missing bytes at the end read as 0, and that is remembered.
#[derive(Clone, Copy, Default)]
pub struct In<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    pub damaged: bool,
}

impl<'a> In<'a> {
    #[inline]
    pub fn byte(&mut self) -> u8 {
        match self.bytes.get(self.at) {
            Some(byte) => {
                self.at += 1;
                *byte
            }
            None => {
                self.damaged = true;
                0
            }
        }
    }

    #[inline]
    pub fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return number;
            }
        }
        self.damaged = true;
        number
    }

    #[inline]
    pub fn difference(&mut self, from: u64) -> u64 {
        let number = self.number();
        from.wrapping_add((number >> 1) ^ (number & 1).wrapping_neg())
    }

    pub fn take(&mut self, count: u64) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let taken = usize::try_from(count).ok().and_then(|count| rest.get(..count));
        self.damaged |= taken.is_none();
        self.at += taken.map_or(0, <[u8]>::len);
        taken.unwrap_or_default()
    }

    pub fn rest(&self) -> usize {
        self.bytes.len() - self.at
    }
}
