//! The state that the threads of a recording share with the thread that writes it.

use crate::trace::file::Header;
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::sync::atomic::AtomicU64;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The greatest number of bytes that wait to be written.
const QUEUE: usize = 16 << 20;

/// The period that a killed process may lose. Nothing else depends on it.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Returns the time since the first call, in nanoseconds.
pub fn now() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// The state that all threads of a recording share.
#[derive(Default)]
pub struct Shared {
    /// The number of records that have a place in the order.
    pub order: AtomicU64,
    queue: Mutex<Queue>,
    /// Something is to be written.
    filled: Condvar,
    /// Something was written.
    written: Condvar,
}

/// The chunks to be written.
#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    /// The writer is writing what was here before.
    writing: bool,
    /// The file cannot be written any more.
    failed: bool,
}

/// Locks a mutex, even if a thread has panicked while it held it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Hands a chunk to the writer. With `waits`, waits while the queue is full; the writer itself must not.
    pub fn push(&self, header: &Header, records: &[&[u8]], waits: bool) {
        let header = header.write(records);
        let length = records.iter().map(|records| records.len()).sum::<usize>();
        let mut queue = lock(&self.queue);
        while waits
            && !queue.failed
            && !queue.bytes.is_empty()
            && queue.bytes.len() + length > QUEUE
        {
            queue = wait(&self.written, queue);
        }
        if !queue.failed {
            queue.bytes.extend_from_slice(&header);
            records.iter().for_each(|records| queue.bytes.extend_from_slice(records));
            self.filled.notify_one();
        }
    }

    /// Waits until all chunks are written, and then the end of the file.
    pub fn finish(&self) {
        let header = Header { flags: Header::LAST, thread: u32::MAX, ..Header::default() };
        self.push(&header, &[], true);
        let mut queue = lock(&self.queue);
        while !queue.failed && (queue.writing || !queue.bytes.is_empty()) {
            queue = wait(&self.written, queue);
        }
    }

    /// Writes the chunks as they come, until the file cannot be written. Calls `flush` if nothing has come for a
    /// while.
    pub fn write(&self, file: &mut File, flush: impl Fn()) -> io::Error {
        let mut spare = Vec::new();
        loop {
            let mut queue = lock(&self.queue);
            if queue.bytes.is_empty() {
                let (again, timeout) = self
                    .filled
                    .wait_timeout(queue, FLUSH_EVERY)
                    .unwrap_or_else(PoisonError::into_inner);
                queue = again;
                if timeout.timed_out() && queue.bytes.is_empty() {
                    drop(queue);
                    flush();
                    continue;
                }
            }
            mem::swap(&mut queue.bytes, &mut spare);
            queue.writing = true;
            drop(queue);
            self.written.notify_all();
            let result = file.write_all(&spare);
            // A heap dump may have made it large.
            spare = if spare.capacity() > 2 * QUEUE { Vec::new() } else { spare };
            spare.clear();
            let mut queue = lock(&self.queue);
            queue.writing = false;
            if let Err(error) = result {
                queue.failed = true;
                drop(queue);
                self.written.notify_all();
                return error;
            }
            drop(queue);
            self.written.notify_all();
        }
    }
}
