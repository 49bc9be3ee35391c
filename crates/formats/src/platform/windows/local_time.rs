//! Local time, which the C library knows.

use libc::{c_int, tm};

unsafe extern "C" {
    fn _localtime64_s(parts: *mut tm, seconds: *const i64) -> c_int;
    fn _mktime64(parts: *mut tm) -> i64;
}

/// Returns the local time of a moment, in seconds since 1970 in UTC. None if the C library cannot have it: its years
/// end in 3000.
pub fn of(seconds: u64) -> Option<tm> {
    let seconds = seconds.try_into().ok()?;
    // SAFETY: `tm` is plain data, for which zeros are a value.
    let mut parts = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to local variables.
    let error = unsafe { _localtime64_s(&mut parts, &seconds) };
    (error == 0).then_some(parts)
}

/// Returns the moment of a local time, whose `tm_isdst` may be -1, in seconds since 1970 in UTC.
pub fn moment(mut parts: tm) -> Option<u64> {
    // SAFETY: the pointer is to a local variable.
    u64::try_from(unsafe { _mktime64(&mut parts) }).ok()
}
