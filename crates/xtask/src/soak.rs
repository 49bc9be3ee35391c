//! `cargo xtask soak`: runs random combinations of programs, agents and events for a given time.

use std::time::{Duration, Instant, SystemTime};

use compat_tests::jdk::{self, Gc, Jdk};
use compat_tests::programs::{self, Program};
use compat_tests::soak::{CHURN, End, Expected, Round};

use crate::cross;

/// The duration of a program that can run for any time. Every fourth round takes three times as long, in which growing
/// memory shows.
const LENGTH: Duration = Duration::from_secs(25);

/// The default duration in minutes.
const MINUTES: f64 = 30.0;

/// The arguments, in any order: minutes, program names, JDKs such as `jdk17`, collectors, and `seed=N`.
struct Wanted {
    minutes: f64,
    seed: Option<u64>,
    programs: Vec<Option<Program>>,
    jdks: Vec<u32>,
    gcs: Vec<Gc>,
}

impl Wanted {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let (programs, jdks, gcs) = (Vec::new(), Vec::new(), Vec::new());
        let mut wanted = Self { minutes: MINUTES, seed: None, programs, jdks, gcs };
        for argument in arguments {
            if let Some(seed) = argument.strip_prefix("seed=") {
                wanted.seed = Some(seed.parse().map_err(|_| format!("{argument} has no number"))?);
            } else if let Some(feature) = argument.strip_prefix("jdk") {
                wanted.jdks.push(
                    feature
                        .parse()
                        .map_err(|_| format!("{argument} is not a JDK such as jdk17"))?,
                );
            } else if let Ok(minutes) = argument.parse() {
                wanted.minutes = minutes;
            } else if let Some(gc) = Gc::ALL.into_iter().find(|gc| gc.name() == argument) {
                wanted.gcs.push(gc);
            } else if argument == CHURN {
                wanted.programs.push(None);
            } else {
                let program = Program::named(argument).ok_or_else(|| unknown(argument))?;
                wanted.programs.push(Some(program));
            }
        }
        if wanted.programs.is_empty() {
            // Half of the rounds use the program written for this test, because it does most per second.
            for program in programs::ALL {
                wanted.programs.extend([None, Some(program)]);
            }
        }
        Ok(wanted)
    }
}

fn unknown(argument: &str) -> String {
    let names: Vec<_> = programs::ALL.iter().map(|program| program.name).collect();
    format!("unknown program {argument}; use one of {CHURN}, {}", names.join(", "))
}

/// Returns every combination of a JDK and a collector that it supports.
fn places<'a>(jdks: &'a [Jdk], gcs: &[Gc]) -> Vec<(&'a Jdk, Gc)> {
    let wanted = Gc::ALL.into_iter().filter(|gc| gcs.is_empty() || gcs.contains(gc));
    let with = |gc: Gc| jdks.iter().filter(move |jdk| jdk.supports(gc)).map(move |jdk| (jdk, gc));
    wanted.flat_map(with).collect()
}

/// Runs rounds until the time is over. Fails if a round failed.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.to_vec();
    let machine = cross::machine(&mut arguments)?;
    if !machine.is_this() {
        return cross::xtask(machine, "soak", &arguments);
    }
    let wanted = Wanted::parse(&arguments)?;
    let found = jdk::found().into_values();
    let jdks: Vec<_> =
        found.filter(|jdk| wanted.jdks.is_empty() || wanted.jdks.contains(&jdk.feature)).collect();
    let places = places(&jdks, &wanted.gcs);
    if places.is_empty() {
        return Err("no JDK found; download the JDKs with cargo xtask jdk".to_owned());
    }
    let now =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_err(|e| e.to_string())?;
    let first = wanted.seed.unwrap_or(now.as_secs());
    println!("soak from seed {first} for {} minutes", wanted.minutes);

    let end = Instant::now() + Duration::from_secs_f64(60.0 * wanted.minutes);
    let mut expected = Expected::default();
    let (mut clean, mut failed, mut missing) = (0, Vec::new(), Vec::new());
    for seed in first.. {
        if Instant::now() >= end {
            break;
        }
        // The seed alone determines a round, so that it can be repeated.
        let (jdk, gc) = places[usize::try_from(seed).unwrap_or(0) % places.len()];
        let program =
            wanted.programs[usize::try_from(mixed(seed) / 4).unwrap_or(0) % wanted.programs.len()];
        let length = if mixed(seed).is_multiple_of(4) { 3 * LENGTH } else { LENGTH };
        let length = length.min(end.saturating_duration_since(Instant::now()));
        let round = Round { jdk, gc, program, length, seed, without: "" };
        let name = format!("jdk{} {} {}", jdk.feature, gc.name(), round.program_name());
        match round.run(&format!("soak/{seed}"), &mut expected) {
            Ok(End::Clean(did)) => {
                clean += 1;
                println!("{name} seed={seed}: {did}");
            }
            Ok(End::Missing(why)) => {
                let why = format!("{}: {why}", round.program_name());
                if !missing.contains(&why) {
                    println!("skipped {why}");
                    missing.push(why);
                }
            }
            Ok(End::VmFault(place)) => println!("{name} seed={seed}: known VM crash in {place}"),
            Err(why) => {
                println!("FAILED {name} seed={seed}: {why}");
                println!("  to repeat: cargo xtask soak 1 {name} seed={seed}");
                failed.push(format!("{name} seed={seed}"));
            }
        }
    }
    println!("{clean} rounds clean, {} failed", failed.len());
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// Scrambles the seed, so that all combinations of programs and JVMs occur.
fn mixed(seed: u64) -> u64 {
    (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 40
}
