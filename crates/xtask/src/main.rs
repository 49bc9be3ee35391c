//! `cargo xtask`: the commands for developing jvmpi.

use std::process::ExitCode;

mod bench;
mod cases;
mod conformance;
mod cross;
mod dist;
mod docs;
mod hprof8;
mod install;
mod jdk;
mod layers;
mod models;
mod product;
mod race;
mod skips;
mod soak;
mod test;

/// A command: its name and arguments, a description, and the function that runs it.
struct Command {
    usage: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<(), String>,
}

const COMMANDS: [Command; 17] = [
    Command {
        usage: "demo [JDK]",
        about: "profile a small program with several threads and show its hottest stacks",
        run: demo,
    },
    Command {
        usage: "test [--landing | --all] [--machine NAME] [--vm zero|VERSION|HOME] [ARGUMENT...]",
        about: "run the tests, on one JDK with G1, with --landing the cases that a landing needs on others, with --all on every JDK and collector; ARGUMENTs are those of cargo test",
        run: test::run,
    },
    Command {
        usage: "case NAME [JDK [GC]]",
        about: "run one case of compat-tests, by default on JDK 17 with G1, and show the output of its JVMs",
        run: cases::case,
    },
    Command {
        usage: "flaky [N] NAME...",
        about: "run the named cases, or all of a named topic, N times under load, and count how often they pass",
        run: cases::flaky,
    },
    Command {
        usage: "conformance [--machine NAME] [jdkNN...] [zero] [GC...] [--short | --record] | --mutate [NAME...] | --document | --workloads",
        about: "run the conformance suite, and with --record document the results; test the suite itself (--mutate), or update its pages and programs",
        run: conformance::run,
    },
    Command {
        usage: "bench [NAME|all [JDK...]]",
        about: "run benchmarks; without a name, list them",
        run: bench::run,
    },
    Command {
        usage: "soak [--machine NAME] [MINUTES] [PROGRAM...] [jdkNN...] [GC...] [seed=N]",
        about: "run random events and programs under load for half an hour; a failed round prints its seed",
        run: soak::run,
    },
    Command {
        usage: "race [ARGUMENT...]",
        about: "run the models, and under ThreadSanitizer the tests that need no JVM; ARGUMENTs are those of the test program",
        run: race::run,
    },
    Command {
        usage: "models [NAME...]",
        about: "run the shim's threads without a JVM, with many schedules and a weak memory",
        run: models::run,
    },
    Command {
        usage: "hprof8 [--record] [PROGRAM...]",
        about: "compare HPROF's files with those of JDK 8, which is downloaded from Debian sid, and with --record document the result",
        run: hprof8::run,
    },
    Command {
        usage: "install [--prefix DIR] [--profile NAME] [--machine NAME]",
        about: "build and install all user files in /usr/local or DIR, under DESTDIR if that is set",
        run: install::install,
    },
    Command {
        usage: "uninstall [--prefix DIR]",
        about: "remove the files that install has created",
        run: install::uninstall,
    },
    Command {
        usage: "dist [--machine NAME] [--profile NAME] [--check]",
        about: "build archives, a package, a wheel and the command as a single file in target/dist, also for i386, arm64 and musl, and an archive and a wheel for windows; --check builds twice and compares",
        run: dist::run_command,
    },
    Command {
        usage: "release [--dry-run] [ARGUMENT...]",
        about: "build the archives of a tagged release with their checksums; ARGUMENTs are those of dist; --dry-run needs no tag",
        run: dist::release,
    },
    Command {
        usage: "docs [--serve]",
        about: "render the documentation into target/docs; --serve opens a local server",
        run: docs::run,
    },
    Command {
        usage: "check-layers",
        about: "check that no files of a crate import each other in a cycle, and that the shim imports only from lower layers",
        run: layers::run,
    },
    Command {
        usage: "jdk [--machine NAME] [VERSION...]",
        about: "download the JDKs for the tests into the user's cache folder; 26, 27 and 28 only if named, from Debian sid",
        run: jdk::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        None => {
            print_usage();
            return ExitCode::from(2);
        }
        Some((name, rest)) => {
            let named = |command: &&Command| command.usage.split(' ').next() == Some(name);
            match COMMANDS.iter().find(named) {
                Some(command) => (command.run)(rest),
                None => {
                    print_usage();
                    Err(format!("unknown command {name}"))
                }
            }
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The package `demo` runs this command before it starts xtask, unless the user starts xtask without that package.
fn demo(_: &[String]) -> Result<(), String> {
    Err("the demo is a package of its own: cargo xtask demo".into())
}

fn print_usage() {
    eprintln!("usage: cargo xtask COMMAND\n");
    for Command { usage, about, .. } in &COMMANDS {
        eprintln!("  {usage:<20} {about}");
    }
}
