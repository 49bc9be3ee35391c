//! `jvmpi`: profiles Java programs, and runs and examines JVMPI agents.
//!
//! A command is a file: its arguments, from which clap makes the help, the completions and the
//! manual page, and what it does. The features of the package leave some of them out.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
// Some functions are only for commands that a build without all features lacks.
#![cfg_attr(not(all(feature = "conformance", feature = "push", feature = "top")), allow(dead_code))]

mod about;
mod agent;
mod answer;
mod channel;
mod check;
mod commands;
#[cfg(feature = "conformance")]
mod conformance;
mod convert;
#[cfg(feature = "conformance")]
mod doctor;
mod example;
mod failure;
#[cfg(feature = "generated")]
mod generated;
mod heap;
mod histogram;
mod installation;
mod jdk_version;
mod launch;
mod list;
mod output;
mod platform;
mod process;
mod progress;
#[cfg(feature = "push")]
mod push;
mod record;
mod replay;
mod report;
mod run;
mod stacks;
mod temporary;
#[cfg(feature = "top")]
mod top;
mod trace;
mod unfinished;
mod units;
mod waiting;

#[cfg(any(test, feature = "generated"))]
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use failure::Failure;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

/// Profiles Java programs, and runs JVMPI agents on current JVMs.
#[derive(Parser)]
#[command(
    name = "jvmpi",
    version,
    long_version = installation::ABOUT.as_str(),
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Record(record::Arguments),
    #[cfg(feature = "top")]
    Top(top::Arguments),
    Heap(heap::Arguments),
    Stacks(stacks::Arguments),
    List(list::Arguments),
    Check(check::Arguments),
    Run(run::Arguments),
    #[cfg(feature = "conformance")]
    Doctor(doctor::Arguments),
    #[cfg(feature = "conformance")]
    Conformance(conformance::Arguments),
    Convert(convert::Arguments),
    #[cfg(feature = "push")]
    Push(push::Arguments),
    Report(report::Arguments),
    Histogram(histogram::Arguments),
    Replay(replay::Arguments),
    Trace(trace::Arguments),
    Example(example::Arguments),
    #[cfg(feature = "generated")]
    Completions(generated::Completions),
    #[cfg(feature = "generated")]
    Man(generated::Man),
}

fn main() -> ExitCode {
    platform::system::end_quietly_with_the_reader();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => match missing_feature(&error) {
            Some(feature) => return Failure::built_without(feature).report(),
            None => return wrong_usage(error),
        },
    };
    let done = match arguments.command {
        Command::Record(arguments) => record::record(&arguments),
        #[cfg(feature = "top")]
        Command::Top(arguments) => top::top(&arguments),
        Command::Heap(arguments) => heap::heap(&arguments),
        Command::Stacks(arguments) => stacks::stacks(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        #[cfg(feature = "conformance")]
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        #[cfg(feature = "conformance")]
        Command::Conformance(arguments) => conformance::conformance(&arguments),
        Command::Convert(arguments) => convert::convert(&arguments),
        #[cfg(feature = "push")]
        Command::Push(arguments) => push::push(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Histogram(arguments) => histogram::histogram(&arguments),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Trace(arguments) => trace::trace(&arguments),
        Command::Example(arguments) => example::example(&arguments),
        #[cfg(feature = "generated")]
        Command::Completions(arguments) => generated::completions(&arguments, Arguments::command()),
        #[cfg(feature = "generated")]
        Command::Man(arguments) => {
            generated::man(&arguments, Arguments::command().long_version(None::<&str>))
        }
    };
    done.unwrap_or_else(Failure::report)
}

/// Returns the feature that an unknown command or option needs, if this jvmpi was built without it.
fn missing_feature(error: &clap::Error) -> Option<&'static str> {
    let kinds = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let Some(ContextValue::String(word)) = kinds.into_iter().find_map(|kind| error.get(kind))
    else {
        return None;
    };
    match word.as_str() {
        "conformance" | "doctor" if cfg!(not(feature = "conformance")) => Some("conformance"),
        "completions" | "man" if cfg!(not(feature = "generated")) => Some("generated"),
        "push" if cfg!(not(feature = "push")) => Some("push"),
        "--push" if cfg!(not(feature = "push")) && is_command(&["record"]) => Some("push"),
        "top" if cfg!(not(feature = "top")) => Some("top"),
        _ => None,
    }
}

/// Returns true if the command line has one of these commands.
fn is_command(names: &[&str]) -> bool {
    std::env::args_os().nth(1).is_some_and(|command| names.iter().any(|name| command == *name))
}

/// Prints help, or the error with a tip and the prefix of all errors. `jvmpi record` alone, on a terminal, lists what can
/// be recorded.
fn wrong_usage(mut error: clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    let is_alone = std::env::args_os().len() == 2;
    if is_alone && is_command(&["record"]) && io::stderr().is_terminal() {
        // There is nothing to do about a terminal that has gone.
        let _ = list::print(&mut output::Printable(io::stderr().lock()));
    }
    if let Some(tip) = tip(&error) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let text = error.render();
    if io::stderr().is_terminal() {
        eprint!("jvmpi: {}", text.ansi());
    } else {
        eprint!("jvmpi: {text}");
    }
    ExitCode::from(2)
}

/// Returns what to do about an error: why two options exclude each other, or where a program belongs.
fn tip(error: &clap::Error) -> Option<String> {
    const REASONS: [(&str, &str); 4] = [
        ("--exact", "--exact records every object, so there is no interval between samples"),
        ("PROGRAM", "jvmpi starts a program or takes a JVM that runs: leave one out"),
        ("--calls", "a recording has one kind of time: make one recording for each"),
        ("--wall", "a recording has one kind of time: make one recording for each"),
    ];
    let text = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let word = text(ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::UnknownArgument
            if is_command(&["record", "run", "top"]) && !word.starts_with('-') =>
        {
            Some(format!("put `--` before the program, as in `-- {word}`"))
        }
        ErrorKind::ArgumentConflict => {
            let both = word + &text(ContextKind::PriorArg);
            let reason = REASONS.iter().find(|(option, _)| both.contains(option));
            reason.map(|(_, reason)| (*reason).to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
