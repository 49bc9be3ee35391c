//! The thread that does what a front end asks for over `net=`.

use crate::agent::Shared;
use crate::message::error;
use jvmpi::MultiThreaded;
use jvmpi_formats::hprof::control::Command;
use std::io::{BufReader, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;

/// Does what the front end asks for until the connection is closed, from whichever end. The profiling goes
/// on, unless it has asked for its end; there is nobody to hear of it, though.
pub fn run(shared: &Arc<Shared>, jvmpi: &mut MultiThreaded<'_>, commands: TcpStream) {
    let mut commands = BufReader::new(commands);
    loop {
        match Command::read(&mut commands) {
            Ok(Some(command)) => {
                if !shared.dumps.command(shared, jvmpi, command) {
                    return;
                }
            }
            Ok(None) => break,
            // So it is where the front end has not read all before it closed the connection.
            Err(why) if why.kind() == ErrorKind::ConnectionReset => break,
            Err(why) => {
                error(&format_args!("the front end's commands cannot be read: {why}"));
                break;
            }
        }
    }
    // Without a front end nobody hears of what is recorded.
    shared.dumps.stop(shared, jvmpi, false);
}
