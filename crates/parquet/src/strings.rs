//! The texts of strings, which lie in arrays of other objects.

use jvmpi_formats::profile::heap::{Instance, Primitives, Record};
use jvmpi_formats::profile::{ObjectId, Type, Value};

/// The number of characters after which a text is cut off: a row must fit into memory several times.
const MAX_CHARS: usize = 1 << 20;

/// The strings of a heap dump, by the arrays that hold their characters.
#[derive(Debug, Default)]
pub struct Strings(Vec<Text>);

#[derive(Clone, Copy, Debug)]
struct Text {
    array: ObjectId,
    string: ObjectId,
    part: Part,
}

/// The part of an array that belongs to a string, and its encoding.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// All of an array of `char`, or of an array of `byte` in Latin-1.
    All,
    /// All of an array of `byte`, in UTF-16 of a little-endian machine (JDK 9 and later).
    Utf16,
    /// The elements of an array of `char` from the first number, as many as the second (up to JDK 6).
    Slice(u32, u32),
}

impl Strings {
    /// Adds the object of a record if it is a string.
    pub fn add(&mut self, record: &Record<'_>) {
        if let Record::Instance(instance) = record
            && instance.class_name == "java.lang.String"
            && let Some(text) = text(instance)
        {
            self.0.push(text);
        }
    }

    /// Prepares the strings to be found by their arrays.
    pub fn sort(&mut self) {
        self.0.sort_unstable_by_key(|text| (text.array, text.string));
        self.0.shrink_to_fit();
    }

    /// Calls `each` with the ID, the length and the text of each string with this array. The length is in `char`s, as
    /// `String.length` returns it.
    ///
    /// # Errors
    /// Returns the error of `each`.
    pub fn of_array<E>(
        &self,
        array: &Primitives<'_>,
        mut each: impl FnMut(ObjectId, u32, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        // Text files have no values.
        if array.values.is_empty() && array.length > 0 {
            return Ok(());
        }
        let first = self.0.partition_point(|text| text.array < array.id);
        let texts = self.0[first..].iter().take_while(|text| text.array == array.id);
        for Text { string, part, .. } in texts {
            if let Some((length, text)) = decoded(array, *part) {
                each(*string, length, &text)?;
            }
        }
        Ok(())
    }
}

/// Returns the place of a string's characters, if it has the fields that a string has.
fn text(instance: &Instance<'_>) -> Option<Text> {
    let field = |name: &str| {
        let field = instance.fields.iter().find(|field| field.name == name);
        field.map(|field| field.value)
    };
    let Value::Reference(array) = field("value")? else { return None };
    let part = match (field("coder"), field("offset"), field("count")) {
        (Some(Value::Byte(1)), ..) => Part::Utf16,
        (None, Some(Value::Int(offset)), Some(Value::Int(count))) => {
            Part::Slice(offset.try_into().ok()?, count.try_into().ok()?)
        }
        _ => Part::All,
    };
    (array != ObjectId(0)).then_some(Text { array, string: instance.id, part })
}

/// Returns the length and the text of a part of an array; none if the array is not one of characters or too short.
fn decoded(array: &Primitives<'_>, part: Part) -> Option<(u32, String)> {
    let pairs = |bytes: &[u8], number: fn([u8; 2]) -> u16| {
        let chars = bytes.chunks_exact(2).map(|pair| number([pair[0], pair[1]]));
        let text = char::decode_utf16(chars.take(MAX_CHARS));
        let text = text.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        ((bytes.len() / 2) as u32, text)
    };
    Some(match (array.of_type, part) {
        (Type::Char, Part::All) => pairs(array.values, u16::from_be_bytes),
        (Type::Char, Part::Slice(offset, count)) => {
            let start = (offset as usize).checked_mul(2)?;
            let end = (count as usize).checked_mul(2)?.checked_add(start)?;
            pairs(array.values.get(start..end)?, u16::from_be_bytes)
        }
        (Type::Byte, Part::Utf16) => pairs(array.values, u16::from_le_bytes),
        (Type::Byte, Part::All) => {
            let text = array.values.iter().take(MAX_CHARS).map(|byte| char::from(*byte));
            (array.length, text.collect())
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvmpi_formats::profile::TraceSerial;
    use jvmpi_formats::profile::heap::Field;

    fn array(of_type: Type, values: &[u8]) -> Primitives<'_> {
        let length = values.len() as u32 / of_type.width_with(8) as u32;
        let (id, trace, size) = (ObjectId(7), TraceSerial(0), values.len() as u64);
        Primitives { id, trace, of_type, size, length, values }
    }

    fn texts(fields: &[Field<'_>], array: &Primitives<'_>) -> Vec<(u64, u32, String)> {
        let mut strings = Strings::default();
        let class_name = "java.lang.String";
        let string = Instance { id: ObjectId(1), class_name, fields, ..Instance::default() };
        strings.add(&Record::Instance(string));
        strings.add(&Record::Instance(Instance { id: ObjectId(2), ..string }));
        strings.add(&Record::Instance(Instance { class_name: "Other", ..string }));
        strings.sort();
        let mut found = Vec::new();
        let each = |id: ObjectId, length, text: &str| {
            found.push((id.0, length, text.to_owned()));
            Ok::<_, ()>(())
        };
        strings.of_array(array, each).unwrap();
        found
    }

    #[test]
    fn strings_of_all_jdks_are_decoded() {
        let value = Field { name: "value", value: Value::Reference(ObjectId(7)) };
        let coder = |coder| Field { name: "coder", value: Value::Byte(coder) };
        let int = |name, value| Field { name, value: Value::Int(value) };
        let both =
            |length, text: &str| vec![(1, length, text.to_owned()), (2, length, text.to_owned())];
        let latin = array(Type::Byte, b"caf\xe9");
        assert_eq!(texts(&[value, coder(0)], &latin), both(4, "café"));
        let utf16: Vec<u8> = "a😀".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(texts(&[value, coder(1)], &array(Type::Byte, &utf16)), both(3, "a😀"));
        let chars: Vec<u8> = "hello".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let chars = array(Type::Char, &chars);
        assert_eq!(texts(&[value], &chars), both(5, "hello"));
        assert_eq!(texts(&[value, int("offset", 1), int("count", 3)], &chars), both(3, "ell"));
        let unpaired = array(Type::Char, &[0xd8, 0, 0, b'x']);
        assert_eq!(texts(&[value], &unpaired), both(2, "\u{fffd}x"));
        assert_eq!(texts(&[value, coder(0)], &array(Type::Byte, b"")), both(0, ""));
    }

    #[test]
    fn contradictory_strings_are_left_out() {
        let value = Field { name: "value", value: Value::Reference(ObjectId(7)) };
        let int = |name, value| Field { name, value: Value::Int(value) };
        let chars = array(Type::Char, &[0, b'x']);
        assert!(texts(&[], &chars).is_empty());
        assert!(texts(&[value, int("offset", 1), int("count", 1)], &chars).is_empty());
        assert!(texts(&[value, int("offset", -1), int("count", 1)], &chars).is_empty());
        assert!(texts(&[value, int("offset", 0), int("count", i32::MAX)], &chars).is_empty());
        assert!(texts(&[value], &array(Type::Int, &[0; 4])).is_empty());
        let without_values = Primitives { values: &[], ..chars };
        assert!(texts(&[value], &without_values).is_empty());
    }

    #[test]
    fn long_text_is_cut_off_but_has_its_length() {
        let value = Field { name: "value", value: Value::Reference(ObjectId(7)) };
        let bytes = vec![b'x'; MAX_CHARS + 5];
        let found = texts(&[value], &array(Type::Byte, &bytes));
        assert_eq!((found[0].1 as usize, found[0].2.len()), (MAX_CHARS + 5, MAX_CHARS));
    }
}
