//! The encoding of protocol buffers.

/// A message of protocol buffers that is written.
#[derive(Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Writes a number. 0 is not written, because readers take a missing number as 0.
    pub fn number(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
    }

    /// Writes a number that always takes eight bytes. 0 is not written.
    pub fn fixed64(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.varint(u64::from(field) << 3 | 1);
            self.0.extend_from_slice(&value.to_le_bytes());
        }
    }

    /// Writes bytes, or text.
    pub fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Writes a message in this one.
    pub fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }

    /// Writes a repeated number; nothing if there is none.
    pub fn packed(&mut self, field: u32, values: &[u64]) {
        if values.is_empty() {
            return;
        }
        let mut body = Self::default();
        values.iter().for_each(|value| body.varint(*value));
        self.message(field, &body);
    }
}

/// The fields of a message that is read, with their numbers. Ends where the message is invalid.
pub struct Fields<'a>(pub &'a [u8]);

/// The value of a field that is read.
pub enum FieldValue<'a> {
    Number(u64),
    /// Text, bytes or a message.
    Bytes(&'a [u8]),
    /// A number of fixed size, which no reader here needs.
    Fixed,
}

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, FieldValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => FieldValue::Number(self.varint()?),
            1 => self.take(8).map(|_| FieldValue::Fixed)?,
            2 => {
                let length = self.varint()?;
                FieldValue::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| FieldValue::Fixed)?,
            _ => return None,
        };
        Some((key >> 3, value))
    }
}
