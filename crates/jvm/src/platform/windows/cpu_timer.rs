//! Timers on the CPU clocks of threads, which Windows does not have.

use std::io;

/// A timer that does not exist here.
pub struct CpuTimer(());

impl CpuTimer {
    /// Fails.
    ///
    /// # Errors
    /// Always: the system has no such timer.
    pub fn start(_: i32, _: i32, _: usize, _: i64, _: i64) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Does nothing. On Linux it ends the timer.
impl Drop for CpuTimer {
    fn drop(&mut self) {}
}
