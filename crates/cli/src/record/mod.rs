//! `jvmpi record`: profiles a program that it starts, or a JVM that runs already.

mod files;
mod jvm;
mod options;
#[cfg_attr(not(feature = "push"), path = "no_pushes.rs")]
mod pushes;
mod received;
mod session;
mod target;

use crate::about;
use crate::failure::{Failure, NOT_STARTED};
use crate::process::Process;
use crate::progress::Progress;
use crate::waiting::Waiting;
use files::Files;
pub use options::Arguments;
use pushes::Pushes;
use session::{Event, Session};
use std::io;
use std::num::NonZeroU32;
use std::process::{Command, ExitCode};
pub use target::Target;

/// `jvmpi record`.
pub fn record(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.exact && (arguments.cpu || arguments.calls) {
        eprintln!(
            "jvmpi: warning: --exact slows down code that allocates, so the CPU profile shows too much of it: for an \
             exact one, record the CPU alone"
        );
    }
    run(arguments).map_err(|failure| match &arguments.pid {
        Some(_) => failure,
        None => failure.or_status(NOT_STARTED),
    })
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let files = Files::create(arguments)?;
    let process = arguments.pid.as_deref().map(Process::find).transpose()?;
    let waiting = match process {
        Some(_) => Waiting::for_at_most(arguments.duration, arguments.rewrites()),
        None => Waiting::default(),
    };
    let (sender, events) = session::events(&waiting);
    let pushes = Pushes::new(&arguments.push, arguments.alloc_interval())?;
    let progress = process.as_ref().map(Progress::of).unwrap_or_default();
    progress.show_attaching(arguments.rewrites());
    let (options, settings) = (arguments.hprof_options(), arguments.settings());
    let program = &arguments.program;
    let hear = move |event| {
        // No thread receives any more when the command ends.
        let _ = sender.send(Event::Channel(event));
    };
    let adapt = |program: &mut Command| {
        if files.is_standard_output() {
            program.stdout(io::stderr());
        }
    };
    let started = Target::start(&options, &settings, process, program, &waiting, hear, adapt);
    let (target, entrance) = started?;
    let mut about = match &target {
        Target::Process(process) => about::of_process(process),
        Target::Program(started, ..) => about::of_program(program, started.id()),
    };
    about.interval = arguments.sampling_interval();
    about.alloc_interval = arguments.alloc_interval().map(NonZeroU32::get);

    let mut session = Session::new(events, waiting, target, files, about);
    (session.pushes, session.progress) = (pushes, progress);
    session.every = arguments.every;
    session.run(arguments.duration)?;
    session.finish(&entrance, arguments.open)
}
