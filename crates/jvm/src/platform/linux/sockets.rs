//! Connections.

use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Returns the number of bytes that the other end of the connection has not received. None if that is not known.
pub fn unsent(stream: &TcpStream) -> Option<i32> {
    let mut unsent = 0;
    // SAFETY: the descriptor is that of an open connection, and the kernel writes a number to `unsent`.
    let result = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut unsent) };
    (result == 0).then_some(unsent)
}
