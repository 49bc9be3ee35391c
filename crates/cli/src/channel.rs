//! The connections of HPROF with this process: what it records comes in, commands go out.
//!
//! HPROF connects to a port that is open on the loopback interface while it is used. So it can
//! profile a JVM whose user may not write where the profile goes, and be told to stop.

use crate::process::Process;
use hprof::control::Command;
use std::fs::{self, File};
use std::io::{self, Read};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread;

/// Where JVMs connect to.
pub struct Channel {
    listener: TcpListener,
    address: SocketAddr,
}

/// A connection, to send commands.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    commands: u32,
    /// From where it comes.
    pub peer: SocketAddr,
}

/// What happens to a connection.
#[derive(Debug)]
pub enum Event {
    /// A JVM has connected; the number is the connection's.
    Connected(usize, Connection),
    /// It has sent this.
    Received(usize, Vec<u8>),
    /// Nothing more comes.
    Closed(usize),
}

impl Channel {
    /// Opens a port, in the network namespace of the process if one is given: that is what it sees.
    ///
    /// # Errors
    /// What is in the way.
    pub fn open(process: Option<&Process>) -> Result<Self, String> {
        let listener = match process.map(Process::directory) {
            Some(directory) if is_other_network(&directory)? => in_network_of(&directory),
            _ => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)),
        };
        let opened = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) =
            opened.map_err(|error| format!("cannot open a port for the JVM: {error}"))?;
        Ok(Self { listener, address })
    }

    /// The option of HPROF with which it connects.
    pub fn option(&self) -> String {
        format!("net={}", self.address)
    }

    /// Takes connections from now on. `hear` is called with what happens, from threads of their own.
    pub fn serve(self, hear: impl Fn(Event) + Clone + Send + 'static) -> Entrance {
        let entrance = Entrance(self.address);
        let accept = move || {
            for number in 0.. {
                let Ok((stream, peer)) = self.listener.accept() else { continue };
                let Ok(commands) = stream.try_clone() else { continue };
                hear(Event::Connected(number, Connection { stream: commands, commands: 0, peer }));
                let hear = hear.clone();
                thread::spawn(move || receive(stream, number, &hear));
            }
        };
        thread::spawn(accept);
        entrance
    }
}

/// Where connections are taken, in the order in which they are made.
pub struct Entrance(SocketAddr);

impl Entrance {
    /// Makes a connection and closes it again. When that from this address has been heard of, all have
    /// that were made before.
    ///
    /// # Errors
    /// What the system says.
    pub fn knock(&self) -> io::Result<SocketAddr> {
        TcpStream::connect(self.0)?.local_addr()
    }
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

    /// Closes it: the JVM ends the profiling and goes on.
    pub fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn is_other_network(process: &Path) -> Result<bool, String> {
    let network = |directory: &Path| fs::read_link(directory.join("ns/net"));
    let theirs = network(process).map_err(|error| format!("{}: {error}", process.display()))?;
    Ok(network(Path::new("/proc/self")).is_ok_and(|ours| ours != theirs))
}

/// A port on the loopback interface of the process's own network, which only root can open.
fn in_network_of(process: &Path) -> io::Result<TcpListener> {
    let namespace = File::open(process.join("ns/net"))?;
    // Only the thread that has entered the other network is in it.
    let bind = move || {
        // SAFETY: the descriptor is that of an open file, which the kernel examines.
        if unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
            return Err(io::Error::last_os_error());
        }
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
    };
    thread::spawn(bind).join().unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
}
