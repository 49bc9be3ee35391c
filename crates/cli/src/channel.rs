//! The connections of HPROF with this process: what it records comes in, commands go out.
//!
//! HPROF connects to a port that is open on the loopback interface while it is used. So it can profile a JVM of a
//! user who may not write to the profile's place, and it can be stopped. Every user of the machine can connect to
//! the port too. A JVM therefore begins with a secret that it got from this process; a connection without it is
//! closed.

use crate::platform::network;
use crate::process::Process;
use jvmpi_formats::hprof::control::Command;
use jvmpi_formats::hprof::options::{SECRET, SECRET_LENGTH};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The port that JVMs connect to.
pub struct Channel {
    listener: TcpListener,
    address: SocketAddr,
    /// The first bytes of the connections of JVMs.
    secret: String,
}

/// The maximum number of open connections that have not sent a secret. The oldest is closed for a further one: a JVM
/// sends its secret at once, so it is never the oldest for long.
const MOST_UNKNOWN: usize = 64;

/// Maximum time for a connection to send its secret. A JVM sends it when it connects.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of closed connections that are named.
const MOST_NAMED: usize = 8;

/// A connection, to send commands.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    commands: u32,
}

/// The events of a connection.
#[derive(Debug)]
pub enum Event {
    /// A peer has connected; the number is the connection's.
    Opened(usize),
    /// It is a JVM.
    Connected(usize, Connection),
    /// The connection is from [`Entrance::knock`]. All that were opened before have been reported.
    Knocked(usize),
    /// It has sent this.
    Received(usize, Vec<u8>),
    /// Nothing more comes.
    Closed(usize),
}

impl Channel {
    /// Opens a port, in the network namespace of the process if one is given, so that the process can reach it.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn open(process: Option<&Process>) -> Result<Self, String> {
        let opened = network::listener(process);
        let opened = opened.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) =
            opened.map_err(|error| format!("cannot open a port for the JVM: {error}"))?;
        let secret =
            secret().map_err(|error| format!("no random number for the secret: {error}"))?;
        Ok(Self { listener, address, secret })
    }

    /// Returns the options of HPROF with which a running JVM connects.
    pub fn options(&self) -> String {
        format!("{},secret={}", self.option(), self.secret)
    }

    /// Returns the option with which a started program connects. All users can see the program's options, so the
    /// [secret](Self::secret) is in its environment.
    pub fn option(&self) -> String {
        format!("channel={}", self.address)
    }

    /// Returns the environment variable for the secret, and the secret.
    pub fn secret(&self) -> (&'static str, String) {
        (SECRET, self.secret.clone())
    }

    /// Accepts connections from now on. `hear` is called with each event, from threads of its own.
    pub fn serve(self, hear: impl Fn(Event) + Clone + Send + 'static) -> Entrance {
        let entrance = Entrance { address: self.address, own: Arc::default() };
        let own = Arc::clone(&entrance.own);
        let unknown = Unknown::default();
        let accept = move || {
            for number in 0.. {
                let Ok((stream, peer)) = self.listener.accept() else { continue };
                if unknown.add(number, &stream).is_err() {
                    continue;
                }
                hear(Event::Opened(number));
                let (hear, secret) = (hear.clone(), self.secret.clone());
                let (unknown, own) = (unknown.clone(), Arc::clone(&own));
                thread::spawn(move || {
                    let admitted = admit(&stream, &secret);
                    unknown.remove(number);
                    match admitted.and_then(|is_jvm| Ok((is_jvm, stream.try_clone()?))) {
                        Ok((true, commands)) => {
                            let connection = Connection { stream: commands, commands: 0 };
                            hear(Event::Connected(number, connection));
                            receive(stream, number, &hear);
                        }
                        _ if own.get() == Some(&peer) => hear(Event::Knocked(number)),
                        _ => {
                            name_stranger(peer);
                            hear(Event::Closed(number));
                        }
                    }
                });
            }
        };
        thread::spawn(accept);
        entrance
    }
}

/// The address where connections are accepted, in the order in which they are made.
pub struct Entrance {
    address: SocketAddr,
    /// The other end of the connection that [`Self::knock`] has made.
    own: Arc<OnceLock<SocketAddr>>,
}

impl Entrance {
    /// Makes a connection and closes it again. After [`Event::Knocked`], all connections that were made before have
    /// been reported.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn knock(&self) -> io::Result<()> {
        let connection = TcpStream::connect(self.address)?;
        // The other end waits for a secret until the connection is closed, which is afterwards.
        let _ = self.own.set(connection.local_addr()?);
        Ok(())
    }
}

/// The open connections that have not sent a secret, the oldest first.
#[derive(Clone, Default)]
struct Unknown(Arc<Mutex<VecDeque<(usize, TcpStream)>>>);

impl Unknown {
    fn all(&self) -> MutexGuard<'_, VecDeque<(usize, TcpStream)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, number: usize, stream: &TcpStream) -> io::Result<()> {
        let stream = stream.try_clone()?;
        let mut all = self.all();
        if all.len() >= MOST_UNKNOWN
            && let Some((_, oldest)) = all.pop_front()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        all.push_back((number, stream));
        Ok(())
    }

    fn remove(&self, number: usize) {
        self.all().retain(|(other, _)| *other != number);
    }
}

/// Reads the secret of a connection, and no more than that. Returns true if it is the right one.
fn admit(mut stream: &TcpStream, secret: &str) -> io::Result<bool> {
    let end = Instant::now() + PATIENCE;
    let mut given = [0; SECRET_LENGTH];
    let mut length = 0;
    while length < SECRET_LENGTH {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut given[length..]) {
            Ok(0) => return Ok(false),
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    stream.set_read_timeout(None)?;
    Ok(is_same(&given, secret))
}

/// Compares all bytes, so that the time does not depend on which bytes match.
fn is_same(given: &[u8; SECRET_LENGTH], secret: &str) -> bool {
    given.iter().zip(secret.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// Reports a closed connection. The number of lines is limited, so that many connections do not flood the terminal.
fn name_stranger(peer: SocketAddr) {
    static NAMED: AtomicUsize = AtomicUsize::new(0);
    let before = NAMED.fetch_add(1, Ordering::Relaxed);
    if before < MOST_NAMED {
        let last = before + 1 == MOST_NAMED;
        let more = if last { "; further ones are closed without a message" } else { "" };
        eprintln!(
            "jvmpi: warning: closed a connection from {peer}, which did not begin with the secret of \
             this recording{more}"
        );
    }
}

/// Returns an unpredictable number in hexadecimal.
fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; SECRET_LENGTH / 2];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn receive(mut stream: TcpStream, number: usize, hear: &impl Fn(Event)) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => hear(Event::Received(number, buffer[..length].to_vec())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The JVM was killed.
            Err(_) => break,
        }
    }
    hear(Event::Closed(number));
}

impl Connection {
    /// Sends a command. One that does not get there is not missed: the connection is closed then,
    /// which [`Event::Closed`] tells.
    pub fn send(&mut self, command: Command) {
        self.commands += 1;
        let _ = command.write(&mut self.stream, self.commands);
    }

    /// Closes the connection: the JVM ends the profiling and continues to run.
    pub fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
