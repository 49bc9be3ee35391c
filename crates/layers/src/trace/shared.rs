//! The state that the threads of a recording share with the thread that writes it.

use crate::trace::file::Header;
use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The greatest number of chunks that wait to be written. Few of them are longer than the buffer of a thread.
const QUEUE: usize = 128;

/// The period that a killed process may lose. Nothing else depends on it.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Returns the time since the first call, in nanoseconds.
pub fn now() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// The state that all threads of a recording share.
pub struct Shared {
    /// The number of records that have a place in the order.
    pub order: AtomicU64,
    queue: SyncSender<Message>,
}

/// A message to the thread that writes.
pub enum Message {
    /// These bytes are to be written.
    Chunk(Vec<u8>),
    /// The sender waits until everything before is written.
    Answer(SyncSender<()>),
}

/// Locks a mutex, even if a thread has panicked while it held it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Returns the state of a new recording, and the messages for [`write`].
    pub fn new() -> (Self, Receiver<Message>) {
        let (queue, messages) = mpsc::sync_channel(QUEUE);
        (Self { order: AtomicU64::new(0), queue }, messages)
    }

    /// Hands a chunk to the writer. With `waits`, waits while the queue is full; the writer itself must not. Returns
    /// false if the queue is full. Chunks are dropped after the file could not be written.
    pub fn push(&self, header: &Header, records: &[&[u8]], waits: bool) -> bool {
        let chunk = Message::Chunk(header.chunk(records));
        if waits {
            let _ = self.queue.send(chunk);
            return true;
        }
        !matches!(self.queue.try_send(chunk), Err(TrySendError::Full(_)))
    }

    /// Waits until all chunks are written, and then the end of the file.
    pub fn finish(&self) {
        let header = Header { flags: Header::LAST, thread: u32::MAX, ..Header::default() };
        self.push(&header, &[], true);
        let (answer, written) = mpsc::sync_channel(1);
        let _ = self.queue.send(Message::Answer(answer));
        // An error means that the file cannot be written any more.
        let _ = written.recv();
    }
}

/// Writes the chunks as they come, until the file cannot be written. Calls `flush` if nothing has come for a while.
pub fn write(messages: &Receiver<Message>, file: &mut File, flush: impl Fn()) -> io::Error {
    loop {
        match messages.recv_timeout(FLUSH_EVERY) {
            Ok(Message::Chunk(bytes)) => {
                if let Err(error) = file.write_all(&bytes) {
                    return error;
                }
            }
            // There is room for the answer.
            Ok(Message::Answer(sender)) => _ = sender.send(()),
            Err(RecvTimeoutError::Timeout) => flush(),
            Err(RecvTimeoutError::Disconnected) => return io::ErrorKind::BrokenPipe.into(),
        }
    }
}
