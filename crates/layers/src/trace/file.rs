//! The file: a head, and chunks, each with records of one thread. The chunks of a thread belong together,
//! in their order.
//!
//! ```text
//! file:  "JVMPITRC", u32 version, u32 length of the text, u32 its CRC-32, text: lines "key=value"
//! chunk: header, records
//! ```
//!
//! Numbers here are little-endian. A chunk is complete or missing: a file that was cut is read up to its
//! last whole chunk.

/// The first bytes of a file.
pub const MAGIC: &[u8; 8] = b"JVMPITRC";
/// The version of the format.
pub const VERSION: u32 = 3;
/// The bytes of the file's head before the text.
pub const HEAD: usize = 20;
/// The first word of a chunk.
const CHUNK: u32 = u32::from_le_bytes(*b"chnk");

/// The header before the records of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The thread, numbered as they came.
    pub thread: u32,
    pub flags: u8,
    /// If CreateSystemThread has made the thread: which of the functions that it was given it runs, from 1.
    pub function: u8,
    /// If it is fresh: how much of the order had passed, the time in nanoseconds, and the `env_id`.
    pub seen: u64,
    pub time: u64,
    pub env: u64,
}

impl Header {
    /// The state of the thread's records begins anew.
    pub const FRESH: u8 = 1;
    /// Nothing has come after: the process has ended in order.
    pub const LAST: u8 = 2;
    /// The bytes of it.
    pub const SIZE: usize = 48;

    /// Returns the chunk of these records.
    #[must_use]
    pub fn chunk(&self, records: &[&[u8]]) -> Vec<u8> {
        let length: usize = records.iter().map(|records| records.len()).sum();
        let numbers = [self.seen, self.time, self.env].map(u64::to_le_bytes);
        let mut bytes = [
            &CHUNK.to_le_bytes()[..],
            &[0; 4],
            &(length as u64).to_le_bytes(),
            &self.thread.to_le_bytes(),
            &[self.flags, self.function, 0, 0],
            numbers.as_flattened(),
        ]
        .concat();
        records.iter().for_each(|records| bytes.extend_from_slice(records));
        let checksum = crc32fast::hash(&bytes[8..]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Returns the first chunk of these bytes: its header and its records. None if it is not whole.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (header, rest) = bytes.split_first_chunk::<{ Self::SIZE }>()?;
        let (read, length) = Self::from_bytes(header);
        let records = rest.get(..usize::try_from(length).ok()?)?;
        let checksum = crc32fast::hash(&bytes[8..Self::SIZE + records.len()]);
        let [magic, checksum] = [CHUNK, checksum].map(u32::to_le_bytes);
        (header[..8] == *[magic, checksum].as_flattened()).then_some((read, records))
    }

    /// Returns the fields in these bytes, whatever the checksum is, and the number of bytes of the records.
    pub fn from_bytes(header: &[u8; Self::SIZE]) -> (Self, u64) {
        let u32_at = |at| u32::from_le_bytes(*header[at..].first_chunk().expect("it is within"));
        let u64_at = |at| u64::from_le_bytes(*header[at..].first_chunk().expect("it is within"));
        let read = Self {
            thread: u32_at(16),
            flags: header[20],
            function: header[21],
            seen: u64_at(24),
            time: u64_at(32),
            env: u64_at(40),
        };
        (read, u64_at(8))
    }
}

/// Returns the head of a file with this text.
#[must_use]
pub fn head(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("it is short");
    let numbers = [VERSION, length, crc32fast::hash(text.as_bytes())].map(u32::to_le_bytes);
    [&MAGIC[..], numbers.as_flattened(), text.as_bytes()].concat()
}
