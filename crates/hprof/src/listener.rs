//! The thread that executes the commands of a front end over `net=`.

use crate::dumps::Dumps;
use crate::message::error;
use crate::shared::Shared;
use jvmpi::MultiThreaded;
use jvmpi_formats::hprof::control::Command;
use std::io::{BufReader, ErrorKind};
use std::net::TcpStream;

/// Executes commands until either end closes the connection or a command ends the profiling. A closed
/// connection also ends the profiling, because nobody reads its data.
pub fn run(dumps: &Dumps, shared: &Shared, jvmpi: &mut MultiThreaded<'_>, commands: TcpStream) {
    let mut commands = BufReader::new(commands);
    loop {
        match Command::read(&mut commands) {
            Ok(Some(command)) => {
                if !dumps.command(shared, jvmpi, command) {
                    return;
                }
            }
            Ok(None) => break,
            // This error occurs if the front end has not read all data before it closed the connection.
            Err(why) if why.kind() == ErrorKind::ConnectionReset => break,
            Err(why) => {
                error(&format_args!("the front end's commands cannot be read: {why}"));
                break;
            }
        }
    }
    // Without a front end, nobody receives the recorded data.
    dumps.stop(shared, jvmpi, false);
}
