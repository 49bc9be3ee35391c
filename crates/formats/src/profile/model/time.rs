//! Moments, and how text has them.

use crate::platform::local_time;
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A moment: milliseconds since 1970 began in UTC. Text has whole seconds, as local time.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Time(pub u64);

/// Returns a duration in nanoseconds.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Time {
    /// This moment.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(since.as_millis() as u64)
    }

    /// Returns the time that has passed since `earlier`.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Returns the time in `ctime`'s format, without the end of the line: `Sun Nov 22 01:03:08 2026`.
    pub fn to_text(self) -> String {
        let Some(parts) =
            local_time::of(self.0 / 1000).filter(|parts| parts.tm_year <= 9999 - 1900)
        else {
            return String::new();
        };
        let (day, month) = (DAYS[parts.tm_wday as usize], MONTHS[parts.tm_mon as usize]);
        format!(
            "{day} {month} {:2} {:02}:{:02}:{:02} {}",
            parts.tm_mday,
            parts.tm_hour,
            parts.tm_min,
            parts.tm_sec,
            parts.tm_year + 1900
        )
    }

    /// Returns the moment that [`to_text`](Self::to_text) has written in the same time zone.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace().skip(1);
        let month = words.next()?;
        let day: u8 = words.next()?.parse().ok()?;
        let mut clock = words.next()?.splitn(3, ':').map(|part| part.parse::<u8>());
        let year: i32 = words.next()?.parse().ok()?;
        // SAFETY: `tm` is plain data, for which zeros are a value.
        let mut parts: libc::tm = unsafe { std::mem::zeroed() };
        parts.tm_mon = MONTHS.iter().position(|name| *name == month)? as i32;
        parts.tm_mday = day.into();
        parts.tm_hour = clock.next()?.ok()?.into();
        parts.tm_min = clock.next()?.ok()?.into();
        parts.tm_sec = clock.next()?.ok()?.into();
        parts.tm_year = year.checked_sub(1900)?;
        // The C library finds out if summer time was in force.
        parts.tm_isdst = -1;
        local_time::moment(parts)?.checked_mul(1000).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_it_was_written() {
        for seconds in [0, 951_782_400, 1_795_309_388, 4_102_444_799] {
            let time = Time(seconds * 1000);
            let text = time.to_text();
            // A 32-bit `time_t` of C ends in 2038.
            if libc::time_t::try_from(seconds).is_err() {
                assert_eq!(text, "");
                continue;
            }
            assert_eq!(text.len(), 24, "{text}");
            assert_eq!(Time::from_text(&text), Some(time), "{text}");
        }
    }

    #[test]
    fn invalid_time_is_none() {
        for text in ["", "Sun", "Sun Nov 22", "Sun Nov 22 01:03 2026", "Sun Foo 22 01:03:08 2026"] {
            assert_eq!(Time::from_text(text), None);
        }
        assert_eq!(Time(u64::MAX).to_text(), "");
        assert_eq!(Time(253_402_300_800_000 + 86_400_000).to_text(), "");
    }
}
