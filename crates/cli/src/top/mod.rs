//! `jvmpi top`: the hottest methods of a JVM, live.

mod screen;
mod table;

use crate::agent::Agent;
use crate::channel::{self, Channel, Connection};
use crate::failure::Failure;
use crate::process::Process;
use crate::signals;
use crate::waiting::Waiting;
use clap::value_parser;
use jvmpi_formats::hprof::control::Command;
use jvmpi_formats::profile::{Section, StreamEvent, StreamReader};
use screen::{Key, Screen};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use table::{Order, Table};

/// Show the hottest methods of a running JVM, live
///
/// On a terminal, the table is refreshed until you press q or Ctrl-C. Otherwise it is printed repeatedly.
/// The program continues.
#[derive(clap::Args)]
#[command(after_help = "Example: jvmpi top --pid 4711")]
pub struct Arguments {
    /// Process ID of the JVM
    #[arg(short, long, value_parser = value_parser!(libc::pid_t).range(1..))]
    pid: libc::pid_t,
    /// Print the table once, also on a terminal
    #[arg(long)]
    once: bool,
    /// Number of methods to show; on a terminal, as many as fit
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20)]
    lines: usize,
    /// Time between samples, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = value_parser!(u32).range(1..))]
    interval: u32,
    /// Time between tables, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = value_parser!(u64).range(1..))]
    every: u64,
}

/// The events while a table is shown.
#[derive(Debug)]
enum Event {
    Channel(channel::Event),
    Key(Key),
    /// The user wants it to end.
    Signal,
}

/// `jvmpi top`.
pub fn top(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let process = Process::jvm(arguments.pid)?;
    // Senders wait when the queue is full.
    let (sender, events) = mpsc::sync_channel(64);
    let to = sender.clone();
    let waiting = Waiting::default();
    let interrupted = waiting.clone();
    signals::listen(move |_| {
        interrupted.interrupt();
        // No thread receives any more when the command ends.
        let _ = to.send(Event::Signal);
    });
    let channel = Channel::open(Some(&process))?;
    let agent = Agent::hprof(&format!(
        "cpu=samples,interval={},depth=512,cutoff=0,doe=n,verbose=n,{}",
        arguments.interval,
        channel.options()
    ))?;
    let to = sender.clone();
    channel.serve(move |event| {
        let _ = to.send(Event::Channel(event));
    });
    agent.attach(&process, &waiting)?;

    let open = move |key| {
        let _ = sender.send(Event::Key(key));
    };
    let is_shown_live = !arguments.once && io::stdout().is_terminal();
    let screen = is_shown_live.then(|| Screen::open(open)).transpose()?;
    let (stream, table, started) = (StreamReader::default(), Table::default(), Instant::now());
    let (connection, order) = (None, Order::Own);
    let top = Top { arguments, screen, events, connection, stream, table, order, started };
    Ok(top.run()?)
}

struct Top<'a> {
    arguments: &'a Arguments,
    /// The terminal. Without it, tables are printed as lines.
    screen: Option<Screen>,
    events: Receiver<Event>,
    /// The connection of the JVM, with its number.
    connection: Option<(usize, Connection)>,
    stream: StreamReader,
    table: Table,
    order: Order,
    started: Instant,
}

impl Top<'_> {
    fn run(mut self) -> Result<ExitCode, String> {
        let every = Duration::from_secs(self.arguments.every);
        let mut next = Instant::now() + every;
        loop {
            let left = next.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) => {
                    next += every;
                    if let Some((_, connection)) = &mut self.connection {
                        connection.send(Command::Snapshot);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(Event::Channel(channel::Event::Connected(number, connection))) => {
                    self.connection = Some((number, connection));
                }
                Ok(Event::Channel(channel::Event::Received(_, bytes))) => {
                    let mut newest = None;
                    self.stream.take(&bytes, |told| {
                        if let StreamEvent::Dump(sections, _) = told {
                            newest = Some(sections);
                        }
                    })?;
                    let samples = newest.iter().flatten().find_map(|section| match section {
                        Section::CpuSamples(samples) => Some(&samples.rows),
                        _ => None,
                    });
                    if let Some(samples) = samples {
                        self.table.look(self.stream.profile(), samples, self.order);
                        self.show()?;
                        if self.arguments.once {
                            break;
                        }
                    }
                }
                Ok(Event::Channel(channel::Event::Closed(number)))
                    if self.connection.as_ref().is_some_and(|(ours, _)| *ours == number) =>
                {
                    drop(self.screen);
                    return Err(format!("process {} has ended", self.arguments.pid));
                }
                Ok(Event::Channel(_)) => {}
                Ok(Event::Key(Key::Quit) | Event::Signal) => break,
                Ok(Event::Key(Key::Order(order))) => {
                    self.order = order;
                    self.table.sort(order);
                    self.show()?;
                }
                Ok(Event::Key(Key::Redraw)) => self.show()?,
            }
        }
        if let Some((_, connection)) = &mut self.connection {
            connection.send(Command::Stop { dump: false });
        }
        Ok(ExitCode::SUCCESS)
    }

    fn show(&mut self) -> Result<(), String> {
        let Table { all, new, .. } = self.table;
        let seconds = self.started.elapsed().as_secs();
        let head = format!(
            "process {}  {seconds} s  {all} samples, {new} in the last {} s",
            self.arguments.pid, self.arguments.every
        );
        match &mut self.screen {
            Some(screen) => screen.show(&head, |lines| self.table.lines(lines)),
            None => {
                let mut out = io::stdout().lock();
                let lines = self.table.lines(self.arguments.lines).join("\n");
                writeln!(out, "{head}\n{lines}\n").and_then(|()| out.flush())
            }
        }
        .map_err(|error| error.to_string())
    }
}
