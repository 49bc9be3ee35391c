//! Whether a thread runs, sleeps or waits for a processor. May be asked in a signal handler.

use std::io::Write;

/// Whether the thread of this process runs or waits for a processor; false if there is none.
pub fn wants_processor(os_thread: i32) -> bool {
    state(os_thread) == Some(b'R')
}

/// Whether the thread is blocked until something happens, and neither runs nor waits for a processor or
/// a disk; true if there is none.
pub fn is_asleep(os_thread: i32) -> bool {
    state(os_thread).is_none_or(|state| state == b'S')
}

/// What the kernel calls the state of the thread.
fn state(os_thread: i32) -> Option<u8> {
    let mut path = [0; 48];
    write!(&mut path[..], "/proc/self/task/{os_thread}/stat\0").ok()?;
    let mut stat = [0_u8; 64];
    // SAFETY: the path ends with a zero, and the buffer has room for what is read. The calls are allowed in
    // signal handlers.
    let read = unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let read = libc::read(file, stat.as_mut_ptr().cast(), stat.len());
        libc::close(file);
        read
    };
    let stat = &stat[..usize::try_from(read).unwrap_or(0)];
    // The state follows the name, of at most 15 bytes, which is in parentheses and may contain any.
    let name_end = stat.iter().rposition(|byte| *byte == b')');
    stat.get(name_end? + 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::threads::os_thread;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn a_thread_that_waits_for_another_wants_no_processor() {
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let waiting = thread::spawn(move || {
            tell.send(os_thread()).unwrap();
            let _ = ended.recv();
        });
        let waiter = told.recv().unwrap();
        while wants_processor(waiter) || !is_asleep(waiter) {
            thread::yield_now();
        }
        assert!(wants_processor(os_thread()) && !is_asleep(os_thread()), "it runs");
        drop(end);
        waiting.join().unwrap();
        assert!(!wants_processor(-1) && !wants_processor(0));
        assert!(is_asleep(-1) && is_asleep(0));
    }
}
