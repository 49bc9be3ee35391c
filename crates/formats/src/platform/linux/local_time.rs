//! Local time, which the C library knows.

use libc::tm;

/// Returns the local time of a moment, in seconds since 1970 in UTC. None if the C library cannot have it: a `time_t`
/// of 32 bits ends in 2038.
pub fn of(seconds: u64) -> Option<tm> {
    let seconds = seconds.try_into().ok()?;
    // SAFETY: `tm` is plain data, for which zeros are a value.
    let mut parts = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to local variables.
    let known = unsafe { libc::localtime_r(&seconds, &mut parts) };
    (!known.is_null()).then_some(parts)
}

/// Returns the moment of a local time, whose `tm_isdst` may be -1, in seconds since 1970 in UTC.
pub fn moment(mut parts: tm) -> Option<u64> {
    // SAFETY: the pointer is to a local variable.
    u64::try_from(unsafe { libc::mktime(&mut parts) }).ok()
}
