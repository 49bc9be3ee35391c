//! Ports in the network of a process, which differs from this one's in a container.

use super::process::Process;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::path::Path;
use std::thread;

/// Opens a port on the loopback interface, in the network namespace of the process if one is given.
///
/// # Errors
/// Fails if the network of the process is not accessible.
pub fn listener(process: Option<&Process>) -> io::Result<TcpListener> {
    match process.map(Process::directory) {
        Some(directory) if is_other_network(&directory)? => in_network_of(&directory),
        _ => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)),
    }
}

fn is_other_network(process: &Path) -> io::Result<bool> {
    let network = |directory: &Path| fs::read_link(directory.join("ns/net"));
    let theirs = network(process)?;
    Ok(network(Path::new("/proc/self")).is_ok_and(|ours| ours != theirs))
}

/// Opens a port on the loopback interface of the process's own network. Only root can do that.
fn in_network_of(process: &Path) -> io::Result<TcpListener> {
    let namespace = File::open(process.join("ns/net"))?;
    // Only the thread that has entered the other network is in it.
    let bind = move || {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
    };
    thread::spawn(bind).join().unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
}
