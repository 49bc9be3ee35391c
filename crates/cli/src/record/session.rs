//! The events of a recording, and the state that they change.

use super::files::Files;
use super::jvm::{Jvm, REST};
use super::pushes::Pushes;
use super::target::Target;
use crate::channel::{self, Entrance};
use crate::failure::Failure;
use crate::output;
use crate::platform::signals::{self, Signal};
use crate::process::Process;
use crate::progress::Progress;
use crate::waiting::{LOOK, Waiting};
use jvm::platform::names::SHIM;
use jvmpi_formats::hprof::control::Command;
use jvmpi_formats::profile::DumpKind;
use jvmpi_report::Recording;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, Instant};

/// Maximum number of queued events. Senders wait when the queue is full, so that it does not grow with what a
/// connection sends.
const WAITING: usize = 64;

/// An event of a recording.
#[derive(Debug)]
pub enum Event {
    Channel(channel::Event),
    Signal(Signal),
}

/// Returns the queue of events, into which signals come from now on. They also end waits.
pub fn events(waiting: &Waiting) -> (SyncSender<Event>, Receiver<Event>) {
    let (sender, receiver) = mpsc::sync_channel(WAITING);
    let (signals, interrupted) = (sender.clone(), waiting.clone());
    signals::listen(move |signal| {
        interrupted.interrupt();
        // No thread receives any more when the command ends.
        let _ = signals.send(Event::Signal(signal));
    });
    (sender, receiver)
}

/// The state of a recording.
pub struct Session {
    events: Receiver<Event>,
    waiting: Waiting,
    target: Target,
    /// By the numbers of their connections.
    jvms: BTreeMap<usize, Jvm>,
    /// The connections that have not sent a secret.
    unknown: BTreeSet<usize>,
    /// The connection that was made when the program had ended.
    knocked: Option<usize>,
    files: Files,
    about: Recording,
    /// Pushes the profiles, if the user wants that.
    pub pushes: Option<Pushes>,
    /// The exit status of the program.
    ended: Option<u8>,
    /// The number of times that the user interrupted it.
    interrupts: u32,
    started: Instant,
    /// The time between requests for snapshots.
    pub every: Duration,
    pub progress: Progress,
}

impl Session {
    pub fn new(
        events: Receiver<Event>,
        waiting: Waiting,
        target: Target,
        files: Files,
        about: Recording,
    ) -> Self {
        Self {
            events,
            waiting,
            target,
            jvms: BTreeMap::new(),
            unknown: BTreeSet::new(),
            knocked: None,
            files,
            about,
            pushes: None,
            ended: None,
            interrupts: 0,
            started: Instant::now(),
            every: Duration::ZERO,
            progress: Progress::default(),
        }
    }

    /// Records until the program ends, the JVM closes its connection, the user interrupts, or the time is over. The
    /// time begins when a JVM that was attached to is connected.
    ///
    /// # Errors
    /// Returns the reason if the wait for the connection is over.
    pub fn run(&mut self, duration: Option<Duration>) -> Result<(), String> {
        while self.jvms.is_empty()
            && let Target::Process(process) = &self.target
        {
            self.waiting.check(process)?;
            self.next(LOOK);
        }
        self.started = Instant::now();
        let end = duration.map(|duration| self.started + duration);
        while !self.is_over() {
            let now = Instant::now();
            if end.is_some_and(|end| end <= now) {
                break;
            }
            self.progress.show(self.started.elapsed().as_secs());
            self.jvms.values_mut().for_each(|jvm| jvm.keep_up(now));
            let dues = self.jvms.values().filter_map(Jvm::due);
            let longest = match self.target {
                Target::Program(..) => LOOK,
                // The progress shows seconds.
                Target::Process(_) => Duration::from_secs(1),
            };
            let next = dues.chain(end).fold(now + longest, Instant::min);
            self.next(next.saturating_duration_since(now));
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        match self.target {
            // Processes that the program leaves running are not waited for.
            Target::Program(..) => self.ended.is_some(),
            Target::Process(_) => self.interrupts > 0 || !self.has_open(),
        }
    }

    /// Receives events up to [`Entrance::knock`], so that all JVMs of a program that had connected are known: one may
    /// have ended since, with the program. The user can interrupt the wait for a foreign connection.
    ///
    /// # Errors
    /// Returns one line if this process cannot connect to its own port.
    fn catch_up(&mut self, entrance: &Entrance) -> Result<(), String> {
        if let Target::Process(_) = self.target {
            return Ok(());
        }
        entrance.knock().map_err(|error| format!("own port: {error}"))?;
        let before = self.interrupts;
        while self.knocked.is_none_or(|own| self.unknown.range(..own).next().is_some())
            && self.interrupts == before
        {
            self.next(LOOK);
        }
        Ok(())
    }

    /// Requests the profiles of the JVMs and stops them. The user can interrupt the wait for one that does
    /// not answer.
    fn stop(&mut self) {
        // A JVM that was not stopped by us would end with its program.
        for jvm in self.jvms.values_mut().filter(|jvm| jvm.is_open()) {
            jvm.connection.send(Command::Stop { dump: true });
        }
        let before = self.interrupts;
        while self.has_open() && self.interrupts == before {
            self.next(LOOK);
            if let Target::Process(process) = &self.target
                && process.is_stopped()
            {
                eprintln!(
                    "jvmpi: process {process} is stopped by a signal: the profile ends with the data that it \
                     sent last"
                );
                break;
            }
        }
        for jvm in self.jvms.values_mut().filter(|jvm| jvm.is_open()) {
            jvm.connection.close();
            jvm.closed = Some(Instant::now());
        }
        self.progress = Progress::default();
    }

    /// Ends the recording, writes the files, and shows the first if `opens` is true. Returns the exit status of the
    /// program, which continues after its profile and is waited for.
    ///
    /// # Errors
    /// Returns one line if there is no complete profile.
    pub fn finish(mut self, entrance: &Entrance, opens: bool) -> Result<ExitCode, Failure> {
        let stopped = self.catch_up(entrance).map(|()| self.stop());
        self.about.duration = self.started.elapsed();
        // A JVM at its end sends another last dump than one that is stopped.
        let exits = |jvm: &Jvm| jvm.has_ended && jvm.received.last != Some(DumpKind::Last);
        let is_alive = |process: &Process| process.is_alive().is_ok();
        let continues = matches!(&self.target, Target::Process(process) if is_alive(process))
            && !self.jvms.values().any(exits);
        let jvms = mem::take(&mut self.jvms);
        let written = stopped.and_then(|()| self.files.write(jvms, &self.about));
        let first = self.files.path.clone();
        output::show(&first, opens && written.is_ok() && !self.files.is_standard_output());
        self.finish_pushes(written.is_ok().then_some(&first));
        while let (Target::Program(..), None) = (&self.target, self.ended) {
            self.next(LOOK);
        }
        match (written, self.ended.unwrap_or(0)) {
            (Err(message), 0) => return Err(message.into()),
            (Err(message), status) => return Err(Failure::from(message).or_status(status)),
            (Ok(()), status) if !continues => return Ok(ExitCode::from(status)),
            _ => {}
        }
        if let Target::Process(process) = &self.target {
            eprintln!("jvmpi: detached from process {process}; {SHIM} stays loaded but inactive");
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Waits for the store that profiles are pushed to, for no longer than the user wants. A signal ends the wait.
    /// `kept` is the first file with the profiles.
    fn finish_pushes(&mut self, kept: Option<&Path>) {
        let Some(pushes) = self.pushes.take() else { return };
        let before = self.interrupts;
        pushes.finish(kept, || {
            self.next(Duration::ZERO);
            self.interrupts == before
        });
    }

    fn has_open(&self) -> bool {
        self.jvms.values().any(Jvm::is_open)
    }

    /// Writes the snapshot that a JVM has sent into its file.
    fn save(&mut self, number: usize) {
        let before = self.jvms.range(..number).filter(|(_, jvm)| jvm.received.dumps > 0).count();
        let Some(jvm) = self.jvms.get_mut(&number) else { return };
        let begun = Instant::now();
        self.about.duration = self.started.elapsed();
        self.files.save(before, &mut jvm.received, &self.about);
        let rest = Instant::now().checked_add(begun.elapsed() * REST);
        jvm.due = jvm.due.max(jvm.due.and(rest));
    }

    /// Takes note of the next event, if it comes within the time, and of the end of the program.
    fn next(&mut self, within: Duration) {
        match self.events.recv_timeout(within) {
            Err(_) => {}
            Ok(Event::Channel(event)) => self.hear(event),
            Ok(Event::Signal(signal)) => {
                self.interrupts += 1;
                if let Target::Program(program, ..) = &self.target
                    && self.ended.is_none()
                    && signal.is_ours_alone
                {
                    signals::pass_on(signal, program);
                }
            }
        }
        self.ended = self.ended.or_else(|| self.target.ended());
    }

    /// Takes note of an event of a connection.
    fn hear(&mut self, event: channel::Event) {
        match event {
            channel::Event::Opened(number) => {
                self.unknown.insert(number);
            }
            channel::Event::Knocked(number) => {
                self.unknown.remove(&number);
                self.knocked = Some(number);
            }
            channel::Event::Connected(number, connection) => {
                self.unknown.remove(&number);
                self.jvms.insert(number, Jvm::new(connection, self.every));
            }
            channel::Event::Received(number, bytes) => {
                let Some(jvm) = self.jvms.get_mut(&number) else { return };
                let before = jvm.received.dumps;
                let is_snapshot = jvm.take(&bytes, self.every);
                if jvm.received.dumps > before {
                    if let Some(pushes) = &mut self.pushes {
                        pushes.push(number, &mut jvm.received, &self.target);
                    }
                    if self.about.java.is_none() {
                        let process = self.target.process(jvm.received.process()).ok();
                        self.about.java = process.and_then(|process| process.java());
                    }
                }
                if is_snapshot {
                    self.save(number);
                }
            }
            channel::Event::Closed(number) => {
                self.unknown.remove(&number);
                let Some(jvm) = self.jvms.get_mut(&number) else { return };
                (jvm.closed, jvm.has_ended) = (Some(Instant::now()), true);
                if let Some(directory) = &self.files.heap_directory {
                    self.progress.show_dumping();
                    let (target, waiting) = (&self.target, &self.waiting);
                    jvm.heap = target.dump_heap(&jvm.received, directory, waiting);
                }
                // A JVM at its end waits for this.
                jvm.connection.close();
            }
        }
    }
}
