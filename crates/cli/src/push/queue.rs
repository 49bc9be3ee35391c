//! The requests that wait for a store: files in a private directory, one for each request.
//!
//! Several commands may use the queue of a store at the same time. The one that sends a request has the lock of its
//! file, which the kernel releases when the command ends, however it ends.

use super::destination::Destination;
use crate::directory::{has_one_user, users_directories};
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};
use tempfile::Builder;

/// A request that exports profiles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The parameters in its URL.
    pub query: String,
    /// The type of the body.
    pub content_type: String,
    /// True if the body is compressed with gzip as a whole.
    pub is_compressed: bool,
    /// The profiles.
    pub body: Vec<u8>,
}

/// The queue of a store.
#[derive(Clone, Debug)]
pub struct Queue {
    directory: PathBuf,
    /// The greatest number of bytes in it.
    most_bytes: u64,
}

/// The greatest number of requests in a queue.
const MOST_REQUESTS: usize = 10_000;

/// The largest request. A file of this directory that is larger is not one.
const LARGEST: u64 = 1 << 30;

/// The first line of a file. Another version of the command writes another line, if it writes something else.
const FIRST_LINE: &str = "jvmpi push 1";
const EXTENSION: &str = ".request";
const PART: &str = ".part-";

impl Queue {
    /// Opens the queue of a store, which is created if it is new.
    ///
    /// # Errors
    /// Returns one line if there is no directory that only this user can change.
    pub fn open(destination: &Destination, most_bytes: u64) -> Result<Self, String> {
        // The parameters of the URL are part of each request.
        let digest = Sha256::digest(destination.to_string().as_bytes());
        let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let mut reasons = Vec::new();
        for parent in users_directories("XDG_STATE_HOME", ".local/state") {
            let directory = parent.join("push").join(&name);
            match Self::in_directory(&directory, most_bytes) {
                Ok(queue) => return Ok(queue),
                Err(reason) => reasons.push(format!("{}: {reason}", directory.display())),
            }
        }
        Err(format!(
            "cannot create a queue for profiles ({}); set XDG_STATE_HOME to a directory that only you can write to",
            reasons.join("; ")
        ))
    }

    /// Opens the queue in this directory, which is created if there is none.
    ///
    /// # Errors
    /// Returns the reason if the directory cannot be used.
    pub fn in_directory(directory: &Path, most_bytes: u64) -> Result<Self, String> {
        let failed = |error: io::Error| error.to_string();
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        // Further uses have this path, so that no link can be replaced in between.
        let directory = directory.canonicalize().map_err(failed)?;
        has_one_user(&directory)?;
        let queue = Self { directory, most_bytes };
        // Says early that the disk is full or read-only.
        queue.part().map_err(failed)?;
        queue.remove_old_parts();
        Ok(queue)
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Adds a request, and drops the oldest ones if the queue is full then. Returns the number of dropped requests.
    ///
    /// # Errors
    /// Returns the error of the file system. The request is not in the queue then.
    pub fn add(&self, request: &Request) -> io::Result<usize> {
        let head = [
            FIRST_LINE,
            &request.query,
            &request.content_type,
            if request.is_compressed { "gzip" } else { "identity" },
        ];
        let mut part = self.part()?;
        part.write_all(head.join("\n").as_bytes())?;
        part.write_all(b"\n")?;
        part.write_all(&request.body)?;
        part.flush()?;
        part.persist_noclobber(self.directory.join(new_name())).map_err(|error| error.error)?;
        self.shrink()
    }

    fn part(&self) -> io::Result<tempfile::NamedTempFile> {
        Builder::new().prefix(PART).tempfile_in(&self.directory)
    }

    /// Drops the oldest requests of a full queue.
    fn shrink(&self) -> io::Result<usize> {
        let mut all = Vec::new();
        for name in self.names()? {
            let path = self.directory.join(name);
            // Another command may have sent it.
            if let Ok(metadata) = fs::symlink_metadata(&path) {
                all.push((path, metadata.len()));
            }
        }
        let mut bytes: u64 = all.iter().map(|(_, length)| length).sum();
        let (mut requests, mut dropped) = (all.len(), 0);
        for (path, length) in all {
            if bytes <= self.most_bytes && requests <= MOST_REQUESTS {
                break;
            }
            // One that is being sent is about to leave the queue.
            if Locked::open(&path).is_some_and(|locked| locked.remove().is_ok()) {
                dropped += 1;
            }
            bytes -= length;
            requests -= 1;
        }
        Ok(dropped)
    }

    /// Returns the names of the requests, oldest first.
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            names.extend(name.to_str().filter(|name| name.ends_with(EXTENSION)).map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.names().map_or(0, |names| names.len())
    }

    /// Takes the oldest request that no other command is sending. None if there is none. The request stays in the
    /// queue until it is [removed](Taken::remove).
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn take(&self) -> io::Result<Option<Taken>> {
        for name in self.names()? {
            let Some(mut locked) = Locked::open(&self.directory.join(&name)) else { continue };
            match locked.read() {
                Some(request) => return Ok(Some(Taken { locked, request })),
                // Nothing that this command has written.
                None => locked.remove()?,
            }
        }
        Ok(None)
    }

    /// Removes the unfinished files of commands that were killed.
    fn remove_old_parts(&self) {
        const OLD: Duration = Duration::from_secs(3600);
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|modified| modified.elapsed().ok());
            let is_part = entry.file_name().to_string_lossy().starts_with(PART);
            if is_part && age.is_some_and(|age| age > OLD) {
                // Another command may have removed it.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A request that this command sends.
#[derive(Debug)]
pub struct Taken {
    locked: Locked,
    /// The request.
    pub request: Request,
}

impl Taken {
    /// Removes the request from the queue.
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn remove(self) -> io::Result<()> {
        self.locked.remove()
    }
}

/// A file of the queue with its lock.
#[derive(Debug)]
struct Locked {
    file: File,
    path: PathBuf,
}

impl Locked {
    /// Locks a file. None if another command has the lock, or the file is no longer there.
    fn open(path: &Path) -> Option<Self> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
        file.try_lock().ok()?;
        // Another command may have sent it before we got the lock.
        let is_there =
            file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 0);
        is_there.then(|| Self { file, path: path.to_owned() })
    }

    fn read(&mut self) -> Option<Request> {
        let mut bytes = Vec::new();
        (&self.file).take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 > LARGEST {
            return None;
        }
        let mut parts = bytes.splitn(5, |byte| *byte == b'\n');
        let mut line = || str::from_utf8(parts.next()?).ok().map(str::to_owned);
        let (first, query, content_type, encoding) = (line()?, line()?, line()?, line()?);
        let is_compressed = match encoding.as_str() {
            "gzip" => true,
            "identity" => false,
            _ => return None,
        };
        let body = parts.next()?.to_vec();
        let request = Request { query, content_type, is_compressed, body };
        (first == FIRST_LINE).then_some(request)
    }

    fn remove(self) -> io::Result<()> {
        fs::remove_file(self.path)
    }
}

/// Returns the name of a new request. Names sort by time.
fn new_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{:020}-{:010}-{}{EXTENSION}", time.as_nanos(), number, std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn request(text: &str) -> Request {
        Request {
            query: format!("name={text}"),
            content_type: "text/plain".into(),
            is_compressed: text.len() > 3,
            body: format!("{text}\n\n{text}").into_bytes(),
        }
    }

    fn queue(most_bytes: u64) -> (tempfile::TempDir, Queue) {
        let place = tempfile::TempDir::new().unwrap();
        let queue = Queue::in_directory(&place.path().join("a/queue"), most_bytes).unwrap();
        (place, queue)
    }

    #[test]
    fn requests_leave_in_their_order_and_only_when_they_are_removed() {
        let (_place, queue) = queue(1 << 20);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(queue.directory()), 0o700);
        for text in ["one", "three", "four"] {
            assert_eq!(queue.add(&request(text)).unwrap(), 0);
        }
        let names = queue.names().unwrap();
        assert!(names.iter().all(|name| mode(&queue.directory().join(name)) == 0o600));
        let one = queue.take().unwrap().unwrap();
        assert_eq!(one.request, request("one"));
        // Another command, or thread, gets the next one.
        assert_eq!(queue.take().unwrap().unwrap().request, request("three"));
        drop(one);
        let one = queue.take().unwrap().unwrap();
        assert_eq!(one.request, request("one"));
        one.remove().unwrap();
        assert_eq!(queue.take().unwrap().unwrap().request, request("three"));
        assert_eq!(queue.len(), 2);
    }

    #[test]
    fn full_queue_drops_the_oldest() {
        let (_place, queue) = queue(3 * 60);
        assert_eq!(queue.add(&request("one")).unwrap(), 0);
        let dropped: usize = (0..4).map(|_| queue.add(&request("four")).unwrap()).sum();
        assert_eq!((dropped, queue.len()), (2, 3));
        assert_eq!(queue.take().unwrap().unwrap().request, request("four"));
        // A request that has no place at all.
        let mut large = request("large");
        large.body = vec![0; 300];
        assert_eq!(queue.add(&large).unwrap(), 4);
        assert_eq!(queue.len(), 0);
    }

    /// A file that this command has not written is removed, not sent; a link is left alone.
    #[test]
    fn damaged_requests_are_removed() {
        let (place, queue) = queue(1 << 20);
        let victim = place.path().join("victim");
        fs::write(&victim, "jvmpi push 1\n\ntext/plain\nidentity\nsecret").unwrap();
        symlink(&victim, queue.directory().join(format!("0{EXTENSION}"))).unwrap();
        for (number, damaged) in
            ["", "jvmpi push 2\n\nx\ngzip\n", "jvmpi push 1\n\nx\nbr\nz", "jvmpi push 1\n\nx\ngzip"]
                .into_iter()
                .enumerate()
        {
            fs::write(queue.directory().join(format!("1{number}{EXTENSION}")), damaged).unwrap();
        }
        assert!(queue.take().unwrap().is_none());
        assert_eq!(queue.len(), 1);
        assert!(victim.exists());
    }

    #[test]
    fn directory_that_others_can_change_is_refused() {
        let place = tempfile::TempDir::new().unwrap();
        let open = place.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = |path: &Path| Queue::in_directory(path, 1 << 20).unwrap_err();
        assert!(refused(&open).contains("for this user alone"));
        assert!(refused(&open.join("queue")).contains("other users can change"));
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        refused(&file.join("queue"));
    }
}
