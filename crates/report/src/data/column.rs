//! Long columns of numbers in few characters: a tree of calls has hundreds of thousands of nodes.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

/// The digits of base64. Each has five bits, the lowest first; those from 32 on are continued.
pub(crate) const DIGITS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The most numbers that a column may have when it is read: a few characters can stand for any number of repetitions.
const MOST: usize = 1 << 24;

/// Serializes a column as text. A number is its difference to the one before it, as in source maps. A difference that
/// repeats is written once, with the number of times.
pub(super) fn serialize<T, S>(numbers: &[T], serializer: S) -> Result<S::Ok, S::Error>
where
    T: Copy + Into<i128>,
    S: Serializer,
{
    serializer.serialize_str(&text(numbers))
}

/// Deserializes a column.
pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: TryFrom<i128>,
    D: Deserializer<'de>,
{
    numbers(&String::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("a wrong column"))
}

/// Serializes several columns.
pub(super) fn serialize_all<S: Serializer>(
    all: &[Vec<u64>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(|numbers| text(numbers)))
}

/// Deserializes several columns.
pub(super) fn deserialize_all<'de, D>(deserializer: D) -> Result<Vec<Vec<u64>>, D::Error>
where
    D: Deserializer<'de>,
{
    let all: Option<_> =
        Vec::<String>::deserialize(deserializer)?.iter().map(|text| numbers(text)).collect();
    all.ok_or_else(|| D::Error::custom("a wrong column"))
}

fn text<T: Copy + Into<i128>>(numbers: &[T]) -> String {
    let mut text = String::with_capacity(numbers.len());
    let mut numbers = numbers.iter().map(|&number| number.into()).peekable();
    let mut last = 0;
    while let Some(number) = numbers.next() {
        let (step, mut times) = (number - last, 1);
        last = number;
        while numbers.next_if(|next| next - last == step).is_some() {
            last += step;
            times += 1;
        }
        // The lowest bit says that a number of times follows, the next one is the sign.
        let sign = u128::from(step < 0) << 1;
        add(&mut text, step.unsigned_abs() << 2 | sign | u128::from(times > 1));
        if times > 1 {
            add(&mut text, times);
        }
    }
    text
}

fn add(text: &mut String, mut number: u128) {
    while number >= 32 {
        text.push(DIGITS[32 | (number % 32) as usize].into());
        number /= 32;
    }
    text.push(DIGITS[number as usize].into());
}

/// Returns the numbers of a column. None if the text is no column of numbers of this type, or a column that is too long.
fn numbers<T: TryFrom<i128>>(text: &str) -> Option<Vec<T>> {
    let mut digits = text.bytes();
    let (mut numbers, mut last) = (Vec::new(), 0_i128);
    while let Some(code) = next(&mut digits)? {
        let step = (code >> 2) as i128;
        let step = if code & 2 == 2 { -step } else { step };
        let times = if code & 1 == 1 { next(&mut digits)?? } else { 1 };
        if times > (MOST - numbers.len()) as u128 {
            return None;
        }
        for _ in 0..times {
            last += step;
            numbers.push(T::try_from(last).ok()?);
        }
    }
    Some(numbers)
}

/// Returns the number that the next digits stand for, Some(None) if there is none, and None if it is wrong.
fn next(digits: &mut impl Iterator<Item = u8>) -> Option<Option<u128>> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let Some(digit) = digits.next() else { return (shift == 0).then_some(None) };
        let digit = DIGITS.iter().position(|known| *known == digit)? as u128;
        // No difference of two numbers of 64 bits takes more digits.
        if shift > 65 {
            return None;
        }
        number |= (digit % 32) << shift;
        shift += 5;
        if digit < 32 {
            return Some(Some(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_is_differences_and_their_repetitions() {
        assert_eq!(text::<i64>(&[]), "");
        assert_eq!(text::<i64>(&[3, 3, 3, 3]), "MBD");
        assert_eq!(text::<i64>(&[1, 2, 3, -1, 1_000_000]), "FDSkoi6D");
    }

    #[test]
    fn column_is_read_as_it_was_written() {
        for column in [vec![], vec![3, 3, 3, 3], vec![1, 2, 3, -1, i64::MAX, i64::MIN]] {
            assert_eq!(numbers(&text(&column)), Some(column));
        }
        assert_eq!(numbers(&text(&[u64::MAX, 0])), Some(vec![u64::MAX, 0]));
    }

    #[test]
    fn wrong_columns_are_refused() {
        let endless = text(&vec![7_u64; MOST]) + "A";
        for wrong in ["g", "B", "-", "gggggggggggggggggggA", &endless] {
            assert_eq!(numbers::<u32>(wrong).map(|numbers| numbers.len()), None, "{wrong}");
        }
    }
}
