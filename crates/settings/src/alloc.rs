//! The source of allocation reports, and the number of bytes between two of them.

use super::setting::Value;
use std::fmt;
use std::num::NonZeroU32;

/// The source of allocation reports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Alloc {
    /// `Sampled` from JDK 17 on, `Bytecode` before.
    Auto,
    /// The VM, which reports every object.
    Sampled,
    /// Rewritten code.
    Bytecode,
    /// The VM, which reports one object per this number of allocated bytes, on average.
    Every(NonZeroU32),
}

/// The prefix of a sampling interval.
const EVERY: &str = "every:";

/// Units of sizes, the largest first.
const UNITS: [(&str, u32); 2] = [("m", 1 << 20), ("k", 1 << 10)];

/// The largest interval that JVMTI accepts.
const MOST: u32 = i32::MAX as u32;

/// Parses a number of bytes, with a unit `k` or `m` if it has one; `None` if it is 0 or more than JVMTI accepts.
fn size(text: &str) -> Option<NonZeroU32> {
    let unit = UNITS.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let bytes = is_number.then(|| digits.parse::<u32>().ok()?.checked_mul(unit)).flatten()?;
    NonZeroU32::new(bytes).filter(|bytes| bytes.get() <= MOST)
}

impl Value for Alloc {
    const VALID: &'static [&'static str] = &["auto", "sampled", "bytecode", "every:512k"];

    fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "sampled" => Some(Self::Sampled),
            "bytecode" => Some(Self::Bytecode),
            _ => size(text.strip_prefix(EVERY)?).map(Self::Every),
        }
    }
}

impl fmt::Display for Alloc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Sampled => f.write_str("sampled"),
            Self::Bytecode => f.write_str("bytecode"),
            Self::Every(bytes) => {
                let fits = |(_, unit): &&(&str, u32)| bytes.get().is_multiple_of(*unit);
                let (unit, size) = UNITS.iter().find(fits).unwrap_or(&("", 1));
                write!(f, "{EVERY}{}{unit}", bytes.get() / size)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_units() {
        for (text, bytes) in [
            ("every:512k", 512 << 10),
            ("every:3m", 3 << 20),
            ("every:1", 1),
            ("every:1025", 1025),
            ("every:2147483647", i32::MAX as u32),
        ] {
            let alloc = Alloc::parse(text).unwrap();
            assert_eq!(alloc, Alloc::Every(NonZeroU32::new(bytes).unwrap()));
            assert_eq!(alloc.to_string(), text);
        }
        assert_eq!(Alloc::parse("every:1024k").unwrap().to_string(), "every:1m");
    }

    #[test]
    fn other_intervals_are_refused() {
        let refused = "every every: every:0 every:0k every:k every:-1 every:+1 every:1g every:2048m \
                       every:2147483648 every:99999999999 512k";
        for text in refused.split(' ').chain([""]) {
            assert_eq!(Alloc::parse(text), None, "{text}");
        }
    }
}
