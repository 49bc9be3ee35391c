//! Determines if a thread sleeps.

use std::io::Write;

/// Returns true if the thread is blocked until something happens. It neither runs nor waits for a
/// processor or a disk. True if there is no such thread.
pub fn is_asleep(os_thread: i32) -> bool {
    state(os_thread).is_none_or(|state| state == b'S')
}

/// Returns the kernel's letter for the state of the thread.
fn state(os_thread: i32) -> Option<u8> {
    let mut stat = [0; 64];
    let stat = read(os_thread, "stat", &mut stat)?;
    // The state follows the name of at most 15 arbitrary bytes, which is in parentheses.
    let name_end = stat.iter().rposition(|byte| *byte == b')');
    stat.get(name_end? + 2).copied()
}

/// Reads the beginning of a file about the thread. None if there is no such thread.
fn read<'a>(os_thread: i32, file: &str, room: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut path = [0; 48];
    write!(&mut path[..], "/proc/self/task/{os_thread}/{file}\0").ok()?;
    // SAFETY: the path is NUL-terminated, and at most `room.len()` bytes are written to `room`.
    let read = unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let read = libc::read(file, room.as_mut_ptr().cast(), room.len());
        libc::close(file);
        read
    };
    room.get(..usize::try_from(read).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::os_thread::os_thread;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn thread_that_waits_for_another_is_asleep() {
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let waiting = thread::spawn(move || {
            tell.send(os_thread()).unwrap();
            let _ = ended.recv();
        });
        let waiter = told.recv().unwrap();
        while !is_asleep(waiter) {
            thread::yield_now();
        }
        assert!(!is_asleep(os_thread()), "it runs");
        drop(end);
        waiting.join().unwrap();
        assert!(is_asleep(-1) && is_asleep(0));
    }
}
