//! The destination of the profile: a front end, or a file that gets its final name only when it is complete.

use crate::mutex::lock;
use crate::rendered::Rendered;
use jvm::platform::sockets::unsent;
use jvmpi_formats::hprof::options::{Cpu, Options, Output as Destination};
use jvmpi_formats::profile::{
    BinaryWriter, Format, Profile, StreamWriter, TextWriter, Version, WholeFile, Writer,
};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The time limit for a front end to accept [`PIECE`] bytes. A live front end reads continuously. The program
/// waits for it at exit, so the limit protects the program at the expense of the profile.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of bytes that are sent at a time.
const PIECE: usize = 1 << 16;

/// The destination of the profile.
pub struct Output {
    target: Target,
    form: Form,
    /// True if the front end was abandoned.
    is_gone: bool,
    /// The writer that has written the beginning and keeps track of what is written. None before the first dump
    /// and after an error.
    writer: Option<Kind>,
}

/// The form in which the profile is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    /// The text of `java -prof`.
    Old,
    Binary(Version),
    /// The stream that the command `jvmpi` reads.
    Stream,
    /// A file that is rendered as a whole.
    Rendered(Format),
}

/// The way in which the file is written.
enum Kind {
    /// Appends each part to the file.
    Pieces(Box<dyn Writer + Send>),
    /// Renders everything dumped so far at the end of each dump.
    Whole(Box<Rendered>),
}

impl Kind {
    fn writer(&mut self) -> &mut dyn Writer {
        match self {
            Self::Pieces(writer) => writer.as_mut(),
            Self::Whole(made) => made.as_mut(),
        }
    }
}

enum Target {
    File(FileInTheMaking),
    Net(TcpStream),
}

/// A file that grows with each dump.
struct FileInTheMaking {
    file: WholeFile,
    open: Arc<Mutex<Option<File>>>,
    /// True if the file at its final path is ours and is to be continued.
    has_dumps: bool,
}

/// Writes to the currently open file.
struct OpenFile(Arc<Mutex<Option<File>>>);

impl Write for OpenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match lock(&self.0).as_mut() {
            Some(file) => file.write(bytes),
            None => Err(io::Error::other("the file is not open")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes to a front end, and fails if it does not accept a piece in time.
struct Patient(TcpStream);

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        let end = Instant::now() + PATIENCE;
        let mut rest = piece;
        while !rest.is_empty() {
            // A timeout of 0 would mean no timeout.
            let left = end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            self.0.set_write_timeout(Some(left))?;
            match self.0.write(rest) {
                Ok(taken) => rest = &rest[taken..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if !rest.is_empty() && Instant::now() >= end {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Form {
    fn of(options: &Options) -> Self {
        // Only version 1.0.2 has room for heap dumps of 4 GiB and more, and the size of a dump is not known yet.
        let may_dump_heap = options.heap_dump || !matches!(options.output, Destination::File(_));
        match options.format {
            _ if matches!(options.output, Destination::Channel { .. }) => Self::Stream,
            Format::Text if options.cpu == Some(Cpu::Old) => Self::Old,
            Format::Text => Self::Text,
            Format::Binary if may_dump_heap => Self::Binary(Version::V1_0_2),
            Format::Binary => Self::Binary(Version::V1_0_1),
            other => Self::Rendered(other),
        }
    }
}

impl Output {
    /// Opens the file, or connects to the front end.
    ///
    /// # Errors
    /// Returns one line that describes the problem.
    pub fn open(options: &Options, process: u32) -> Result<Self, String> {
        let target = match &options.output {
            Destination::File(path) => Target::File(
                FileInTheMaking::create(path, options.force, process)
                    .map_err(|e| format!("cannot write the profile {}: {e}", path.display()))?,
            ),
            Destination::Net { host, port } => Target::Net(
                connect(host, *port)
                    .map_err(|e| format!("cannot connect to {host}:{port}: {e}"))?,
            ),
            Destination::Channel { host, port, secret } => {
                let connected = connect(host, *port).and_then(|mut stream| {
                    stream.write_all(secret.as_bytes())?;
                    Ok(stream)
                });
                let connected = connected
                    .map_err(|e| format!("cannot connect to the command at {host}:{port}: {e}"))?;
                Target::Net(connected)
            }
        };
        Ok(Self { form: Form::of(options), target, is_gone: false, writer: None })
    }

    /// Returns the connection from which commands are read, if there is one.
    pub fn connection(&self) -> Option<io::Result<TcpStream>> {
        match &self.target {
            Target::Net(stream) => Some(stream.try_clone()),
            Target::File(_) => None,
        }
    }

    /// Returns the path of the file or the address of the front end.
    pub fn name(&self) -> String {
        match &self.target {
            Target::File(file) => file.file.path().display().to_string(),
            Target::Net(stream) => match stream.peer_addr() {
                Ok(address) => address.to_string(),
                Err(_) => "the front end".to_owned(),
            },
        }
    }

    /// Returns true if the front end was abandoned.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Prepares to write new data. Returns true if only the beginning of the file is written yet.
    ///
    /// # Errors
    /// Fails if the file or the connection does.
    pub fn begin(&mut self, profile: &Profile) -> io::Result<bool> {
        let Self { target, form, writer, .. } = self;
        // A rendered file is created when it is written.
        if let (Target::File(file), false) = (&mut *target, matches!(form, Form::Rendered(_))) {
            let has_more = writer.is_some();
            if !file.begin(has_more)? && has_more {
                *writer = None;
            }
        }
        if writer.is_some() {
            return Ok(false);
        }
        let out = BufWriter::with_capacity(PIECE, out(target)?);
        *writer = Some(match *form {
            Form::Old => Kind::Pieces(Box::new(TextWriter::old(out))),
            Form::Text => Kind::Pieces(Box::new(TextWriter::new(out, profile)?)),
            Form::Binary(version) => {
                Kind::Pieces(Box::new(BinaryWriter::new(out, profile, version)?))
            }
            Form::Stream => Kind::Pieces(Box::new(StreamWriter::new(out, profile)?)),
            Form::Rendered(format) => Kind::Whole(Box::new(Rendered::new(format))),
        });
        if let (Target::File(_), Some(Kind::Pieces(writer))) = (target, writer) {
            // Making the dump may take long. If the JVM is killed meanwhile, it leaves no empty file.
            writer.flush()?;
        }
        Ok(true)
    }

    /// Returns the writer, between [`begin`](Self::begin) and [`finish`](Self::finish).
    ///
    /// # Errors
    /// Fails without a preceding `begin`.
    pub fn writer(&mut self) -> io::Result<&mut dyn Writer> {
        match &mut self.writer {
            Some(kind) => Ok(kind.writer()),
            None => Err(io::Error::other("it was not begun")),
        }
    }

    /// Completes the written data: the file gets its final name.
    ///
    /// # Errors
    /// Fails if the file or the connection does.
    pub fn finish(&mut self, profile: &mut Profile) -> io::Result<()> {
        match &mut self.writer {
            Some(Kind::Pieces(writer)) => writer.flush()?,
            Some(Kind::Whole(made)) => {
                if let Target::File(file) = &mut self.target {
                    file.begin(false)?;
                }
                let mut out = BufWriter::with_capacity(PIECE, out(&self.target)?);
                made.write(profile, &mut out)?;
                out.flush()?;
            }
            None => {}
        }
        match &mut self.target {
            Target::File(file) => file.finish(),
            Target::Net(_) => Ok(()),
        }
    }

    /// Abandons incomplete data. The next write begins a new file.
    pub fn give_up(&mut self) {
        if let Target::Net(stream) = &self.target {
            // Otherwise dropping the writer would wait for its remaining data again.
            let _ = stream.shutdown(Shutdown::Both);
            self.is_gone = true;
        }
        self.writer = None;
        if let Target::File(file) = &mut self.target {
            file.give_up();
        }
    }

    /// Sends no more, and waits until the front end closes the connection. It may dump the heap before the program
    /// ends.
    pub fn hold(&mut self) {
        self.writer = None;
        let Target::Net(stream) = &mut self.target else { return };
        if self.is_gone {
            return;
        }
        wait_until_taken(stream);
        let _ = stream.shutdown(Shutdown::Write);
        // Commands have no effect any more.
        let mut ignored = [0; 64];
        loop {
            match stream.read(&mut ignored) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Closes the output. A file without a dump is removed.
    pub fn close(&mut self) {
        self.writer = None;
        match &mut self.target {
            Target::File(file) => file.give_up(),
            Target::Net(stream) => {
                if !self.is_gone {
                    wait_until_taken(stream);
                }
                // The peer may have closed it already.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

fn out(target: &Target) -> io::Result<Box<dyn Write + Send>> {
    Ok(match target {
        Target::File(file) => Box::new(OpenFile(Arc::clone(&file.open))),
        Target::Net(stream) => Box::new(Patient(stream.try_clone()?)),
    })
}

/// Waits until the front end's system has received all data, unless it accepts nothing for too long. If a
/// connection is closed while it has an unread command, TCP resets it. The data on its way to the front end is
/// lost then.
fn wait_until_taken(stream: &TcpStream) {
    let (mut least, mut since) = (i32::MAX, Instant::now());
    // A closed connection has no peer address.
    while stream.peer_addr().is_ok() {
        let Some(left) = unsent(stream).filter(|left| *left > 0) else { return };
        if left < least {
            (least, since) = (left, Instant::now());
        } else if since.elapsed() >= PATIENCE {
            return;
        }
        // The kernel sends no notification of this. Polling delays the program's end by at most this interval.
        thread::sleep(Duration::from_millis(1));
    }
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl FileInTheMaking {
    /// Creates the file and removes it again, so that an error is reported at the start.
    fn create(path: &Path, force: bool, process: u32) -> io::Result<Self> {
        let name = match path.extension() {
            _ if force || !path.exists() => path.to_owned(),
            Some(end) => path.with_extension(format!("{process}.{}", end.display())),
            None => path.with_extension(process.to_string()),
        };
        let file = WholeFile::new(&name)?;
        let created = file.create()?;
        file.give_up();
        // A pipe stays open: otherwise its reader would see its end.
        let open = Arc::new(Mutex::new(file.part().is_none().then_some(created)));
        Ok(Self { file, open, has_dumps: false })
    }

    /// Opens the file; with `more`, keeps its content to add to it. Returns false if the file is empty.
    fn begin(&mut self, more: bool) -> io::Result<bool> {
        if self.has_dumps && more {
            match self.file.go_on() {
                Ok(file) => {
                    *lock(&self.open) = Some(file);
                    return Ok(true);
                }
                // Another program has moved the file away.
                Err(error) if error.kind() == io::ErrorKind::NotFound => self.has_dumps = false,
                Err(error) => return Err(error),
            }
        }
        *lock(&self.open) = Some(self.file.create()?);
        Ok(false)
    }

    /// Moves the file to its final path.
    fn finish(&mut self) -> io::Result<()> {
        *lock(&self.open) = None;
        self.file.finish()?;
        self.has_dumps = true;
        Ok(())
    }

    /// Removes an unfinished file.
    fn give_up(&mut self) {
        self.has_dumps = false;
        *lock(&self.open) = None;
        self.file.give_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::fd::AsRawFd;
    use std::sync::mpsc;

    /// A length above the receive buffer of the front end and below our send buffer.
    const LENGTH: usize = 1 << 17;

    fn set_buffer(socket: &impl AsRawFd, which: libc::c_int, size: libc::c_int) {
        let length = libc::socklen_t::try_from(size_of_val(&size)).unwrap();
        // SAFETY: the descriptor is that of an open socket, and the value has the given size.
        let set = unsafe {
            let value = (&raw const size).cast();
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, which, value, length)
        };
        assert_eq!(set, 0);
    }

    /// Returns a connection on which data is in transit until its front end reads, and the front end's side.
    fn connection() -> io::Result<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        set_buffer(&listener, libc::SO_RCVBUF, 1 << 12);
        let stream = TcpStream::connect(listener.local_addr()?)?;
        set_buffer(&stream, libc::SO_SNDBUF, 1 << 20);
        Ok((stream, listener.accept()?.0))
    }

    fn output(stream: TcpStream) -> Output {
        Output { target: Target::Net(stream), form: Form::Text, is_gone: false, writer: None }
    }

    #[test]
    fn a_command_that_nobody_reads_cuts_nothing_off() {
        let (stream, mut front_end) = connection().unwrap();
        front_end.write_all(b"!").unwrap();
        stream.peek(&mut [0]).unwrap();
        let mut output = output(stream);
        let (written, is_written) = mpsc::channel();
        let ending = thread::spawn(move || {
            out(&output.target).unwrap().write_all(&vec![b'x'; LENGTH]).unwrap();
            written.send(()).unwrap();
            output.close();
        });
        is_written.recv().unwrap();
        let (mut piece, mut sum) = ([0; 1 << 10], 0);
        loop {
            match front_end.read(&mut piece) {
                Ok(0) | Err(_) => break,
                Ok(length) => sum += length,
            }
        }
        ending.join().unwrap();
        assert_eq!(sum, LENGTH);
    }

    #[test]
    fn held_connection_ends_when_the_front_end_closes_it() {
        let (stream, mut front_end) = connection().unwrap();
        let mut output = output(stream);
        let held = thread::spawn(move || output.hold());
        assert_eq!(front_end.read(&mut [0]).unwrap(), 0);
        // Too much for any buffer: it is read and ignored.
        front_end.write_all(&vec![b'!'; 1 << 26]).unwrap();
        drop(front_end);
        held.join().unwrap();
    }

    #[test]
    fn a_front_end_that_is_gone_is_not_waited_for() {
        let (stream, front_end) = connection().unwrap();
        let mut output = output(stream);
        out(&output.target).unwrap().write_all(&vec![b'x'; LENGTH]).unwrap();
        let begun = Instant::now();
        drop(front_end);
        output.close();
        assert!(begun.elapsed() < PATIENCE);
    }
}
