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
use crate::agent::Agent;
use crate::channel::Channel;
use crate::failure::{Failure, NOT_STARTED};
use crate::launch::{not_executed, with_jvm_option};
use crate::process::Process;
use crate::progress::Progress;
use crate::signals;
use crate::waiting::Waiting;
use files::Files;
use pushes::Pushes;
use session::{Events, Session};
use std::num::NonZeroU32;
use std::process::ExitCode;
use target::Target;

pub use options::Arguments;

/// `jvmpi record`.
pub fn record(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.exact && (arguments.cpu || arguments.calls) {
        eprintln!(
            "jvmpi: warning: --exact slows down code that allocates, so the CPU profile shows too much of it: for an \
             exact one, record the CPU alone"
        );
    }
    run(arguments).map_err(|failure| match arguments.pid {
        Some(_) => failure,
        None => failure.or_status(NOT_STARTED),
    })
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let files = Files::create(arguments)?;
    let process = arguments.pid.map(Process::jvm).transpose()?;
    let waiting = match process {
        Some(_) => Waiting::for_at_most(arguments.duration, arguments.rewrites()),
        None => Waiting::default(),
    };
    let events = Events::new(waiting.clone());
    let channel = Channel::open(process.as_ref())?;
    let pushes = Pushes::new(&arguments.push, arguments.alloc_interval())?;
    let address = if process.is_some() { channel.options() } else { channel.option() };
    let agent = Agent::hprof(&format!("{},{address}", arguments.hprof_options()))?;
    let (variable, secret) = channel.secret();
    let secret = secret.to_owned();
    let entrance = events.serve(channel);
    let (target, mut about, progress);
    if let Some(process) = process {
        progress = Progress::line(format!("process {process}"));
        progress.show_attaching(arguments.rewrites());
        agent.attach(&process, &waiting)?;
        about = about::of_process(&process);
        target = Target::Process(process);
    } else {
        let option = agent.agentpath_option()?;
        let mut program = with_jvm_option(&arguments.program, &option, &arguments.settings())?;
        let program = signals::pass_to(program.env(variable, &secret)).spawn();
        let program = program.map_err(|error| not_executed(&arguments.program[0], &error))?;
        events.report_end(&program);
        progress = Progress::title();
        about = about::of_program(&arguments.program, program.id());
        target = Target::Program(program, variable, secret);
    }
    about.interval = arguments.sampling_interval();
    about.alloc_interval = arguments.alloc_interval().map(NonZeroU32::get);

    let mut session = Session::new(events, target, files, about);
    (session.pushes, session.progress) = (pushes, progress);
    session.every = arguments.every;
    session.run(arguments.duration)?;
    session.finish(&entrance, &arguments.output)
}
