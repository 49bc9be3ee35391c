//! `jvmpi top`: the hottest methods of a JVM, live.

mod screen;
mod table;

use crate::channel::{self, Connection};
use crate::failure::{Failure, NOT_STARTED};
use crate::platform::signals;
use crate::process::Process;
use crate::record::Target;
use crate::units;
use crate::waiting::Waiting;
use crossterm::event::KeyCode;
use jvmpi_formats::hprof::control::Command;
use jvmpi_formats::profile::{Section, StreamEvent, StreamReader};
use screen::{HELP, QUIT, Screen};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{self, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use table::{Of, Table, View};

/// Show the hottest methods of a JVM, live
///
/// On a terminal, the table is refreshed until you press q or Ctrl-C; ? shows the other keys. Otherwise it is printed
/// repeatedly. A running program continues. A program that jvmpi starts has no terminal, and is ended at the end; of
/// several JVMs, the last that has started is shown.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  jvmpi top --pid Tomcat\n  jvmpi top --wall -- java -jar app.jar"
)]
#[command(override_usage = "jvmpi top [OPTIONS] --pid PID\n       \
                            jvmpi top [OPTIONS] -- PROGRAM...")]
pub struct Arguments {
    /// The running JVM: its process ID, or a part of its main class or JAR file
    #[arg(short, long)]
    pid: Option<String>,
    /// Show elapsed time, also of waiting threads, instead of CPU time
    #[arg(long)]
    wall: bool,
    /// Print the table once, also on a terminal
    #[arg(long)]
    once: bool,
    /// Number of methods to show; on a terminal, as many as fit
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20)]
    lines: usize,
    /// Time between samples
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = units::milliseconds)]
    interval: u32,
    /// Time between tables
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = units::seconds)]
    every: Duration,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "pid", conflicts_with = "pid")]
    program: Vec<OsString>,
}

/// The events while a table is shown.
#[derive(Debug)]
enum Event {
    Channel(channel::Event),
    /// None if the terminal has another size.
    Key(Option<KeyCode>),
    /// The user wants it to end.
    Signal,
}

/// `jvmpi top`.
pub fn top(arguments: &Arguments) -> Result<ExitCode, Failure> {
    run(arguments).map_err(|failure| match &arguments.pid {
        Some(_) => failure,
        None => failure.or_status(NOT_STARTED),
    })
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let process = arguments.pid.as_deref().map(Process::find).transpose()?;
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
    let options = format!(
        "cpu={},interval={},depth=512,thread=y,cutoff=0,doe=n,verbose=n",
        if arguments.wall { "wall" } else { "samples" },
        arguments.interval,
    );
    let to = sender.clone();
    let hear = move |event| {
        let _ = to.send(Event::Channel(event));
    };
    let is_live = !arguments.once && io::stdout().is_terminal();
    let program = &arguments.program;
    let adapt = |program: &mut process::Command| {
        if is_live {
            program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        } else {
            program.stdout(io::stderr());
        }
    };
    let (target, _) = Target::start(&options, &[], process, program, &waiting, hear, adapt)?;
    let open = move |key| {
        let _ = sender.send(Event::Key(key));
    };
    let screen = is_live.then(|| Screen::open(open)).transpose()?;
    let top = Top {
        arguments,
        target,
        screen,
        events,
        jvm: None,
        view: View::default(),
        is_typing: false,
        shows_help: false,
        started: Instant::now(),
    };
    Ok(top.run()?)
}

struct Top<'a> {
    arguments: &'a Arguments,
    target: Target,
    /// The terminal. Without it, tables are printed as lines.
    screen: Option<Screen>,
    events: Receiver<Event>,
    /// The JVM that is shown.
    jvm: Option<Jvm>,
    view: View,
    /// True while the user types the filter.
    is_typing: bool,
    shows_help: bool,
    started: Instant,
}

/// A JVM, by its connection.
struct Jvm {
    number: usize,
    connection: Connection,
    stream: StreamReader,
    table: Table,
    process: Option<Process>,
    /// When its CPU times were read, and these.
    read: (Instant, (f64, f64)),
    /// The share of a processor that the process and its collector had since the time before.
    shares: (f64, f64),
}

impl Jvm {
    fn new(number: usize, connection: Connection) -> Self {
        Self {
            number,
            connection,
            stream: StreamReader::default(),
            table: Table::default(),
            process: None,
            read: (Instant::now(), (0.0, 0.0)),
            shares: (0.0, 0.0),
        }
    }

    fn look_at_process(&mut self, target: &Target) {
        let is_first = self.process.is_none();
        self.process = self.process.take().or_else(|| target.process(self.stream.process()).ok());
        let Some(process) = &self.process else { return };
        let (now, times) = (Instant::now(), process.cpu_times());
        let (then, before) = std::mem::replace(&mut self.read, (now, times));
        let elapsed = (now - then).as_secs_f64();
        if !is_first && elapsed > 0.0 {
            self.shares = ((times.0 - before.0) / elapsed, (times.1 - before.1).max(0.0) / elapsed);
        }
    }
}

impl Top<'_> {
    fn run(mut self) -> Result<ExitCode, String> {
        let result = self.watch();
        if let Some(jvm) = &mut self.jvm {
            jvm.connection.send(Command::Stop { dump: false });
        }
        // Before anything is printed.
        self.screen = None;
        if self.target.ended().is_none()
            && let Target::Program(program, ..) = &mut self.target
        {
            signals::ask_to_end(program);
            let _ = program.wait();
        }
        result
    }

    /// Shows tables until the user wants no more, or the program ends.
    fn watch(&mut self) -> Result<ExitCode, String> {
        let every = self.arguments.every;
        let mut next = Instant::now() + every;
        loop {
            let left = next.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) => {
                    next += every;
                    if let Some(jvm) = &mut self.jvm {
                        jvm.connection.send(Command::Snapshot);
                    }
                }
                Err(RecvTimeoutError::Disconnected) | Ok(Event::Signal) => break,
                Ok(Event::Channel(channel::Event::Connected(number, connection))) => {
                    let mut jvm = Jvm::new(number, connection);
                    jvm.look_at_process(&self.target);
                    self.jvm = Some(jvm);
                }
                Ok(Event::Channel(channel::Event::Received(number, bytes))) => {
                    if self.take(number, &bytes)? && self.arguments.once {
                        break;
                    }
                }
                Ok(Event::Channel(channel::Event::Closed(number))) => {
                    let is_shown = self.jvm.as_ref().is_some_and(|jvm| jvm.number == number);
                    if is_shown && let Target::Process(process) = &self.target {
                        return Err(format!("process {process} has ended"));
                    }
                }
                Ok(Event::Channel(_)) => {}
                Ok(Event::Key(Some(key))) if self.obey(key) => break,
                Ok(Event::Key(_)) => self.show()?,
            }
            if let Some(status) = self.target.ended() {
                return Ok(if status == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Takes the bytes of a JVM. Returns true if a table has been shown.
    fn take(&mut self, number: usize, bytes: &[u8]) -> Result<bool, String> {
        let Some(jvm) = self.jvm.as_mut().filter(|jvm| jvm.number == number) else {
            return Ok(false);
        };
        let mut newest = None;
        jvm.stream.take(bytes, |told| {
            if let StreamEvent::Dump(sections, _) = told {
                newest = Some(sections);
            }
        })?;
        let samples = newest.iter().flatten().find_map(|section| match section {
            Section::CpuSamples(samples) => Some(&samples.rows),
            _ => None,
        });
        let Some(samples) = samples else { return Ok(false) };
        jvm.table.look(samples);
        jvm.look_at_process(&self.target);
        // A program that has just been started has none.
        let is_starting = jvm.table.new == 0 && matches!(self.target, Target::Program(..));
        if is_starting && self.arguments.once {
            return Ok(false);
        }
        self.show()?;
        Ok(true)
    }

    /// Does what a key means. Returns true if it is to end.
    fn obey(&mut self, key: KeyCode) -> bool {
        let (view, page) = (&mut self.view, Screen::rows());
        match key {
            QUIT => return true,
            KeyCode::Esc if self.is_typing || !view.filter.is_empty() => {
                view.filter.clear();
                self.is_typing = false;
            }
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Backspace if self.is_typing => drop(view.filter.pop()),
            KeyCode::Char(typed) if self.is_typing => view.filter.push(typed),
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Char('?') => self.shows_help = !self.shows_help,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char('s') => view.by_total = false,
            KeyCode::Char('t') => view.by_total = true,
            KeyCode::Char('m') => view.of = Of::Methods,
            KeyCode::Char('l') => view.of = Of::Lines,
            KeyCode::Char('h') => view.of = Of::Threads,
            KeyCode::Up => view.above = view.above.saturating_sub(1),
            KeyCode::Down => view.above += 1,
            KeyCode::PageUp => view.above = view.above.saturating_sub(page),
            KeyCode::PageDown => view.above += page,
            KeyCode::Home => view.above = 0,
            _ => {}
        }
        false
    }

    fn show(&mut self) -> Result<(), String> {
        let Some(jvm) = &mut self.jvm else { return Ok(()) };
        jvm.table.arrange(jvm.stream.profile(), &self.view);
        let Table { all, new, .. } = jvm.table;
        let (cpu, gc) = (100.0 * jvm.shares.0, 100.0 * jvm.shares.1);
        let process = jvm.process.as_ref().map(ToString::to_string).unwrap_or_default();
        let (seconds, every) = (self.started.elapsed().as_secs(), self.arguments.every);
        let head = format!(
            "process {process}  {seconds} s  CPU {cpu:.0}%  GC {gc:.0}%  {all} samples, {new} in the last {every:?}"
        );
        let Some(screen) = &mut self.screen else {
            let lines = jvm.table.lines(&self.view, self.arguments.lines).join("\n");
            let mut out = io::stdout().lock();
            let printed = writeln!(out, "{head}\n{lines}\n").and_then(|()| out.flush());
            return printed.map_err(|error| error.to_string());
        };
        let rows = Screen::rows();
        self.view.above = self.view.above.min(jvm.table.len().saturating_sub(rows));
        let mut all = vec![head];
        if self.shows_help {
            all.extend(HELP.iter().map(ToString::to_string));
        } else {
            all.extend(jvm.table.lines(&self.view, rows));
        }
        let foot = match (self.is_typing, self.view.filter.as_str()) {
            (true, filter) => format!("filter: {filter}_"),
            (false, "") => "?: help   /: filter   s: by self   t: by total   q: quit".to_owned(),
            (false, filter) => format!("filter: {filter} (Esc: all)   ?: help   q: quit"),
        };
        screen.show(all, foot).map_err(|error| error.to_string())
    }
}
