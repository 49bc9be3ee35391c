//! `jvmpi record`: profiles a program that it starts, or a JVM that runs already.

mod heaps;
#[cfg_attr(not(feature = "push"), path = "no_pushes.rs")]
mod pushes;
mod received;

use crate::about;
use crate::agent::Agent;
use crate::channel::{self, Channel, Connection, Entrance};
use crate::convert::name_of;
use crate::failure::{Failure, NOT_STARTED};
use crate::heap::HeapDump;
use crate::launch::{not_executed, with_jvm_option};
use crate::output::{NewFile, Output};
use crate::process::Process;
use crate::progress::Progress;
use crate::signals::{self, Signal};
use crate::waiting::{Waiting, seconds_or_never};
use clap::value_parser;
use heaps::Heaps;
use jvmpi_formats::hprof::control::Command;
use jvmpi_formats::hprof::options::sample;
use jvmpi_formats::profile::{self, DumpKind, File, Format, Profile, Weight, printable};
use pushes::{PushOptions, Pushes};
use received::Received;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::mem::{self, MaybeUninit};
use std::num::NonZeroU32;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

/// The headings of the options in the help.
const WHAT: &str = "What to record";
const HOW: &str = "How to record";
const OUTPUT: &str = "Output";

/// Profile a Java program, from its start or while it runs
///
/// The name of the file selects the format: .svg (a flame graph), .html (a report), .txt (HPROF text),
/// .hprof (HPROF binary), .collapsed (one stack per line), .pb.gz (for pprof), .json (for speedscope) or .jfr (for
/// JDK Mission Control and others).
///
/// A program that jvmpi starts is profiled until it ends. Each of its JVMs gets a file of its own. The exit
/// status is the program's, or 125 if there is no complete profile. With --pid, a running JVM is profiled
/// until --duration is over or you press Ctrl-C. The JVM continues.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    jvmpi record -o profile.svg -- java -jar app.jar\n  \
    jvmpi record --alloc -o profile.html --pid 4711 --duration 30\n  \
    jvmpi record --heap -o profile.html -- java -jar app.jar\n  \
    jvmpi record --push pyroscope+http://localhost:4040 -- java -jar app.jar\n  \
    jvmpi record --calls --setting 'exclude=java.*' -o calls.html -- ./gradlew run")]
#[command(override_usage = "jvmpi record [OPTIONS] -- PROGRAM...\n       \
                            jvmpi record [OPTIONS] --pid PID")]
pub struct Arguments {
    /// Sample the stacks of threads that use the CPU (the default)
    #[arg(long, conflicts_with = "calls", help_heading = WHAT)]
    cpu: bool,
    /// Sample the stacks of all threads, also of waiting ones, with their states: shows the elapsed time
    #[arg(long, conflicts_with_all = ["cpu", "calls"], help_heading = WHAT)]
    wall: bool,
    /// Record where objects are allocated, and how many of them are alive: an estimate from samples
    #[arg(long, help_heading = WHAT)]
    alloc: bool,
    /// Record only objects that survive a collection at the end, with --alloc
    #[arg(long, requires = "alloc", help_heading = WHAT)]
    live: bool,
    /// Count the calls of each method and measure their time; slows the program down
    #[arg(long, help_heading = WHAT)]
    calls: bool,
    /// Record where threads wait for monitors and locks; with --pid, only for monitors
    #[arg(long, help_heading = WHAT)]
    locks: bool,
    /// Also dump the heap at the end: into an .html report, or into NAME-heap.hprof next to other files
    #[arg(long, help_heading = WHAT)]
    heap: bool,
    /// Output file
    #[arg(short, long, value_name = "FILE", default_value = "profile.svg", help_heading = OUTPUT)]
    output: PathBuf,
    /// Stop after this many seconds; the program continues
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    duration: Option<Duration>,
    /// Save a snapshot every SECONDS, so that a killed JVM still leaves a profile; 0 for never
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds_or_never, help_heading = OUTPUT)]
    every: Duration,
    /// Time between samples, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = value_parser!(u32).range(1..), help_heading = HOW)]
    interval: u32,
    /// Mean number of allocated bytes between two samples of --alloc, such as 64k or 1m
    #[arg(long, value_name = "SIZE", requires = "alloc", default_value = "512k", value_parser = sample, help_heading = HOW)]
    alloc_interval: NonZeroU32,
    /// Record every allocated object; slows the program down
    #[arg(long, requires = "alloc", conflicts_with = "alloc_interval", help_heading = HOW)]
    exact: bool,
    /// Maximum stack depth: by default 512, for --alloc 128, for --exact 16
    #[arg(long, value_name = "FRAMES", value_parser = value_parser!(u16).range(1..), help_heading = HOW)]
    depth: Option<u16>,
    /// Keep a separate stack per thread
    #[arg(long, help_heading = HOW)]
    threads: bool,
    /// Smallest share of the time that a stack of --calls needs for a row of its own in a .txt file; 0 for none
    #[arg(long, value_name = "SHARE", requires = "calls", default_value = "0.0001", value_parser = share, help_heading = OUTPUT)]
    cutoff: f32,
    /// Weight of the stacks in the file, if several things were recorded
    #[arg(long, value_parser = Weight::ALL.map(Weight::name), help_heading = OUTPUT)]
    weight: Option<String>,
    /// Setting of libjvmpi.so, for example exclude=java.*; can be given several times
    #[arg(long = "setting", value_name = "KEY=VALUE", conflicts_with = "pid", help_heading = HOW)]
    settings: Vec<String>,
    /// Profile the running JVM with this process ID
    #[arg(short, long, value_parser = value_parser!(libc::pid_t).range(1..))]
    pid: Option<libc::pid_t>,
    #[command(flatten)]
    push: PushOptions,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "pid", conflicts_with = "pid")]
    program: Vec<OsString>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match seconds_or_never(text)? {
        Duration::ZERO => Err("give a number of seconds greater than 0".into()),
        time => Ok(time),
    }
}

fn share(text: &str) -> Result<f32, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "give a share from 0 to 1".into())
}

/// Default stack depth.
const DEPTH: u16 = 512;

/// Default stack depth of sampled allocations.
const ALLOC_DEPTH: u16 = 128;

/// Default stack depth of allocations if all are recorded. The JVM walks the stack for each object, which is most of
/// the cost.
const EXACT_DEPTH: u16 = 16;

/// `jvmpi record`.
pub fn record(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.exact && (arguments.cpu || arguments.calls) {
        eprintln!(
            "jvmpi: warning: --exact slows down code that allocates, so the CPU profile shows too much of it: for an \
             exact one, record the CPU alone"
        );
    }
    match arguments.pid {
        Some(pid) => Ok(attached(arguments, pid)?),
        None => started(arguments),
    }
}

impl Arguments {
    /// Returns true if HPROF makes an attached JVM rewrite its classes.
    fn rewrites(&self) -> bool {
        self.calls || self.exact
    }

    /// Returns the mean number of bytes between two samples, if allocations are sampled.
    fn alloc_interval(&self) -> Option<NonZeroU32> {
        (self.alloc && !self.exact).then_some(self.alloc_interval)
    }

    /// Returns the weight of the stacks. None for the first one with data.
    fn weight(&self) -> Result<Option<Weight>, String> {
        let usual = self.live.then_some(Weight::LiveBytes);
        Ok(self.weight.as_deref().map(str::parse).transpose()?.or(usual))
    }

    /// Returns the settings of libjvmpi.so. The user's settings override the others.
    fn settings(&self) -> Vec<String> {
        let of_locks = self.locks.then(|| "park=monitor".to_owned());
        of_locks.into_iter().chain(self.settings.iter().cloned()).collect()
    }

    /// Returns the interval between two samples, if threads are sampled.
    fn sampling_interval(&self) -> Option<Duration> {
        let options = self.hprof_options();
        let samples = ["cpu=samples", "cpu=wall"].iter().any(|cpu| options.starts_with(cpu));
        samples.then(|| Duration::from_millis(self.interval.into()))
    }

    /// Returns the options of HPROF, without the address of the connection.
    fn hprof_options(&self) -> String {
        let cpu = match (self.cpu, self.calls, self.alloc || self.locks) {
            _ if self.wall => Some("cpu=wall"),
            (_, true, _) => Some("cpu=times"),
            (true, _, _) | (_, _, false) => Some("cpu=samples"),
            _ => None,
        };
        let heap = self.alloc.then_some("heap=sites");
        let live = self.live.then_some("live=y");
        let monitor = self.locks.then_some("monitor=y");
        let threads = if self.threads { "y" } else { "n" };
        let mut options: Vec<String> =
            [cpu, heap, live, monitor].into_iter().flatten().map(str::to_owned).collect();
        let depth = self.depth.unwrap_or(DEPTH);
        if let Some(bytes) = self.alloc_interval() {
            options.push(format!("sample={bytes}"));
        }
        let alloc_depth = if self.exact { EXACT_DEPTH } else { ALLOC_DEPTH };
        let alloc_depth = self.depth.unwrap_or(alloc_depth);
        options.push(format!("interval={},depth={depth},allocdepth={alloc_depth}", self.interval));
        options.push(format!("thread={threads},cutoff=0,verbose=n"));
        options.extend(self.heap.then(|| "hold=y".into()));
        options.join(",")
    }
}

/// The events of a recording.
#[derive(Debug)]
enum Event {
    Channel(channel::Event),
    Signal(Signal),
    /// The program that was started has ended.
    Ended,
}

/// Profiles a JVM that runs already.
fn attached(arguments: &Arguments, pid: libc::pid_t) -> Result<ExitCode, String> {
    let files = Files::create(arguments)?;
    let process = Process::jvm(pid)?;
    let (sender, events) = mpsc::sync_channel(WAITING);
    let waiting = Waiting::for_at_most(arguments.duration, arguments.rewrites());
    hear_signals(&sender, &waiting);
    let channel = Channel::open(Some(&process))?;
    let pushes =
        Pushes::new(&arguments.push, Some(process.clone()), None, arguments.alloc_interval())?;
    let agent = Agent::hprof(&format!("{},{}", arguments.hprof_options(), channel.options()))?;
    serve(channel, &sender);
    let mut about = about::of_process(pid, &process);
    about.interval = arguments.sampling_interval();
    about.alloc_interval = arguments.alloc_interval().map(NonZeroU32::get);
    let progress = Progress::line(format!("process {pid}"));
    progress.show_attaching(arguments.rewrites());
    agent.attach(&process, &waiting)?;

    let mut recording = Recording::new(events, arguments.every, progress);
    recording.heaps =
        files.heap_directory.clone().map(|directory| Heaps::new(directory, waiting.clone()));
    recording.pushes = pushes;
    while recording.jvms.is_empty() {
        waiting.check(&process)?;
        recording.next(Some(LOOK));
    }
    recording.started = Instant::now();
    recording.snapshots = files.snapshots(&about);
    recording.process = Some(process.clone());
    recording
        .until(arguments.duration, |recording| recording.interrupts > 0 || !recording.has_open());
    recording.stop();
    recording.progress = Progress::None;
    // A JVM at its end sends another last dump than one that is stopped.
    let exits = |jvm: &Jvm| jvm.has_ended && jvm.received.last() != Some(DumpKind::Last);
    let goes_on = process.is_alive().is_ok() && !recording.jvms.values().any(exits);
    about.duration = recording.started.elapsed();
    let written = files.write(mem::take(&mut recording.jvms), &about);
    recording.finish_pushes(written.is_ok().then_some(&arguments.output));
    written?;
    if goes_on {
        eprintln!("jvmpi: detached from process {pid}; libjvmpi.so stays loaded but inactive");
    }
    Ok(ExitCode::SUCCESS)
}

/// Profiles a program from its start.
fn started(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let not_started = |message: String| Failure::from(message).with_status(NOT_STARTED);
    let files = Files::create(arguments).map_err(not_started)?;
    let (sender, events) = mpsc::sync_channel(WAITING);
    let waiting = Waiting::default();
    hear_signals(&sender, &waiting);
    let channel = Channel::open(None).map_err(not_started)?;
    let known_by = Some(channel.secret());
    let pushes = Pushes::new(&arguments.push, None, known_by, arguments.alloc_interval())
        .map_err(not_started)?;
    let options = format!("{},{}", arguments.hprof_options(), channel.option());
    let mut program = Agent::hprof(&options)
        .and_then(|agent| agent.agentpath_option())
        .and_then(|option| with_jvm_option(&arguments.program, &option, &arguments.settings()))
        .map_err(not_started)?;
    let (variable, secret) = channel.secret();
    program.env(variable, secret);
    let heaps = files.heap_directory.clone();
    let heaps = heaps.map(|directory| Heaps::of_program(directory, waiting, channel.secret()));
    let entrance = serve(channel, &sender);
    let program = signals::pass_to(&mut program).spawn();
    let program = program.map_err(|error| not_executed(&arguments.program[0], &error))?;
    hear_of_the_end(&program, &sender);
    let mut about = about::of_program(&arguments.program, program.id());
    about.interval = arguments.sampling_interval();
    about.alloc_interval = arguments.alloc_interval().map(NonZeroU32::get);

    let mut recording = Recording::new(events, arguments.every, Progress::title());
    (recording.program, recording.heaps, recording.pushes) = (Some(program), heaps, pushes);
    recording.snapshots = files.snapshots(&about);
    // Processes that the program leaves running are not waited for.
    recording.until(arguments.duration, |recording| recording.ended.is_some());
    let caught_up = entrance.knock().map_err(|error| format!("own port: {error}"));
    let over = caught_up.and_then(|()| {
        recording.catch_up();
        recording.stop();
        recording.progress = Progress::None;
        about.duration = recording.started.elapsed();
        files.write(mem::take(&mut recording.jvms), &about)
    });
    recording.finish_pushes(over.is_ok().then_some(&arguments.output));
    // The program continues after its profile.
    while recording.ended.is_none() {
        recording.next(None);
    }
    let status = recording.ended.unwrap_or(1);
    match over {
        Ok(()) => Ok(ExitCode::from(status)),
        Err(message) if status == 0 => Err(not_started(message)),
        Err(message) => Err(Failure::from(message).with_status(status)),
    }
}

fn hear_signals(sender: &SyncSender<Event>, waiting: &Waiting) {
    let (sender, waiting) = (sender.clone(), waiting.clone());
    signals::listen(move |signal| {
        waiting.interrupt();
        // No thread receives any more when the command ends.
        let _ = sender.send(Event::Signal(signal));
    });
}

fn serve(channel: Channel, sender: &SyncSender<Event>) -> Entrance {
    let sender = sender.clone();
    channel.serve(move |event| {
        let _ = sender.send(Event::Channel(event));
    })
}

/// Reports the end of the program. The process still has its number then, so that no signal gets to another.
fn hear_of_the_end(program: &Child, sender: &SyncSender<Event>) {
    let (number, sender) = (program.id(), sender.clone());
    thread::spawn(move || {
        let mut info = MaybeUninit::uninit();
        let options = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: the place is for the report of the end, which is not read.
        while unsafe { libc::waitid(libc::P_PID, number, info.as_mut_ptr(), options) } != 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        let _ = sender.send(Event::Ended);
    });
}

/// A JVM that is recorded, or was.
struct Jvm {
    connection: Connection,
    received: Received,
    /// The time when a snapshot was requested that has not arrived yet.
    asked: Option<Instant>,
    /// The time when the next one is requested; None for never.
    due: Option<Instant>,
    /// The time when it was closed.
    closed: Option<Instant>,
    /// True if the JVM has closed it.
    has_ended: bool,
    /// The reason why the data that it has sent is invalid.
    problem: Option<String>,
    /// Its heap dump, or the reason why there is none.
    heap: Result<HeapDump, String>,
}

/// Maximum number of queued events. Senders wait when the queue is full, so that it does not grow with what a
/// connection sends.
const WAITING: usize = 64;

/// The longest wait for an event before the process is checked.
const LOOK: Duration = Duration::from_millis(100);

/// The least time between two snapshots, as a multiple of the time that a snapshot takes.
const REST: u32 = 20;

impl Jvm {
    fn new(connection: Connection, every: Duration) -> Self {
        let due = if every.is_zero() { None } else { Instant::now().checked_add(every) };
        let received = Received::default();
        let heap = Err("the JVM did not answer".into());
        let has_ended = false;
        Self {
            connection,
            received,
            asked: None,
            due,
            closed: None,
            has_ended,
            problem: None,
            heap,
        }
    }

    fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    /// Takes the bytes that have come. Returns true if a requested snapshot has come with them.
    fn take(&mut self, bytes: &[u8], every: Duration) -> bool {
        if self.problem.is_some() {
            return false;
        }
        let is_first = self.received.taken().is_none();
        if let Err(problem) = self.received.take(bytes) {
            self.problem = Some(problem);
            self.connection.close();
        }
        if let Some(asked) = self.asked
            && let Some(came) = self.received.taken().filter(|came| *came > asked)
        {
            self.asked = None;
            // The first one came when the JVM had started.
            let took = if is_first { Duration::ZERO } else { came - asked };
            self.due = came.checked_add(every.max(took * REST));
            return true;
        }
        false
    }

    /// Returns the time to request a snapshot. None while a dump is arriving: it may be the last one, and an
    /// unread command in the connection would cut it off.
    fn due(&self) -> Option<Instant> {
        self.due.filter(|_| self.is_open() && self.asked.is_none() && !self.received.is_coming())
    }

    fn keep_up(&mut self, now: Instant) {
        if self.due().is_some_and(|due| due <= now) {
            self.asked = Some(now);
            self.connection.send(Command::Snapshot);
        }
    }

    /// Returns the profile that it has sent, if there is any data.
    fn recorded(self, sample: Option<NonZeroU32>, cutoff: f32) -> Option<Recorded> {
        let (taken, closed) = (self.received.taken(), self.closed);
        let mut warnings = self.received.notes.clone();
        let (file, has_told_all) = self.received.into_file(sample)?;
        let mut profile = file.into_profile();
        if cutoff > 0.0 {
            profile.join_small_times(cutoff);
        }
        let file = File::of_profile(profile);
        let warning = match taken {
            _ if has_told_all => None,
            _ if self.problem.is_some() => {
                self.problem.map(|why| format!("the JVM sent malformed data: {why}"))
            }
            Some(taken) => {
                let closed = closed.unwrap_or_else(Instant::now);
                let age = closed.saturating_duration_since(taken).as_secs_f64();
                let (what, end) = if self.has_ended {
                    ("the JVM exited without a final dump", "before exit")
                } else {
                    ("the JVM has not sent a final dump", "before the recording was ended")
                };
                Some(format!("{what}; the file holds the last snapshot, taken {age:.1} s {end}"))
            }
            None if self.has_ended => {
                Some("the JVM exited before it had sent its whole profile".into())
            }
            None => Some("the JVM has not sent its whole profile".into()),
        };
        let is_whole = has_told_all || taken.is_some();
        warnings.extend(warning);
        Some(Recorded { file, is_whole, warnings, heap: self.heap })
    }
}

/// The profile that a JVM has sent.
struct Recorded {
    file: File,
    /// True if it is everything that the JVM had recorded at that time.
    is_whole: bool,
    /// The warnings about it.
    warnings: Vec<String>,
    /// The JVM's heap dump, or the reason why there is none.
    heap: Result<HeapDump, String>,
}

/// The state of a recording.
struct Recording {
    events: Receiver<Event>,
    /// By the numbers of their connections.
    jvms: BTreeMap<usize, Jvm>,
    /// The connections that have not sent a secret.
    unknown: BTreeSet<usize>,
    /// The connection that was made when the program had ended.
    knocked: Option<usize>,
    /// Makes the heap dumps, if the user wants any.
    heaps: Option<Heaps>,
    /// Pushes the profiles, if the user wants that.
    pushes: Option<Pushes>,
    /// Saves snapshots, if they can be replaced.
    snapshots: Option<Snapshots>,
    /// The process that was attached to.
    process: Option<Process>,
    /// The program that was started.
    program: Option<Child>,
    /// Its exit status.
    ended: Option<u8>,
    /// The number of times that the user interrupted it.
    interrupts: u32,
    started: Instant,
    /// The time between requests for snapshots.
    every: Duration,
    progress: Progress,
}

impl Recording {
    fn new(events: Receiver<Event>, every: Duration, progress: Progress) -> Self {
        let (jvms, started) = (BTreeMap::new(), Instant::now());
        Self {
            events,
            jvms,
            unknown: BTreeSet::new(),
            knocked: None,
            heaps: None,
            pushes: None,
            snapshots: None,
            process: None,
            program: None,
            ended: None,
            interrupts: 0,
            started,
            every,
            progress,
        }
    }

    /// Records until `is_over`, or the time is.
    fn until(&mut self, duration: Option<Duration>, is_over: impl Fn(&Self) -> bool) {
        let end = duration.map(|duration| self.started + duration);
        while !is_over(self) {
            let now = Instant::now();
            if end.is_some_and(|end| end <= now) {
                return;
            }
            self.progress.show(self.started.elapsed().as_secs());
            self.jvms.values_mut().for_each(|jvm| jvm.keep_up(now));
            // The progress shows seconds.
            let second = now + Duration::from_secs(1);
            let dues = self.jvms.values().filter_map(Jvm::due);
            let next = dues.chain(end).fold(second, Instant::min);
            self.next(Some(next.saturating_duration_since(now)));
        }
    }

    /// Receives events up to [`Entrance::knock`], so that all JVMs that had connected are known: one may have
    /// ended since, with the program. The user can interrupt the wait for a foreign connection.
    fn catch_up(&mut self) {
        let before = self.interrupts;
        let is_all = |recording: &Self| {
            let knocked = recording.knocked;
            knocked.is_some_and(|own| recording.unknown.range(..own).next().is_none())
        };
        while !is_all(self) && self.interrupts == before {
            self.next(None);
        }
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
            self.next(Some(LOOK));
            if let Some(process) = self.process.as_ref().filter(|process| process.is_stopped()) {
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
    }

    /// Waits for the store that profiles are pushed to, for no longer than the user wants. A signal ends the wait.
    /// `kept` is the first file with the profiles.
    fn finish_pushes(&mut self, kept: Option<&PathBuf>) {
        let Some(pushes) = self.pushes.take() else { return };
        let before = self.interrupts;
        pushes.finish(kept.map(PathBuf::as_path), LOOK, || {
            self.next(Some(Duration::ZERO));
            self.interrupts == before
        });
    }

    fn has_open(&self) -> bool {
        self.jvms.values().any(Jvm::is_open)
    }

    /// Writes the snapshot that a JVM has sent into its file, so that there is one if this process is killed.
    fn save(&mut self, number: usize) {
        let Some(snapshots) = &mut self.snapshots else { return };
        let before = self.jvms.range(..number).filter(|(_, jvm)| jvm.received.dumps() > 0).count();
        let Some(jvm) = self.jvms.get_mut(&number) else { return };
        let begun = Instant::now();
        snapshots.about.duration = self.started.elapsed();
        if let Err(why) = snapshots.write(before, &mut jvm.received) {
            eprintln!("jvmpi: warning: no snapshot is saved: {why}");
            self.snapshots = None;
        }
        let rest = Instant::now().checked_add(begun.elapsed() * REST);
        jvm.due = jvm.due.max(jvm.due.and(rest));
    }

    /// Takes note of the next event, if it comes within the time.
    fn next(&mut self, within: Option<Duration>) {
        let event = match within {
            Some(time) => match self.events.recv_timeout(time) {
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
                Ok(event) => event,
            },
            None => match self.events.recv() {
                Err(_) => return,
                Ok(event) => event,
            },
        };
        match event {
            Event::Channel(channel::Event::Opened(number)) => {
                self.unknown.insert(number);
            }
            Event::Channel(channel::Event::Knocked(number)) => {
                self.unknown.remove(&number);
                self.knocked = Some(number);
            }
            Event::Channel(channel::Event::Connected(number, connection)) => {
                self.unknown.remove(&number);
                self.jvms.insert(number, Jvm::new(connection, self.every));
            }
            Event::Channel(channel::Event::Received(number, bytes)) => {
                if let Some(jvm) = self.jvms.get_mut(&number) {
                    let before = jvm.received.dumps();
                    let is_snapshot = jvm.take(&bytes, self.every);
                    if let Some(pushes) = &mut self.pushes
                        && jvm.received.dumps() > before
                    {
                        pushes.push(number, &mut jvm.received);
                    }
                    if is_snapshot {
                        self.save(number);
                    }
                }
            }
            Event::Channel(channel::Event::Closed(number)) => {
                self.unknown.remove(&number);
                if let Some(jvm) = self.jvms.get_mut(&number) {
                    (jvm.closed, jvm.has_ended) = (Some(Instant::now()), true);
                    if let Some(heaps) = &self.heaps {
                        self.progress.show_dumping();
                        jvm.heap = heaps.dump(&jvm.received, self.process.as_ref());
                    }
                    // A JVM at its end waits for this.
                    jvm.connection.close();
                }
            }
            Event::Signal(signal) => {
                self.interrupts += 1;
                if let Some(program) = &self.program
                    && self.ended.is_none()
                    && signal.is_ours_alone
                {
                    let number = libc::pid_t::try_from(program.id()).expect("as the system has it");
                    // SAFETY: kill has no precondition, and the program was not waited for, so the number
                    // is its.
                    unsafe { libc::kill(number, signal.number) };
                }
            }
            Event::Ended => {
                self.ended = self.program.as_mut().map(|program| status_of(program.wait()));
            }
        }
    }
}

/// Returns the exit status of a program, by the rules of shells.
fn status_of(status: io::Result<ExitStatus>) -> u8 {
    let status = status.ok();
    let code =
        status.and_then(|status| status.code().or(status.signal().map(|signal| 128 + signal)));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// The files that are written during a recording.
struct Snapshots {
    path: PathBuf,
    output: Output,
    about: jvmpi_report::Recording,
}

impl Snapshots {
    /// Replaces the file of a JVM by what it has sent, if it has recorded anything. There are `before` other JVMs in
    /// front of it.
    ///
    /// # Errors
    /// Returns one line if the file cannot be written.
    fn write(&self, before: usize, received: &mut Received) -> Result<(), String> {
        let sample = self.about.alloc_interval.and_then(NonZeroU32::new);
        let path = nth(&self.path, before + 1, self.output.format);
        let written = received.read(sample, |file| {
            if Weight::of(file.profile()).is_empty() {
                return Ok(());
            }
            let write = |out: &mut dyn io::Write| {
                self.output.write(&name_of(&path), file, None, Some(&self.about), out)
            };
            NewFile::create(&path)?.finish(write).map(drop)
        });
        written.unwrap_or(Ok(()))
    }
}

/// The files that are to be written.
struct Files<'a> {
    path: &'a Path,
    /// The output if it is no regular file.
    first: Option<NewFile>,
    /// The directory for heap dumps, if there are any.
    heap_directory: Option<PathBuf>,
    output: Output,
    /// Stacks of calls with a smaller share of the time are one row.
    cutoff: f32,
}

impl<'a> Files<'a> {
    fn create(arguments: &'a Arguments) -> Result<Self, String> {
        let path = arguments.output.as_path();
        let format = Format::of_path(path).map_err(|error| error.to_string())?;
        let weight = arguments.weight()?;
        // A file is created again when it is written, so that nothing is left if this process is killed.
        let first = NewFile::create(path)?;
        let output = Output { format, weight };
        // Other formats share the beginnings of stacks, or have no times.
        let cutoff = if format == Format::Text { arguments.cutoff } else { 0.0 };
        let heap_directory = arguments.heap.then(|| first.directory()).transpose()?;
        let first = Some(first).filter(NewFile::is_in_place);
        Ok(Self { path, first, heap_directory, output, cutoff })
    }

    /// Returns the snapshots of these files. None if they cannot be replaced.
    fn snapshots(&self, about: &jvmpi_report::Recording) -> Option<Snapshots> {
        let (path, about) = (self.path.to_owned(), about.clone());
        self.first.is_none().then_some(Snapshots { path, output: self.output, about })
    }

    /// Writes the profile of each JVM: the first into the file that the user has named, others into files
    /// next to it.
    ///
    /// # Errors
    /// Returns one line, also if everything to write is cut off.
    fn write(
        self,
        jvms: BTreeMap<usize, Jvm>,
        about: &jvmpi_report::Recording,
    ) -> Result<(), String> {
        if jvms.is_empty() {
            return Err(
                "no JVM was profiled: the program started none, or started it without the agent"
                    .into(),
            );
        }
        let all = jvms.len();
        let sample = about.alloc_interval.and_then(NonZeroU32::new);
        let cutoff = self.cutoff;
        let recorded: Vec<_> =
            jvms.into_values().filter_map(|jvm| jvm.recorded(sample, cutoff)).collect();
        if recorded.is_empty() {
            return Err(
                "nothing was recorded: the JVM exited before it sent a profile; if it was killed, use \
                 a smaller --every"
                    .into(),
            );
        }
        let format = self.output.format;
        let (mut place, with_heap) = (self.first, self.heap_directory.is_some());
        let mut without_heap = Vec::new();
        for (number, Recorded { file, warnings, heap, .. }) in (1..).zip(&recorded) {
            let path = nth(self.path, number, format);
            let place = place.take().map_or_else(|| NewFile::create(&path), Ok)?;
            let heap = heap.as_ref().map_err(String::clone);
            let in_page = (with_heap && format == Format::Html)
                .then(|| heap.clone().and_then(HeapDump::open));
            let in_file = (with_heap && format != Format::Html).then_some(heap);
            let objects = in_page.as_ref().and_then(|opened| opened.as_ref().ok());
            let said = place.finish(|out| {
                self.output.write(&name_of(&path), file, objects, Some(about), out)
            })?;
            for line in said.iter().chain(warnings) {
                eprintln!("jvmpi: warning: {}: {}", path.display(), printable(line));
            }
            eprintln!(
                "jvmpi: {} {}{}{}",
                path.display(),
                summary(file, objects.is_some()),
                estimated(about),
                cut_off(file.profile())
            );
            let moved = in_file.map(|heap| {
                let path = beside(&path, format);
                heap?.give_name(NewFile::create(&path)?)?;
                eprintln!("jvmpi: {} has the heap", path.display());
                Ok(())
            });
            let failure = in_page.and_then(Result::err).or(moved.and_then(Result::err));
            without_heap.extend(failure.map(|why| (path, why)));
        }
        if !recorded.iter().any(|recorded| recorded.is_whole) {
            return Err(
                "no profile is complete: if the JVM is killed, use a smaller --every".into()
            );
        }
        if let Some((_, why)) =
            without_heap.first().filter(|_| without_heap.len() == recorded.len())
        {
            return Err(format!("there is no heap dump: {why}"));
        }
        for (path, why) in without_heap {
            eprintln!("jvmpi: warning: {}: no heap dump: {}", path.display(), printable(&why));
        }
        if recorded.len() < all {
            let silent = all - recorded.len();
            eprintln!("jvmpi: warning: {silent} of {all} JVMs exited before they sent a profile");
        }
        Ok(())
    }
}

/// Returns the file of the JVM with this number, from 1: `profile-2.svg` for `profile.svg`.
fn nth(path: &Path, number: usize, format: Format) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let (stem, extension) = split(path, format);
    path.with_file_name(format!("{stem}-{number}{extension}"))
}

/// Returns the name of the heap dump next to a file: `profile-heap.hprof` for `profile.svg`.
fn beside(path: &Path, format: Format) -> PathBuf {
    let (stem, _) = split(path, format);
    path.with_file_name(format!("{stem}-heap{}", Format::Binary.extension()))
}

/// Splits a file name in front of its extension.
fn split(path: &Path, format: Format) -> (String, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.len() - format.extension().len();
    let (stem, extension) = name.split_at_checked(stem).unwrap_or((&name, ""));
    (stem.to_owned(), extension.to_owned())
}

/// Summarizes the contents of a profile in a few words.
fn summary(file: &File, has_heap: bool) -> String {
    let profile = file.profile();
    let received = Weight::of(profile).into_iter().map(|weight| {
        let sum: u64 = profile::stacks(profile, weight).iter().map(|stack| stack.value).sum();
        match weight.unit() {
            profile::Unit::Nanoseconds => {
                format!("{:.1} s {}", Duration::from_nanos(sum).as_secs_f64(), weight.name())
            }
            _ => format!("{sum} {}", weight.name()),
        }
    });
    let received: Vec<_> = received.chain(has_heap.then(|| "the heap".into())).collect();
    if received.is_empty() {
        "is empty: nothing was recorded".into()
    } else {
        format!("has {}", received.join(", "))
    }
}

/// Returns the remark that the numbers of objects are estimates, if they are.
fn estimated(about: &jvmpi_report::Recording) -> String {
    let remark =
        |bytes: u32| format!("; allocations are estimated from a sample per {bytes} bytes");
    about.alloc_interval.map(remark).unwrap_or_default()
}

/// Returns the remark that some stacks have only their innermost frames, if that is so.
fn cut_off(profile: &Profile) -> String {
    let weights = Weight::of(profile).into_iter();
    let stacks = weights.flat_map(|weight| profile::stacks(profile, weight));
    let samples: u64 = stacks.filter(|stack| stack.is_cut_off(profile)).map(|s| s.value).sum();
    match samples {
        0 => String::new(),
        samples => format!("; the stacks of {samples} are cut off: use a larger --depth"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn allocation_options_select_interval_and_depth() {
        for (given, expected) in [
            (&["--alloc", "--exact"][..], "heap=sites,interval=10,depth=512,allocdepth=16,"),
            (
                &["--cpu", "--alloc"],
                "cpu=samples,heap=sites,sample=524288,interval=10,depth=512,allocdepth=128,",
            ),
            (
                &["--alloc", "--live", "--alloc-interval", "1m"],
                "heap=sites,live=y,sample=1048576,interval=10,depth=512,allocdepth=128,",
            ),
            (&["--calls"], "cpu=times,interval=10,depth=512,allocdepth=128,"),
            (&["--wall", "--locks"], "cpu=wall,monitor=y,interval=10,depth=512,allocdepth=128,"),
            (
                &["--alloc", "--exact", "--depth", "4"],
                "heap=sites,interval=10,depth=4,allocdepth=4,",
            ),
        ] {
            let all = [&["record", "--pid", "1"][..], given].concat();
            let options = Cli::parse_from(&all).arguments.hprof_options();
            assert!(options.starts_with(expected), "{options}");
        }
    }
}
