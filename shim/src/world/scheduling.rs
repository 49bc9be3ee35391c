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
    let mut stat = [0; 64];
    let stat = read(os_thread, "stat", &mut stat)?;
    // The state follows the name, of at most 15 bytes, which is in parentheses and may contain any.
    let name_end = stat.iter().rposition(|byte| *byte == b')');
    stat.get(name_end? + 2).copied()
}

/// How often the thread has slept: given up its processor to wait for something, which one that yields it has not.
/// The lower bits of the number, None if it cannot be known.
pub fn sleeps(os_thread: i32) -> Option<u32> {
    // The line stands near the end of some 1,500 bytes; with many processors, memories or groups there are more.
    let mut status = [0; 4096];
    let mut lines = read(os_thread, "status", &mut status)?.split(|byte| *byte == b'\n');
    let number = lines.find_map(|line| line.strip_prefix(b"voluntary_ctxt_switches:\t"))?;
    let number: u64 = str::from_utf8(number).ok()?.parse().ok()?;
    Some(number as u32)
}

/// The beginning of a file about the thread, None if there is no such thread.
fn read<'a>(os_thread: i32, file: &str, room: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut path = [0; 48];
    write!(&mut path[..], "/proc/self/task/{os_thread}/{file}\0").ok()?;
    // SAFETY: the path ends with a zero, and there is room for what is read. The calls are allowed in signal
    // handlers.
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
        assert_eq!(sleeps(-1), None);
    }
}
