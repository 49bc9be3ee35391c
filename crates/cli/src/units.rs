//! Times that the user gives, with or without a unit.

use std::time::Duration;

const UNITS: [(&str, Duration); 5] = [
    ("us", Duration::from_micros(1)),
    ("ms", Duration::from_millis(1)),
    ("s", Duration::from_secs(1)),
    ("m", Duration::from_secs(60)),
    ("h", Duration::from_secs(3600)),
];

/// Reads a time such as `10ms`; a number alone is in `unit`.
fn time(text: &str, unit: Duration) -> Option<Duration> {
    let ends = |(name, unit): &(&str, Duration)| Some((text.strip_suffix(name)?, *unit));
    let (number, unit) = UNITS.iter().find_map(ends).unwrap_or((text, unit));
    let seconds = number.trim_end().parse::<f64>().ok()? * unit.as_secs_f64();
    Duration::try_from_secs_f64(seconds).ok()
}

/// Reads a time, in seconds if it has no unit; it can be 0.
///
/// # Errors
/// Returns an error if it is no time.
pub fn seconds_or_never(text: &str) -> Result<Duration, String> {
    time(text, Duration::from_secs(1)).ok_or_else(|| "give a time such as 5s, 500ms or 2m".into())
}

/// Reads a time, in seconds if it has no unit.
///
/// # Errors
/// Returns an error if it is no time, or 0.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let time = seconds_or_never(text)?;
    if time.is_zero() { Err("give a time greater than 0".into()) } else { Ok(time) }
}

/// Reads a time of whole milliseconds, which are its unit if it has none.
///
/// # Errors
/// Returns an error if it is no time, less than a millisecond, or has a fraction of one.
pub fn milliseconds(text: &str) -> Result<u32, String> {
    let time = time(text, Duration::from_millis(1));
    let whole = time.filter(|time| !time.is_zero() && time.subsec_nanos() % 1_000_000 == 0);
    let milliseconds = whole.and_then(|time| u32::try_from(time.as_millis()).ok());
    milliseconds.ok_or_else(|| "give a time of whole milliseconds, such as 10ms or 1s".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_without_a_unit_has_the_usual_one() {
        for (text, time) in [("5", 5000), ("5s", 5000), ("0.5", 500), ("2m", 120_000), ("7ms", 7)] {
            assert_eq!(seconds(text), Ok(Duration::from_millis(time)), "{text}");
        }
        for (text, time) in [("5", 5), ("5ms", 5), ("1s", 1000), ("2000us", 2)] {
            assert_eq!(milliseconds(text), Ok(time), "{text}");
        }
        assert_eq!(seconds_or_never("0"), Ok(Duration::ZERO));
        for bad in ["", "s", "5x", "-1", "0", "1e400"] {
            assert!(seconds(bad).is_err() && milliseconds(bad).is_err(), "{bad}");
        }
        assert!(milliseconds("0.5").is_err() && milliseconds("1500us").is_err());
    }
}
